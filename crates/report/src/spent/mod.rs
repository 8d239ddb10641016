//! What the time of a study was spent on: how much of it was measuring.
//!
//! Takes the gathered file and what was ranked, gives a [`TimeSpent`]. The result file says when trials and phases
//! began and how long they worked; the rest is what lies between. Prevents: a study called slow by a feeling, or quick.

pub(crate) mod timeline;

use crate::history::Book;
use crate::looked::looked;
use crate::ranking::drops::{Dropped, Members};
use crate::ranking::rank::Ranking;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use timeline::{Stretch, TimePart};

/// What the time of a study was spent on.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimeSpent {
    /// Seconds from when the result file was made until the study ended, or until the last trial that did. LUN files
    /// that were written, and probes, before the result file was made are not in it.
    pub total_s: f64,
    /// The share of it that was work of phases that count: ranked and other.
    pub measured_share: f64,
    /// True where the study went on in another run. The time between two runs is left out, as far as it shows.
    pub paused: bool,
    /// Each part that took any time.
    pub parts: Vec<TimeOfPart>,
}

/// The time of one part.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimeOfPart {
    /// What the time was spent on.
    pub part: TimePart,
    /// How long.
    pub seconds: f64,
    /// Share of the whole.
    pub share: f64,
}

/// Parts together are as long as the clock says, but for this share: where they are longer, the clock was set.
const CLOCK_SLACK: f64 = 0.01;

/// What the time was spent on; `None` of models, whose time is not that of a clock, where the clock was set, and where
/// nothing was to be run.
pub(crate) fn time_spent(book: &Book, ranking: &Ranking, dropped: &Dropped<'_>) -> Option<TimeSpent> {
    if book.study.modelled || book.study.blocks_planned == 0 {
        return None;
    }
    looked(book.timeline.stretches.len());
    let mut walk = Walk::new(book);
    for stretch in &book.timeline.stretches {
        walk.wait(stretch.began_unix_ns, Some(stretch.block));
        walk.stand(stretch);
    }
    if let Some(ended) = book.timeline.ended_unix_ns {
        walk.wait(ended, None);
    }
    walk.sums.leave_out(not_compared_ns(book, ranking, dropped));
    walk.sums.spent()
}

/// Nanoseconds of ranked phases that came through and count in no comparison: the block was dropped there, or the stack
/// is not ranked there. A base with which nothing is compared counts, if nothing is said against it.
fn not_compared_ns(book: &Book, ranking: &Ranking, dropped: &Dropped<'_>) -> f64 {
    looked(ranking.unranked.len());
    let members = Members::of(&ranking.pairs);
    let said = ranking.unranked.iter();
    let said = said.map(|one| (one.stack.as_str(), one.phase.as_deref()));
    let unranked: BTreeSet<(&str, Option<&str>)> = said.collect();
    let is_compared = |stack: &str, phase: &str| {
        let mut of_it = [None, Some(phase)].into_iter();
        members.has(stack, phase) || !of_it.any(|phase| unranked.contains(&(stack, phase)))
    };
    let mut ns = 0.0;
    for (block, stack, ran) in book.trials() {
        for (phase, seen) in ran.phases.iter().filter(|(_, seen)| seen.run.ranked && seen.counts()) {
            if !dropped.counts(block, phase) || !is_compared(stack, phase) {
                ns += seen.run.elapsed_ns as f64;
            }
        }
    }
    ns
}

/// The way through a file along its clock.
struct Walk<'a> {
    book: &'a Book,
    now: u64,
    /// When the run began that writes to the file now.
    run_began: u64,
    /// The block under way in that run, and when it began.
    block: Option<u32>,
    block_began: u64,
    /// The run ended within a trial.
    is_cut_short: bool,
    /// It ended by a trial that failed. No other run need have followed.
    has_failed: bool,
    sums: Sums,
}

