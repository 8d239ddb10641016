//! What power cuts and kills found, in a sentence: what was acknowledged is there, or how much of it is not.
//!
//! Takes what was kept of a stack in a phase, gives its words; and those of all stacks, for the study as a whole.
//! Prevents: a loss in a table that nobody reads, and a kill that passes for a power cut.

use crate::cells::kept::Kept;
use crate::check::Status;
use crate::format::{bytes, listed, whole};
use crate::grouped::grouped;
use crate::history::{Book, Seen};
use ledger::{Measure, PhaseKind, Stack};

/// What must stand beside every kill that is told; of one that took the engine alone the page cache stays too, which
/// [`kill_words`] says.
pub const KILL_IS_WEAKER: &str = "weaker than a power cut: what devices hold in their caches stays";

/// What a database acknowledges.
pub const ACKNOWLEDGED: &str = "acknowledged transactions";
/// What a server of files does.
pub const ACKNOWLEDGED_BY_A_FILE_SERVER: &str = "names and KiB that were acknowledged as stable";

/// The same of kills that took the engine alone.
const ENGINE_ONLY_IS_WEAKER: &str = "weaker still: what the page cache and devices hold stays";

/// How often the engine was killed and what went with it, in words; `forced` kills of all took what lay unwritten in
/// memory too, and in `pools` of them that was in the process of a pool.
pub fn kill_words(kills: f64, forced: f64, pools: f64) -> String {
    let times = match kills {
        1.0 => "once".to_string(),
        kills => format!("{} times", whole(kills)),
    };
    let with = if pools > 0.0 {
        "the process of its pool ended too"
    } else {
        "file system forced down"
    };
    let how = match forced {
        0.0 => "the engine only: what the page cache holds stays".to_string(),
        forced if forced == kills => with.to_string(),
        forced => format!("{with} in {} of them", whole(forced)),
    };
    format!("killed {times} ({how})")
}

/// What power cuts or kills showed of a stack in a phase: how many, and what became of what was acknowledged.
pub(crate) fn kept_words(kept: &Kept) -> String {
    let what = match kept.names_lost {
        Some(_) => ACKNOWLEDGED_BY_A_FILE_SERVER,
        None => ACKNOWLEDGED,
    };
    let acknowledged = whole(kept.acknowledged);
    match (kept.is_loss(), kept.killed) {
        (true, _) => format!(
            "{} of {acknowledged} {what} lost, {}, in {} of {} {} ({} could not be brought up)",
            whole(kept.lost),
            parts(kept),
            whole(kept.losing),
            whole(kept.cuts),
            ends(kept.killed),
            whole(kept.not_up),
        ),
        (false, false) => format!(
            "{} power cuts, {} of them with writes unflushed: kept all {acknowledged} {what}",
            whole(kept.cuts),
            whole(kept.unflushed),
        ),
        (false, true) => format!(
            "{}: kept all {acknowledged} {what}; {KILL_IS_WEAKER}",
            kill_words(kept.cuts, kept.forced_down, kept.pool_ended),
        ),
    }
}

fn ends(killed: bool) -> &'static str {
    if killed { "kills" } else { "power cuts" }
}

/// What was lost, by its kind.
fn parts(kept: &Kept) -> String {
    let count = |value: Option<f64>| whole(value.unwrap_or(0.0));
    if kept.names_lost.is_none() {
        let (half, older) = (count(kept.half), count(kept.older));
        return format!("{half} half there, {older} pages older than before");
    }
    let hid = match kept.verifier_hid {
        Some(hid) if hid > 0.0 => format!(", uncommitted data behind the same write verifier after {}", whole(hid)),
        _ => String::new(),
    };
    format!("{} names, {} KiB{hid}", count(kept.names_lost), count(kept.kib_lost))
}

/// The answer of a study that ranks nothing: who kept all, and what the others lost. Empty without cuts and kills.
pub(crate) fn kept_in_short(all: &[Kept]) -> Vec<String> {
    let by_stack = grouped(all.iter().map(|one| (one.stack.as_str(), one)));
    let (losing, sound): (Vec<_>, Vec<_>) = by_stack
        .into_iter()
        .partition(|(_, of)| of.iter().any(|one| one.is_loss()));
    let (sound, unasked): (Vec<_>, Vec<_>) = sound
        .into_iter()
        .partition(|(_, of)| of.iter().any(|one| one.acknowledged > 0.0));
    let mut said = Vec::new();
    if let Some((names, of)) = together(&sound) {
        let unflushed: f64 = of.iter().map(|one| one.unflushed).sum();
        let but = if of.iter().all(|one| one.killed) {
            " (a kill is weaker than a power cut)"
        } else if unflushed == 0.0 {
            " (nothing was at risk: no power cut found a write unflushed)"
        } else {
            ""
        };
        said.push(format!(
            "in {}, {names} kept all that was acknowledged{but}",
            times(&of)
        ));
    }
    if let Some((names, of)) = together(&unasked) {
        said.push(format!("before {}, {names} acknowledged nothing", times(&of)));
    }
    for (stack, of) in &losing {
        let losing: f64 = of.iter().map(|one| one.losing).sum();
        let (losing, times) = (whole(losing), times(of));
        said.push(format!("in {losing} of {times}, {stack} lost something acknowledged"));
    }
    said
}

/// The names of some stacks, and all that they went through.
fn together<'a>(stacks: &[(&'a str, Vec<&'a Kept>)]) -> Option<(String, Vec<&'a Kept>)> {
    let names: Vec<&str> = stacks.iter().map(|(stack, _)| *stack).collect();
    let of = stacks.iter().flat_map(|(_, of)| of.iter().copied());
    (!names.is_empty()).then(|| (listed(&names, "and"), of.collect()))
}

