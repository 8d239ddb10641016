//! Bulk load: rows in decades, commits every hundred, the growth of table and indexes.
//!
//! One table whose growth can be foretold, with a primary key of two columns and a unique key of two others, filled row
//! by row in ascending order, as the comparison of a disk group with file systems did that found 10 to 14 % between
//! them. Each row count begins with an empty database and ends when everything is home. [`BulkLoad`] is an
//! [`Operation`]: one commit, of [`ROWS_PER_COMMIT`] rows unless said otherwise, is one operation. Takes a
//! [`BulkDatabase`], which each database brings. Prevents: a load that ends in a cache, and a time that leaves out the
//! growth of the files.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use targets::Nanos;
use workloads::{Arrival, Done, Operation, Outcome, Pacing, Started, Stop, drive};

/// Rows in a commit, unless said otherwise.
pub const ROWS_PER_COMMIT: u64 = 100;
/// The smallest row count of a series.
pub const ROWS_FIRST: u64 = 10_000;
/// Bytes of the padded column.
pub const PADDED_BYTES: usize = 100;
/// Bytes of the column of varying length, in every row.
pub const VARYING_BYTES: usize = 73;
/// Looks at the size of the files in one load, at most: after every commit, or every thousandth of the rows where those
/// are fewer. A look costs system calls, or a question to the server, and each can become a row of the result.
pub const LOOKS_MAX: u64 = 1000;
/// Name of the table.
pub const TABLE: &str = "bulk";
/// The table. Both keys are said in it, so that they are there while rows come.
pub const CREATE_SQL: &str = "CREATE TABLE bulk (c1 BIGINT NOT NULL, c2 BIGINT NOT NULL, c3 BIGINT NOT NULL, \
     c4 BIGINT NOT NULL, c5 BIGINT NOT NULL, c6 CHAR(100) NOT NULL, c7 VARCHAR(1000) NOT NULL, \
     CONSTRAINT bulk_pk PRIMARY KEY (c1, c2), CONSTRAINT bulk_uk UNIQUE (c3, c4))";
/// One row: `$1` four times, the time in microseconds since 1970, the two texts.
pub const INSERT_SQL: &str = "INSERT INTO bulk (c1, c2, c3, c4, c5, c6, c7) VALUES ($1, $1, $1, $1, $2, $3, $4)";

/// Name of the one class of operation.
pub const CLASS: &str = "commit";

const SIGNS: &[u8] = b"Assay writes this row to learn how quickly the storage below takes it. ";

/// The text of a column of `bytes` bytes, the same in every row, as in the comparison.
pub fn text(bytes: usize) -> String {
    SIGNS.iter().cycle().take(bytes).map(|byte| char::from(*byte)).collect()
}

/// The row counts of a series: decades from 10,000 to `rows_max`, which is the last even where it is no decade.
pub fn row_counts(rows_max: u64) -> Vec<u64> {
    let decades = std::iter::successors(Some(ROWS_FIRST), |rows| rows.checked_mul(10));
    let mut counts: Vec<u64> = decades.take_while(|rows| *rows < rows_max).collect();
    counts.push(rows_max);
    counts
}

/// Space that the table and its indexes take.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Space {
    /// Bytes of the table.
    pub table_bytes: u64,
    /// Bytes of the index of the primary key.
    pub primary_key_bytes: u64,
    /// Bytes of the index of the unique key.
    pub unique_key_bytes: u64,
    /// Bytes of everything else: catalogue, free pages.
    pub other_bytes: u64,
}

/// What a database brings to be loaded. Calls block.
pub trait BulkDatabase {
    /// What stops the load.
    type Error;
    /// The clock of all stamps.
    fn now(&self) -> Nanos;
    /// Makes the empty table, by [`CREATE_SQL`].
    ///
    /// # Errors
    /// The database's own; so with the others.
    fn create(&mut self) -> Result<(), Self::Error>;
    /// Inserts rows `from..to` with [`INSERT_SQL`], one statement a row, in one transaction; durable on return.
    ///
    /// # Errors
    /// No room, above all.
    fn insert_and_commit(&mut self, from: u64, to: u64) -> Result<(), Self::Error>;
    /// Brings everything home: a checkpoint.
    ///
    /// # Errors
    /// As above.
    fn settle(&mut self) -> Result<(), Self::Error>;
    /// Bytes of all files of the database, logs among them, now.
    ///
    /// # Errors
    /// As above.
    fn file_bytes(&mut self) -> Result<u64, Self::Error>;
    /// Space by table and index. May read everything: it is asked when nothing is measured.
    ///
    /// # Errors
    /// As above.
    fn space(&mut self) -> Result<Space, Self::Error>;
}

