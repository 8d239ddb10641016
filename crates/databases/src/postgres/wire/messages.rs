//! Messages that came from a server, whose every field is doubted (PostgreSQL documentation, chapter "Message
//! Formats").
//!
//! Takes bytes, gives what they hold, in place, or [`Malformed`]. Nothing here believes a length or a count that it has
//! not held against the bytes there are. Prevents: a server, or whoever plays one, that makes us panic, allocate
//! without bound, or take one message for another.

/// Bytes of one message at most, its length field among them. Rows, settings and errors of ours have a few thousand;
/// libpq takes no more than 30,000 for most kinds. What is longer is no answer to what we ask.
pub(crate) const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Bytes of one answer at most: all messages up to the server's being ready. The longest, 10,000 rows after a power
/// cut, has some 3 MB; notices without end would otherwise be read for ever.
pub(crate) const ANSWER_BYTES_MAX: usize = 16 << 20;

/// What no server that keeps to the protocol sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// A length that is less than its own field, or more than [`MESSAGE_BYTES_MAX`].
    Length {
        /// Kind of message.
        tag: u8,
        /// As sent.
        bytes: u32,
    },
    /// Fields that do not fit the message, or hold what they can't.
    Fields {
        /// Kind of message.
        tag: u8,
    },
    /// A kind of message that has no place here.
    Kind {
        /// Kind of message.
        tag: u8,
    },
    /// More than [`ANSWER_BYTES_MAX`] in one answer.
    Endless,
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Malformed::Length { tag, bytes } => {
                let kind = char::from(tag);
                write!(
                    f,
                    "with a message {kind:?} of {bytes} bytes (4 to {MESSAGE_BYTES_MAX} are possible)"
                )
            }
            Malformed::Fields { tag } => write!(f, "with a message {:?} whose fields do not fit it", char::from(tag)),
            Malformed::Kind { tag } => write!(f, "with a message {:?}, which has no place here", char::from(tag)),
            Malformed::Endless => write!(f, "with more than {} MiB and no end", ANSWER_BYTES_MAX >> 20),
        }
    }
}

/// What a message says of a statement that failed. The texts are the server's own: [`crate::postgres::error::shown`]
/// before they are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) severity: String,
    pub(crate) code: String,
    pub(crate) message: String,
}

/// A message that came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    pub(crate) tag: u8,
    pub(crate) body: &'a [u8],
}

impl Message<'_> {
    fn or_malformed<T>(&self, read: Option<T>) -> Result<T, Malformed> {
        read.ok_or(Malformed::Fields { tag: self.tag })
    }

    /// Checks one that says nothing that we need: notices, settings of the session, ends of steps.
    pub(crate) fn check(&self) -> Result<(), Malformed> {
        let read = match self.tag {
            b'1' | b'2' | b'I' | b'n' | b'3' | b's' => self.body.is_empty().then_some(()),
            b'N' | b'E' => failure(self.body).map(drop),
            b'S' => two_words(self.body),
            b'K' => (self.body.len() == 8).then_some(()),
            b'A' => self.body.get(4..).and_then(two_words),
            b'C' => tag(self.body).map(drop),
            b'T' => columns(self.body).map(drop),
            b'D' => cells(self.body).and_then(Cells::check),
            b'G' => copy_in(self.body),
            b'Z' => ready(self.body).map(drop),
            tag => return Err(Malformed::Kind { tag }),
        };
        self.or_malformed(read)
    }

    pub(crate) fn cells(&self) -> Result<Cells<'_>, Malformed> {
        self.or_malformed(cells(self.body))
    }

    /// Number of columns of a description of rows.
    pub(crate) fn columns(&self) -> Result<u16, Malformed> {
        self.or_malformed(columns(self.body))
    }

    pub(crate) fn failure(&self) -> Result<Failure, Malformed> {
        self.or_malformed(failure(self.body))
    }

    /// The end of a statement: what it did.
    pub(crate) fn done(&self) -> Result<&str, Malformed> {
        self.or_malformed(tag(self.body))
    }

    /// The server is ready; gives whether a transaction is open.
    pub(crate) fn is_open(&self) -> Result<bool, Malformed> {
        self.or_malformed(ready(self.body).map(|state| state != b'I'))
    }
}

