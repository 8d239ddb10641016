//! The phases of a result file, each with its rows.
//!
//! Takes an open ledger; gives what was seen, by phase. Prevents: a phase whose answers were never compared.

use super::seen::Seen;
use crate::cells::answers::{self, Answers};
use ledger::{Ledger, LedgerError, Measure, OfPhase, PhaseId, PhaseStatus, TrialId};
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;

/// By phase: its trial, and what was seen.
pub(super) type OfTrials = BTreeMap<PhaseId, (TrialId, Seen)>;

/// Rows of phases that are not in the file are left out.
fn add<R>(seen: &mut OfTrials, rows: Vec<OfPhase<R>>, put: impl Fn(&mut Seen, R)) {
    for OfPhase { phase, row } in rows {
        if let Some((_, phase)) = seen.get_mut(&phase) {
            put(phase, row);
        }
    }
}

/// Runs with an answer that most others do not have do not count; one whose users disagree was invalid when it ended.
fn compare_answers(seen: &mut OfTrials) {
    for (_, phase) in seen.values_mut() {
        if phase.questions.as_ref().is_some_and(answers::differ_within) {
            phase.answers = Answers::Wrong;
        }
    }
    let valid = seen.iter().filter(|(_, (_, phase))| phase.is_valid());
    let asked: Vec<_> = valid
        .filter_map(|(id, (_, phase))| Some((*id, phase.questions.as_ref()?)))
        .collect();
    for (id, doubt) in answers::doubts(&asked) {
        if let Some((_, phase)) = seen.get_mut(&id) {
            phase.answers = doubt.answers;
            phase.run.status = PhaseStatus::Invalid(doubt.why);
        }
    }
}

/// All phases of a file, those of trials that did not end among them.
pub(super) fn phases(ledger: &Ledger) -> Result<OfTrials, LedgerError> {
    let mut seen = OfTrials::new();
    for phase in ledger.phases()? {
        let fresh = Seen {
            id: phase.id,
            run: phase.run,
            measures: BTreeMap::new(),
            histograms: Vec::new(),
            slices: Vec::new(),
            scans: Vec::new(),
            instances: Vec::new(),
            stored: Vec::new(),
            orders: None,
            questions: None,
            bulk: Vec::new(),
            serving: None,
            answers: Answers::Alike,
            ramp: OnceCell::new(),
            response_p99_ns: Cell::default(),
        };
        seen.insert(phase.id, (fresh.run.trial, fresh));
    }
    add(&mut seen, ledger.measures()?, |phase, row| phase.measures.extend([row]));
    add(&mut seen, ledger.histograms()?, |phase, row| {
        phase.histograms.push(row.into())
    });
    add(&mut seen, ledger.slices()?, |phase, row| phase.slices.push(row));
    add(&mut seen, ledger.order_entries()?, |phase, row| {
        phase.orders = Some(row)
    });
    add(&mut seen, ledger.decision_supports()?, |phase, row| {
        phase.questions = Some(row)
    });
    compare_answers(&mut seen);
    add(&mut seen, ledger.file_servings()?, |phase, row| {
        phase.serving = Some(row)
    });
    add(&mut seen, ledger.bulk_loads()?, |phase, row| phase.bulk.push(row));
    add(&mut seen, ledger.user_scans()?, |phase, row| phase.scans.push(row));
    add(&mut seen, ledger.instances()?, |phase, row| phase.instances.push(row));
    let reduces = |(_, phase): &(TrialId, Seen)| phase.get(Measure::ArrayStoredBytes).is_some();
    if seen.values().any(reduces) {
        let series = ledger.samples_named(Measure::ArrayStoredBytes.name())?;
        add(&mut seen, series, |phase, row| phase.stored.push(row));
    }
    Ok(seen)
}