/// A look at the files found them of this size, and not of the size that the look before had found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Growth {
    /// Rows committed.
    pub rows: u64,
    /// Time since the load began, ns.
    pub at_ns: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

/// A load under way: an operation commits the next rows.
pub struct BulkLoad<D> {
    database: D,
    rows: u64,
    next: u64,
    per_commit: u64,
    /// Rows after which the files are looked at next.
    look_at: u64,
    began: Nanos,
    growth: Vec<Growth>,
    cancel: Option<Arc<AtomicBool>>,
}

/// One row count of a series.
#[derive(Clone, PartialEq, Debug)]
pub struct BulkResult {
    /// Rows loaded.
    pub rows: u64,
    /// From the first insert until everything is home, ns.
    pub elapsed_ns: u64,
    /// Of it, the bringing home after the last commit, ns.
    pub settle_ns: u64,
    /// The commits: their class is [`CLASS`], their units are rows.
    pub outcome: Outcome,
    /// The files as they grew, as far as [`LOOKS_MAX`] looks tell; the last entry is the end, when everything is home.
    pub growth: Vec<Growth>,
}

impl BulkResult {
    /// Rows a second over the whole time.
    pub fn rows_per_s(&self) -> f64 {
        self.rows as f64 / Duration::from_nanos(self.elapsed_ns.max(1)).as_secs_f64()
    }
}

impl<D: BulkDatabase> BulkLoad<D> {
    /// A load of `rows` rows into an empty database.
    ///
    /// # Errors
    /// Of making the table.
    pub fn new(mut database: D, rows: u64) -> Result<BulkLoad<D>, D::Error> {
        database.create()?;
        Ok(BulkLoad {
            began: database.now(),
            database,
            rows,
            next: 0,
            per_commit: ROWS_PER_COMMIT,
            look_at: 0,
            growth: Vec::with_capacity(LOOKS_MAX as usize + 1),
            cancel: None,
        })
    }

    /// With so many rows in a commit, at least one.
    #[must_use]
    pub fn committing_every(mut self, rows: u64) -> BulkLoad<D> {
        self.per_commit = rows.max(1);
        self
    }

    /// Ends after the commit under way once the flag is set.
    #[must_use]
    pub fn cancelled_by(mut self, flag: Arc<AtomicBool>) -> BulkLoad<D> {
        self.cancel = Some(flag);
        self
    }

    /// The database.
    pub fn into_database(self) -> D {
        self.database
    }

    fn note_growth(&mut self) -> Result<(), D::Error> {
        let bytes = self.database.file_bytes()?;
        if self.growth.last().is_none_or(|last| last.bytes != bytes) {
            self.growth.push(Growth {
                rows: self.next,
                at_ns: self.database.now() - self.began,
                bytes,
            });
        }
        Ok(())
    }

    /// Loads all rows and brings them home. A load that was cancelled ends at once: what it has is not home, and its
    /// outcome says so.
    ///
    /// # Errors
    /// The database's own.
    pub fn run(&mut self, slice_ns: u64) -> Result<BulkResult, D::Error> {
        let pacing = Pacing {
            sessions: 1,
            arrival: Arrival::Closed { think: None },
            stop: Stop::default(),
            slice_ns,
            cancel: self.cancel.clone(),
        };
        self.began = self.database.now();
        let outcome = drive(self, &pacing, 0)?;
        let committed = self.database.now();
        let mut home = committed;
        if !outcome.cancelled {
            self.database.settle()?;
            home = self.database.now();
            self.note_growth()?;
        }
        Ok(BulkResult {
            rows: self.next,
            elapsed_ns: home - self.began,
            settle_ns: home - committed,
            outcome,
            growth: std::mem::take(&mut self.growth),
        })
    }
}

