//! Transactions of numbered sessions that were acknowledged before a power cut, and their rows that are there after it.
//!
//! A transaction puts one row into each of two tables, with its session, its number in the session and text made from
//! both. Takes rows as they are found; gives what is missing. Prevents: half a transaction, or a row with other
//! bytes, taken for a whole one.

use crate::cuts::acknowledged::Found;
use std::collections::BTreeMap;

/// The two tables of a transaction.
pub(crate) const TABLES: [&str; 2] = ["assay_kept_a", "assay_kept_b"];
/// Both rows are there.
const WHOLE: u8 = 0b11;
/// Bytes of a row's text.
const BODY_BYTES: usize = 300;

/// What makes one of the tables.
pub(crate) fn table(name: &str) -> String {
    format!(
        "CREATE TABLE {name} (session INTEGER NOT NULL, number BIGINT NOT NULL, body TEXT NOT NULL, \
         PRIMARY KEY (session, number))"
    )
}

/// The row of a transaction in one of the tables.
pub(crate) fn insert(table: &str, session: u32, number: u64) -> String {
    let body = body(session, number);
    format!("INSERT INTO {table} VALUES ({session}, {number}, '{body}')")
}

/// All rows of one of the tables.
pub(crate) fn select(table: &str) -> String {
    format!("SELECT session, number, body FROM {table}")
}

/// The same in the order of its key, so that a database can read them by its index.
pub(crate) fn select_by_key(table: &str) -> String {
    format!("{} ORDER BY session, number", select(table))
}

/// The text of a transaction's rows.
pub(crate) fn body(session: u32, number: u64) -> String {
    format!("{session}.{number}-")
        .chars()
        .cycle()
        .take(BODY_BYTES)
        .collect()
}

/// Numbers of transactions of each session: the first of this cut's work, and the last that was acknowledged.
pub(crate) type Acknowledged = Vec<(u64, u64)>;

/// Rows that are there, by session and number: one bit for each table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    rows: Vec<BTreeMap<u64, u8>>,
    /// Rows with another text than theirs.
    wrong: Vec<String>,
}

impl Kept {
    pub(crate) fn of(sessions: u32) -> Kept {
        Kept {
            rows: vec![BTreeMap::new(); sessions as usize],
            wrong: Vec::new(),
        }
    }

    /// A row of table number `table` was found.
    pub(crate) fn take(&mut self, table: usize, session: u32, number: u64, found: &str) {
        match self.rows.get_mut(session as usize) {
            Some(rows) if found == body(session, number) => {
                let parts = rows.entry(number).or_default();
                if *parts & 1 << table != 0 {
                    let twice = format!("row {number} of session {session} is there twice");
                    self.wrong.push(twice);
                }
                *parts |= 1 << table;
            }
            _ => self.wrong.push(format!(
                "row {number} of session {session} has another text than was written"
            )),
        }
    }

    /// Holds the rows against those that an index finds: it must find all of them, and no others.
    pub(crate) fn same_by_index(&mut self, found: &Kept) {
        for (session, (rows, by_index)) in self.rows.iter().zip(&found.rows).enumerate() {
            let numbers = rows
                .keys()
                .chain(by_index.keys().filter(|number| !rows.contains_key(number)));
            let differ = numbers.filter(|number| rows.get(number) != by_index.get(number));
            let words = |number: &u64| format!("the index and the table differ in row {number} of session {session}");
            self.wrong.extend(differ.map(words));
        }
        // Twice in the index alone, say.
        let only_there = found.wrong.iter().filter(|wrong| !self.wrong.contains(wrong));
        let only_there: Vec<String> = only_there.map(|wrong| format!("by its index: {wrong}")).collect();
        self.wrong.extend(only_there);
    }

    /// The first number that is free in each session.
    pub(crate) fn next(&self, last: &Acknowledged) -> Vec<u64> {
        let after = |(nth, rows): (usize, &BTreeMap<u64, u8>)| {
            let there = rows.keys().next_back().copied().unwrap_or(0);
            there.max(last.get(nth).map_or(0, |(_, last)| *last)) + 1
        };
        self.rows.iter().enumerate().map(after).collect()
    }

    fn parts(&self, session: usize, number: u64) -> u8 {
        let rows = self.rows.get(session);
        rows.and_then(|rows| rows.get(&number)).copied().unwrap_or(0)
    }

