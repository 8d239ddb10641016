//! Reading rows back, whole tables at a time, in the order they were written.
//!
//! Gives the rows of [`crate::rows`], by the columns that each type has. A word this version does not know is an error,
//! not a guess; a measure it does not know is left out, for others do not depend on it. Prevents: silence about half of
//! a file.

use crate::error::{LedgerError, one_line, sorted};
use crate::file::Ledger;
use crate::rows::columns::{Columns, quoted};
use crate::rows::*;
use crate::stranger::ROWS_BYTES_MAX;
use rusqlite::types::{Type, ValueRef};
use rusqlite::{Error, ErrorCode, Params, Row};
use std::collections::BTreeMap;

impl Ledger {
    /// The study.
    pub fn study(&self) -> Result<Study, LedgerError> {
        let rows = self.plain("study", "id")?;
        rows.into_iter().next().ok_or_else(|| LedgerError::Damaged {
            path: self.path.clone(),
            detail: "it holds no study".into(),
        })
    }

    /// How the study ended; `None` while it runs or after a kill.
    pub fn ending(&self) -> Result<Option<Ending>, LedgerError> {
        let sql = "SELECT ended_unix_ns, ended_reason FROM study WHERE ended_unix_ns IS NOT NULL";
        let rows = self.rows(sql, (), |row| {
            Ok(Ending {
                at_unix_ns: row.get(0)?,
                reason: row.get(1)?,
            })
        })?;
        Ok(rows.into_iter().next())
    }

    /// Extensions of the study, in the order they began.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of reading.
    pub fn extensions(&self) -> Result<Vec<Extension>, LedgerError> {
        self.plain("extension", "number")
    }

    /// Resolved keys of the study, in the order written.
    pub fn settings(&self) -> Result<Vec<Setting>, LedgerError> {
        self.plain("setting", "rowid")
    }

    /// Hosts of a study that ran on several, by rank; none of a study on one host.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of reading.
    pub fn hosts(&self) -> Result<Vec<HostRow>, LedgerError> {
        self.plain("host", "rank")
    }

    /// Stacks in the order of the study.
    pub fn stacks(&self) -> Result<Vec<Stack>, LedgerError> {
        self.plain("stack", "ordinal")
    }

    /// Trials in the order they began; a trial that was run again stands twice, the later one last.
    pub fn trials(&self) -> Result<Vec<Trial>, LedgerError> {
        self.plain("trial", "id")
    }

    /// Finished phases in the order they were recorded.
    pub fn phases(&self) -> Result<Vec<Phase>, LedgerError> {
        let rows = self.table::<OwnId, PhaseRun>("phase", "id")?;
        Ok(rows
            .into_iter()
            .map(|(id, run)| Phase { id: PhaseId(id.0), run })
            .collect())
    }

