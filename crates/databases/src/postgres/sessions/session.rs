//! One user's session: his socket, his transaction, and what is on its way.

use crate::order_entry::{Batch, End, Query, Terminal, Transaction};
use crate::postgres::login::stream::Stream;
use crate::postgres::wire::requests::{self, NoRoom};

/// How strictly transactions are kept apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Isolation {
    /// PostgreSQL's default; the transactions lock what they are about to change.
    #[default]
    ReadCommitted,
    /// One picture for a transaction.
    RepeatableRead,
    /// As if one ran after the other.
    Serializable,
}

impl Isolation {
    /// As the server calls it.
    pub fn name(self) -> &'static str {
        match self {
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        }
    }
}

/// What sessions did beside what is timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCounts {
    /// Tries that the server refused because they could not be serialised (SQLSTATE 40001).
    pub serialisation_failures: u64,
    /// Tries that the server refused to end a deadlock (40P01).
    pub deadlocks: u64,
    /// Of each class of transaction, tries refused because they could not be serialised, and to end a deadlock.
    pub refused: [[u64; 2]; 5],
    /// New orders rolled back for their user's mistake.
    pub rolled_back: u64,
    /// Batches sent, each answered once.
    pub round_trips: u64,
    /// Statements of transactions in them, without `BEGIN`, `COMMIT` and `ROLLBACK`.
    pub statements: u64,
}

impl SessionCounts {
    /// Adds another worker's.
    pub fn add(&mut self, other: &Self) {
        self.serialisation_failures += other.serialisation_failures;
        self.deadlocks += other.deadlocks;
        for (mine, theirs) in self.refused.iter_mut().flatten().zip(other.refused.iter().flatten()) {
            *mine += theirs;
        }
        self.rolled_back += other.rolled_back;
        self.round_trips += other.round_trips;
        self.statements += other.statements;
    }
}

/// Numbers of the prepared statements without values; they follow those of the transactions.
pub(crate) const BEGIN: u8 = Query::COUNT as u8;
pub(crate) const COMMIT: u8 = BEGIN + 1;
pub(crate) const ROLLBACK: u8 = BEGIN + 2;

/// What an answer has to have, in order.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    /// `ROLLBACK` and `BEGIN` before the calls.
    pub(crate) before: u8,
    pub(crate) calls: Vec<Query>,
    /// `COMMIT` or `ROLLBACK` after them.
    pub(crate) end: Option<End>,
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) stream: Stream,
    pub(crate) terminal: Terminal,
    pub(crate) transaction: Transaction,
    /// Tries of this transaction that were refused.
    pub(crate) refused: u32,
    pub(crate) expected: Expected,
    /// A batch is under way, and its answer is not whole yet.
    pub(crate) waiting: bool,
    /// The first part of an answer that did not come in one piece, and how far it was looked through.
    pub(crate) incoming: Vec<u8>,
    pub(crate) walked: usize,
    /// What the socket had no room for.
    pub(crate) outgoing: Vec<u8>,
}

impl Expected {
    /// Writes a batch as messages, and notes what is to come back for it.
    pub(crate) fn encode(&mut self, batch: &Batch, roll_back_first: bool, out: &mut Vec<u8>) -> Result<(), NoRoom> {
        self.calls.clear();
        self.before = 0;
        for (wanted, number) in [(roll_back_first, ROLLBACK), (batch.begins(), BEGIN)] {
            if wanted {
                requests::control(out, number);
                self.before += 1;
            }
        }
        for (query, values) in batch.calls() {
            requests::call(out, query.statement(), values, batch)?;
            self.calls.push(query);
        }
        self.end = batch.end();
        match self.end {
            Some(End::Commit) => requests::control(out, COMMIT),
            Some(End::Rollback) => requests::control(out, ROLLBACK),
            None => {}
        }
        requests::sync(out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_session_is_small() {
        // Beside it: a number per statement of its last batch, at most 48, and its socket in the kernel.
        assert!(size_of::<Session>() < 1024, "{} bytes", size_of::<Session>());
    }
}