/// The first message of `bytes` and how many bytes it takes; `None` while it is not whole.
pub(crate) fn first(bytes: &[u8]) -> Result<Option<(Message<'_>, usize)>, Malformed> {
    let [tag, a, b, c, d, ..] = *bytes else { return Ok(None) };
    let length = u32::from_be_bytes([a, b, c, d]);
    if !(4..=MESSAGE_BYTES_MAX as u32).contains(&length) {
        return Err(Malformed::Length { tag, bytes: length });
    }
    let length = 1 + length as usize;
    Ok(bytes.get(5..length).map(|body| (Message { tag, body }, length)))
}

/// Kinds of messages that a server may send unasked: notices, settings, notifications, and the word of its end.
const UNASKED: &[u8] = b"NSAE";

/// Checks what came while nobody waits for an answer, from `walked` on, which is then the end of its whole messages.
///
/// # Errors
/// [`Malformed::Kind`] for the beginning of an answer: it would count as the next request's.
pub(crate) fn unasked(bytes: &[u8], walked: &mut usize) -> Result<(), Malformed> {
    loop {
        let rest = bytes.get(*walked..).unwrap_or_default();
        match rest.first() {
            Some(tag) if !UNASKED.contains(tag) => return Err(Malformed::Kind { tag: *tag }),
            _ => {}
        }
        let Some((_, length)) = first(rest)? else { return Ok(()) };
        *walked += length;
        if *walked > ANSWER_BYTES_MAX {
            return Err(Malformed::Endless);
        }
    }
}

/// The cells of a row message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cells<'a> {
    left: u16,
    rest: &'a [u8],
}

fn cells(body: &[u8]) -> Option<Cells<'_>> {
    let (count, rest) = body.split_first_chunk::<2>()?;
    let left = u16::from_be_bytes(*count);
    Some(Cells { left, rest })
}

impl<'a> Cells<'a> {
    /// Cells that are still to come, as the server says.
    pub(crate) fn left(&self) -> u16 {
        self.left
    }

    /// The next cell, `None` in it where it is empty. `Err` where there is none, or less than it says; at the last one
    /// also where something is left after it.
    pub(crate) fn take(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        self.next_cell().ok_or(Malformed::Fields { tag: b'D' })
    }

    fn next_cell(&mut self) -> Option<Option<&'a [u8]>> {
        self.left = self.left.checked_sub(1)?;
        let (&length, rest) = self.rest.split_first_chunk::<4>()?;
        let cell = match i32::from_be_bytes(length) {
            -1 => {
                self.rest = rest;
                None
            }
            length => {
                let (cell, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
                self.rest = rest;
                Some(cell)
            }
        };
        (self.left > 0 || self.rest.is_empty()).then_some(cell)
    }

    fn check(mut self) -> Option<()> {
        if self.left == 0 {
            return self.rest.is_empty().then_some(());
        }
        while self.left > 0 {
            self.next_cell()?;
        }
        Some(())
    }
}

/// Text up to its zero, and what comes after.
pub(crate) fn word(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|b| *b == 0)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

fn two_words(bytes: &[u8]) -> Option<()> {
    let (_, rest) = word(bytes)?;
    let (_, rest) = word(rest)?;
    rest.is_empty().then_some(())
}

fn tag(body: &[u8]) -> Option<&str> {
    let (tag, rest) = word(body)?;
    let plain = rest.is_empty() && tag.iter().all(|b| matches!(b, b' '..=b'~'));
    std::str::from_utf8(tag).ok().filter(|_| plain)
}

fn ready(body: &[u8]) -> Option<u8> {
    match *body {
        [state @ (b'I' | b'T' | b'E')] => Some(state),
        _ => None,
    }
}

