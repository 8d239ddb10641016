//! Rows into a table by COPY.
//!
//! Takes rows cell by cell ([`RowSink`]) and sends them in pieces, in COPY's text format. Prevents: a load that runs on
//! after the server has refused it (each piece first hears what the server says, and the end of each job is waited
//! for).

use crate::order_entry::RowSink;
use crate::postgres::connection::Connection;
use crate::postgres::error::{PostgresError, malformed};
use crate::postgres::wire::messages::{Malformed, Message};
use crate::postgres::wire::requests;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rows are sent when they come to this many bytes.
const PIECE_BYTES: usize = 64 << 10;

/// One COPY under way.
pub(crate) struct Copy<'a> {
    connection: &'a mut Connection,
    table: &'a str,
    cancel: &'a AtomicBool,
    row: Vec<u8>,
    first: bool,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

impl<'a> Copy<'a> {
    /// Rows end with an error once `cancel` is set; the server forgets them when the connection is dropped.
    pub(crate) fn begin(
        connection: &'a mut Connection,
        table: &'a str,
        cancel: &'a AtomicBool,
    ) -> Result<Self, PostgresError> {
        let sql = format!("COPY {table} FROM STDIN");
        requests::query(connection.out(), &sql);
        connection.send()?;
        let doubted = |found| malformed("COPY", found);
        loop {
            let came = connection.receive()?;
            let message = came.message();
            match message.tag {
                b'G' => break message.check().map_err(doubted)?,
                _ => beside(connection, message, &sql)?,
            }
        }
        Ok(Copy {
            connection,
            table,
            cancel,
            row: Vec::with_capacity(PIECE_BYTES + 4096),
            first: true,
            rows: 0,
            bytes: 0,
        })
    }

    fn gap(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.row.push(b'\t');
        }
    }

    fn flush(&mut self) -> Result<(), PostgresError> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(PostgresError::Interrupted);
        }
        // A server that has refused the rows takes the rest of them and does nothing with it.
        while let Some(came) = self.connection.said()? {
            beside(self.connection, came.message(), &format!("load of {}", self.table))?;
        }
        let row = &self.row;
        requests::message(self.connection.out(), Some(b'd'), |out| out.extend_from_slice(row));
        self.bytes += self.row.len() as u64;
        self.row.clear();
        self.connection.send()
    }

    /// A whole row, as COPY has it, without the end of its line.
    pub(crate) fn line(&mut self, row: &[u8]) -> Result<(), PostgresError> {
        self.row.extend_from_slice(row);
        self.end_row()
    }

    pub(crate) fn finish(mut self) -> Result<(u64, u64), PostgresError> {
        self.flush()?;
        requests::message(self.connection.out(), Some(b'c'), |_| {});
        self.connection.send()?;
        match self.connection.end_of_answer("COPY", b"C")? {
            Some(failure) => Err(self.connection.refused(&format!("load of {}", self.table), failure)),
            None => Ok((self.rows, self.bytes)),
        }
    }
}

/// Takes a message that may come at any time; the error for a refusal.
fn beside(connection: &mut Connection, message: Message<'_>, during: &str) -> Result<(), PostgresError> {
    let doubted = |found| malformed("COPY", found);
    match message.tag {
        b'N' | b'S' | b'A' => message.check().map_err(doubted),
        b'E' => {
            let failure = message.failure().map_err(doubted)?;
            // Up to the end of the answer, so that the connection can be used again.
            connection.end_of_answer("COPY", b"")?;
            Err(connection.refused(during, failure))
        }
        tag => Err(doubted(Malformed::Kind { tag })),
    }
}

impl RowSink for Copy<'_> {
    type Error = PostgresError;

    fn int(&mut self, value: i64) {
        self.gap();
        // No formatting machinery: half of a loader's time would go there.
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        let mut left = value.unsigned_abs();
        loop {
            at -= 1;
            digits[at] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        if value < 0 {
            self.row.push(b'-');
        }
        self.row.extend_from_slice(&digits[at..]);
    }

    fn text(&mut self, text: &[u8]) {
        self.gap();
        self.row.extend_from_slice(text);
    }

    fn null(&mut self) {
        self.gap();
        self.row.extend_from_slice(b"\\N");
    }

    fn end_row(&mut self) -> Result<(), PostgresError> {
        self.row.push(b'\n');
        self.first = true;
        self.rows += 1;
        match self.row.len() >= PIECE_BYTES {
            true => self.flush(),
            false => Ok(()),
        }
    }
}
