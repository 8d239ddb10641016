//! Is what was loaded what was generated? A row count and a sum for each column.
//!
//! Takes rows on their way into a database, and afterwards what the database has of them: PostgreSQL sums the same
//! expression itself, SQLite hands out its rows. Says which column differs. Each value counts with a weight of its
//! row's key, so that values in each other's rows are seen too. Of a text its length counts, and one letter at a place
//! that the key chooses. Prevents: answers of a database that lost a row when it was loaded.

use super::schema::{ColumnKind, Table};
use jiff::civil::Date;
use thiserror::Error;

/// Values count modulo this, so that sums stay within eight bytes at every scale.
const MODULUS: i64 = 1_000_003;
/// Weights are 1 to this.
const WEIGHTS: i64 = 251;

/// Rows and sums of a table as it was generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksums {
    table: Table,
    rows: u64,
    sums: Vec<i128>,
}

/// Rows and sums as a database has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Rows.
    pub rows: i64,
    /// A sum for each column, in order.
    pub sums: Vec<i128>,
}

/// A cell as a database hands it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept<'a> {
    /// A number; money and rates in hundredths.
    Whole(i64),
    /// Text, or a day.
    Text(&'a str),
}

/// A difference between what was generated and what a database holds.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "table {table} does not hold what was written into it: {what}\n  do not trust the storage under it: see the \
     database's log and the kernel's"
)]
pub struct Doubt {
    /// Which table.
    pub table: &'static str,
    what: String,
}

impl Doubt {
    pub(crate) fn of(table: Table, what: String) -> Doubt {
        Doubt {
            table: table.name(),
            what,
        }
    }
}

impl Checksums {
    /// Of no rows.
    pub fn new(table: Table) -> Checksums {
        Checksums {
            table,
            rows: 0,
            sums: vec![0; table.columns().len()],
        }
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Counts a row, cells between tabs, without its end. `None`: it is no row of the table.
    #[must_use]
    pub fn add(&mut self, row: &str) -> Option<()> {
        let mut cells = row.split('\t');
        let key: i64 = cells.clone().next()?.parse().ok()?;
        let weight = i128::from(1 + key % WEIGHTS);
        for (column, sum) in self.table.columns().iter().zip(&mut self.sums) {
            *sum += i128::from(value(column.kind, cells.next()?, key)?) * weight;
        }
        self.rows += 1;
        cells.next().is_none().then_some(())
    }

    /// Counts a row that a database hands out, as [`Checksums::add`] counts it. `None`: it is no row of the table.
    #[must_use]
    pub(crate) fn add_kept<'a>(&mut self, cell: impl Fn(usize) -> Option<Kept<'a>>) -> Option<()> {
        let Some(Kept::Whole(key)) = cell(0) else {
            return None;
        };
        let weight = i128::from(1 + key % WEIGHTS);
        for (nth, (column, sum)) in self.table.columns().iter().zip(&mut self.sums).enumerate() {
            *sum += i128::from(kept_value(column.kind, cell(nth)?, key)?) * weight;
        }
        self.rows += 1;
        Some(())
    }

    /// Rows and sums, as of a database that holds these rows.
    pub(crate) fn into_held(self) -> Held {
        Held {
            rows: i64::try_from(self.rows).unwrap_or(i64::MAX),
            sums: self.sums,
        }
    }

    /// What the database has instead, if it differs.
    ///
    /// # Errors
    /// [`Doubt`]: which column, or how many rows.
    pub fn compare(&self, held: &Held) -> Result<(), Doubt> {
        let doubt = |what| Doubt::of(self.table, what);
        if u64::try_from(held.rows) != Ok(self.rows) {
            let what = format!("{} rows were written, {} are there", self.rows, held.rows);
            return Err(doubt(what));
        }
        let columns = self.table.columns().iter().zip(&self.sums).zip(&held.sums);
        match columns.into_iter().find(|((_, written), there)| written != there) {
            Some(((column, written), there)) => Err(doubt(format!(
                "the checksum of column {} was {written}, is {there}",
                column.name
            ))),
            None => Ok(()),
        }
    }
}

/// What a cell counts before its weight.
fn value(kind: ColumnKind, cell: &str, key: i64) -> Option<i64> {
    match kind {
        ColumnKind::Int | ColumnKind::Big => Some(cell.parse::<i64>().ok()? % MODULUS),
        ColumnKind::Hundredths => Some(hundredths(cell)? % MODULUS),
        ColumnKind::Day | ColumnKind::Fixed(_) | ColumnKind::Varying(_) => kept_value(kind, Kept::Text(cell), key),
    }
}