impl<D: BulkDatabase> Operation for BulkLoad<D> {
    type Error = D::Error;

    fn now(&self) -> Nanos {
        self.database.now()
    }

    fn classes(&self) -> &[&'static str] {
        &[CLASS]
    }

    fn start(&mut self, session: u32, done: &mut Vec<Done>) -> Result<Started, D::Error> {
        if self.next >= self.rows {
            return Ok(Started::Exhausted);
        }
        let to = (self.next + self.per_commit).min(self.rows);
        self.database.insert_and_commit(self.next, to)?;
        let at = self.database.now();
        done.push(Done {
            session,
            class: 0,
            at,
            units: to - self.next,
        });
        self.next = to;
        if self.next >= self.look_at {
            self.note_growth()?;
            self.look_at = self.next + self.rows.div_ceil(LOOKS_MAX);
        }
        Ok(Started::Running)
    }

    /// Nothing is ever under way: `start` blocks.
    fn advance(&mut self, _until: Option<Nanos>, _done: &mut Vec<Done>) -> Result<(), D::Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every commit makes its files longer; bringing home makes them shorter.
    struct Growing {
        bytes: u64,
        looks: u64,
    }

    impl BulkDatabase for Growing {
        type Error = std::convert::Infallible;
        fn now(&self) -> Nanos {
            targets::monotonic_ns()
        }
        fn create(&mut self) -> Result<(), Self::Error> {
            Ok(())
        }
        fn insert_and_commit(&mut self, from: u64, to: u64) -> Result<(), Self::Error> {
            self.bytes += (to - from) * 200;
            Ok(())
        }
        fn settle(&mut self) -> Result<(), Self::Error> {
            self.bytes -= 5;
            Ok(())
        }
        fn file_bytes(&mut self) -> Result<u64, Self::Error> {
            self.looks += 1;
            Ok(self.bytes)
        }
        fn space(&mut self) -> Result<Space, Self::Error> {
            Ok(Space::default())
        }
    }

    fn grown(rows: u64) -> (Vec<Growth>, u64) {
        let mut load = BulkLoad::new(Growing { bytes: 0, looks: 0 }, rows).unwrap();
        let growth = load.run(0).unwrap().growth;
        (growth, load.into_database().looks)
    }

    #[test]
    fn files_are_looked_at_after_every_commit_but_no_more_than_a_thousand_times() {
        let (growth, looks) = grown(10_000);
        assert_eq!((growth.len(), looks), (101, 101), "a hundred commits and the end");
        for rows in [100_000, 1_000_000, 1_234_567, 10_000_000] {
            let (growth, looks) = grown(rows);
            assert!((900..=LOOKS_MAX + 1).contains(&looks), "{looks} of {rows} rows");
            assert_eq!(growth.len() as u64, looks);
            let apart = growth.windows(2).map(|two| two[1].rows - two[0].rows);
            assert!(apart.max().unwrap() <= rows / 1000 + 200, "evenly spread");
            let last = growth.last().unwrap();
            assert_eq!((last.rows, last.bytes), (rows, rows * 200 - 5), "the end is kept");
        }
    }

    #[test]
    fn a_load_that_is_cancelled_ends_and_says_so() {
        let flag = Arc::new(AtomicBool::new(true));
        let mut load = BulkLoad::new(Growing { bytes: 9, looks: 0 }, 10_000)
            .unwrap()
            .cancelled_by(flag);
        let result = load.run(0).unwrap();
        assert!(result.outcome.cancelled && result.rows < 10_000, "{} rows", result.rows);
        assert_eq!(result.settle_ns, 0);
    }

    #[test]
    fn a_series_is_in_decades_and_ends_where_it_is_told() {
        assert_eq!(row_counts(1_000_000), [10_000, 100_000, 1_000_000]);
        assert_eq!(row_counts(10_000), [10_000]);
        assert_eq!(row_counts(250_000), [10_000, 100_000, 250_000]);
        assert_eq!(row_counts(500), [500]);
    }

    #[test]
    fn texts_have_their_bytes() {
        assert_eq!(text(PADDED_BYTES).len(), PADDED_BYTES);
        assert!(INSERT_SQL.contains(TABLE) && CREATE_SQL.contains(TABLE));
    }
}
