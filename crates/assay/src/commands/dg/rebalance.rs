//! `assay dg rebalance`, and the work that `add`, `drop` and `check --repair` leave to it: moving extents, making stale
//! copies anew.
//!
//! Prevents: a rebalance that cannot be stopped. On Ctrl-C it finishes the batch under way; what is left waits for the
//! next call.

use super::meter::Meter;
use super::opened::{self, Opened, find, run_error};
use super::table::{rate, size, time};
use crate::cli::dg::{self, Pace};
use crate::commands::answer::answer;
use crate::exit::Failure;
use anyhow::anyhow;
use diskgroup::{Progress, Step};
use lab::signals;
use serde_json::{Value, json};
use std::time::Duration;

/// Buffers for copying: at most so many bytes are in flight.
const COPY_BYTES: u64 = 32 << 20;

/// What a rebalance did.
#[derive(Clone, Debug)]
pub(super) struct Moved {
    pub(super) progress: Progress,
    pub(super) seconds: f64,
    /// Nothing was done because the power is 0.
    pub(super) postponed: bool,
    /// Disks that were offline and are back.
    pub(super) returned: Vec<String>,
}

impl Moved {
    pub(super) fn json(&self) -> Value {
        json!({
            "moved_bytes": self.progress.moved_bytes, "resynced_bytes": self.progress.resynced_bytes,
            "mended_extents": self.progress.mended_extents, "left_bytes": self.progress.left_bytes,
            "seconds": self.seconds, "postponed": self.postponed, "returned": self.returned,
        })
    }

    pub(super) fn words(&self) -> String {
        let mut text = String::new();
        for disk in &self.returned {
            text.push_str(&format!("disk {disk} is online again\n"));
        }
        if self.postponed {
            text.push_str("power 0: nothing was moved; `assay dg rebalance` does the work\n");
            return text;
        }
        let p = &self.progress;
        let copied = p.moved_bytes + p.resynced_bytes;
        text.push_str(&format!(
            "moved {}, copied anew {}, in {} ({})\n",
            size(p.moved_bytes),
            size(p.resynced_bytes),
            time(self.seconds),
            rate(copied, self.seconds)
        ));
        text
    }
}

pub(super) fn rebalance(flags: &dg::Rebalance) -> Result<(), Failure> {
    let found = find(&flags.place, &flags.disks, None)?;
    let moved = opened::with(&flags.place, found, |opened| {
        let returned = bring_back(opened)?;
        opened.group.rebalance().map_err(run_error)?;
        let moved = work(opened, &flags.pace)?;
        Ok(Moved { returned, ..moved })
    })?;
    answer(
        flags.place.json,
        || json!({ "schema": 1, "rebalance": moved.json() }),
        || moved.words(),
    )
}

/// Brings disks online that are there again; they are brought up to date by the work that follows.
pub(super) fn bring_back(opened: &Opened) -> Result<Vec<String>, Failure> {
    let mut returned = Vec::new();
    for disk in opened.group.disks() {
        if !disk.online && disk.file.is_some() && !disk.dropping {
            opened.group.online_disk(&disk.name).map_err(run_error)?;
            returned.push(disk.name);
        }
    }
    Ok(returned)
}

/// Works until there is nothing left to do.
pub(super) fn work(opened: &Opened, pace: &Pace) -> Result<Moved, Failure> {
    let mut meter = Meter::new("rebalance", pace.watch);
    let cancel = signals::cancel_flag()?;
    let depth = pace.power.clamp(8, 256) as usize;
    let mut upkeep = opened.group.upkeep(opened.port(COPY_BYTES, depth)?);
    upkeep.set_power(pace.power);
    let ended = loop {
        if signals::is_set(&cancel) {
            upkeep.set_power(0);
        }
        match upkeep.step(true).map_err(run_error)? {
            Step::Working => {}
            ended => break ended,
        }
        let p = upkeep.progress();
        let done = p.moved_bytes + p.resynced_bytes;
        meter.at(done, done + p.left_bytes, p.time_left_ns.map(Duration::from_nanos));
    };
    let progress = upkeep.progress();
    std::mem::drop(upkeep);
    let done = progress.moved_bytes + progress.resynced_bytes;
    let seconds = meter.seconds();
    meter.finish(done, done + progress.left_bytes);
    match ended {
        Step::Paused if signals::is_set(&cancel) => Err(Failure::Run(anyhow!(
            "interrupted after {} of about {}; what was moved is safe\n  go on with `assay dg rebalance`",
            size(done),
            size(done + progress.left_bytes)
        ))),
        Step::Stuck => Err(Failure::Run(anyhow!(
            "the rebalance cannot be finished: {}\n  see `assay dg du` for disks that are full or missing; add a \
             disk, or attach what is missing, and call `assay dg rebalance`",
            stuck(opened)
        ))),
        ended => Ok(Moved {
            progress,
            seconds,
            postponed: ended == Step::Paused,
            returned: Vec::new(),
        }),
    }
}

/// Why it cannot get on, as far as can be seen from outside.
fn stuck(opened: &Opened) -> String {
    let disks = opened.group.disks();
    let dropping = disks.iter().find(|d| d.dropping && d.free_bytes < d.total_bytes);
    match dropping {
        Some(disk) => format!(
            "disk {} still holds {} for which there is no other place",
            disk.name,
            size(disk.total_bytes - disk.free_bytes)
        ),
        None => "extents have no other place, or no good copy".to_string(),
    }
}
