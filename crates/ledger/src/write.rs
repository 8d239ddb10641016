//! Writing rows: each call is one transaction, and a finished phase is one call.
//!
//! Takes the rows of [`crate::rows`], gives identities. Prevents: half a phase in the file (its run without its
//! numbers).

use crate::error::{LedgerError, sorted};
use crate::file::Ledger;
use crate::insert::{insert, insert_all, replace_all, update};
use crate::rows::columns::Columns;
use crate::rows::*;
use rusqlite::{Connection, ToSql, Transaction, TransactionBehavior, params, params_from_iter};

impl Ledger {
    /// Records a resolved key of the study.
    pub fn setting(&mut self, setting: &Setting) -> Result<(), LedgerError> {
        self.settings_all(std::slice::from_ref(setting))
    }

    /// Records many settings at once.
    pub fn settings_all(&mut self, settings: &[Setting]) -> Result<(), LedgerError> {
        self.act("record a setting", |connection| {
            replace_all(connection, "setting", settings)
        })
    }

    /// Records the hosts of a study that runs on several, in the place of those that are there: a run that is resumed
    /// may have others.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of writing; two hosts of one rank.
    pub fn hosts_all(&mut self, hosts: &[HostRow]) -> Result<(), LedgerError> {
        self.act("record the hosts", |connection| {
            connection.execute("DELETE FROM host", [])?;
            insert_all(connection, "host", &Alone, hosts)
        })
    }

    /// Records a stack; the same ordinal again replaces it (a stack found out to be unbuildable later, say).
    pub fn stack(&mut self, stack: &Stack) -> Result<(), LedgerError> {
        self.act("record a stack", |connection| {
            update(connection, "stack", "ordinal", stack)
        })
    }

    /// Begins a trial; it is `running` until [`end_trial`](Ledger::end_trial).
    pub fn begin_trial(&mut self, trial: &NewTrial) -> Result<TrialId, LedgerError> {
        self.act("begin a trial", |connection| {
            insert(connection, "trial", &TrialStatus::Running, trial).map(TrialId)
        })
    }

    /// Ends a trial.
    pub fn end_trial(&mut self, trial: TrialId, at_unix_ns: u64, status: &TrialStatus) -> Result<(), LedgerError> {
        self.end_trials(&[(trial, status.clone())], at_unix_ns)
    }

    /// Ends trials that ran side by side: all of them or none, so that no block is half there after a kill.
    pub fn end_trials(&mut self, trials: &[(TrialId, TrialStatus)], at_unix_ns: u64) -> Result<(), LedgerError> {
        self.act("end a trial", |connection| {
            let mut end = connection
                .prepare_cached("UPDATE trial SET status = ?1, reason = ?2, ended_unix_ns = ?3 WHERE id = ?4")?;
            for (trial, status) in trials {
                let when = [at_unix_ns.to_sql()?, trial.to_sql()?];
                end.execute(params_from_iter(status.values()?.iter().chain(&when)))?;
            }
            Ok(())
        })
    }

    /// Records a finished phase with all that was seen in it: all of it or nothing.
    pub fn record_phase(&mut self, record: &PhaseRecord) -> Result<PhaseId, LedgerError> {
        self.act("record a phase", |connection| {
            let phase = PhaseId(insert(connection, "phase", &Alone, &record.run)?);
            let of = InTrial {
                trial: record.run.trial,
                phase: Some(phase),
            };
            insert_measures(connection, phase, &record.measures)?;
            insert_all(connection, "histogram", &phase, &record.histograms)?;
            insert_all(connection, "slice", &phase, &record.slices)?;
            insert_all(connection, "sample", &phase, &record.samples)?;
            insert_all(connection, "user_scan", &phase, &record.user_scans)?;
            insert_all(connection, "instance_run", &phase, &record.instances)?;
            for event in &record.events {
                let event = Event {
                    phase: Some(phase),
                    trial: event.trial.or(Some(of.trial)),
                    ..event.clone()
                };
                insert(connection, "event", &Alone, &event)?;
            }
            insert_all(connection, "extent_summary", &of, &record.extents)?;
            insert_all(connection, "file_layout", &of, &record.layouts)?;
            if let Some(database) = &record.database {
                crate::databases::insert_database(connection, of, database)?;
            }
            if let Some(work) = &record.order_entry {
                crate::databases::insert_order_entry(connection, phase, work)?;
            }
            if let Some(serving) = &record.serving {
                crate::serving::insert_serving(connection, phase, serving)?;
            }
            if let Some(asked) = &record.questions {
                crate::databases::insert_questions(connection, phase, asked)?;
            }
            crate::databases::insert_bulk_loads(connection, phase, &record.bulk_loads)?;
            Ok(phase)
        })
    }

