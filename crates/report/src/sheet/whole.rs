//! What is said of the study and of its stacks before any phase: models, old software, servers, planted disadvantages,
//! dropped blocks.
//!
//! Takes the gathered file and the analysis, gives what was found. Prevents: a model taken for hardware, and a verdict
//! that hangs on blocks that were left out.

use super::rule::Taken;
use crate::analysis::{Analysis, LookKey, look_key};
use crate::check::Status;
use crate::format::{percent, ratio};
use crate::history::Book;
use crate::ranking::drops;
use crate::ranking::own_blocks::BlockDoubt;
use ledger::{FactName, Scope, Stack, TrialStatus};
use std::collections::{BTreeMap, BTreeSet};

/// With this correlation hidden, a verdict of twelve blocks errs in a quarter of studies or more.
const CORRELATION_HIDDEN_MAX: f64 = 0.5;
/// What half of the blocks have is no exception.
const SLOW_BLOCKS_HIDDEN_MAX: f64 = 0.5;
/// A tenth is what counts as a slow run.
const CHANGE_HIDDEN_MAX: f64 = 0.1;

/// Names of older studies in one line.
const OLDER_SAID_MAX: usize = 8;
/// Most blocks named in a line.
const BLOCKS_SAID_MAX: usize = 12;

pub(crate) fn modelled(book: &Book, _: &Analysis) -> Option<Taken> {
    let said = "a device of this study is simulated in virtual time";
    book.study.modelled.then(|| Taken::broken(said))
}

/// Models that ran slower than their devices.
pub(crate) fn slow_motion(_: &Book, analysis: &Analysis) -> Option<Taken> {
    analysis.study.slowed().map(Taken::broken)
}

/// A stack on LUNs that behave as another device.
pub(crate) fn on_a_model(_: &Book, stack: &Stack) -> Option<Taken> {
    let device = stack.layers.model()?;
    Some(Taken::broken(format!("is on LUNs that a model of {device} serves")))
}

/// A stack on a ZFS that is not today's.
pub(crate) fn on_an_old_zfs(_: &Book, stack: &Stack) -> Option<Taken> {
    let layer = stack.layers.old_zfs()?;
    Some(Taken::broken(format!(
        "is {layer}: the ZFS of about 2010, not today's OpenZFS"
    )))
}

/// A server that was there before the study: of what it runs on nothing is known, wherever that is.
pub(crate) fn on_a_server(_: &Book, stack: &Stack) -> Option<Taken> {
    let took_part = stack.kind == "server" && stack.skipped.is_none();
    let said =
        "is a server that was there before the study: processors, memory and devices of its host were not observed";
    took_part.then(|| Taken::broken(said))
}

/// What chooses the frequency of the host's processors.
pub(crate) fn governor(book: &Book, _: &Analysis) -> Option<Taken> {
    let governor = book.fact(&Scope::Host, FactName::CpuGovernor)?.to_string();
    Some(Taken::holds(governor == "performance", format!("chosen by {governor}")))
}

/// A guest whose host plays each of its system calls, by its name in the facts of a host.
const USER_MODE: &str = "User-mode Linux";

/// Processors of a guest: what it counts is not what its host's would take.
pub(crate) fn in_a_guest(book: &Book, _: &Analysis) -> Option<Taken> {
    let below = book.fact(&Scope::Host, FactName::Virtualisation)?.to_string();
    let said = format!("the study ran in a guest ({below}): its CPU figures are not those of a host");
    (below == USER_MODE).then(|| Taken::broken(said))
}

pub(crate) fn planted(_: &Book, stack: &Stack) -> Option<Taken> {
    stack.injected.as_ref().map(Taken::broken)
}

pub(crate) fn dropped(_: &Book, analysis: &Analysis) -> Option<Taken> {
    let (dropped, begun) = (drops::blocks(&analysis.dropped), analysis.study.blocks_begun);
    let in_part = analysis.dropped.iter().all(|one| one.phase.is_some());
    let where_from = if in_part { " for some of their phases" } else { "" };
    let status = match analysis.study.blocks_valid {
        0 => Status::Invalid,
        _ => Status::Suspect,
    };
    (dropped > 0).then(|| Taken::judged(status, format!("{dropped} of {begun} blocks were dropped{where_from}")))
}

/// Trials that failed, and whose figures are those of another try.
pub(crate) fn run_again(book: &Book, _: &Analysis) -> Option<Taken> {
    let first = book.failed_before.first()?;
    let TrialStatus::Failed(reason) = &first.trial.status else {
        return None;
    };
    let (stack, block) = (&first.trial.stack, first.trial.block);
    let said = match book.failed_before.len() {
        1 => format!("{stack} failed in block {block} and was run again: {reason}"),
        all => format!("{all} trials failed and were run again; the first is {stack} in block {block}: {reason}"),
    };
    Some(Taken::broken(said))
}

