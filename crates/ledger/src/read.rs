//! Reading rows back, whole tables at a time, in the order they were written.
//!
//! Gives the rows of [`crate::rows`]. A word this version does not know is an error, not a guess; a measure it does not
//! know is left out, for others do not depend on it. Prevents: silence about half of a file.

use crate::error::{LedgerError, one_line, sorted};
use crate::file::Ledger;
use crate::measure::Measure;
use crate::rows::*;
use crate::stranger::ROWS_BYTES_MAX;
use rusqlite::types::{Type, ValueRef};
use rusqlite::{Error, Params, Row};

impl Ledger {
    /// The study.
    pub fn study(&self) -> Result<Study, LedgerError> {
        let sql = "SELECT name, question, text, seed, margin, time_limit_ns, blocks_planned, comparisons, alpha,
            io_method, published, tool_version, run_id, created_unix_ns, modelled FROM study";
        let rows = self.rows(sql, (), |row| {
            Ok(Study {
                name: row.get(0)?,
                question: row.get(1)?,
                text: row.get(2)?,
                seed: seed(row, 3)?,
                margin: row.get(4)?,
                time_limit_ns: row.get(5)?,
                blocks_planned: row.get(6)?,
                comparisons: row.get(7)?,
                alpha: row.get(8)?,
                io_method: row.get(9)?,
                published: row.get(10)?,
                tool_version: row.get(11)?,
                run_id: row.get(12)?,
                created_unix_ns: row.get(13)?,
                modelled: row.get(14)?,
            })
        })?;
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

    /// Resolved keys of the study, in the order written.
    pub fn settings(&self) -> Result<Vec<Setting>, LedgerError> {
        self.rows("SELECT key, value, written FROM setting ORDER BY rowid", (), |row| {
            Ok(Setting {
                key: row.get(0)?,
                value: row.get(1)?,
                written: row.get(2)?,
            })
        })
    }

    /// Facts, by scope and key.
    pub fn facts(&self) -> Result<Vec<Fact>, LedgerError> {
        self.rows("SELECT scope, key, value FROM fact ORDER BY scope, key", (), |row| {
            Ok(Fact {
                scope: row.get(0)?,
                key: row.get(1)?,
                value: row.get(2)?,
            })
        })
    }

    /// Stacks in the order of the study.
    pub fn stacks(&self) -> Result<Vec<Stack>, LedgerError> {
        let sql = "SELECT ordinal, name, kind, layers, layers_group, data_lun_set, redo_lun_set, access, injected,
            skipped_reason, skipped_cure FROM stack ORDER BY ordinal";
        self.rows(sql, (), |row| {
            let reason: Option<String> = row.get(9)?;
            let cure: Option<String> = row.get(10)?;
            Ok(Stack {
                ordinal: row.get(0)?,
                name: row.get(1)?,
                kind: row.get(2)?,
                layers: row.get(3)?,
                group: row.get(4)?,
                data_lun_set: row.get(5)?,
                redo_lun_set: row.get(6)?,
                access: row.get(7)?,
                injected: row.get(8)?,
                skipped: reason.map(|reason| Skipped {
                    reason,
                    cure: cure.unwrap_or_default(),
                }),
            })
        })
    }

    /// Trials in the order they began; a trial that was run again stands twice, the later one last.
    pub fn trials(&self) -> Result<Vec<Trial>, LedgerError> {
        let sql = "SELECT id, block, position, stack, seed, host, instance, lun_set, began_unix_ns, ended_unix_ns,
            status, reason FROM trial ORDER BY id";
        self.rows(sql, (), |row| {
            Ok(Trial {
                id: TrialId(row.get(0)?),
                block: row.get(1)?,
                position: row.get(2)?,
                stack: row.get(3)?,
                seed: seed(row, 4)?,
                host: row.get(5)?,
                instance: row.get(6)?,
                lun_set: row.get(7)?,
                began_unix_ns: row.get(8)?,
                ended_unix_ns: row.get(9)?,
                status: trial_status(row)?,
            })
        })
    }

    /// Finished phases in the order they were recorded.
    pub fn phases(&self) -> Result<Vec<Phase>, LedgerError> {
        let sql = "SELECT id, trial, ordinal, name, kind, ranked, began_unix_ns, elapsed_ns, drain_ns, status, reason
            FROM phase ORDER BY id";
        self.rows(sql, (), |row| {
            let run = PhaseRun {
                trial: TrialId(row.get(1)?),
                ordinal: row.get(2)?,
                name: row.get(3)?,
                kind: phase_kind(row)?,
                ranked: row.get(5)?,
                began_unix_ns: row.get(6)?,
                elapsed_ns: row.get(7)?,
                drain_ns: row.get(8)?,
                status: phase_status(row)?,
            };
            Ok(Phase {
                id: PhaseId(row.get(0)?),
                run,
            })
        })
    }

    /// Measures of all phases.
    pub fn measures(&self) -> Result<Vec<OfPhase<(Measure, f64)>>, LedgerError> {
        let found = self.rows(
            "SELECT phase, name, value FROM measure ORDER BY phase, name",
            (),
            |row| {
                let name: String = row.get(1)?;
                let value: f64 = row.get(2)?;
                let phase = PhaseId(row.get(0)?);
                Ok(Measure::from_name(&name).map(|measure| OfPhase {
                    phase,
                    row: (measure, value),
                }))
            },
        )?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Distributions of all phases.
    pub fn histograms(&self) -> Result<Vec<OfPhase<HistogramRow>>, LedgerError> {
        let sql = "SELECT phase, class, stamp, blob, count, units FROM histogram ORDER BY phase, class, stamp";
        self.rows(sql, (), |row| {
            let stamp = match row.get::<_, String>(2)?.as_str() {
                "service" => Stamp::Service,
                "response" => Stamp::Response,
                other => return Err(unknown(2, other)),
            };
            let histogram = HistogramRow {
                class: row.get(1)?,
                stamp,
                blob: row.get(3)?,
                count: row.get(4)?,
                units: row.get(5)?,
            };
            Ok(OfPhase {
                phase: PhaseId(row.get(0)?),
                row: histogram,
            })
        })
    }

    /// Slices of all phases, in order of time inside a phase.
    pub fn slices(&self) -> Result<Vec<OfPhase<Slice>>, LedgerError> {
        self.rows(
            "SELECT phase, at_ns, count, units FROM slice ORDER BY phase, at_ns",
            (),
            |row| {
                let slice = Slice {
                    at_ns: row.get(1)?,
                    count: row.get(2)?,
                    units: row.get(3)?,
                };
                Ok(OfPhase {
                    phase: PhaseId(row.get(0)?),
                    row: slice,
                })
            },
        )
    }

    /// Time series of one phase, in the order written.
    pub fn samples_of(&self, phase: PhaseId) -> Result<Vec<Sample>, LedgerError> {
        self.rows(
            "SELECT at_ns, name, value FROM sample WHERE phase = ?1 ORDER BY rowid",
            [phase.0],
            |row| {
                Ok(Sample {
                    at_ns: row.get(0)?,
                    name: row.get(1)?,
                    value: row.get(2)?,
                })
            },
        )
    }

    /// Scans by user, of all phases.
    pub fn user_scans(&self) -> Result<Vec<OfPhase<UserScan>>, LedgerError> {
        let sql = "SELECT phase, schema, bytes, began_ns, ended_ns FROM user_scan ORDER BY rowid";
        self.rows(sql, (), |row| {
            let scan = UserScan {
                schema: row.get(1)?,
                bytes: row.get(2)?,
                began_ns: row.get(3)?,
                ended_ns: row.get(4)?,
            };
            Ok(OfPhase {
                phase: PhaseId(row.get(0)?),
                row: scan,
            })
        })
    }

    /// Events in the order written.
    pub fn events(&self) -> Result<Vec<Event>, LedgerError> {
        self.rows(
            "SELECT at_unix_ns, trial, phase, severity, text FROM event ORDER BY id",
            (),
            |row| {
                let severity = match row.get::<_, String>(3)?.as_str() {
                    "info" => Severity::Info,
                    "warning" => Severity::Warning,
                    "error" => Severity::Error,
                    other => return Err(unknown(3, other)),
                };
                Ok(Event {
                    at_unix_ns: row.get(0)?,
                    trial: row.get::<_, Option<i64>>(1)?.map(TrialId),
                    phase: row.get::<_, Option<i64>>(2)?.map(PhaseId),
                    severity,
                    text: row.get(4)?,
                })
            },
        )
    }

    /// Looks in the order taken.
    pub fn looks(&self) -> Result<Vec<Look>, LedgerError> {
        let sql = "SELECT after_block, stack, base, phase, n, ratio, low, high, verdict, alpha FROM look ORDER BY id";
        self.rows(sql, (), |row| {
            Ok(Look {
                after_block: row.get(0)?,
                stack: row.get(1)?,
                base: row.get(2)?,
                phase: row.get(3)?,
                n: row.get(4)?,
                ratio: row.get(5)?,
                low: row.get(6)?,
                high: row.get(7)?,
                verdict: row.get(8)?,
                alpha: row.get(9)?,
            })
        })
    }

    /// Layouts of files.
    pub fn extents(&self) -> Result<Vec<ExtentRow>, LedgerError> {
        self.rows(
            "SELECT trial, phase, file, extents, bytes FROM extent_summary ORDER BY rowid",
            (),
            |row| {
                Ok(ExtentRow {
                    trial: TrialId(row.get(0)?),
                    phase: row.get::<_, Option<i64>>(1)?.map(PhaseId),
                    summary: ExtentSummary {
                        file: row.get(2)?,
                        extents: row.get(3)?,
                        bytes: row.get(4)?,
                    },
                })
            },
        )
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

fn seed(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let text: String = row.get(column)?;
    text.parse().map_err(|_| unknown(column, &text))
}

fn trial_status(row: &Row<'_>) -> rusqlite::Result<TrialStatus> {
    Ok(match row.get::<_, String>(10)?.as_str() {
        "running" => TrialStatus::Running,
        "done" => TrialStatus::Done,
        "failed" => TrialStatus::Failed(row.get::<_, Option<String>>(11)?.unwrap_or_default()),
        "interrupted" => TrialStatus::Interrupted,
        other => return Err(unknown(10, other)),
    })
}

fn phase_status(row: &Row<'_>) -> rusqlite::Result<PhaseStatus> {
    let reason = || Ok::<String, Error>(row.get::<_, Option<String>>(10)?.unwrap_or_default());
    Ok(match row.get::<_, String>(9)?.as_str() {
        "valid" => PhaseStatus::Valid,
        "invalid" => PhaseStatus::Invalid(reason()?),
        "failed" => PhaseStatus::Failed(reason()?),
        other => return Err(unknown(9, other)),
    })
}

fn phase_kind(row: &Row<'_>) -> rusqlite::Result<PhaseKind> {
    let word: String = row.get(4)?;
    PhaseKind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == word)
        .ok_or_else(|| unknown(4, &word))
}

pub(crate) fn unknown(column: usize, word: &str) -> Error {
    Error::FromSqlConversionFailure(
        column,
        Type::Text,
        format!("\"{}\" has no meaning here", word.chars().take(60).collect::<String>()).into(),
    )
}
