//! The story of a run: from a study to a result file with a verdict in it.

use crate::again::older;
use crate::again::taking_up::{self, Start};
use crate::first_blocks;
use crate::kinds;
use crate::progress::{BlockDone, Caller};
use crate::record::unix_ns;
use crate::result_file;
use crate::signals;
use crate::site::Site;
use crate::turn::Turn;
use anyhow::anyhow;
use ledger::{Ending, Ledger};
use plan::{Study, Turns};
use report::{Analysis, GoOn, StopReason};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs the study into the file at `output`: prepares the site, runs blocks until the verdict, the plan or the clock
/// says stop, and leaves the host as it was, whatever happens in between.
pub fn run(study: &Study, output: &Path, start: Start, site: &mut dyn Site, caller: Caller<'_>) -> anyhow::Result<()> {
    let mut ledger = match start {
        Start::Resume | Start::Extend => taking_up::take_up(output, study, start, site)?,
        Start::New => {
            let found = older::beside(output, study);
            let mut ledger = site.open_result(output)?;
            older::disclose(&found, &mut ledger, caller)?;
            ledger
        }
    };
    site.describe(&mut ledger)?;
    let ended = blocks(study, &mut ledger, site, caller);
    let reason = match &ended {
        Ok(reason) => reason.clone(),
        Err(error) => format!("{error:#}"),
    };
    if !signals::is_set(caller.cancel) {
        ledger.finish(&Ending {
            at_unix_ns: unix_ns(),
            reason,
        })?;
    }
    ended.map(|_| ())
}

/// Blocks, one after another; gives the reason for the end.
fn blocks(study: &Study, ledger: &mut Ledger, site: &mut dyn Site, caller: Caller<'_>) -> anyhow::Result<String> {
    let began = match study.fill_time {
        true => site.prepared_from().unwrap_or_else(Instant::now),
        false => Instant::now(),
    };
    let extended = ledger.extensions()?.len() as u32;
    let mut planned = ledger.study()?.blocks_planned.saturating_mul(1 + extended);
    let finished = result_file::finished(ledger)?;
    let (recorded, mut usual) = (kinds::recorded(study), Usual::default());
    for number in 0.. {
        let block_began = Instant::now();
        let block = plan::block(study.root_seed(), study.stacks.len(), number);
        let mut due = Vec::new();
        for (position, &index) in block.order.iter().enumerate() {
            if site.skips(index) || finished.contains(&(number, study.stacks[index].name.clone())) {
                caller.progress.advance(study.phases.len() as u64);
                continue;
            }
            due.push(Turn {
                block: &block,
                position: position as u32,
                stack: index,
                recorded: &recorded,
                progress: caller.progress,
                cancel: caller.cancel,
            });
        }
        trials(&due, ledger, site)?;
        // A block that an earlier run began is shorter than others.
        let is_whole = due.len() == (0..study.stacks.len()).filter(|&index| !site.skips(index)).count();
        if study.fill_time && site.keeps_real_time() && MEASURED_BLOCKS.contains(&number) && is_whole {
            let before = planned;
            let left = study_limit(study).saturating_sub(began.elapsed());
            planned = plan::blocks_that_fill(number + 1, ns(left), ns(usual.with(block_began.elapsed())));
            ledger.plan_blocks(planned)?;
            if planned != before {
                // Otherwise the count of blocks in the next line changes without a word.
                let why =
                    format!("The study will have {planned} blocks instead of {before}: so many fit into its time.");
                caller.progress.milestone(&why);
            }
        }
        let analysis = Analysis::of(ledger)?;
        record_looks(ledger, &analysis)?;
        let (took, real) = (block_began.elapsed(), site.keeps_real_time());
        let clock = Clock { began, took, real };
        let ended = end(study, &analysis, number, planned, &clock);
        let left = ended.is_none().then(|| clock.left(study, &analysis, number, planned));
        // A block that an earlier run finished was heard of then.
        if !due.is_empty() {
            caller.progress.judged(&BlockDone {
                number: number + 1,
                planned,
                took,
                left,
                analysis: &analysis,
            });
        }
        first_blocks::judge(ledger, &analysis, number, caller.progress)?;
        if let Some(reason) = ended {
            return Ok(reason);
        }
    }
    Err(anyhow!("a study has no end"))
}

/// The blocks, counted from 0, whose time fixes the number of blocks of a study that fills its time. The first block
/// differs (its files are new). The first look comes after the last of these: no figure has been looked at.
const MEASURED_BLOCKS: std::ops::RangeInclusive<u32> = 1..=3;

/// What a block usually takes: the mean of those after the first.
#[derive(Default)]
struct Usual {
    blocks: u32,
    took: Duration,
}

impl Usual {
    /// The mean with one more block.
    fn with(&mut self, took: Duration) -> Duration {
        self.blocks += 1;
        self.took += took;
        self.took / self.blocks
    }
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Why the study ends after this block, counted from 0; `None` where it goes on.
fn end(study: &Study, analysis: &Analysis, number: u32, planned: u32, clock: &Clock) -> Option<String> {
    // Where nothing may be ranked the figures still deserve their repeats.
    let may_go_on = |reason| match reason {
        StopReason::NothingToCompare => true,
        StopReason::AllDecided => !study.stop_early,
        StopReason::BlocksUsed | StopReason::TooManyDropped => false,
    };
    if let GoOn::Stop(reason) = analysis.go_on
        && (!may_go_on(reason) || number + 1 >= planned)
    {
        return Some(reason.to_string());
    }
    // Invalid blocks are repeated, but not for ever.
    if number + 1 >= planned.saturating_mul(2) {
        return Some("too many blocks were invalid".to_string());
    }
    if clock.real && clock.began.elapsed() + clock.took > study_limit(study) {
        return Some("time limit".to_string());
    }
    None
}

/// How long a study runs.
struct Clock {
    began: Instant,
    /// The last block.
    took: Duration,
    /// The study's time limit counts.
    real: bool,
}

impl Clock {
    /// About how much longer it may take: as many blocks as are still planned, each as long as the last, dropped ones
    /// once more, and no longer than the time limit.
    fn left(&self, study: &Study, analysis: &Analysis, number: u32, planned: u32) -> Duration {
        let dropped = analysis.dropped.iter().map(|one| one.block);
        let dropped = dropped.collect::<BTreeSet<_>>().len() as u32;
        let blocks = planned.saturating_add(dropped).saturating_sub(number + 1).max(1);
        let left = self.took.saturating_mul(blocks);
        match self.real {
            true => left.min(study_limit(study).saturating_sub(self.began.elapsed())),
            false => left,
        }
    }
}

/// The trials of one block that are due: one after the other, or side by side.
fn trials(due: &[Turn<'_>], ledger: &mut Ledger, site: &mut dyn Site) -> anyhow::Result<()> {
    if let (Turns::Stints(stints), false) = (site.turns().clone(), due.is_empty()) {
        return site.side_by_side(ledger, due, &stints);
    }
    for turn in due {
        site.trial(ledger, turn)?;
    }
    Ok(())
}

fn study_limit(study: &Study) -> Duration {
    Duration::from_nanos(study.time_limit.0)
}

/// Looks that the file does not have yet: one row for each comparison.
fn record_looks(ledger: &mut Ledger, analysis: &Analysis) -> anyhow::Result<()> {
    for row in analysis.unrecorded_looks() {
        ledger.look(&row)?;
    }
    Ok(())
}