    /// Holds what is there now against what was acknowledged since, and against what was there `before`: of all
    /// sessions, also those that did nothing since.
    pub(crate) fn against(&self, acknowledged: &Acknowledged, before: &Kept) -> Found {
        let mut found = Found::default();
        for (session, (first, last)) in acknowledged.iter().enumerate() {
            for number in *first..=*last {
                found.acknowledged += 1;
                if self.parts(session, number) != WHOLE {
                    found.lost += 1;
                    found.example(|| format!("transaction {number} of session {session}, acknowledged, is not whole"));
                }
            }
        }
        let idle = before.next(&Vec::new());
        for (session, rows) in self.rows.iter().enumerate() {
            let first = acknowledged.get(session).map(|(first, _)| *first);
            let first = first.or(idle.get(session).copied()).unwrap_or(0);
            for (number, _) in rows.range(first..).filter(|(_, parts)| **parts != WHOLE) {
                found.half += 1;
                found.example(|| format!("transaction {number} of session {session} has only one row of two"));
            }
        }
        for (session, rows) in before.rows.iter().enumerate() {
            for (number, _) in rows.iter().filter(|(_, was)| **was == WHOLE) {
                if self.parts(session, *number) != WHOLE {
                    found.older += 1;
                    found.example(|| format!("transaction {number} of session {session} was there after the last cut"));
                }
            }
        }
        found.lost += self.wrong.len() as u64;
        for wrong in &self.wrong {
            found.example(|| wrong.clone());
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_twice_and_one_that_the_index_does_not_find_are_wrong() {
        let nothing_before = Kept::of(1);
        let lost = |kept: &Kept| kept.against(&vec![(1, 2)], &nothing_before);
        let whole = || kept(&[(0, 0, 1), (1, 0, 1), (0, 0, 2), (1, 0, 2)]);
        let mut same = whole();
        same.same_by_index(&whole());
        assert_eq!(lost(&same).lost, 0);
        let mut twice = whole();
        twice.take(1, 0, 2, &body(0, 2));
        let found = lost(&twice);
        assert!(
            found.lost == 1 && found.examples[0].contains("is there twice"),
            "{found:?}"
        );
        let mut unfound = whole();
        unfound.same_by_index(&kept(&[(0, 0, 1), (1, 0, 1), (0, 0, 2)]));
        let found = lost(&unfound);
        assert!(
            found.lost == 1 && found.examples[0].contains("the index and the table"),
            "{found:?}"
        );
        let mut dangling = whole();
        dangling.same_by_index(&kept(&[(0, 0, 1), (1, 0, 1), (0, 0, 2), (1, 0, 2), (0, 0, 3)]));
        assert_eq!(lost(&dangling).lost, 1);
        let mut pointed_at_twice = whole();
        pointed_at_twice.same_by_index(&twice);
        let found = lost(&pointed_at_twice);
        assert!(
            found.lost == 1 && found.examples[0].contains("by its index"),
            "{found:?}"
        );
        let mut both = twice.clone();
        both.same_by_index(&twice);
        assert_eq!(lost(&both).lost, 1, "it is counted once");
    }

    fn kept(rows: &[(usize, u32, u64)]) -> Kept {
        let mut kept = Kept::of(2);
        for (table, session, number) in rows {
            kept.take(*table, *session, *number, &body(*session, *number));
        }
        kept
    }

    #[test]
    fn what_is_missing_half_there_or_gone_again_is_found() {
        let before = kept(&[(0, 0, 1), (1, 0, 1)]);
        let acknowledged = vec![(2, 3), (1, 0)];
        let all = [(0, 0, 1), (1, 0, 1), (0, 0, 2), (1, 0, 2), (0, 0, 3), (1, 0, 3)];
        let whole = kept(&all).against(&acknowledged, &before);
        assert!(!whole.is_loss() && whole.acknowledged == 2, "{whole:?}");
        let lost = kept(&all[..4]).against(&acknowledged, &before);
        assert_eq!((lost.lost, lost.half, lost.older), (1, 0, 0));
        let half = kept(&[&all[..], &[(0, 1, 1)]].concat()).against(&acknowledged, &before);
        assert_eq!((half.lost, half.half, half.older), (0, 1, 0));
        let older = kept(&all[2..]).against(&acknowledged, &before);
        assert_eq!((older.lost, older.half, older.older), (0, 0, 1));
        // A session of an earlier phase, which this one does not use.
        let idle = [(0, 0, 1), (1, 0, 1), (0, 1, 7), (1, 1, 7)];
        let still = kept(&[&all[..], &idle[2..]].concat());
        let only = vec![(2, 3)];
        assert!(!still.against(&only, &kept(&idle)).is_loss());
        let vanished = kept(&all).against(&only, &kept(&idle));
        assert_eq!((vanished.lost, vanished.half, vanished.older), (0, 0, 1));
        assert!(
            vanished.examples[0].contains("transaction 7 of session 1"),
            "{vanished:?}"
        );
        let torn = kept(&[&all[..], &idle[2..], &[(1, 1, 8)]].concat()).against(&only, &kept(&idle));
        assert_eq!((torn.lost, torn.half, torn.older), (0, 1, 0));
        let mut wrong = kept(&all);
        wrong.take(0, 1, 1, "x");
        assert!(wrong.against(&acknowledged, &before).is_loss());
        assert_eq!(kept(&all).next(&vec![(1, 9), (1, 0)]), [10, 1]);
    }
}