/// Blocks that count, and of which an interruption keeps the stacks apart.
pub(crate) fn interrupted(book: &Book, analysis: &Analysis) -> Option<Taken> {
    let counts = |block: &u32| !(analysis.dropped.iter()).any(|one| one.phase.is_none() && one.block == *block);
    let blocks: Vec<String> = book
        .completed_later()
        .iter()
        .filter(|block| counts(block))
        .map(u32::to_string)
        .collect();
    let named = blocks.iter().take(BLOCKS_SAID_MAX).map(String::as_str);
    let named = named.collect::<Vec<_>>().join(", ");
    let more = match blocks.len().saturating_sub(BLOCKS_SAID_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let said = match blocks.len() {
        0 => return None,
        1 => format!("block {named} was interrupted, and `--resume` completed it"),
        all => format!("{all} blocks were interrupted, and `--resume` completed them: {named}{more}"),
    };
    Some(Taken::broken(said))
}

/// How often chance does as much, in words.
fn by_chance(doubt: &BlockDoubt) -> String {
    format!("chance alone does as much in {} of such studies", percent(doubt.chance))
}

/// Studies of the same stacks that were there before this one.
pub(crate) fn older_studies(book: &Book, _: &Analysis) -> Option<Taken> {
    let names = book.fact(&Scope::Study, FactName::OlderStudies)?.names();
    let named: Vec<&str> = names.iter().take(OLDER_SAID_MAX).map(String::as_str).collect();
    Some(Taken::broken(format!(
        "an older study of the same stacks exists: {}",
        named.join(", ")
    )))
}

/// What the three lines after it could not see in so few blocks.
pub(crate) fn hidden(_: &Book, analysis: &Analysis) -> Option<Taken> {
    if analysis.comparisons.is_empty() && analysis.contrasts.is_empty() {
        return None;
    }
    let Some(seen) = &analysis.own_blocks else {
        let said = "fewer than six blocks are valid for every comparison, or their ratios do not scatter: any \
                    correlation, slow runs and change stay hidden";
        return Some(Taken::broken(said).advising("give the study six blocks or more that are valid"));
    };
    let (blocks, hidden) = (seen.blocks, seen.hidden);
    let correlation = match hidden.correlation {
        all if all >= 1.0 => "any correlation".to_string(),
        below => format!("a correlation below {below:.2}"),
    };
    let slow = match hidden.slow_blocks {
        all if all >= 1.0 => "slow runs in any of them".to_string(),
        share => format!("slow runs in up to {} of them", percent(share)),
    };
    let change = match hidden.change {
        all if all >= 1.0 => "any change between the halves".to_string(),
        share => format!("a change below {} between the halves", percent(share)),
    };
    let said = format!("in {blocks} blocks, {correlation}, {slow} and {change} mostly stay hidden");
    let holds = hidden.correlation <= CORRELATION_HIDDEN_MAX
        && hidden.slow_blocks <= SLOW_BLOCKS_HIDDEN_MAX
        && hidden.change <= CHANGE_HIDDEN_MAX;
    Some(Taken::holds(holds, said))
}

/// Ratios of neighbouring blocks.
pub(crate) fn neighbours(_: &Book, analysis: &Analysis) -> Option<Taken> {
    let doubt = &analysis.own_blocks.as_ref()?.neighbours;
    let said = format!(
        "correlation {:.2} in {} ({})",
        doubt.value,
        doubt.stack,
        by_chance(doubt)
    );
    Some(Taken::holds(!doubt.speaks, said))
}

pub(crate) fn halves(_: &Book, analysis: &Analysis) -> Option<Taken> {
    let doubt = &analysis.own_blocks.as_ref()?.halves;
    let said = format!(
        "{}'s ratio in the second half is {} of that in the first ({})",
        doubt.stack,
        ratio(doubt.value),
        by_chance(doubt)
    );
    Some(Taken::holds(!doubt.speaks, said))
}

pub(crate) fn one_sided(_: &Book, analysis: &Analysis) -> Option<Taken> {
    let doubt = &analysis.own_blocks.as_ref()?.one_sided;
    let (runs, did) = match doubt.value {
        value if value < 0.0 => (-value, "gained"),
        value => (value, "lost"),
    };
    let said = format!(
        "{} {did} a tenth or more of its usual ratio in {runs:.0} more runs than the other way ({})",
        doubt.stack,
        by_chance(doubt)
    );
    Some(Taken::holds(!doubt.speaks, said))
}

pub(crate) fn looks(book: &Book, analysis: &Analysis) -> Option<Taken> {
    let changed = changed_looks(book, analysis);
    let said = format!("{changed} verdicts differ between the run's record and the file's numbers");
    (changed > 0).then(|| Taken::broken(said))
}

/// Verdicts that the run recorded and that the same look gives otherwise now.
fn changed_looks(book: &Book, analysis: &Analysis) -> usize {
    let everything = analysis.looks();
    let mut now: BTreeMap<LookKey<'_>, BTreeSet<&str>> = BTreeMap::new();
    for look in &everything {
        now.entry(look_key(look)).or_default().insert(&look.verdict);
    }
    let differs = |old: &&ledger::Look| {
        let mut verdicts = now.get(&look_key(old)).into_iter().flatten();
        verdicts.any(|verdict| *verdict != old.verdict)
    };
    book.looks.iter().filter(differs).count()
}
