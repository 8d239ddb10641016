//! Messages to a server, of the frontend/backend protocol, version 3 (PostgreSQL documentation, chapter
//! "Frontend/Backend Protocol").
//!
//! Writes them into a `Vec<u8>`; [`crate::postgres::wire::messages`] reads those that come. Prevents: a copy or an
//! allocation per message, and a number that a server made up in a place that has no room for it.

use crate::order_entry::{Batch, Kind, Statement, Value};

/// Writes one message: a tag, where it has one, a length, and what `body` appends.
pub(crate) fn message(out: &mut Vec<u8>, tag: Option<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    out.extend(tag);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let bytes = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&bytes.to_be_bytes());
}

pub(crate) fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

pub(crate) fn startup(out: &mut Vec<u8>, parameters: &[(&str, &str)]) {
    message(out, None, |out| {
        out.extend_from_slice(&196_608u32.to_be_bytes());
        for (name, value) in parameters {
            text(out, name);
            text(out, value);
        }
        out.push(0);
    });
}

pub(crate) fn query(out: &mut Vec<u8>, sql: &str) {
    message(out, Some(b'Q'), |out| text(out, sql));
}

pub(crate) fn sync(out: &mut Vec<u8>) {
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

pub(crate) fn parse(out: &mut Vec<u8>, number: u8, sql: &str, takes: &[Kind]) {
    message(out, Some(b'P'), |out| {
        name(out, number);
        text(out, sql);
        out.extend_from_slice(&(takes.len() as u16).to_be_bytes());
        for kind in takes {
            out.extend_from_slice(&oid(*kind).to_be_bytes());
        }
    });
}

/// A number that the server gave, or one counted on from it, has no room in the column where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

/// Bind and Execute, all values and columns binary.
pub(crate) fn call(out: &mut Vec<u8>, statement: &Statement, values: &[Value], batch: &Batch) -> Result<(), NoRoom> {
    assert!(
        values.len() == statement.takes.len(),
        "{:?} takes {} values",
        statement.query,
        statement.takes.len()
    );
    let mut fits = true;
    message(out, Some(b'B'), |out| {
        out.push(0);
        name(out, statement.query as u8);
        out.extend_from_slice(&[0, 1, 0, 1]);
        out.extend_from_slice(&(values.len() as u16).to_be_bytes());
        for (value, kind) in values.iter().zip(statement.takes) {
            fits &= bind(out, *value, *kind, batch);
        }
        out.extend_from_slice(&[0, 1, 0, 1]);
    });
    out.extend_from_slice(EXECUTE);
    if fits { Ok(()) } else { Err(NoRoom) }
}

/// Bind and Execute of a statement that takes numbers of eight bytes.
pub(crate) fn call_numbers(out: &mut Vec<u8>, number: u8, values: &[i64]) {
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
pub(crate) fn call_mixed(out: &mut Vec<u8>, number: u8, numbers: &[i64], texts: &[&str]) {
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

/// Gives whether there was room for the value.
fn bind(out: &mut Vec<u8>, value: Value, kind: Kind, batch: &Batch) -> bool {
    match (value, kind) {
        (Value::Int(value), Kind::Int4) => {
            out.extend_from_slice(&4u32.to_be_bytes());
            let Ok(value) = i32::try_from(value) else { return false };
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
    true
}

/// Bind and Execute of a statement without values.
pub(crate) fn control(out: &mut Vec<u8>, number: u8) {
    message(out, Some(b'B'), |out| {
        out.push(0);
        name(out, number);
        out.extend_from_slice(&[0; 6]);
    });
    out.extend_from_slice(EXECUTE);
}
