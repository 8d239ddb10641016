//! What is checked where several instances of the page engine share the work.
//!
//! Takes the runs of one stack in one phase, gives what was found. Prevents: a sum of instances that did not work at
//! the same time, and one that is read as what a cluster with a common cache would do.

use super::at::At;
use super::rule::{Bound, Rule, Take, Taken};
use crate::check::Status;
use crate::format::percent;
use ledger::Measure;

pub(crate) const APART: Rule = Rule {
    subject: "instances",
    bound: Bound::Words("no cache fusion"),
    beyond: Status::Note,
    advice: "read it as instances that share nothing but the stack: a cluster also sends pages between its caches",
    take: Take::Cell(apart),
    document: None,
    traps: &[],
};

pub(crate) const OVERLAP: Rule = Rule {
    subject: "instances at the same time",
    bound: Bound::Least(0.98),
    beyond: Status::Suspect,
    advice: "give the phase more time, or a processor to each instance: the sum is of different times",
    take: Take::Cell(overlap),
    document: None,
    traps: &[],
};

/// How far the instances worked at the same time.
fn overlap(at: &At<'_>) -> Option<Taken> {
    let share = at.measured(Measure::InstancesOverlap)?;
    // One block in which they did not is a sum of different times.
    let figure = format!("all instances worked for at least {} of the time", percent(share.low));
    Some(Taken::share(share.low, figure))
}

/// What the instances are not, and how fair the stack was to them.
fn apart(at: &At<'_>) -> Option<Taken> {
    let count = at.measured(Measure::Instances)?;
    let fairness = at.measured(Measure::InstancesFairness)?;
    let figure = format!(
        "{:.0} instances, each with its schemas, cache and redo log; fairness of their rates {:.3}",
        count.median, fairness.median
    );
    Some(Taken::judged(Status::Note, figure))
}
