//! Writing rows: each call is one transaction, and a finished phase is one call.
//!
//! Takes the rows of [`crate::rows`], gives identities. Prevents: half a phase in the file (its run without its numbers).

use crate::error::{LedgerError, sorted};
use crate::file::Ledger;
use crate::rows::*;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

impl Ledger {
    /// Records a resolved key of the study.
    pub fn setting(&mut self, setting: &Setting) -> Result<(), LedgerError> {
        self.settings_all(std::slice::from_ref(setting))
    }

    /// Records many settings at once.
    pub fn settings_all(&mut self, settings: &[Setting]) -> Result<(), LedgerError> {
        self.act("record a setting", |connection| {
            let mut insert = connection.prepare_cached("INSERT OR REPLACE INTO setting VALUES (?1, ?2, ?3)")?;
            for setting in settings {
                insert.execute(params![setting.key, setting.value, setting.written])?;
            }
            Ok(())
        })
    }

    /// Records a fact; the same scope and key again replaces the value.
    pub fn fact(&mut self, fact: &Fact) -> Result<(), LedgerError> {
        self.facts_all(std::slice::from_ref(fact))
    }

    /// Records many facts at once.
    pub fn facts_all(&mut self, facts: &[Fact]) -> Result<(), LedgerError> {
        self.act("record a fact", |connection| {
            let mut insert = connection.prepare_cached("INSERT OR REPLACE INTO fact VALUES (?1, ?2, ?3)")?;
            for fact in facts {
                insert.execute(params![fact.scope, fact.key, fact.value])?;
            }
            Ok(())
        })
    }

    /// Records a stack; the same ordinal again replaces it (a stack found out to be unbuildable later, say).
    pub fn stack(&mut self, stack: &Stack) -> Result<(), LedgerError> {
        self.act("record a stack", |connection| {
            let skipped = stack.skipped.as_ref();
            connection.execute(
                "INSERT INTO stack VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
                 ON CONFLICT (ordinal) DO UPDATE SET name = ?2, kind = ?3, layers = ?4, layers_group = ?5,
                    data_lun_set = ?6, redo_lun_set = ?7, access = ?8, injected = ?9, skipped_reason = ?10,
                    skipped_cure = ?11",
                params![
                    stack.ordinal,
                    stack.name,
                    stack.kind,
                    stack.layers,
                    stack.group,
                    stack.data_lun_set,
                    stack.redo_lun_set,
                    stack.access,
                    stack.injected,
                    skipped.map(|s| &s.reason),
                    skipped.map(|s| &s.cure),
                ],
            )?;
            Ok(())
        })
    }

    /// Begins a trial; it is `running` until [`end_trial`](Ledger::end_trial).
    pub fn begin_trial(&mut self, trial: &NewTrial) -> Result<TrialId, LedgerError> {
        self.act("begin a trial", |connection| {
            connection.execute(
                "INSERT INTO trial (block, position, stack, seed, host, instance, lun_set, began_unix_ns, status)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'running')",
                params![
                    trial.block,
                    trial.position,
                    trial.stack,
                    trial.seed.to_string(),
                    trial.host,
                    trial.instance,
                    trial.lun_set,
                    trial.began_unix_ns,
                ],
            )?;
            Ok(TrialId(connection.last_insert_rowid()))
        })
    }

    /// Ends a trial.
    pub fn end_trial(&mut self, trial: TrialId, at_unix_ns: u64, status: &TrialStatus) -> Result<(), LedgerError> {
        self.end_trials(&[(trial, status.clone())], at_unix_ns)
    }

    /// Ends trials that ran side by side: all of them or none, so that no block is half there after a kill.
    pub fn end_trials(&mut self, trials: &[(TrialId, TrialStatus)], at_unix_ns: u64) -> Result<(), LedgerError> {
        self.act("end a trial", |connection| {
            for (trial, status) in trials {
                let (word, reason) = match status {
                    TrialStatus::Running => ("running", None),
                    TrialStatus::Done => ("done", None),
                    TrialStatus::Failed(reason) => ("failed", Some(reason)),
                    TrialStatus::Interrupted => ("interrupted", None),
                };
                connection.execute(
                    "UPDATE trial SET ended_unix_ns = ?2, status = ?3, reason = ?4 WHERE id = ?1",
                    params![trial.0, at_unix_ns, word, reason],
                )?;
            }
            Ok(())
        })
    }

    /// Records a finished phase with all that was seen in it: all of it or nothing.
    pub fn record_phase(&mut self, record: &PhaseRecord) -> Result<PhaseId, LedgerError> {
        self.act("record a phase", |connection| {
            let phase = insert_run(connection, &record.run)?;
            insert_measures(connection, phase, record)?;
            insert_series(connection, phase, record)?;
            for event in &record.events {
                let trial = event.trial.or(Some(record.run.trial));
                insert_event(
                    connection,
                    &Event {
                        phase: Some(phase),
                        trial,
                        ..event.clone()
                    },
                )?;
            }
            for summary in &record.extents {
                insert_extents(connection, record.run.trial, Some(phase), summary)?;
            }
            crate::file_layout::insert(connection, record.run.trial, Some(phase), &record.layouts)?;
            if let Some(database) = &record.database {
                crate::sql_tables::insert_database(connection, record.run.trial, Some(phase), database)?;
            }
            if let Some(work) = &record.order_entry {
                crate::sql_tables::insert_order_entry(connection, phase, work)?;
            }
            crate::sql_tables::insert_bulk_loads(connection, phase, &record.bulk_loads)?;
            Ok(phase)
        })
    }

