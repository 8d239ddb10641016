//! Phases of decision support.
//!
//! Takes the phases as written; gives [`Tpch`]. Prevents: two phases of one trial that ask tables of unlike scale, of
//! which only one was loaded, and users beside streams.

use super::settle::{MINUTE, Settle, value_or};
use super::sql::{USERS_MAX, counts};
use crate::study::{Tpch, TpchRun, TpchText};
use crate::units::Duration;
use crate::written::{At, PhaseWord, RunWord, WrittenPhase, WrittenStudy};

/// The least scale: below it one supplier has the same part twice.
const SCALE_MIN: f64 = 0.01;

/// The most pairs of refresh functions.
const REFRESH_MAX: u32 = 64;

/// The scale: what the first phase that says one says.
pub(super) struct Loaded {
    scale: f64,
}

impl Loaded {
    pub(super) fn of(written: &WrittenStudy, settle: &mut Settle<'_>) -> Loaded {
        let is = |phase: &&WrittenPhase| phase.kind.as_ref().is_some_and(|at| at.value == PhaseWord::Tpch);
        let said: Vec<&At<f64>> = written
            .phases
            .iter()
            .filter(is)
            .filter_map(|phase| phase.scale.as_ref())
            .collect();
        let Some(first) = said.first() else {
            return Loaded { scale: SCALE_MIN };
        };
        for one in &said {
            if (one.value - first.value).abs() > 0.0 {
                let message = format!(
                    "scale {} here, {} before: the tables are loaded once",
                    one.value, first.value
                );
                let cure = "write the same scale in all phases of this kind, or in the first one only";
                settle.findings.add(&one.span, message, cure);
            }
        }
        // Below, a supplier has the same part twice.
        let hundredths = first.value * 100.0;
        if !(SCALE_MIN..=100.0).contains(&first.value) || (hundredths - hundredths.round()).abs() > 1e-6 {
            let message = format!("`scale` cannot be {}", first.value);
            let cure = "write a number from 0.01 to 100 with at most two places: scale = 0.3";
            settle.findings.add(&first.span, message, cure);
            return Loaded { scale: SCALE_MIN };
        }
        Loaded { scale: first.value }
    }
}

pub(super) fn tpch(phase: &WrittenPhase, loaded: &Loaded, settle: &mut Settle<'_>) -> Tpch {
    let limit = value_or(&phase.limit, Duration(10 * MINUTE));
    if let Some(at) = phase.limit.as_ref().filter(|at| at.value.0 == 0) {
        settle
            .findings
            .add(&at.span, "no question is answered in 0s", "write limit = \"10m\"");
    }
    Tpch {
        scale: loaded.scale,
        run: run(phase, settle),
        text: value_or(&phase.text, TpchText::Grouped),
        limit,
        refresh: settle.count(&phase.refresh, "refresh", 0, 0..=REFRESH_MAX),
    }
}

fn run(phase: &WrittenPhase, settle: &mut Settle<'_>) -> TpchRun {
    let several = phase.streams.is_some() || phase.users.is_some();
    let usual = if several { RunWord::Throughput } else { RunWord::Power };
    let run = value_or(&phase.run, usual);
    if let (Some(users), Some(_)) = (&phase.users, &phase.streams) {
        let cure = "keep one of them: `streams` ask everything each, `users` ask `each` questions";
        settle
            .findings
            .add(&users.span, "a phase has `streams` or `users`, not both", cure);
    }
    if let (Some(each), None) = (&phase.each, &phase.users) {
        let cure = "write `users` too, or remove it: streams ask all 22 questions";
        settle
            .findings
            .add(&each.span, "`each` is of `users`, and there are none", cure);
    }
    match (run, &phase.run) {
        (RunWord::Power, Some(at)) if several => {
            let cure = "remove `streams` and `users`, or write run = \"throughput\"";
            settle
                .findings
                .add(&at.span, "one user alone asks the questions of a power run", cure);
            TpchRun::Power
        }
        (RunWord::Power, _) => TpchRun::Power,
        (RunWord::Throughput, _) if phase.users.is_some() => TpchRun::Users {
            users: counts(&phase.users, "users", &[100], 1..=USERS_MAX.min(1000), settle),
            each: settle.count(&phase.each, "each", 2, 1..=22),
        },
        (RunWord::Throughput, _) => TpchRun::Streams(settle.count(&phase.streams, "streams", 2, 2..=64)),
    }
}
