//! Messages of the frontend/backend protocol, version 3 (PostgreSQL documentation, chapter "Frontend/Backend Protocol").
//!
//! Writes messages into a `Vec<u8>` and walks over those that came, in place. Prevents: a copy or an allocation per message.

use crate::order_entry::{Batch, Kind, Statement, Value};

/// What a message says of a statement that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) severity: String,
    pub(super) code: String,
    pub(super) message: String,
}

/// Writes one message: a tag, where it has one, a length, and what `body` appends.
pub(super) fn message(out: &mut Vec<u8>, tag: Option<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    out.extend(tag);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let bytes = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&bytes.to_be_bytes());
}

pub(super) fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

pub(super) fn startup(out: &mut Vec<u8>, parameters: &[(&str, &str)]) {
    message(out, None, |out| {
        out.extend_from_slice(&196_608u32.to_be_bytes());
        for (name, value) in parameters {
            text(out, name);
            text(out, value);
        }
        out.push(0);
    });
}

pub(super) fn query(out: &mut Vec<u8>, sql: &str) {
    message(out, Some(b'Q'), |out| text(out, sql));
}

pub(super) fn sync(out: &mut Vec<u8>) {
    message(out, Some(b'S'), |_| {});
}

/// Numbers of PostgreSQL's types.
fn oid(kind: Kind) -> u32 {
    match kind {
        Kind::Int4 => 23,
        Kind::Int8 => 20,
        Kind::Text => 25,
    }
}

/// Names a statement by its number: one or two signs, sent with each use.
fn name(out: &mut Vec<u8>, number: u8) {
    out.extend([b'a' + number / 16, b'a' + number % 16, 0]);
}

pub(super) fn parse(out: &mut Vec<u8>, number: u8, sql: &str, takes: &[Kind]) {
    message(out, Some(b'P'), |out| {
        name(out, number);
        text(out, sql);
        out.extend_from_slice(&(takes.len() as u16).to_be_bytes());
        for kind in takes {
            out.extend_from_slice(&oid(*kind).to_be_bytes());
        }
    });
}

/// Bind and Execute, all values and columns binary.
pub(super) fn call(out: &mut Vec<u8>, statement: &Statement, values: &[Value], batch: &Batch) {
    assert!(
        values.len() == statement.takes.len(),
        "{:?} takes {} values",
        statement.query,
        statement.takes.len()
    );
    message(out, Some(b'B'), |out| {
        out.push(0);
        name(out, statement.query as u8);
        out.extend_from_slice(&[0, 1, 0, 1]);
        out.extend_from_slice(&(values.len() as u16).to_be_bytes());
        for (value, kind) in values.iter().zip(statement.takes) {
            bind(out, *value, *kind, batch);
        }
        out.extend_from_slice(&[0, 1, 0, 1]);
    });
    out.extend_from_slice(EXECUTE);
}

/// Bind and Execute of a statement that takes numbers of eight bytes.
pub(super) fn call_numbers(out: &mut Vec<u8>, number: u8, values: &[i64]) {
    message(out, Some(b'B'), |out| {
        out.push(0);
        name(out, number);
        out.extend_from_slice(&[0, 1, 0, 1]);
        out.extend_from_slice(&(values.len() as u16).to_be_bytes());
        for value in values {
            out.extend_from_slice(&8u32.to_be_bytes());
            out.extend_from_slice(&value.to_be_bytes());
        }
        out.extend_from_slice(&[0, 1, 0, 1]);
    });
    out.extend_from_slice(EXECUTE);
}