/// The same of a cell that a database hands out.
fn kept_value(kind: ColumnKind, cell: Kept<'_>, key: i64) -> Option<i64> {
    match (kind, cell) {
        (ColumnKind::Int | ColumnKind::Big | ColumnKind::Hundredths, Kept::Whole(number)) => Some(number % MODULUS),
        (ColumnKind::Day, Kept::Text(cell)) => {
            let day: Date = cell.parse().ok()?;
            let days = day.since(Date::constant(1970, 1, 1)).ok()?.get_days();
            Some(days.into())
        }
        (ColumnKind::Fixed(_) | ColumnKind::Varying(_), Kept::Text(cell)) => {
            let letters = cell.as_bytes();
            let at = key.rem_euclid(letters.len().max(1) as i64);
            let letter = letters.get(at as usize).copied().unwrap_or(0);
            Some(letters.len() as i64 + 256 * i64::from(letter))
        }
        _ => None,
    }
}

/// A decimal number with two places, in hundredths.
pub(crate) fn hundredths(cell: &str) -> Option<i64> {
    let (sign, digits) = match cell.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, cell),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "00"));
    if fraction.len() != 2 || whole.is_empty() {
        return None;
    }
    let number = |text: &str| {
        text.bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| text.parse::<i64>().ok())?
    };
    Some(sign * (number(whole)?.checked_mul(100)? + number(fraction)?))
}

/// Asks PostgreSQL for the same: the count first, then a sum for each column.
pub(crate) fn sql(table: Table) -> String {
    let key = table.columns()[0].name;
    let sum = |kind: ColumnKind, name: &str| {
        let whole = match kind {
            ColumnKind::Int | ColumnKind::Big => format!("{name} % {MODULUS}"),
            ColumnKind::Hundredths => format!("CAST({name} * 100 AS bigint) % {MODULUS}"),
            ColumnKind::Day => format!("({name} - DATE '1970-01-01')"),
            ColumnKind::Fixed(_) | ColumnKind::Varying(_) => {
                format!(
                    "(length({name}) + 256 * ascii(substr({name}, CAST(1 + {key} % greatest(length({name}), 1) AS \
                     integer), 1)))"
                )
            }
        };
        format!("SUM(CAST({whole} AS bigint) * (1 + {key} % {WEIGHTS}))")
    };
    let sums: Vec<String> = table
        .columns()
        .iter()
        .map(|column| sum(column.kind, column.name))
        .collect();
    format!("SELECT COUNT(*), {} FROM {}", sums.join(", "), table.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(rows: &[&str]) -> Checksums {
        let mut sums = Checksums::new(Table::Region);
        for row in rows {
            sums.add(row).unwrap();
        }
        sums
    }

    fn held(sums: &Checksums) -> Held {
        sums.clone().into_held()
    }

    #[test]
    fn a_row_that_is_handed_out_counts_as_the_one_that_was_written() {
        let written = sums(&["3\tAFRICA\tab"]);
        let row =
            |key, name| move |nth: usize| [Some(Kept::Whole(key)), Some(Kept::Text(name)), Some(Kept::Text("ab"))][nth];
        let mut kept = Checksums::new(Table::Region);
        kept.add_kept(row(3, "AFRICA")).unwrap();
        assert_eq!(written.compare(&kept.into_held()), Ok(()));
        let mut other = Checksums::new(Table::Region);
        other.add_kept(row(3, "AFRICB")).unwrap();
        assert_eq!(other.add_kept(|_| None), None);
        assert_eq!(other.add_kept(|_| Some(Kept::Text("3"))), None);
        // A damaged key may be any number.
        other.add_kept(row(i64::MIN, "AFRICA")).unwrap();
        assert!(written.compare(&other.into_held()).is_err());
    }

    #[test]
    fn a_missing_row_a_swapped_cell_and_another_letter_are_seen() {
        let whole = sums(&["0\tAFRICA\tab", "1\tASIA\tcd"]);
        assert_eq!(whole.compare(&held(&whole)), Ok(()));
        let others = [
            vec!["0\tAFRICA\tab"],
            vec!["0\tAFRICA\tcd", "1\tASIA\tab"],
            vec!["0\tAFRICA\tab", "1\tASIA\tce"],
            vec!["0\tAFRICA\tab", "2\tASIA\tcd"],
        ];
        for other in others {
            let doubt = whole.compare(&held(&sums(&other))).unwrap_err();
            assert!(doubt.to_string().starts_with("table region does not hold"), "{doubt}");
        }
    }

    #[test]
    fn what_is_no_row_is_none() {
        for row in ["", "x\ta\tb", "1\ta", "1\ta\tb\tc"] {
            assert_eq!(Checksums::new(Table::Region).add(row), None, "{row:?}");
        }
        assert_eq!(hundredths("-0.05"), Some(-5));
        assert_eq!(hundredths("12.30"), Some(1230));
        assert_eq!(hundredths("7"), Some(700));
        assert!(hundredths("1.5").is_none() && hundredths("1.+5").is_none() && hundredths("").is_none());
    }
}
