//! A question: its number, whose SQL it is written in, and what its answer's columns hold.
//!
//! Prevents: a number that is no question.

/// What a column of an answer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gives {
    /// Text or a day.
    Text,
    /// A whole number.
    Whole,
    /// An exact decimal number with so many places; SQLite gives it as a whole number of the smallest, or as digits
    /// where that outgrows 64 bits.
    Exact(u8),
    /// A quotient: compared to six places.
    Ratio,
}

/// Whose SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// PostgreSQL: decimals, days.
    Postgres,
    /// SQLite: whole hundredths, days as text.
    Sqlite,
}

/// How questions 2, 13, 17, 20 and 22 are written; the others have one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// Large groups, joined: they spill by design.
    Grouped,
    /// A subquery for each row, as published: without indexes it takes minutes.
    Nested,
}

/// The class of all questions as work: which one it was stands with each answer.
pub const CLASS: &str = "question";

/// One of the 22.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Question(u8);

impl Question {
    /// The question of this number, 1 to 22.
    pub fn new(number: u8) -> Option<Question> {
        (1..=22).contains(&number).then_some(Question(number))
    }

    /// All 22, ascending.
    pub fn all() -> Vec<Question> {
        (1..=22).map(Question).collect()
    }

    /// Its number, 1 to 22.
    pub fn number(self) -> u8 {
        self.0
    }

    /// Its place in a table of all.
    pub(crate) fn place(self) -> usize {
        usize::from(self.0) - 1
    }
}
