//! Phases of kind `tpcc`.
//!
//! Takes the phases as written; gives [`Tpcc`]. Prevents: two phases of one trial that work on
//! companies of unlike size, of which only one was loaded.

use super::asked::Asked;
use super::numbers::counts;
use crate::meaning::settle::Settle;
use crate::study::Tpcc;
use crate::written::{PhaseWord, WrittenPhase, WrittenStudy, case};

/// Users that a phase may have.
const USERS_MAX: u64 = 10_000;

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

pub(super) fn phase(phase: &WrittenPhase, loaded: &Loaded, settle: &mut Settle<'_>) -> Asked {
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
    let tpcc = Tpcc {
        users: counts(&phase.users(), USERS_MAX, settle),
        warehouses: settle.count(&loaded.0.warehouses()),
        company: loaded.0.company().value(),
        home: phase.home().value(),
        think_time,
        rate,
    };
    Asked::lasting(tpcc, Some(case::WORK_TIME))
}
