//! Rows: made in a process of their own, read line by line.
//!
//! The generator keeps 300 MB of text, which is no part of what a database may use: it works in a child of this
//! program ([`write_rows`] is what the child does) and hands rows through a pipe. [`Source`] starts one, [`Rows`] reads
//! it. On the pipe each row is a line with tabs between its cells, as COPY has it, and `\.` ends a table; tables come
//! in the order of [`Table::ALL`]. Prevents: half a table taken for a whole one because the generator died.

use super::checksum::Checksums;
use super::scale::Scale;
use super::schema::Table;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use thiserror::Error;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

/// The line that ends a table.
const END: &str = "\\.";
/// Bytes that a row may have.
const ROW_BYTES_MAX: u64 = 4096;
/// Bytes read and written at once.
const PIECE_BYTES: usize = 256 << 10;

/// Sets of new orders for refresh functions.
pub const REFRESH_SETS: u32 = 1000;

/// The key under which an order comes a second time: orders have the first eight of each 32 keys.
fn spare_key(key: i64) -> i64 {
    (key & !31) | ((key & 7) + 8)
}

/// What brings rows.
pub trait Source: Sync {
    /// Starts to make the rows of all tables at this scale; the reader ends the generator when it is dropped.
    ///
    /// # Errors
    /// It does not start.
    fn begin(&self, scale: Scale) -> io::Result<Box<dyn Read + Send>>;

    /// Starts to make the new orders of a set of refresh functions, and then their lines, as [`write_refresh`] does.
    ///
    /// # Errors
    /// It does not start.
    fn begin_refresh(&self, scale: Scale, set: u32) -> io::Result<Box<dyn Read + Send>>;
}

/// What went wrong with rows on their way.
#[derive(Debug, Error)]
pub enum RowsError {
    /// The generator did not start, or the pipe broke.
    #[error("the generator of rows: {0}\n  is there memory for it (400 MB beside the budget)?")]
    Io(#[from] io::Error),
    /// It ended before the last row.
    #[error(
        "the generator of rows ended in table {table} after {rows} rows\n  is there memory for it \
         (400 MB beside the budget)?"
    )]
    Ended {
        /// In which table.
        table: &'static str,
        /// After so many rows.
        rows: u64,
    },
    /// It wrote what is no row.
    #[error("the generator of rows wrote {row:?} for table {table}\n  this is a mistake of Assay: please report it")]
    Row {
        /// For which table.
        table: &'static str,
        /// What it wrote.
        row: String,
    },
}

/// Rows on their way.
pub struct Rows {
    from: BufReader<Box<dyn Read + Send>>,
    line: String,
}

impl Rows {
    /// Rows of all tables.
    ///
    /// # Errors
    /// The generator does not start.
    pub fn of(source: &dyn Source, scale: Scale) -> Result<Rows, RowsError> {
        Ok(Rows::on(source.begin(scale)?))
    }

    pub(super) fn on(from: Box<dyn Read + Send>) -> Rows {
        Rows {
            from: BufReader::with_capacity(PIECE_BYTES, from),
            line: String::new(),
        }
    }

    /// The next row of a table, counted; `None` at its end. Without the end of its line.
    ///
    /// # Errors
    /// The generator has died, or wrote something else.
    pub fn next(&mut self, table: Table, sums: &mut Checksums) -> Result<Option<&str>, RowsError> {
        self.line.clear();
        let got = self.from.by_ref().take(ROW_BYTES_MAX).read_line(&mut self.line)?;
        let (name, rows) = (table.name(), sums.rows());
        if got == 0 {
            return Err(RowsError::Ended { table: name, rows });
        }
        let row = self.line.strip_suffix('\n');
        let counted = match row {
            Some(END) => return Ok(None),
            Some(row) => sums.add(row),
            None => None,
        };
        match (row, counted) {
            (Some(row), Some(())) => Ok(Some(row)),
            _ => Err(RowsError::Row {
                table: name,
                row: self.line.chars().take(100).collect(),
            }),
        }
    }
}

