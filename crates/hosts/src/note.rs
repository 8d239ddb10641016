//! What ranks send each other, as bytes: one note is one message of MPI.
//!
//! Long messages travel as pieces, so that no call of MPI is long and signs of life pass between them. Takes notes,
//! gives bytes, and back. Prevents: bytes of another program or build taken for a note, a length that is believed, and
//! a message without an end that takes all memory.

use crate::error::Cause;
use thiserror::Error;

/// Longest message in bytes: as long as an answer of an instance on one host may be.
pub const MESSAGE_MAX: u64 = 64 << 20;
/// Longest note: MPI sends it at once, whether the other side waits for it or not.
pub const NOTE_MAX: usize = 4000;
/// Bytes of a message in one note.
pub(crate) const PIECE_MAX: usize = NOTE_MAX - 32;
/// What a message takes beside its bytes while it waits for its reader: its place in the channel and its allocation.
const PLACE_BYTES: u64 = 64;
/// The first bytes of every note: what it is, and the version of all of this.
const MAGIC: [u8; 4] = *b"AsH1";

/// A message of MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note<'a> {
    /// A sign of life.
    Beat,
    /// A piece of a message.
    Piece(Piece<'a>),
    /// No more messages come.
    Closed,
    /// Rank 0 asks for the time.
    Asked(u64),
    /// The time, twice: when the question came, when the answer left.
    Answered {
        /// The number of the question.
        number: u64,
        /// The question came.
        received: u64,
        /// The answer leaves.
        answered: u64,
    },
    /// All end, for this reason.
    Ending(Cause),
    /// The sender is done, and ready to end in order.
    Done,
}

/// A part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The message's number, from 0, in order.
    pub number: u64,
    /// The message's bytes in all.
    pub total: u64,
    /// Where this part belongs.
    pub at: u64,
    /// The part.
    pub bytes: &'a [u8],
}

/// Why bytes are no note, or a piece belongs nowhere.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum NoteError {
    /// Of another program or build.
    #[error("it is no note of this build")]
    Foreign,
    /// Shorter or longer than its kind.
    #[error("its length is wrong")]
    Length,
    /// A reason that means nothing.
    #[error("its reason means nothing")]
    Cause,
    /// The message is longer than any may be.
    #[error("its message has {total} bytes, and may have {most}")]
    Long {
        /// Bytes that it says.
        total: u64,
        /// Bytes that a message may have.
        most: u64,
    },
    /// A piece is missing, comes twice, or belongs to another message.
    #[error("its piece belongs nowhere")]
    Order,
}

impl<'a> Note<'a> {
    /// The note as it is sent.
    pub fn bytes(&self) -> Vec<u8> {
        let (kind, numbers, rest): (u8, &[u64], &[u8]) = match self {
            Note::Beat => (0, &[], &[]),
            Note::Piece(piece) => (1, &[piece.number, piece.total, piece.at], piece.bytes),
            Note::Closed => (2, &[], &[]),
            Note::Asked(number) => (3, &[*number], &[]),
            Note::Answered {
                number,
                received,
                answered,
            } => (4, &[*number, *received, *answered], &[]),
            // A few numbers: JSON has words for all of them.
            Note::Ending(cause) => (5, &[], &serde_json::to_vec(cause).unwrap_or_default()),
            Note::Done => (6, &[], &[]),
        };
        let mut bytes = Vec::with_capacity(MAGIC.len() + 1 + 8 * numbers.len() + rest.len());
        bytes.extend(MAGIC);
        bytes.push(kind);
        numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.extend(rest);
        bytes
    }

    /// The note that was received.
    ///
    /// # Errors
    /// Bytes that are none.
    pub fn read(bytes: &'a [u8]) -> Result<Note<'a>, NoteError> {
        let (kind, rest) = match bytes.strip_prefix(&MAGIC) {
            Some([kind, rest @ ..]) => (*kind, rest),
            _ => return Err(NoteError::Foreign),
        };
        if bytes.len() > NOTE_MAX {
            return Err(NoteError::Length);
        }
        if kind == 5 {
            return Ok(Note::Ending(
                serde_json::from_slice(rest).map_err(|_| NoteError::Cause)?,
            ));
        }
        let mut rest = rest;
        let note = match kind {
            0 => Note::Beat,
            1 => {
                let (number, total, at) = (number(&mut rest)?, number(&mut rest)?, number(&mut rest)?);
                let bytes = std::mem::take(&mut rest);
                Note::Piece(Piece {
                    number,
                    total,
                    at,
                    bytes,
                })
            }
            2 => Note::Closed,
            3 => Note::Asked(number(&mut rest)?),
            4 => Note::Answered {
                number: number(&mut rest)?,
                received: number(&mut rest)?,
                answered: number(&mut rest)?,
            },
            6 => Note::Done,
            _ => return Err(NoteError::Foreign),
        };
        if rest.is_empty() {
            Ok(note)
        } else {
            Err(NoteError::Length)
        }
    }
}

fn number(from: &mut &[u8]) -> Result<u64, NoteError> {
    let (eight, rest) = from.split_first_chunk().ok_or(NoteError::Length)?;
    *from = rest;
    Ok(u64::from_le_bytes(*eight))
}

/// What a message counts for while nobody has read it; an empty one too.
pub(crate) fn weight(length: u64) -> u64 {
    length + PLACE_BYTES
}

/// This piece of a message, from 0; an empty message has one.
pub(crate) fn piece(number: u64, message: &[u8], nth: usize) -> Piece<'_> {
    let from = message.len().min(nth.saturating_mul(PIECE_MAX));
    Piece {
        number,
        total: message.len() as u64,
        at: from as u64,
        bytes: &message[from..message.len().min(from + PIECE_MAX)],
    }
}

