//! The lines of the table that say how much time a verdict takes of what a fixed protocol takes, and what both find.
//!
//! Takes simulated worlds, what twins say, and two protocols that were really run; gives lines. Prevents: time that was
//! saved by finding less.

use super::Line;
use super::errors::errs_seldom;
use crate::fixed::FixedProtocol;
use crate::fixed::worlds::TimeToVerdict;
use crate::protocols::{Protocols, SideBySide, TIME_RATIO_MAX};
use crate::twins::{BesideFixed, Examined};
use stats::Rate;

/// Time is saved where as much is found as the fixed protocol finds (less what is no matter), or nine of ten.
const FOUND_ENOUGH: f64 = 0.9;
const FOUND_LESS: f64 = 0.05;

/// Whether as much is found as the fixed protocol finds at best, or nine of ten; `None` where it is as much as it finds
/// at worst, and where both intervals leave it open.
fn finds_enough(found: &Rate, fixed_worst: &Rate, fixed_best: &Rate) -> Option<bool> {
    let wanted = |fixed: f64| (fixed - FOUND_LESS).min(FOUND_ENOUGH);
    if found.low >= wanted(fixed_best.share()) {
        return Some(true);
    }
    (found.high < wanted(fixed_worst.low)).then_some(false)
}

/// This procedure beside the fixed protocol.
struct Found<'a> {
    here: &'a Rate,
    /// What the fixed protocol finds, in per cent.
    fixed: String,
    /// Of the fixed protocol's time.
    time: f64,
    /// The time is not bought with verdicts that are wrong or missing.
    is_as_good: Option<bool>,
}

impl Found<'_> {
    fn line(self, section: &'static str, what: String) -> Line {
        let (time, found) = (self.time * 100.0, self.here.share() * 100.0);
        Line {
            section,
            what,
            figure: format!("{time:.1} %, finds {found:.0} ({}) %", self.fixed),
            owed: Some(Line::percent(TIME_RATIO_MAX)),
            kept: match self.time <= TIME_RATIO_MAX {
                true => self.is_as_good,
                false => Some(false),
            },
        }
    }
}

pub(super) fn simulated(times: &[TimeToVerdict]) -> Vec<Line> {
    let line = |row: &TimeToVerdict| {
        let world = row.scatter.name.split(" (").next().unwrap_or_default();
        let is_alike = row.true_ratio == 1.0;
        let (here, fixed) = match is_alike {
            true => (&row.false_verdicts, &row.fixed_false),
            false => (&row.found, &row.fixed_found),
        };
        let found = Found {
            here,
            fixed: format!("{:.0}", fixed.share() * 100.0),
            time: row.time_ratio(),
            is_as_good: match is_alike {
                true => errs_seldom(here),
                false => finds_enough(here, fixed, fixed),
            },
        };
        found.line(
            "Time to a verdict, of a fixed protocol's: simulated",
            format!("{world}, ratio {}", row.true_ratio),
        )
    };
    times.iter().map(line).collect()
}

pub(super) fn of_twins(asked: &Examined) -> Vec<Line> {
    let line = |one: &BesideFixed| {
        let is_alike = one.true_ratio == 1.0;
        let of = |fixed: &FixedProtocol| match is_alike {
            true => fixed.wrong.share() * 100.0,
            false => fixed.found.share() * 100.0,
        };
        let here = match is_alike {
            true => &one.ours.false_verdicts,
            false => &one.ours.detected,
        };
        let found = Found {
            here,
            fixed: format!("{:.0} to {:.0}", of(&one.fixed_worst), of(&one.fixed_best)),
            time: one.time_ratio(),
            is_as_good: match is_alike {
                true => errs_seldom(here),
                false => finds_enough(here, &one.fixed_worst.found, &one.fixed_best.found),
            },
        };
        found.line(
            "Time to a verdict, of a fixed protocol's: this machine's twins",
            format!("{}, ratio {}", asked.noise.twins.phases[one.phase], one.true_ratio),
        )
    };
    asked.beside.iter().map(line).collect()
}

/// Both protocols on the same stacks: verdicts and time, then power.
pub(super) fn really_run(both: &Protocols) -> Vec<Line> {
    const SECTION: &str = "Time to a verdict, of a fixed protocol's: both really run";
    let what = |one: &SideBySide| format!("{} against {}, {}", one.stack, one.base, one.phase);
    let owed = || Some(Line::percent(TIME_RATIO_MAX));
    let time = |one: &SideBySide| {
        let runs = Line {
            section: SECTION,
            what: what(one),
            figure: format!("{:.1} %, {}", one.time_ratio() * 100.0, one.agreement.words()),
            owed: owed(),
            kept: one.is_kept(),
        };
        let wall = one.wall_ratio().map(|ratio| Line {
            section: SECTION,
            what: "  with all set-up, by the wall".to_string(),
            figure: format!("{:.1} %", ratio * 100.0),
            owed: owed(),
            // Time that nothing was learnt in is none that was saved.
            kept: match ratio <= TIME_RATIO_MAX {
                true => one.agreement.is_kept(),
                false => Some(false),
            },
        });
        [Some(runs), wall]
    };
    let missing = both.missing.iter().map(|[stack, base, phase]| Line {
        section: SECTION,
        what: format!("{stack} against {base}, {phase}"),
        figure: "not ranked in short runs".to_string(),
        owed: owed(),
        kept: Some(false),
    });
    let above = |ratio: f64| format!("{:.1}", (ratio - 1.0) * 100.0);
    let power = |one: &SideBySide| Line {
        section: "Smallest difference found by 9 of 10 (the fixed protocol's): both really run",
        what: what(one),
        figure: format!(
            "{} ({}) %",
            above(one.here.smallest_found),
            above(one.fixed.smallest_found)
        ),
        owed: None,
        kept: None,
    };
    let all = &both.comparisons;
    let times = all.iter().flat_map(time).flatten();
    times.chain(missing).chain(all.iter().map(power)).collect()
}