    /// Measures of all phases.
    pub fn measures(&self) -> Result<Vec<OfPhase<(Measure, f64)>>, LedgerError> {
        let sql = "SELECT phase, name, value FROM measure ORDER BY phase, name";
        let found = self.rows(sql, (), |row| {
            let (phase, name, value): (PhaseId, String, f64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(Measure::from_name(&name).map(|measure| OfPhase {
                phase,
                row: (measure, value),
            }))
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Distributions of all phases.
    pub fn histograms(&self) -> Result<Vec<OfPhase<HistogramRow>>, LedgerError> {
        self.of_phases("histogram", "phase, class, stamp")
    }

    /// Slices of all phases, in order of time inside a phase.
    pub fn slices(&self) -> Result<Vec<OfPhase<Slice>>, LedgerError> {
        self.of_phases("slice", "phase, at_ns")
    }

    /// Time series of one phase, in the order written.
    pub fn samples_of(&self, phase: PhaseId) -> Result<Vec<Sample>, LedgerError> {
        let sql = "SELECT at_ns, name, value FROM sample WHERE phase = ?1 ORDER BY rowid";
        self.rows(sql, [phase.0], |row| Sample::read(row, 0))
    }

    /// One time series of all phases that have it, in the order written.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of reading.
    pub fn samples_named(&self, name: &str) -> Result<Vec<OfPhase<Sample>>, LedgerError> {
        let sql = "SELECT phase, at_ns, name, value FROM sample WHERE name = ?1 ORDER BY phase, rowid";
        self.rows(sql, [name], |row| {
            Ok(OfPhase {
                phase: PhaseId(row.get(0)?),
                row: Sample::read(row, 1)?,
            })
        })
    }

    /// Scans by user, of all phases.
    pub fn user_scans(&self) -> Result<Vec<OfPhase<UserScan>>, LedgerError> {
        self.of_phases("user_scan", "rowid")
    }

    /// What each of several instances did, of all phases.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of reading.
    pub fn instances(&self) -> Result<Vec<OfPhase<InstanceRow>>, LedgerError> {
        self.of_phases("instance_run", "phase, instance")
    }

    /// Events in the order written.
    pub fn events(&self) -> Result<Vec<Event>, LedgerError> {
        self.plain("event", "id")
    }

    /// Looks in the order taken.
    pub fn looks(&self) -> Result<Vec<Look>, LedgerError> {
        self.plain("look", "id")
    }

    /// Layouts of files.
    pub fn extents(&self) -> Result<Vec<ExtentRow>, LedgerError> {
        let rows = self.table::<InTrial, ExtentSummary>("extent_summary", "rowid")?;
        let row = |(InTrial { trial, phase }, summary)| ExtentRow { trial, phase, summary };
        Ok(rows.into_iter().map(row).collect())
    }

    /// How files lay, in the order recorded.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of reading.
    pub fn layouts(&self) -> Result<Vec<FileLayoutRow>, LedgerError> {
        let rows = self.table::<InTrial, FileLayout>("file_layout", "rowid")?;
        let row = |(InTrial { trial, phase }, layout)| FileLayoutRow { trial, phase, layout };
        Ok(rows.into_iter().map(row).collect())
    }

    /// All rows of a table with what they belong to.
    pub(crate) fn table<K: Columns, T: Columns>(&self, table: &str, order: &str) -> Result<Vec<(K, T)>, LedgerError> {
        let sql = format!("SELECT {} FROM {table} ORDER BY {order}", quoted::<K, T>().join(", "));
        let of = K::names().len();
        self.rows(&sql, (), |row| Ok((K::read(row, 0)?, T::read(row, of)?)))
    }

    /// All rows of a table that belongs to nothing.
    pub(crate) fn plain<T: Columns>(&self, table: &str, order: &str) -> Result<Vec<T>, LedgerError> {
        let rows = self.table::<Alone, T>(table, order)?;
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    /// All rows of a table, by what they belong to.
    pub(crate) fn grouped<K: Columns + Ord, T: Columns>(
        &self,
        table: &str,
        order: &str,
    ) -> Result<BTreeMap<K, Vec<T>>, LedgerError> {
        let mut groups: BTreeMap<K, Vec<T>> = BTreeMap::new();
        for (key, row) in self.table(table, order)? {
            groups.entry(key).or_default().push(row);
        }
        Ok(groups)
    }

    fn of_phases<T: Columns>(&self, table: &str, order: &str) -> Result<Vec<OfPhase<T>>, LedgerError> {
        let rows = self.table(table, order)?;
        Ok(rows.into_iter().map(|(phase, row)| OfPhase { phase, row }).collect())
    }

    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        parameters: impl Params,
        mut make: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, LedgerError> {
        let read = || -> rusqlite::Result<Option<Vec<T>>> {
            let mut statement = self.connection.prepare(sql)?;
            let columns = statement.column_count();
            let mut rows = statement.query(parameters)?;
            let (mut all, mut bytes) = (Vec::new(), 0);
            while let Some(row) = rows.next()? {
                bytes += size_of::<T>() as u64 + said_bytes(row, columns)?;
                if bytes > ROWS_BYTES_MAX {
                    return Ok(None);
                }
                all.push(make(row)?);
            }
            Ok(Some(all))
        };
        let all = read().map_err(|source| match source {
            // Words and numbers out of range are the file's fault, not the system's.
            Error::FromSqlConversionFailure(..) | Error::InvalidColumnType(..) | Error::IntegralValueOutOfRange(..) => {
                LedgerError::Damaged {
                    path: self.path.clone(),
                    detail: one_line(&source.to_string()),
                }
            }
            // Our questions fit our tables: it is the file that lacks one.
            source if source.sqlite_error_code() == Some(ErrorCode::Unknown) => LedgerError::Damaged {
                path: self.path.clone(),
                detail: one_line(&source.to_string()),
            },
            source => sorted(&self.path, "read the result file", source),
        })?;
        all.ok_or_else(|| LedgerError::Damaged {
            path: self.path.clone(),
            detail: format!("a table holds more than {} MiB", ROWS_BYTES_MAX >> 20),
        })
    }
}

/// Largest figure: sums, products and scales of some such are numbers still.
const FIGURE_MAX: f64 = 1e30;

/// Bytes of a row's texts and blobs; an error for a text that is longer, or a figure that is larger, than any of ours.
fn said_bytes(row: &Row<'_>, columns: usize) -> rusqlite::Result<u64> {
    let mut bytes = 0;
    for nth in 0..columns {
        match row.get_ref(nth)? {
            ValueRef::Text(said) if said.len() > text_bytes_max(row.as_ref().column_name(nth)?) => {
                let why = format!("a text of {} bytes is longer than any that a run writes", said.len());
                return Err(Error::FromSqlConversionFailure(nth, Type::Text, why.into()));
            }
            ValueRef::Text(said) | ValueRef::Blob(said) => bytes += said.len() as u64,
            // An interval of a look may end anywhere.
            ValueRef::Real(figure)
                if figure.is_finite()
                    && figure.abs() > FIGURE_MAX
                    && !["ratio", "low", "high"].contains(&row.as_ref().column_name(nth)?) =>
            {
                let why = format!("a figure of {figure:e} is larger than any that a run writes");
                return Err(Error::FromSqlConversionFailure(nth, Type::Real, why.into()));
            }
            _ => {}
        }
    }
    Ok(bytes)
}

/// Longest text of a column in bytes: names stand many times in a report.
fn text_bytes_max(column: &str) -> usize {
    match column {
        // Of a study as well: as much as is read of one.
        "text" => 1 << 20,
        "question" | "value" | "reason" | "layers" | "skipped_reason" | "skipped_cure" | "ended_reason" => 64 << 10,
        _ => 4 << 10,
    }
}