/// Puts the pieces of one sender together.
#[derive(Debug)]
pub struct Assembly {
    most: u64,
    /// The number of the message that comes.
    number: u64,
    /// Its bytes in all, and those that came.
    open: Option<(u64, Vec<u8>)>,
}

impl Assembly {
    /// Of messages of at most so many bytes.
    pub fn new(most: u64) -> Assembly {
        Assembly {
            most,
            number: 0,
            open: None,
        }
    }

    /// Takes the next piece; gives the message that is whole with it. Memory grows with what came, not with what was
    /// said.
    ///
    /// # Errors
    /// A piece that belongs nowhere, or a message that is too long.
    pub fn take(&mut self, piece: &Piece<'_>) -> Result<Option<Vec<u8>>, NoteError> {
        let (total, most) = (piece.total, self.most);
        if total > most {
            return Err(NoteError::Long { total, most });
        }
        let (said, message) = self.open.get_or_insert_with(|| (total, Vec::new()));
        let have = message.len() as u64;
        let is_next = piece.number == self.number && total == *said && piece.at == have;
        let is_right = piece.bytes.len() as u64 <= total - have && (!piece.bytes.is_empty() || total == 0);
        if !is_next || !is_right {
            return Err(NoteError::Order);
        }
        message.extend_from_slice(piece.bytes);
        if (message.len() as u64) < total {
            return Ok(None);
        }
        self.number += 1;
        Ok(self.open.take().map(|(_, message)| message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all() -> [Note<'static>; 7] {
        [
            Note::Beat,
            Note::Piece(Piece {
                number: 1,
                total: 9,
                at: 4,
                bytes: b"hello",
            }),
            Note::Closed,
            Note::Asked(7),
            Note::Answered {
                number: 7,
                received: 1 << 40,
                answered: u64::MAX,
            },
            Note::Ending(Cause::Silent { rank: 2, seconds: 5 }),
            Note::Done,
        ]
    }

    #[test]
    fn what_is_sent_is_read_and_no_part_of_it() {
        for note in all() {
            let bytes = note.bytes();
            assert_eq!(Note::read(&bytes), Ok(note));
            let longer = [&bytes[..], b"x"].concat();
            assert_ne!(Note::read(&longer), Ok(note), "{note:?}");
            for cut in 0..bytes.len() {
                assert_ne!(Note::read(&bytes[..cut]), Ok(note), "{note:?}");
            }
        }
        assert_eq!(Note::read(b"AsH1\x09"), Err(NoteError::Foreign));
        assert_eq!(Note::read(b"AsH2\x00"), Err(NoteError::Foreign));
        assert_eq!(Note::read(b"AsH1\x05{}"), Err(NoteError::Cause));
        assert_eq!(
            Note::read(&[b"AsH1\x01", &[0; NOTE_MAX][..]].concat()),
            Err(NoteError::Length)
        );
    }

    #[test]
    fn a_message_of_any_length_comes_whole() {
        let mut assembly = Assembly::new(3 * PIECE_MAX as u64);
        let lengths = [0, 1, PIECE_MAX, PIECE_MAX + 1, 3 * PIECE_MAX];
        for (number, length) in (0..).zip(lengths) {
            let message: Vec<u8> = (0..length).map(|nth| nth as u8).collect();
            let mut came = None;
            for nth in 0..length.div_ceil(PIECE_MAX).max(1) {
                assert_eq!(came, None);
                let piece = piece(number, &message, nth);
                assert!(Note::Piece(piece).bytes().len() <= NOTE_MAX);
                came = assembly.take(&piece).unwrap();
            }
            assert_eq!(came, Some(message));
        }
    }

    #[test]
    fn pieces_out_of_order_and_endless_ones_are_refused() {
        let piece = |number, total, at, bytes| Piece {
            number,
            total,
            at,
            bytes,
        };
        let long = Assembly::new(8).take(&piece(0, 9, 0, b"a"));
        assert_eq!(long, Err(NoteError::Long { total: 9, most: 8 }));
        for wrong in [
            piece(1, 2, 0, b"a"),
            piece(0, 2, 1, b"a"),
            piece(0, 2, 0, b"abc"),
            piece(0, 2, 0, b""),
        ] {
            assert_eq!(Assembly::new(8).take(&wrong), Err(NoteError::Order), "{wrong:?}");
        }
        for second in [piece(0, 3, 1, b"b"), piece(0, 2, 0, b"b"), piece(1, 2, 1, b"b")] {
            let mut assembly = Assembly::new(8);
            assert_eq!(assembly.take(&piece(0, 2, 0, b"a")), Ok(None));
            assert_eq!(assembly.take(&second), Err(NoteError::Order), "{second:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64), kind in 0u8..8) {
            let near = [&MAGIC[..], &[kind], &bytes[..]].concat();
            for bytes in [&bytes, &near] {
                if let Ok(Note::Piece(piece)) = Note::read(bytes) {
                    let _ = Assembly::new(64).take(&piece);
                }
            }
        }
    }
}
