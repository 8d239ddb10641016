//! Record marking (RFC 5531, chapter 11): what a socket gives, as whole messages in one buffer of fixed size.
//!
//! Takes received bytes, gives the place of each message; fragments are joined in place. Prevents: memory taken because
//! a server named a length, and a message of fragments without end.

use super::xdr::Garbled;
use std::ops::Range;

/// A message has at most so many fragments. Servers send one.
const FRAGMENTS_MAX: u32 = 64;
/// Processors of AMD copy 20 to 30 times slower (`rep movsb`) if the target lies 1 to 31 bytes behind the source,
/// modulo a page. The kernel holds what came at the start of a page, and `malloc` gives large memory at byte 16.
const START: usize = 64;
const PAGE: usize = 4096;

/// Received bytes, and the messages in them.
pub struct Records {
    room: Box<[u8]>,
    /// Where received bytes begin, if none are left: [`START`] bytes into a page.
    start: usize,
    /// Longest message.
    limit: usize,
    /// `from..from + joined`: fragments of the next message, already joined. Up to `to`: not yet looked at.
    from: usize,
    joined: usize,
    to: usize,
    fragments: u32,
}

impl Records {
    /// Messages of at most `limit` bytes, in a buffer of at least twice that.
    pub fn new(limit: usize) -> Self {
        let room = vec![0; (2 * limit + 4).max(1 << 16) + PAGE].into_boxed_slice();
        let start = (room.as_ptr() as usize).wrapping_neg().wrapping_add(START) % PAGE;
        Records {
            room,
            start,
            limit,
            from: start,
            joined: 0,
            to: start,
            fragments: 0,
        }
    }

    /// Where the next bytes go; never empty, if [`Self::next_message`] was called until it gave none.
    pub fn room(&mut self) -> &mut [u8] {
        if self.from == self.to {
            (self.from, self.to) = (self.start, self.start);
        } else if self.room.len() - self.to < self.room.len() / 4 {
            self.room.copy_within(self.from..self.to, self.start);
            (self.from, self.to) = (self.start, self.start + self.to - self.from);
        }
        &mut self.room[self.to..]
    }

    /// So many bytes were put into [`Self::room`].
    pub fn received(&mut self, bytes: usize) {
        assert!(bytes <= self.room.len() - self.to, "more bytes than the room had");
        self.to += bytes;
    }

    /// The place of the next whole message for [`Self::message`]; `None`: more bytes are needed.
    pub fn next_message(&mut self) -> Result<Option<Range<usize>>, Garbled> {
        loop {
            let at = self.from + self.joined;
            let Some(mark) = self.room[at..self.to].first_chunk::<4>() else {
                return Ok(None);
            };
            let mark = u32::from_be_bytes(*mark);
            let (last, len) = (mark >> 31 == 1, (mark & 0x7fff_ffff) as usize);
            if len > self.limit - self.joined {
                return Err(Garbled("a reply is longer than any that was asked for"));
            }
            if self.to - at - 4 < len {
                return Ok(None);
            }
            // What was joined moves up to the new fragment, over its mark.
            self.room.copy_within(self.from..at, self.from + 4);
            self.from += 4;
            self.joined += len;
            self.fragments += 1;
            if last {
                let message = self.from..self.from + self.joined;
                (self.from, self.joined, self.fragments) = (message.end, 0, 0);
                return Ok(Some(message));
            }
            if self.fragments == FRAGMENTS_MAX {
                return Err(Garbled("a reply has more fragments than any server needs"));
            }
        }
    }

    /// A message that [`Self::next_message`] gave; valid until [`Self::room`] is called.
    pub fn message(&self, place: Range<usize>) -> &[u8] {
        &self.room[place]
    }

    /// Bytes of a message that is not whole.
    pub fn unfinished(&self) -> usize {
        self.to - self.from
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mark(len: usize, last: bool) -> [u8; 4] {
        (len as u32 | u32::from(last) << 31).to_be_bytes()
    }

    fn all(records: &mut Records, stream: &[u8], piece: usize) -> Result<Vec<Vec<u8>>, Garbled> {
        let mut messages = Vec::new();
        let mut rest = stream;
        while !rest.is_empty() {
            let room = records.room();
            let len = piece.min(rest.len()).min(room.len());
            assert!(len > 0, "there is always room");
            room[..len].copy_from_slice(&rest[..len]);
            records.received(len);
            rest = &rest[len..];
            while let Some(place) = records.next_message()? {
                messages.push(records.message(place).to_vec());
            }
        }
        Ok(messages)
    }

    proptest! {
        #[test]
        fn messages_survive_any_fragments_and_any_pieces(
            messages in prop::collection::vec(
                prop::collection::vec(prop::collection::vec(any::<u8>(), 0..900), 1..6),
                1..40,
            ),
            piece in 1usize..5000,
        ) {
            let mut stream = Vec::new();
            for fragments in &messages {
                for (nth, fragment) in fragments.iter().enumerate() {
                    stream.extend(mark(fragment.len(), nth + 1 == fragments.len()));
                    stream.extend(fragment);
                }
            }
            let whole: Vec<Vec<u8>> = messages.iter().map(|fragments| fragments.concat()).collect();
            let mut records = Records::new(8192);
            prop_assert_eq!(all(&mut records, &stream, piece), Ok(whole));
            prop_assert_eq!(records.unfinished(), 0);
        }
    }

    #[test]
    fn a_message_may_have_the_limit_and_not_one_byte_more() {
        for (len, good) in [(100, true), (101, false)] {
            let stream = [&mark(len, true)[..], &vec![7; len]].concat();
            assert_eq!(all(&mut Records::new(100), &stream, 33).is_ok(), good);
            let half = [
                &mark(50, false)[..],
                &[7; 50],
                &mark(len - 50, true),
                &vec![7; len - 50],
            ]
            .concat();
            assert_eq!(all(&mut Records::new(100), &half, 33).is_ok(), good);
        }
    }

    #[test]
    fn what_comes_begins_where_a_copy_is_fast() {
        for limit in [100, 8192, 70_000, 1 << 20] {
            let mut records = Records::new(limit);
            for piece in [1, 3, 40, 1] {
                assert_eq!(records.room().as_ptr() as usize % PAGE, START);
                let stream = [&mark(piece, true)[..], &vec![7; piece]].concat();
                records.room()[..stream.len()].copy_from_slice(&stream);
                records.received(stream.len());
                assert!(matches!(records.next_message(), Ok(Some(_))));
            }
        }
    }

    #[test]
    fn fragments_without_end_are_refused() {
        let stream: Vec<u8> = (0..1000).flat_map(|_| mark(0, false)).collect();
        assert!(all(&mut Records::new(100), &stream, 64).is_err());
    }
}