/// Bind and Execute of a statement that takes numbers of eight bytes, then texts.
pub(super) fn call_mixed(out: &mut Vec<u8>, number: u8, numbers: &[i64], texts: &[&str]) {
    message(out, Some(b'B'), |out| {
        out.push(0);
        name(out, number);
        out.extend_from_slice(&[0, 1, 0, 1]);
        out.extend_from_slice(&((numbers.len() + texts.len()) as u16).to_be_bytes());
        for value in numbers {
            out.extend_from_slice(&8u32.to_be_bytes());
            out.extend_from_slice(&value.to_be_bytes());
        }
        for text in texts {
            out.extend_from_slice(&(text.len() as u32).to_be_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        out.extend_from_slice(&[0, 1, 0, 1]);
    });
    out.extend_from_slice(EXECUTE);
}

/// Execute of the unnamed portal, all rows.
const EXECUTE: &[u8] = &[b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0];

fn bind(out: &mut Vec<u8>, value: Value, kind: Kind, batch: &Batch) {
    match (value, kind) {
        (Value::Int(value), Kind::Int4) => {
            out.extend_from_slice(&4u32.to_be_bytes());
            let value = i32::try_from(value).expect("numbers of order entry fit four bytes where four are said");
            out.extend_from_slice(&value.to_be_bytes());
        }
        (Value::Int(value), _) => {
            out.extend_from_slice(&8u32.to_be_bytes());
            out.extend_from_slice(&value.to_be_bytes());
        }
        (Value::Null, _) => out.extend_from_slice(&u32::MAX.to_be_bytes()),
        (text @ Value::Text { bytes, .. }, _) => {
            out.extend_from_slice(&bytes.to_be_bytes());
            out.extend_from_slice(batch.text(text));
        }
    }
}

/// Bind and Execute of a statement without values.
pub(super) fn control(out: &mut Vec<u8>, number: u8) {
    message(out, Some(b'B'), |out| {
        out.push(0);
        name(out, number);
        out.extend_from_slice(&[0; 6]);
    });
    out.extend_from_slice(EXECUTE);
}

/// A message that came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    pub(super) tag: u8,
    pub(super) body: &'a [u8],
}

/// The first message of `bytes` and how many bytes it takes; `None` while it is not whole.
pub(super) fn first(bytes: &[u8]) -> Option<(Message<'_>, usize)> {
    let [tag, a, b, c, d, ..] = *bytes else { return None };
    let length = u32::from_be_bytes([a, b, c, d]).max(4) as usize;
    let body = bytes.get(5..1 + length)?;
    Some((Message { tag, body }, 1 + length))
}

/// The cells of a row message.
pub(super) struct Cells<'a> {
    left: u16,
    rest: &'a [u8],
}

pub(super) fn cells(body: &[u8]) -> Cells<'_> {
    match *body {
        [a, b, ref rest @ ..] => Cells {
            left: u16::from_be_bytes([a, b]),
            rest,
        },
        _ => Cells { left: 0, rest: &[] },
    }
}

impl<'a> Iterator for Cells<'a> {
    /// `None` for an empty cell.
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let (&length, rest) = self.rest.split_first_chunk::<4>()?;
        match usize::try_from(i32::from_be_bytes(length)) {
            Ok(bytes) => {
                let cell = rest.get(..bytes)?;
                self.rest = &rest[bytes..];
                Some(Some(cell))
            }
            Err(_) => {
                self.rest = rest;
                Some(None)
            }
        }
    }
}

/// A number in two, four or eight bytes.
pub(super) fn number(cell: &[u8]) -> Option<i64> {
    match *cell {
        [a, b] => Some(i16::from_be_bytes([a, b]).into()),
        [a, b, c, d] => Some(i32::from_be_bytes([a, b, c, d]).into()),
        _ => Some(i64::from_be_bytes(cell.try_into().ok()?)),
    }
}

/// Text up to its zero, and the rest.
pub(super) fn word(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|b| *b == 0) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[]),
    }
}

/// The fields of an error or notice.
pub(super) fn failure(body: &[u8]) -> Failure {
    let mut failure = Failure::default();
    let mut rest = body;
    while let [field, tail @ ..] = rest {
        if *field == 0 {
            break;
        }
        let (text, after) = word(tail);
        let text = String::from_utf8_lossy(text).into_owned();
        match *field {
            b'V' => failure.severity = text,
            b'S' if failure.severity.is_empty() => failure.severity = text,
            b'C' => failure.code = text,
            b'M' => failure.message = text,
            b'D' | b'H' => failure.message = format!("{} ({text})", failure.message),
            _ => {}
        }
        rest = after;
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_whole_or_not_there() {
        let mut out = Vec::new();
        query(&mut out, "SELECT 1");
        for cut in 0..out.len() {
            assert!(first(&out[..cut]).is_none());
        }
        let (message, bytes) = first(&out).unwrap();
        assert_eq!(
            (message.tag, message.body, bytes),
            (b'Q', &b"SELECT 1\0"[..], out.len())
        );
    }

    #[test]
    fn cells_of_a_row_and_rows_cut_short() {
        let body = [0, 3, 0, 0, 0, 4, 0, 0, 1, 0, 255, 255, 255, 255, 0, 0, 0, 2, b'h', b'i'];
        let all: Vec<_> = cells(&body).collect();
        assert_eq!(all, [Some(&[0, 0, 1, 0][..]), None, Some(&b"hi"[..])]);
        assert_eq!(number(all[0].unwrap()), Some(256));
        assert_eq!(cells(&body[..9]).count(), 0);
        assert_eq!(number(b"abc"), None);
    }

    #[test]
    fn failures_are_read() {
        let body = b"SFEHLER\0VERROR\0C40P01\0Mdeadlock\0Dtwo of them\0\0";
        let failure = failure(body);
        assert_eq!(failure.severity, "ERROR");
        assert_eq!(
            (failure.code.as_str(), failure.message.as_str()),
            ("40P01", "deadlock (two of them)")
        );
    }
}
