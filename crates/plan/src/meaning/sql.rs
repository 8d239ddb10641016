//! Phases in SQL: order entry and bulk load.
//!
//! Takes the phases as written; gives [`Tpcc`] and [`Bulk`]. Prevents: two phases of one trial that work on
//! companies of unlike size, of which only one was loaded.

use super::settle::{Settle, or, value_or};
use crate::study::{Bulk, Company, Home, Tpcc};
use crate::written::{At, Numbers, PhaseWord, WrittenPhase, WrittenStudy};
use std::ops::RangeInclusive;

/// Users that a phase may have.
pub(super) const USERS_MAX: u32 = 10_000;
/// Steps of a load curve, row counts of a bulk load.
const STEPS_MAX: usize = 32;

/// Warehouses and size of the company: what the first phase that says so says.
pub(super) struct Loaded {
    warehouses: Option<At<u64>>,
    company: Option<At<Company>>,
}

impl Loaded {
    pub(super) fn of(written: &WrittenStudy, settle: &mut Settle<'_>) -> Loaded {
        let tpcc = || {
            let is = |phase: &&WrittenPhase| phase.kind.as_ref().is_some_and(|at| at.value == PhaseWord::Tpcc);
            written.phases.iter().filter(is)
        };
        let loaded = Loaded {
            warehouses: tpcc().find_map(|phase| phase.warehouses.clone()),
            company: tpcc().find_map(|phase| phase.company.clone()),
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
        loaded
    }
}

fn single(written: &Option<At<Numbers>>) -> Option<At<u64>> {
    let at = written.as_ref()?;
    let [only] = at.value.0.as_slice() else { return None };
    Some(At {
        value: *only,
        span: at.span.clone(),
    })
}

/// The one number that a key of this phase must hold.
pub(super) fn one_of(written: &Option<At<Numbers>>, key: &str, settle: &mut Settle<'_>) -> Option<At<u64>> {
    let one = single(written);
    if let (Some(at), None) = (written, &one) {
        let message = format!("`{key}` takes one number here");
        settle.findings.add(&at.span, message, format!("write {key} = 10"));
    }
    one
}

/// Each number of a list, within `range`.
pub(super) fn counts(
    written: &Option<At<Numbers>>,
    key: &str,
    usual: &[u32],
    range: RangeInclusive<u32>,
    settle: &mut Settle<'_>,
) -> Vec<u32> {
    let Some(at) = written else { return usual.to_vec() };
    if at.value.0.is_empty() || at.value.0.len() > STEPS_MAX {
        let message = format!("`{key}` lists {} numbers", at.value.0.len());
        settle
            .findings
            .add(&at.span, message, format!("write 1 to {STEPS_MAX} of them"));
        return usual.to_vec();
    }
    let mut all = Vec::new();
    for number in &at.value.0 {
        let one = Some(At {
            value: *number,
            span: at.span.clone(),
        });
        all.push(settle.count(&one, key, usual[0], range.clone()));
    }
    all
}

pub(super) fn tpcc(phase: &WrittenPhase, loaded: &Loaded, settle: &mut Settle<'_>) -> Tpcc {
    let home = &phase.span;
    let rate = phase.rate.as_ref().and_then(|at| at.value).map(|rate| rate.0);
    let think_time = or(&phase.think_time, false, home);
    if let Some(at) = phase.rate.as_ref().filter(|at| at.value.is_some()) {
        if think_time.value {
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
        users: counts(&phase.users, "users", &[100], 1..=USERS_MAX, settle),
        warehouses: settle.count(&loaded.warehouses, "warehouses", 10, 1..=1_000_000),
        company: loaded.company.as_ref().map_or(Company::Full, |at| at.value),
        home: value_or(&phase.home, Home::Fixed),
        think_time: think_time.value,
        rate,
    }
}

pub(super) fn bulk(phase: &WrittenPhase, settle: &mut Settle<'_>) -> Bulk {
    let rows = counts(&phase.rows, "rows", &[10_000, 100_000], 1..=1_000_000_000, settle);
    Bulk {
        rows: rows.into_iter().map(u64::from).collect(),
        commit_every: settle
            .count(&phase.commit_every, "commit_every", 100, 1..=1_000_000)
            .into(),
    }
}
