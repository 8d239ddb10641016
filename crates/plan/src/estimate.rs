//! What a study will take: trials, bytes, time.
//!
//! Takes a resolved study and a rate at which LUNs are filled and data loaded; gives an [`Estimate`]. Prevents: a study
//! that is started without knowing what it writes and how long it runs.

mod sql;

pub use sql::LOADING_WAL_BYTES;

use crate::space;
use crate::study::kind::{Pace, moving_ns};
use crate::study::{Phase, Stack, Study};
use crate::units::Duration;
use std::collections::BTreeSet;

/// Fewest blocks that a verdict is given on.
pub(crate) const FEWEST_BLOCKS: u32 = 4;
/// With more comparisons than so many, so many at least.
const FEW_COMPARISONS: usize = 3;
const FEWEST_BLOCKS_OF_MANY: u32 = 6;
/// Most blocks that are run unless the study asks for more.
const USUAL_BLOCKS: u32 = 12;
/// Most blocks of any study.
const MOST_BLOCKS: u32 = 64;
/// Share of the time limit that a study which fills it leaves free: a block may take longer than those before it.
const RESERVE: f64 = 0.07;
/// Making file systems, mounting, draining, taking down: what a trial takes besides bytes and phases. Assumed, from
/// runs with ext4, XFS and btrfs on loop devices on two cores; an order of magnitude, not a promise.
const HANDLING_NS: u64 = 1_500_000_000;

/// Pages a second that an ageing changes. Assumed, from runs on two cores: a disk group did 23,000, btrfs 4,300.
const AGEING_PAGES_PER_S: u64 = 8000;

/// What a study will take, as far as the file tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Trials of a block: one for each stack.
    pub trials_per_block: u32,
    /// Time of all phases of one trial, nanoseconds. A scan without a time is counted at the load rate.
    pub phase_ns_per_trial: u64,
    /// Bytes of all LUN files together: the room they take in their directories.
    pub lun_bytes: u64,
    /// Bytes of the data; `None` where only the machine knows (a share of devices or of a mounted place).
    pub data_bytes: Option<u64>,
    /// Bytes written before the phases of a trial: LUN files in full, data, redo log; of the stack that writes most.
    pub written_bytes_per_trial: u64,
    /// Time before the first block, nanoseconds: tables that are loaded once and copied.
    pub once_ns: u64,
    /// Bytes of those tables: the room they take beside the LUN files.
    pub once_bytes: u64,
    /// Time of a block, nanoseconds: the phases, and for real stacks filling, loading and handling.
    pub block_ns: u64,
}

impl Estimate {
    /// Time of `blocks` blocks, nanoseconds.
    pub fn study_ns(&self, blocks: u32) -> u64 {
        self.once_ns
            .saturating_add(self.block_ns.saturating_mul(u64::from(blocks)))
    }

    /// Blocks that are planned before the first is run: those the study asks for, or the even number from 4 to 12 that
    /// fits into its time limit, with more than three comparisons from 6 (the fewest even when they do not fit).
    pub fn blocks(&self, study: &Study) -> u32 {
        if let Some(blocks) = study.blocks {
            return blocks;
        }
        let fit = study.time_limit.0.saturating_sub(self.once_ns) / self.block_ns.max(1) / 2 * 2;
        let most = if study.fill_time { MOST_BLOCKS } else { USUAL_BLOCKS };
        u32::try_from(fit).unwrap_or(most).clamp(fewest_blocks(study), most)
    }

    /// Whether the blocks that are planned fit into the time limit.
    pub fn fits(&self, study: &Study) -> bool {
        self.study_ns(self.blocks(study)) <= study.time_limit.0
    }
}

/// Four blocks share the error among few comparisons only: with fifteen they find differences from 40 %, six from 20 %.
fn fewest_blocks(study: &Study) -> u32 {
    let comparisons = study.stacks.len().saturating_sub(1) * study.verdicts_of_a_stack();
    if comparisons > FEW_COMPARISONS {
        FEWEST_BLOCKS_OF_MANY
    } else {
        FEWEST_BLOCKS
    }
}

/// Blocks of a study that fills its time: `done` of them, and as many as `left` nanoseconds hold when each takes
/// `block_ns`; even, 4 to 64. Never fewer than are done.
pub fn blocks_that_fill(done: u32, left_ns: u64, block_ns: u64) -> u32 {
    let fit = left_ns as f64 * (1.0 - RESERVE) / block_ns.max(1) as f64;
    let all = f64::from(done) + fit.floor();
    let even = (all / 2.0).floor() * 2.0;
    (even as u32)
        .max(done.next_multiple_of(2))
        .clamp(FEWEST_BLOCKS, MOST_BLOCKS)
}

