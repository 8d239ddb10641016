//! What power cuts found, in a sentence: what was acknowledged is there, or how much of it is not.
//!
//! Takes the runs of a stack in a phase, gives a [`Check`]. Prevents: a loss that stands in a table nobody reads; it stands in the
//! report's last sentence, as any loss of data does.

use crate::checks::{Check, Status};
use crate::history::Seen;
use crate::layouts::whole;
use ledger::Measure;

/// `None` where no power was cut.
pub(crate) fn check(stack: &str, phase: &str, runs: &[&Seen]) -> Option<Check> {
    let sum = |measure| runs.iter().filter_map(|run| run.get(measure)).sum::<f64>();
    let cuts = sum(Measure::CutsMade);
    if cuts == 0.0 {
        return None;
    }
    let (losing, acknowledged) = (sum(Measure::CutsLosing), sum(Measure::CutsAcknowledged));
    let hit = sum(Measure::CutsUnflushed);
    let lost = losing > 0.0;
    let figure = if lost {
        format!(
            "{} of {} acknowledged transactions lost, {} half there, {} pages older than before, in {} of {} power cuts ({} could not be brought up)",
            whole(sum(Measure::CutsLost)),
            whole(acknowledged),
            whole(sum(Measure::CutsHalf)),
            whole(sum(Measure::CutsOlder)),
            whole(losing),
            whole(cuts),
            whole(sum(Measure::CutsNotUp)),
        )
    } else {
        format!(
            "{} power cuts, {} of them with writes unflushed: kept all {} acknowledged transactions",
            whole(cuts),
            whole(hit),
            whole(acknowledged)
        )
    };
    Some(Check {
        subject: if lost { "data loss" } else { "power cuts" }.into(),
        stack: Some(stack.into()),
        phase: Some(phase.into()),
        status: if lost { Status::Invalid } else { Status::Note },
        figure,
        threshold: "everything acknowledged is there".into(),
        advice: if lost {
            "this stack does not keep what it acknowledges: do not use it so; the events name what was lost"
        } else {
            "holds for these cuts on these devices; more cuts say more"
        }
        .into(),
    })
}