/// Writes the rows of all tables.
///
/// # Errors
/// Nobody reads them any more.
pub fn write_rows(scale: Scale, out: &mut dyn Write) -> io::Result<()> {
    let mut out = io::BufWriter::with_capacity(PIECE_BYTES, out);
    let factor = scale.factor();
    macro_rules! rows {
        ($generator:ident) => {
            for row in $generator::new(factor, 1, 1).iter() {
                write_row(&mut out, format_args!("{row}"))?;
            }
        };
    }
    for table in Table::ALL {
        match table {
            Table::Region => rows!(RegionGenerator),
            Table::Nation => rows!(NationGenerator),
            Table::Supplier => rows!(SupplierGenerator),
            Table::Customer => rows!(CustomerGenerator),
            Table::Part => rows!(PartGenerator),
            Table::PartSupp => rows!(PartSuppGenerator),
            Table::Orders => rows!(OrderGenerator),
            Table::LineItem => rows!(LineItemGenerator),
        }
        writeln!(out, "{END}")?;
    }
    out.flush()
}

/// Writes the orders of a set of refresh functions under keys that no order has, then their lines.
///
/// # Errors
/// Nobody reads them any more.
///
/// # Panics
/// There is no such set.
pub fn write_refresh(scale: Scale, set: u32, out: &mut dyn Write) -> io::Result<()> {
    assert!(set < REFRESH_SETS, "set {set} of {REFRESH_SETS}");
    let mut out = io::BufWriter::with_capacity(PIECE_BYTES, out);
    // The generator counts its parts from 1.
    let (factor, part, parts) = (scale.factor(), set as i32 + 1, REFRESH_SETS as i32);
    for mut row in OrderGenerator::new(factor, part, parts).iter() {
        row.o_orderkey = spare_key(row.o_orderkey);
        write_row(&mut out, format_args!("{row}"))?;
    }
    writeln!(out, "{END}")?;
    for mut row in LineItemGenerator::new(factor, part, parts).iter() {
        row.l_orderkey = spare_key(row.l_orderkey);
        write_row(&mut out, format_args!("{row}"))?;
    }
    writeln!(out, "{END}")?;
    out.flush()
}

/// The generator writes `cell|cell|`; nothing in a cell is a bar, a tab or a backslash.
fn write_row(out: &mut impl Write, row: std::fmt::Arguments<'_>) -> io::Result<()> {
    let mut line = String::with_capacity(256);
    line.write_fmt(row).map_err(io::Error::other)?;
    let mut bytes = line.into_bytes();
    for byte in &mut bytes {
        if *byte == b'|' {
            *byte = b'\t';
        }
    }
    if let Some(last) = bytes.last_mut() {
        *last = b'\n';
    }
    out.write_all(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The generator's words, cut off after so many bytes.
    struct Said(usize);

    impl Source for Said {
        fn begin(&self, scale: Scale) -> io::Result<Box<dyn Read + Send>> {
            let mut all = Vec::new();
            write_rows(scale, &mut all)?;
            all.truncate(self.0);
            Ok(Box::new(io::Cursor::new(all)))
        }

        fn begin_refresh(&self, scale: Scale, set: u32) -> io::Result<Box<dyn Read + Send>> {
            unreachable!("no set {set} of scale {scale:?} is asked for")
        }
    }

    fn count(source: &Said) -> Result<Vec<u64>, RowsError> {
        let mut rows = Rows::of(source, Scale::new(0.01).expect("a scale"))?;
        let mut all = Vec::new();
        for table in Table::ALL {
            let mut sums = Checksums::new(table);
            while rows.next(table, &mut sums)?.is_some() {}
            all.push(sums.rows());
        }
        Ok(all)
    }

    #[test]
    fn new_keys_are_free_and_unlike_each_other() {
        // Orders have the keys 1 to 7, 32 to 39, and so on.
        let keys: Vec<i64> = (1..=64).filter(|key| key & 31 < 8).collect();
        let spare: Vec<i64> = keys.iter().map(|key| spare_key(*key)).collect();
        assert!(
            spare
                .iter()
                .all(|key| !keys.contains(key) && (8..16).contains(&(key & 31)))
        );
        assert_eq!(
            spare.iter().collect::<std::collections::BTreeSet<_>>().len(),
            keys.len()
        );
    }

    #[test]
    fn tables_have_their_rows_and_a_generator_that_dies_is_seen() {
        // Rows at scale 0.01; lines of orders as the published generator has them.
        assert_eq!(
            count(&Said(usize::MAX)).unwrap(),
            [5, 25, 100, 1500, 2000, 8000, 15_000, 60_175]
        );
        let cut = count(&Said(300_000)).unwrap_err();
        assert!(matches!(cut, RowsError::Ended { .. } | RowsError::Row { .. }), "{cut}");
        let none = count(&Said(0)).unwrap_err();
        assert!(
            matches!(
                none,
                RowsError::Ended {
                    table: "region",
                    rows: 0
                }
            ),
            "{none}"
        );
    }
}