/// Of each column a name and 18 bytes: table, number, type, its size and modifier, format.
fn columns(body: &[u8]) -> Option<u16> {
    let (count, mut rest) = body.split_first_chunk::<2>()?;
    let count = u16::from_be_bytes(*count);
    for _ in 0..count {
        let (_, after) = word(rest)?;
        let (rest_of_column, after) = after.split_at_checked(18)?;
        matches!(rest_of_column[16..], [0, 0 | 1]).then_some(())?;
        rest = after;
    }
    rest.is_empty().then_some(count)
}

fn copy_in(body: &[u8]) -> Option<()> {
    let (&[format, a, b], formats) = body.split_first_chunk::<3>()?;
    let columns = usize::from(u16::from_be_bytes([a, b]));
    let plain = format == 0 && formats.len() == 2 * columns && formats.iter().all(|b| *b == 0);
    plain.then_some(())
}

/// The fields of an error or notice: letters with texts, then a zero and nothing more.
fn failure(body: &[u8]) -> Option<Failure> {
    let mut failure = Failure::default();
    let mut details = Vec::new();
    let mut rest = body;
    loop {
        let (field, tail) = rest.split_first()?;
        if *field == 0 {
            if !tail.is_empty() {
                return None;
            }
            break;
        }
        let (text, after) = word(tail)?;
        rest = after;
        let text = || String::from_utf8_lossy(text).into_owned();
        match *field {
            b'V' => failure.severity = text(),
            b'S' if failure.severity.is_empty() => failure.severity = text(),
            b'C' => failure.code = text(),
            b'M' => failure.message = text(),
            // The protocol has one of each.
            b'D' | b'H' if details.len() < 2 => details.push(text()),
            _ => {}
        }
    }
    let code = failure.code.as_bytes();
    let known = code.len() == 5 && code.iter().all(u8::is_ascii_alphanumeric);
    if !known || failure.message.is_empty() {
        return None;
    }
    for detail in details {
        failure.message = format!("{} ({detail})", failure.message);
    }
    Some(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(tag: u8, body: &[u8]) -> bool {
        Message { tag, body }.check().is_ok()
    }

    #[test]
    fn a_message_is_whole_or_not_there() {
        let mut out = Vec::new();
        crate::postgres::wire::requests::query(&mut out, "SELECT 1");
        for cut in 0..out.len() {
            assert!(first(&out[..cut]).unwrap().is_none());
        }
        let (message, bytes) = first(&out).unwrap().unwrap();
        assert_eq!(
            (message.tag, message.body, bytes),
            (b'Q', &b"SELECT 1\0"[..], out.len())
        );
    }

    #[test]
    fn a_length_that_can_not_be_is_refused_before_anything_is_kept() {
        for length in [0u32, 3, MESSAGE_BYTES_MAX as u32 + 1, i32::MAX as u32, u32::MAX] {
            let mut bytes = vec![b'D'];
            bytes.extend_from_slice(&length.to_be_bytes());
            let refused = first(&bytes).unwrap_err();
            assert_eq!(
                refused,
                Malformed::Length {
                    tag: b'D',
                    bytes: length
                }
            );
        }
    }

    #[test]
    fn an_answer_to_nothing_is_told_from_what_a_server_may_say_unasked() {
        let message = |tag: u8, body: &[u8]| {
            let mut out = Vec::new();
            crate::postgres::wire::requests::message(&mut out, Some(tag), |o| o.extend_from_slice(body));
            out
        };
        let notices = [message(b'N', b"SNOTICE\0"), message(b'S', b"TimeZone\0UTC\0")].concat();
        let mut walked = 0;
        // Cut short, only the whole messages are walked over.
        assert_eq!(unasked(&notices[..notices.len() - 1], &mut walked), Ok(()));
        assert!(walked > 0 && walked < notices.len());
        assert_eq!(unasked(&notices, &mut walked), Ok(()));
        assert_eq!(walked, notices.len());
        assert_eq!(unasked(&[], &mut 0), Ok(()));
        for tag in *b"ZCD2T1G" {
            // The first byte of an answer is enough.
            let stray = [&notices[..], &[tag]].concat();
            assert_eq!(unasked(&stray, &mut walked), Err(Malformed::Kind { tag }));
            assert_eq!(unasked(&stray, &mut 0), Err(Malformed::Kind { tag }));
        }
        let many = message(b'N', &[0; 1 << 19]).repeat((ANSWER_BYTES_MAX >> 19) + 1);
        assert_eq!(unasked(&many, &mut 0), Err(Malformed::Endless));
    }

    #[test]
    fn cells_of_a_row_and_rows_that_do_not_fit() {
        let body = [0, 3, 0, 0, 0, 4, 0, 0, 1, 0, 255, 255, 255, 255, 0, 0, 0, 2, b'h', b'i'];
        let mut row = cells(&body).unwrap();
        let all = [row.take(), row.take(), row.take()].map(Result::unwrap);
        assert_eq!(all, [Some(&[0, 0, 1, 0][..]), None, Some(&b"hi"[..])]);
        assert!(row.take().is_err());
        assert!(fields(b'D', &body) && fields(b'D', &[0, 0]));
        // Cut short, one byte too many, more and fewer columns than there are, a length of -2.
        assert!((0..body.len()).all(|cut| !fields(b'D', &body[..cut])));
        let wrong = |at: usize, byte: u8| {
            let mut body = body;
            body[at] = byte;
            fields(b'D', &body)
        };
        assert!(!fields(b'D', &[&body[..], b"!"].concat()));
        assert!(!wrong(1, 4) && !wrong(1, 2) && !wrong(0, 255) && !wrong(13, 254) && !wrong(2, 127));
    }

    #[test]
    fn failures_are_read_and_what_is_none_is_not() {
        let body = b"SFEHLER\0VERROR\0C40P01\0Mdeadlock\0Dtwo of them\0\0";
        let read = failure(body).unwrap();
        assert_eq!(read.severity, "ERROR");
        assert_eq!(
            (read.code.as_str(), read.message.as_str()),
            ("40P01", "deadlock (two of them)")
        );
        assert!((0..body.len()).all(|cut| failure(&body[..cut]).is_none()));
        assert!(failure(b"VERROR\0C40P01\0Mx\0\0more").is_none());
        assert!(failure(b"VERROR\0C4\x1b[m\0Mx\0\0").is_none());
    }

    #[test]
    fn other_messages_have_their_fields_and_nothing_else() {
        let column = [b"a\0".as_slice(), &[0; 18]].concat();
        let right: [(u8, Vec<u8>); 9] = [
            (b'1', vec![]),
            (b'Z', b"T".to_vec()),
            (b'S', b"TimeZone\0UTC\0".to_vec()),
            (b'K', vec![0; 8]),
            (b'A', b"\0\0\0\x07channel\0\0".to_vec()),
            (b'C', b"SELECT 1\0".to_vec()),
            (b'T', [&[0, 1], column.as_slice()].concat()),
            (b'G', vec![0, 0, 2, 0, 0, 0, 0]),
            (b'N', b"SNOTICE\0C00000\0Mx\0\0".to_vec()),
        ];
        for (tag, body) in &right {
            assert!(fields(*tag, body), "{:?}", char::from(*tag));
            assert!(
                !fields(*tag, &[body.as_slice(), b"!"].concat()),
                "{:?}",
                char::from(*tag)
            );
            assert!(
                body.is_empty() || !fields(*tag, &body[..body.len() - 1]),
                "{:?}",
                char::from(*tag)
            );
        }
        assert!(!fields(b'Z', b"Q") && !fields(b'C', b"SELECT\x1b[1m\0") && !fields(b'G', &[1, 0, 0]));
        assert_eq!(
            Message { tag: b'!', body: b"" }.check(),
            Err(Malformed::Kind { tag: b'!' })
        );
    }
}
