//! What power cuts and kills found, in a sentence: what was acknowledged is there, or how much of it is not.
//!
//! Takes what was kept of a stack in a phase, gives its words; and those of all stacks, for the study as a whole.
//! Prevents: a loss in a table that nobody reads, and a kill that passes for a power cut.

use crate::cells::kept::{Kept, kept};
use crate::check::Status;
use crate::format::{bytes, listed, whole};
use crate::history::{Book, PhaseHead, Seen};
use crate::phase_kind::{EndedBy, kind_row};
use ledger::{Measure, Stack};

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

/// The answer of a study that ranks nothing: who kept all, what the others lost, and who was not looked at. Empty
/// without cuts and kills.
pub(crate) fn kept_in_short(all: &[Kept], stacks: &[&str]) -> Vec<String> {
    if all.is_empty() {
        return Vec::new();
    }
    let of_stack = |stack: &str| all.iter().filter(|one| one.stack == stack).collect::<Vec<_>>();
    let mut found: Vec<(Looked, &str)> = stacks
        .iter()
        .map(|stack| (Looked::of(&of_stack(stack)), *stack))
        .collect();
    found.sort_by_key(|(looked, _)| *looked);
    // A loss is a stack's own; the others share a clause with their like.
    let alike = |one: &(Looked, &str), other: &(Looked, &str)| one.0 == other.0 && one.0 != Looked::Lost;
    let clause = |same: &[(Looked, &str)]| {
        let names: Vec<&str> = same.iter().map(|(_, stack)| *stack).collect();
        let of: Vec<&Kept> = names.iter().flat_map(|stack| of_stack(stack)).collect();
        same[0].0.in_short(&listed(&names, "and"), &of)
    };
    found.chunk_by(alike).map(clause).collect()
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
    // What recovery overwrites before the array comes to it has right parity again, and is not in the count.
    let said = match stale > 0.0 {
        true => format!(
            "parity of at least {} did not match its data, after at least {} of {} power cuts",
            bytes(sum(Measure::CutsStaleParityBytes)),
            whole(stale),
            whole(cuts)
        ),
        false => format!(
            "the array found no parity that did not match its data, after {} power cuts",
            whole(cuts)
        ),
    };
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
    /// Of what was kept of one stack in all phases.
    fn of(kept: &[&Kept]) -> Looked {
        let of = |killed: bool| kept.iter().filter(move |one| one.killed == killed);
        let acknowledged = |killed| of(killed).any(|one| one.acknowledged > 0.0);
        if kept.iter().any(|one| one.is_loss()) {
            return Looked::Lost;
        }
        match (of(false).next().is_some(), of(true).next().is_some()) {
            (true, _) if of(false).any(|one| one.at_risk) => Looked::Cut,
            (true, _) if acknowledged(false) => Looked::NothingAtRisk,
            (_, true) if acknowledged(true) => Looked::Killed {
                forced: of(true).all(|one| one.forced_down >= one.cuts),
            },
            (false, false) => Looked::Not,
            _ => Looked::NothingAcknowledged,
        }
    }

    /// A clause of the answer, of stacks that were looked at alike.
    fn in_short(self, stacks: &str, of: &[&Kept]) -> String {
        let all = || format!("In {}, {stacks} kept all that was acknowledged", times(of));
        match self {
            Looked::Cut => all(),
            Looked::NothingAtRisk => format!("{} (nothing was at risk: no power cut found a write unflushed)", all()),
            Looked::Killed { forced: true } => format!("{} (a kill is weaker than a power cut)", all()),
            Looked::Killed { forced: false } => {
                format!(
                    "{} (the engine alone was killed, and what the page cache holds stays)",
                    all()
                )
            }
            Looked::NothingAcknowledged => format!("Before {}, {stacks} acknowledged nothing", times(of)),
            Looked::Lost => {
                let losing: f64 = of.iter().map(|one| one.losing).sum();
                format!(
                    "In {} of {}, {stacks} lost something acknowledged",
                    whole(losing),
                    times(of)
                )
            }
            Looked::Not => format!("No power cut or kill was made on {stacks}"),
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
    let phases = |end: EndedBy| {
        let ended = |phase: &&PhaseHead| kind_row(phase.kind).ended_by == Some(end);
        let phases = book.phases.iter().filter(ended);
        phases
            .map(|phase| phase.name.as_str())
            .collect::<Vec<_>>()
            .join(" and ")
    };
    let (cut, killed) = (phases(EndedBy::PowerCut), phases(EndedBy::Kill));
    if cut.is_empty() && killed.is_empty() {
        return (Status::Note, "not tested by this study".to_string());
    }
    let all = kept(book);
    let of_stack = |stack: &str| all.iter().filter(|one| one.stack == stack).collect::<Vec<_>>();
    let mut found: Vec<(Looked, &str)> = stacks
        .iter()
        .map(|stack| (Looked::of(&of_stack(&stack.name)), stack.name.as_str()))
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