    /// Records the layout of a file outside any phase.
    pub fn extents_of(&mut self, trial: TrialId, summary: &ExtentSummary) -> Result<(), LedgerError> {
        self.act("record extents", |connection| {
            insert_extents(connection, trial, None, summary)
        })
    }

    /// Records an event outside a phase.
    pub fn event(&mut self, event: &Event) -> Result<(), LedgerError> {
        self.act("record an event", |connection| insert_event(connection, event))
    }

    /// Records one look at the data.
    pub fn look(&mut self, look: &Look) -> Result<(), LedgerError> {
        self.act("record a look", |connection| {
            connection.execute(
                "INSERT INTO look (after_block, stack, base, phase, n, ratio, low, high, verdict, alpha)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![
                    look.after_block,
                    look.stack,
                    look.base,
                    look.phase,
                    look.n,
                    look.ratio,
                    look.low,
                    look.high,
                    look.verdict,
                    look.alpha,
                ],
            )?;
            Ok(())
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

pub(crate) fn insert_study(connection: &Connection, study: &Study) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO study (id, name, question, text, seed, margin, time_limit_ns, blocks_planned, comparisons, alpha,
            io_method, published, tool_version, run_id, created_unix_ns, modelled)
         VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        params![
            study.name,
            study.question,
            study.text,
            study.seed.to_string(),
            study.margin,
            study.time_limit_ns,
            study.blocks_planned,
            study.comparisons,
            study.alpha,
            study.io_method,
            study.published,
            study.tool_version,
            study.run_id,
            study.created_unix_ns,
            study.modelled,
        ],
    )?;
    Ok(())
}

fn insert_run(connection: &Connection, run: &PhaseRun) -> rusqlite::Result<PhaseId> {
    let (status, reason) = match &run.status {
        PhaseStatus::Valid => ("valid", None),
        PhaseStatus::Invalid(reason) => ("invalid", Some(reason)),
        PhaseStatus::Failed(reason) => ("failed", Some(reason)),
    };
    connection
        .prepare_cached(
            "INSERT INTO phase (trial, ordinal, name, kind, ranked, began_unix_ns, elapsed_ns, drain_ns, status, reason)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            run.trial.0,
            run.ordinal,
            run.name,
            run.kind.as_str(),
            run.ranked,
            run.began_unix_ns,
            run.elapsed_ns,
            run.drain_ns,
            status,
            reason,
        ])?;
    Ok(PhaseId(connection.last_insert_rowid()))
}

fn insert_measures(connection: &Connection, phase: PhaseId, record: &PhaseRecord) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached("INSERT INTO measure VALUES (?1, ?2, ?3)")?;
    for (measure, value) in &record.measures {
        insert.execute(params![phase.0, measure.name(), value])?;
    }
    let mut insert = connection.prepare_cached("INSERT INTO histogram VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for row in &record.histograms {
        let stamp = stamp_word(row.stamp);
        insert.execute(params![phase.0, row.class, stamp, row.blob, row.count, row.units])?;
    }
    Ok(())
}

fn insert_series(connection: &Connection, phase: PhaseId, record: &PhaseRecord) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached("INSERT INTO slice VALUES (?1, ?2, ?3, ?4)")?;
    for slice in &record.slices {
        insert.execute(params![phase.0, slice.at_ns, slice.count, slice.units])?;
    }
    let mut insert = connection.prepare_cached("INSERT INTO sample VALUES (?1, ?2, ?3, ?4)")?;
    for sample in &record.samples {
        insert.execute(params![phase.0, sample.at_ns, sample.name, sample.value])?;
    }
    let mut insert = connection.prepare_cached("INSERT INTO user_scan VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for scan in &record.user_scans {
        insert.execute(params![phase.0, scan.schema, scan.bytes, scan.began_ns, scan.ended_ns])?;
    }
    Ok(())
}

fn insert_event(connection: &Connection, event: &Event) -> rusqlite::Result<()> {
    let severity = match event.severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    connection.execute(
        "INSERT INTO event (at_unix_ns, trial, phase, severity, text) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            event.at_unix_ns,
            event.trial.map(|id| id.0),
            event.phase.map(|id| id.0),
            severity,
            event.text
        ],
    )?;
    Ok(())
}

fn insert_extents(
    connection: &Connection,
    trial: TrialId,
    phase: Option<PhaseId>,
    summary: &ExtentSummary,
) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO extent_summary VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            trial.0,
            phase.map(|id| id.0),
            summary.file,
            summary.extents,
            summary.bytes
        ],
    )?;
    Ok(())
}

pub(crate) fn stamp_word(stamp: Stamp) -> &'static str {
    match stamp {
        Stamp::Service => "service",
        Stamp::Response => "response",
    }
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
            question: String::new(),
            text: String::new(),
            seed: 1,
            margin: 0.05,
            time_limit_ns: 1,
            blocks_planned: 4,
            comparisons: 1,
            alpha: 0.05,
            io_method: "ring".into(),
            published: None,
            tool_version: "0".into(),
            run_id: "r".into(),
            created_unix_ns: 0,
            modelled: false,
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
            match ledger.fact(&Fact {
                scope: "host".into(),
                key: format!("{recorded}"),
                value: "x".repeat(1000),
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
        assert_eq!(Ledger::open(&path).unwrap().facts().unwrap().len(), recorded);
        assert!(recorded > 0);
    }
}