impl<'a> Walk<'a> {
    fn new(book: &'a Book) -> Walk<'a> {
        let made = book.study.created_unix_ns;
        Walk {
            book,
            now: made,
            run_began: made,
            block: None,
            block_began: made,
            is_cut_short: false,
            has_failed: false,
            sums: Sums::default(),
        }
    }

    /// Up to the next trial, which is of this block, or up to the end. Time in which no run wrote to the file is left
    /// out.
    fn wait(&mut self, until: u64, next: Option<u32>) {
        let extended = self.book.extensions.iter().map(|one| one.began_unix_ns);
        let extended = extended.filter(|began| (self.now..until).contains(began)).max();
        let is_resumed = self.has_failed && next.is_some();
        let is_over = self.is_cut_short || is_resumed || self.has_no_time_for(next);
        if let Some(began) = extended.or(is_over.then_some(until)) {
            (self.now, self.run_began, self.block) = (began, began, None);
            self.sums.paused = true;
        }
        let ns = between(self.now, until);
        self.sums.put(TimePart::BetweenTrials, ns);
        self.sums.clock_ns += ns;
    }

    /// A run begins no block that would take it past its time, if it takes as long as the one before it.
    fn has_no_time_for(&self, next: Option<u32>) -> bool {
        let is_another = self.block.is_some() && next.is_some() && next != self.block;
        let ns = between(self.run_began, self.now) + between(self.block_began, self.now);
        is_another && ns > self.book.study.time_limit_ns as f64
    }

    fn stand(&mut self, stretch: &Stretch) {
        if self.block != Some(stretch.block) {
            (self.block, self.block_began) = (Some(stretch.block), stretch.began_unix_ns);
        }
        self.sums.add(stretch);
        self.now = stretch.ended_unix_ns;
        (self.is_cut_short, self.has_failed) = (stretch.is_cut_short, stretch.has_failed);
    }
}

#[derive(Default)]
struct Sums {
    ns: BTreeMap<TimePart, f64>,
    /// As the clock has it.
    clock_ns: f64,
    paused: bool,
}

impl Sums {
    fn put(&mut self, part: TimePart, ns: f64) {
        *self.ns.entry(part).or_default() += ns;
    }

    fn add(&mut self, stretch: &Stretch) {
        let (began, ended) = (stretch.began_unix_ns, stretch.ended_unix_ns);
        let first = stretch.first_unix_ns.unwrap_or(ended);
        let taken_ns: f64 = stretch.taken_ns.values().sum();
        for (part, ns) in &stretch.taken_ns {
            self.put(*part, *ns);
        }
        self.put(TimePart::Loading, between(began, first));
        self.put(TimePart::BetweenPhases, (between(first, ended) - taken_ns).max(0.0));
        self.clock_ns += between(began, ended);
    }

    /// So much of the ranked work does not count.
    fn leave_out(&mut self, ns: f64) {
        self.put(TimePart::RankedWork, -ns);
        self.put(TimePart::WorkNotCounted, ns);
    }

    fn spent(self) -> Option<TimeSpent> {
        let total_ns: f64 = self.ns.values().sum();
        if total_ns <= 0.0 || total_ns > self.clock_ns * (1.0 + CLOCK_SLACK) {
            return None;
        }
        let measured = [TimePart::RankedWork, TimePart::OtherWork];
        let measured_ns: f64 = measured.iter().filter_map(|part| self.ns.get(part)).sum();
        let parts = self.ns.iter().filter(|(_, ns)| **ns > 0.0);
        let of_part = |(part, ns): (&TimePart, &f64)| TimeOfPart {
            part: *part,
            seconds: ns / 1e9,
            share: ns / total_ns,
        };
        Some(TimeSpent {
            total_s: total_ns / 1e9,
            measured_share: measured_ns / total_ns,
            paused: self.paused,
            parts: parts.map(of_part).collect(),
        })
    }
}

/// Nanoseconds from one moment to a later one; 0 where it is not later.
fn between(from: u64, until: u64) -> f64 {
    until.saturating_sub(from) as f64
}