/// "104 power cuts and kills".
fn times(of: &[&Kept]) -> String {
    let has = |killed: bool| of.iter().any(|one| one.killed == killed);
    let kinds = [false, true].into_iter().filter(|killed| has(*killed)).map(ends);
    let cuts: f64 = of.iter().map(|one| one.cuts).sum();
    format!("{} {}", whole(cuts), kinds.collect::<Vec<_>>().join(" and "))
}

/// What the power cuts of a phase left of a stack's parity: whether some of it did not match, and how much. `None`: it
/// has none, or nobody looked.
pub(crate) fn write_hole(runs: &[&Seen]) -> Option<(bool, String)> {
    let sum = |measure| runs.iter().filter_map(|run| run.get(measure)).sum::<f64>();
    let cuts = sum(Measure::CutsParityLookedAt);
    if cuts == 0.0 {
        return None;
    }
    let stale = sum(Measure::CutsStaleParity);
    let said = format!(
        "parity of {} did not match its data after {} of {} power cuts",
        bytes(sum(Measure::CutsStaleParityBytes)),
        whole(stale),
        whole(cuts)
    );
    Some((stale > 0.0, said))
}

/// How well it was looked whether a stack keeps what it acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Looked {
    /// Something was lost, in a cut or in a kill.
    Lost,
    /// Cut while something acknowledged could be lost, and nothing was.
    Cut,
    /// Cut, but nothing lay unflushed.
    NothingAtRisk,
    /// Cut or killed before anything was acknowledged.
    NothingAcknowledged,
    /// Killed only; `forced`: each time with what lay unwritten in memory.
    Killed { forced: bool },
    /// Neither, or it failed before.
    Not,
}

impl Looked {
    fn of(book: &Book, stack: &Stack) -> Looked {
        let runs = move |kind: PhaseKind| {
            let phases = book.phases.iter().filter(move |phase| phase.kind == kind);
            phases.flat_map(move |phase| book.seen(&stack.name, &phase.name))
        };
        let sum = |kind, measure| runs(kind).filter_map(|run| run.get(measure)).sum::<f64>();
        let some = |kind, measure| sum(kind, measure) > 0.0;
        let (cut, kill) = (PhaseKind::PowerCut, PhaseKind::Kill);
        let acknowledged = |kind| some(kind, Measure::CutsAcknowledged);
        // Single cuts are not recorded: of several in one run, one may have found the acknowledgements and another the
        // unflushed writes.
        let has = |run: &Seen, measure| run.get(measure).is_some_and(|count| count > 0.0);
        let at_risk = |run: &Seen| has(run, Measure::CutsAcknowledged) && has(run, Measure::CutsUnflushed);
        if some(cut, Measure::CutsLosing) || some(kill, Measure::CutsLosing) {
            return Looked::Lost;
        }
        match (some(cut, Measure::CutsMade), some(kill, Measure::CutsMade)) {
            (true, _) if runs(cut).any(at_risk) => Looked::Cut,
            (true, _) if acknowledged(cut) => Looked::NothingAtRisk,
            (_, true) if acknowledged(kill) => Looked::Killed {
                forced: sum(kill, Measure::CutsForcedDown) >= sum(kill, Measure::CutsMade),
            },
            (false, false) => Looked::Not,
            _ => Looked::NothingAcknowledged,
        }
    }

    /// What it says of these stacks, where `killed` are the phases that kill.
    fn words(self, stacks: &str, killed: &str) -> String {
        match self {
            Looked::Cut => String::new(),
            Looked::Lost => format!("lost on {stacks}"),
            Looked::NothingAtRisk => format!("nothing was at risk on {stacks}: no cut found a write unflushed"),
            Looked::NothingAcknowledged => format!("nothing was acknowledged on {stacks}"),
            Looked::Killed { forced: true } => format!("only killed in {killed}: {stacks}; {KILL_IS_WEAKER}"),
            Looked::Killed { forced: false } => {
                format!("only the engine killed in {killed}: {stacks}; {ENGINE_ONLY_IS_WEAKER}")
            }
            Looked::Not => format!("not on {stacks}"),
        }
    }
}

/// Whether anybody looked that what these stacks acknowledge is kept: status and figure.
pub(crate) fn looked_at(book: &Book, stacks: &[&Stack]) -> (Status, String) {
    let phases = |kind: PhaseKind| {
        let phases = book.phases.iter().filter(|phase| phase.kind == kind);
        phases
            .map(|phase| phase.name.as_str())
            .collect::<Vec<_>>()
            .join(" and ")
    };
    let (cut, killed) = (phases(PhaseKind::PowerCut), phases(PhaseKind::Kill));
    if cut.is_empty() && killed.is_empty() {
        return (Status::Note, "not tested by this study".to_string());
    }
    let mut found: Vec<(Looked, &str)> = stacks
        .iter()
        .map(|stack| (Looked::of(book, stack), stack.name.as_str()))
        .collect();
    found.sort_by_key(|(looked, _)| *looked);
    let all_cut = !found.is_empty() && found.iter().all(|(looked, _)| *looked == Looked::Cut);
    let mut said = Vec::new();
    if !cut.is_empty() {
        said.push(format!("looked at in {cut}"));
    }
    for same in found.chunk_by(|(one, _), (other, _)| one == other) {
        let names: Vec<&str> = same.iter().map(|(_, name)| *name).collect();
        let words = same[0].0.words(&names.join(", "), &killed);
        said.extend((!words.is_empty()).then_some(words));
    }
    let status = if all_cut { Status::Valid } else { Status::Note };
    (status, said.join("; "))
}