/// Estimates a study whose LUNs are filled and loaded at `load_bytes_per_second` (at least 1).
pub fn estimate(study: &Study, load_bytes_per_second: u64) -> Estimate {
    let data_bytes = space::data_bytes(study);
    let slower = study.slow_motion.unwrap_or(1);
    let (bytes_per_second, ageing_pages_per_s) = paced(study, load_bytes_per_second, slower);
    // Models are slowed for phases, and not for the load.
    let (load_bytes_per_second, _) = paced(study, load_bytes_per_second, 1);
    let pace = Pace {
        bytes_per_second,
        aged_bytes_per_second: ageing_pages_per_s.saturating_mul(study.database.page.0),
        data_bytes: data_bytes.unwrap_or(0),
        schema_bytes: data_bytes.unwrap_or(0) / u64::from(study.database.schemas).max(1),
        redo_bytes: study.database.redo_size.0,
    };
    let phase_ns_per_trial = study.phases.iter().fold(0u64, |sum, phase| {
        let kind = phase.kind.own();
        let ns = phase
            .time
            .map_or_else(|| kind.work_ns(&pace), |time| kind.timed_ns(time));
        sum.saturating_add(ns).saturating_add(phase.rest.0)
    });
    let sizes = study.luns.iter().filter_map(|set| space::set_bytes(study, &set.name));
    let lun_bytes = sizes.fold(0, u64::saturating_add);
    let written: Vec<u64> = study
        .stacks
        .iter()
        .map(|stack| written_bytes(study, stack, data_bytes))
        .collect();
    let block_ns = study.stacks.iter().zip(&written).fold(0u64, |sum, (stack, bytes)| {
        let before = match stack.kind.model() {
            // A model study lives in its own time, in which loading takes none.
            Some(_) => 0,
            None => HANDLING_NS
                .saturating_add(moving_ns(*bytes, load_bytes_per_second))
                .saturating_add(sql::load_ns(study, stack))
                .saturating_add(moving_ns(sql::copied_bytes(study, stack), load_bytes_per_second)),
        };
        sum.saturating_add(before).saturating_add(phase_ns_per_trial)
    });
    Estimate {
        trials_per_block: study.stacks.len() as u32,
        phase_ns_per_trial,
        lun_bytes,
        data_bytes,
        written_bytes_per_trial: written.into_iter().max().unwrap_or(0),
        once_ns: sql::once_ns(study),
        once_bytes: sql::once_bytes(study),
        block_ns,
    }
}

/// Bytes a second and changed pages a second: what the machine is taken to do, or the slowest modelled
/// device under a stack, if models run so many times slower.
fn paced(study: &Study, machine: u64, slower: u32) -> (u64, u64) {
    let under = |set: &&crate::study::LunSet| study.stacks.iter().any(|s| s.data.as_ref() == Some(&set.name));
    let sets = study.luns.iter().filter(under);
    sets.filter_map(|set| {
        let (bytes, requests) = set.device.as_ref()?.pace()?;
        let luns = space::luns(study, &set.name).unwrap_or(1) as f64 / f64::from(slower);
        Some(((bytes * luns) as u64, (requests * luns) as u64))
    })
    .fold((machine, AGEING_PAGES_PER_S), |slowest, pace| {
        (slowest.0.min(pace.0.max(1)), slowest.1.min(pace.1.max(1)))
    })
}

/// LUN sets that phases copy the database onto: they are made ready before each trial too.
fn copied_onto(study: &Study) -> impl Iterator<Item = &String> {
    let copies = study.phases.iter().filter_map(|phase| phase.kind.copy());
    copies.flat_map(|copy| copy.data.iter().chain(&copy.redo))
}

/// LUN files in full, then the data and the redo log into them.
fn written_bytes(study: &Study, stack: &Stack, data_bytes: Option<u64>) -> u64 {
    let own: BTreeSet<&String> = stack.lun_sets().chain(copied_onto(study)).collect();
    let fill = own
        .into_iter()
        .filter_map(|set| space::set_bytes(study, set))
        .fold(0, u64::saturating_add);
    let redo = match stack.engine.is_pages() {
        true => study.database.redo_size.0,
        false => 0,
    };
    fill.saturating_add(data_bytes.unwrap_or(0)).saturating_add(redo)
}

impl Study {
    /// Verdicts of a stack that has a base: one in each ranked phase, and one on its change in each phase that is held
    /// against an earlier one.
    pub fn verdicts_of_a_stack(&self) -> usize {
        let one = |phase: &Phase| usize::from(phase.ranked) + usize::from(phase.against.is_some());
        self.phases.iter().map(one).sum()
    }

    /// Time of all phases that say one, for one trial.
    pub fn phase_time(&self) -> Duration {
        Duration(
            self.phases
                .iter()
                .filter_map(Phase::least_time)
                .fold(0, |sum, t| sum.saturating_add(t.0)),
        )
    }
}
