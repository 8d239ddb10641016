//! Phases in SQL: order entry and bulk load.
//!
//! Takes the phases as written; gives [`Tpcc`] and [`Bulk`]. Prevents: two phases of one trial that work on
//! companies of unlike size, of which only one was loaded.

use super::settle::Settle;
use crate::study::{Bulk, Tpcc};
use crate::written::{At, Limits, Numbers, PhaseWord, Said, WrittenPhase, WrittenStudy};

/// Users that a phase may have.
const USERS_MAX: u64 = 10_000;
/// Rows of a bulk load.
const ROWS_MAX: u64 = 1_000_000_000;
/// Steps of a load curve, row counts of a bulk load.
const STEPS_MAX: usize = 32;

/// A phase whose warehouses and size of the company are what the first phase that says so says.
pub(super) struct Loaded(WrittenPhase);

impl Loaded {
    pub(super) fn of(written: &WrittenStudy, settle: &mut Settle<'_>) -> Loaded {
        let tpcc = || {
            let is = |phase: &&WrittenPhase| phase.kind.as_ref().is_some_and(|at| at.value == PhaseWord::Tpcc);
            written.phases.iter().filter(is)
        };
        let loaded = WrittenPhase {
            warehouses: tpcc().find_map(|phase| phase.warehouses.clone()),
            company: tpcc().find_map(|phase| phase.company.clone()),
            ..WrittenPhase::default()
        };
        for phase in tpcc() {
            let cure = "write the same number in all phases of this kind, or in the first one only";
            if let (Some(one), Some(first)) = (&phase.warehouses, &loaded.warehouses)
                && one.value != first.value
            {
                let message = format!(
                    "{} warehouses here, {} before: the company is loaded once",
                    one.value, first.value
                );
                settle.findings.add(&one.span, message, cure);
            }
            if let (Some(one), Some(first)) = (&phase.company, &loaded.company)
                && one.value != first.value
            {
                settle.findings.add(
                    &one.span,
                    "another size of company than before: it is loaded once",
                    cure,
                );
            }
        }
        Loaded(loaded)
    }
}

/// The one number that a key of this phase must hold, if it was said.
pub(super) fn one_of(key: &Said<'_, Numbers>, settle: &mut Settle<'_>) -> Option<At<u64>> {
    let at = key.written?;
    let [value] = *at.value.0.as_slice() else {
        let message = format!("`{}` takes one number here", key.key);
        settle
            .findings
            .add(&at.span, message, format!("write {} = 10", key.key));
        return None;
    };
    let span = at.span.clone();
    Some(At { value, span })
}

/// Each number of a list, from 1 to `most`.
pub(super) fn counts(key: &Said<'_, Numbers>, most: u64, settle: &mut Settle<'_>) -> Vec<u32> {
    let number = |number: &u64| u32::try_from(*number).unwrap_or(u32::MAX);
    let usual = || key.usual.0.iter().map(number).collect();
    let Some(at) = key.written else { return usual() };
    if at.value.0.is_empty() || at.value.0.len() > STEPS_MAX {
        let message = format!("`{}` lists {} numbers", key.key, at.value.0.len());
        settle
            .findings
            .add(&at.span, message, format!("write 1 to {STEPS_MAX} of them"));
        return usual();
    }
    let limits = Limits::from(1..=most);
    let mut all = Vec::new();
    for value in &at.value.0 {
        let (value, span) = (*value, at.span.clone());
        all.push(settle.within(key.key, &At { value, span }, &limits).unwrap_or(1));
    }
    all
}

pub(super) fn tpcc(phase: &WrittenPhase, loaded: &Loaded, settle: &mut Settle<'_>) -> Tpcc {
    let rate = phase.rate().value().map(|rate| rate.0);
    let think_time = phase.think_time().value();
    if let Some(at) = phase.rate.as_ref().filter(|at| at.value.is_some()) {
        if think_time {
            let cure = "keep one of them: `rate` for arrivals on a schedule, `think_time` for users that pause";
            settle
                .findings
                .add(&at.span, "a phase has a `rate` or `think_time`, not both", cure);
        }
        if rate.is_some_and(|rate| !(1e-3..=1e6).contains(&rate)) {
            let cure = "write transactions a second of all users together: rate = \"200/s\"";
            settle.findings.add(&at.span, "`rate` is out of range", cure);
        }
    }
    Tpcc {
        users: counts(&phase.users(), USERS_MAX, settle),
        warehouses: settle.count(&loaded.0.warehouses()),
        company: loaded.0.company().value(),
        home: phase.home().value(),
        think_time,
        rate,
    }
}

pub(super) fn bulk(phase: &WrittenPhase, settle: &mut Settle<'_>) -> Bulk {
    let rows = counts(&phase.rows(), ROWS_MAX, settle);
    Bulk {
        rows: rows.into_iter().map(u64::from).collect(),
        commit_every: settle.count(&phase.commit_every()).into(),
    }
}