    /// Records the layout of a file outside any phase.
    pub fn extents_of(&mut self, trial: TrialId, summary: &ExtentSummary) -> Result<(), LedgerError> {
        let of = InTrial { trial, phase: None };
        self.act("record extents", |connection| {
            insert_all(connection, "extent_summary", &of, [summary])
        })
    }

    /// Records how files lie outside a phase: after the load.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of writing.
    pub fn layouts_of(&mut self, trial: TrialId, layouts: &[FileLayout]) -> Result<(), LedgerError> {
        let of = InTrial { trial, phase: None };
        self.act("record how files lie", |connection| {
            insert_all(connection, "file_layout", &of, layouts)
        })
    }

    /// Records an event outside a phase.
    pub fn event(&mut self, event: &Event) -> Result<(), LedgerError> {
        self.act("record an event", |connection| {
            insert_all(connection, "event", &Alone, [event])
        })
    }

    /// Records one look at the data.
    pub fn look(&mut self, look: &Look) -> Result<(), LedgerError> {
        self.act("record a look", |connection| {
            insert_all(connection, "look", &Alone, [look])
        })
    }

    /// Records that the study ended, and why ("all blocks", "decided", "time limit", "interrupted", an error).
    pub fn finish(&mut self, ending: &Ending) -> Result<(), LedgerError> {
        self.act("record the end", |connection| {
            connection.execute(
                "UPDATE study SET ended_unix_ns = ?1, ended_reason = ?2",
                params![ending.at_unix_ns, ending.reason],
            )?;
            crate::seal::put(connection)
        })
    }

    /// Fixes the number of blocks anew. The caller does so before the first look is due, and not by what was measured.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of writing.
    pub fn plan_blocks(&mut self, blocks: u32) -> Result<(), LedgerError> {
        self.act("record the number of blocks", |connection| {
            connection.execute("UPDATE study SET blocks_planned = ?1", params![blocks])?;
            Ok(())
        })
    }

    pub(crate) fn act<T>(
        &mut self,
        what: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, LedgerError> {
        let act = || {
            let transaction = self
                .connection
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        act().map_err(|source| sorted(&self.path, what, source))
    }
}

fn insert_measures(connection: &Connection, phase: PhaseId, measures: &[(Measure, f64)]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached("INSERT INTO measure VALUES (?1, ?2, ?3)")?;
    for (measure, value) in measures {
        insert.execute(params![phase.0, measure.name(), value])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_keeps_what_was_recorded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("full.assay");
        let study = Study {
            name: "full".into(),
            ..Study::default()
        };
        let mut ledger = Ledger::create(&path, &study).unwrap();
        // SQLite answers with the same code as for a file system without space.
        let pages: i64 = ledger
            .connection
            .query_row("PRAGMA page_count", [], |row| row.get(0))
            .unwrap();
        ledger
            .connection
            .pragma_update(None, "max_page_count", pages + 2)
            .unwrap();
        let mut recorded = 0;
        let error = loop {
            match ledger.setting(&Setting {
                key: format!("{recorded}"),
                value: "x".repeat(1000),
                written: false,
            }) {
                Ok(()) => recorded += 1,
                Err(error) => break error,
            }
            assert!(recorded < 100, "the file never became full");
        };
        assert!(matches!(error, LedgerError::Full { .. }), "{error}");
        assert!(
            error
                .to_string()
                .lines()
                .last()
                .is_some_and(|cure| cure.contains("free space"))
        );
        drop(ledger);
        assert_eq!(Ledger::open(&path).unwrap().settings().unwrap().len(), recorded);
        assert!(recorded > 0);
    }
}
