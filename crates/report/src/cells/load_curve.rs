//! The load curve: throughput and response from few users to many, and the point from which more users no longer help.
//!
//! Takes the runs of one stack in one phase with steps, gives a [`LoadCurve`]; where the point lies is arithmetic of
//! room `stats`. Prevents: a peak quoted without the response that was paid for it, and "saturated" said of a curve
//! that was still rising.

use crate::cells::counts::NEW_ORDER;
use crate::cells::orders::per_minute;
use crate::figures::{Figure, quantiles};
use crate::history::Seen;
use ledger::{LedgerError, LoadStep, Stamp, StepHistogram};
use schemars::JsonSchema;
use serde::Serialize;

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StepFigures {
    /// Users.
    pub users: u32,
    /// New orders committed per minute.
    pub new_orders_per_minute: Option<Figure>,
    /// Response of new orders: half were faster, in nanoseconds.
    pub response_ns_p50: Option<Figure>,
    /// 90 % were faster.
    pub response_ns_p90: Option<Figure>,
    /// 99 % were faster.
    pub response_ns_p99: Option<Figure>,
}

/// Where more users stop helping.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SaturationPoint {
    /// The fewest users whose throughput is within the study's margin of the best step's.
    pub users: u32,
    /// The fewest for which that can't be ruled out (95 %); `null` with one block.
    pub users_low: Option<u32>,
    /// The fewest for which it is sure (95 %); `null` with one block, and where it is sure of none.
    pub users_high: Option<u32>,
    /// Users of the best step.
    pub best_users: u32,
    /// False where the point may be the last step: the curve was not driven far enough.
    pub reached: bool,
    /// In words, with the method.
    pub words: String,
}

/// A load curve.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LoadCurve {
    /// Steps, by users.
    pub steps: Vec<StepFigures>,
    /// The point; `null` with one step.
    pub saturation: Option<SaturationPoint>,
}

impl LoadCurve {
    /// `None` where no run has steps. Runs that lack a step have no part in the point.
    pub(crate) fn of(runs: &[&Seen], margin: f64) -> Result<Option<LoadCurve>, LedgerError> {
        let curves: Vec<&[LoadStep]> = runs
            .iter()
            .filter_map(|run| run.orders.as_ref())
            .map(|orders| orders.steps.as_slice())
            .filter(|steps| !steps.is_empty())
            .collect();
        let mut counts: Vec<u32> = curves
            .iter()
            .flat_map(|steps| steps.iter().map(|step| step.users))
            .collect();
        counts.sort_unstable();
        counts.dedup();
        if counts.is_empty() {
            return Ok(None);
        }
        let whole: Vec<&&[LoadStep]> = curves
            .iter()
            .filter(|steps| counts.iter().all(|users| at(steps, *users).is_some()))
            .collect();
        let mut steps = Vec::new();
        let mut levels = Vec::new();
        for users in counts {
            let of: Vec<&LoadStep> = curves.iter().filter_map(|steps| at(steps, users)).collect();
            steps.push(figures(users, &of)?);
            levels.push(stats::LoadStep {
                users,
                throughput: whole.iter().filter_map(|steps| rate(at(steps, users)?)).collect(),
            });
        }
        Ok(Some(LoadCurve {
            saturation: stats::saturation(&levels, margin).map(|found| point(&found, margin, whole.len())),
            steps,
        }))
    }
}

fn at(steps: &[LoadStep], users: u32) -> Option<&LoadStep> {
    steps.iter().find(|step| step.users == users)
}

fn new_order(step: &LoadStep) -> Option<&StepHistogram> {
    let mut rows = step.histograms.iter();
    rows.find(|row| row.class == NEW_ORDER && row.stamp == Stamp::Response)
}

fn rate(step: &LoadStep) -> Option<f64> {
    per_minute(
        new_order(step)?.units as f64,
        step.ended_ns.saturating_sub(step.began_ns),
    )
}

fn figures(users: u32, blocks: &[&LoadStep]) -> Result<StepFigures, LedgerError> {
    let rows = blocks.iter().filter_map(|step| new_order(step));
    let found = quantiles(rows.map(|row| &row.blob), [0.5, 0.9, 0.99])?;
    let [p50, p90, p99] = found.map(Figure::of_all);
    Ok(StepFigures {
        users,
        new_orders_per_minute: Figure::of(blocks.iter().map(|step| rate(step))),
        response_ns_p50: p50,
        response_ns_p90: p90,
        response_ns_p99: p99,
    })
}

fn people(users: u32) -> String {
    format!("{users} user{}", if users == 1 { "" } else { "s" })
}

fn point(found: &stats::Saturation, margin: f64, blocks: usize) -> SaturationPoint {
    let margin = crate::format::percent(margin);
    let doubt = match (found.users_low, found.users_high) {
        (Some(low), Some(high)) if low == high => format!(", sure at 95 % over {blocks} blocks"),
        (Some(low), Some(high)) => format!(", between {low} and {high} at 95 % over {blocks} blocks"),
        (Some(low), None) => format!(", {low} or more at 95 % over {blocks} blocks"),
        _ => ", of one block and without an interval".into(),
    };
    let words = if found.reached {
        format!(
            "more than {} help by no more than {margin}{doubt} (best: {})",
            people(found.users),
            people(found.best_users)
        )
    } else {
        format!(
            "the end of the rise was not seen: {} within {margin} of the best step{doubt}, and no step with more \
             users shows that they no longer help",
            match found.users {
                1 => "1 user is".to_string(),
                users => format!("{users} users are"),
            }
        )
    };
    SaturationPoint {
        users: found.users,
        users_low: found.users_low,
        users_high: found.users_high,
        best_users: found.best_users,
        reached: found.reached,
        words,
    }
}

/// How the point is found, for those who ask.
pub(crate) const METHOD: &str = "The point is the smallest number of users whose new orders per minute are within \
     the study's margin of the best step's; its interval comes from the t interval (95 %) of the log ratio of both \
     over the blocks. The best step is chosen by the same data, so the point errs to more users.";
