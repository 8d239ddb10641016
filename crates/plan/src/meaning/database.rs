//! The page engine's parameters.
//!
//! Takes `[database]` as written and what is known of LUNs, memory and phases; gives [`Database`]. Prevents: a default
//! that does not fit the study it stands in (a redo log larger than its LUN, a cache as large as the memory).

use super::settle::{MIB, Settle};
use crate::error::Findings;
use crate::space;
use crate::study::{Database, Engine, Phase, Scale, Study};
use crate::units::{Bytes, Duration, Share};
use crate::written::{ON_DIRECTORY, WrittenDatabase, WrittenStudy};
use std::ops::RangeInclusive;

/// Pages that the page engine has.
const PAGES: RangeInclusive<Bytes> = Bytes::kib(2)..=Bytes::kib(32);

/// What stands in the study until the database is settled.
pub(super) fn stand_in() -> Database {
    let mut findings = Findings::default();
    alone(&WrittenDatabase::default(), &mut Settle::new(1.0, &mut findings))
}

/// What each key says by itself, whatever else the study holds.
fn alone(w: &WrittenDatabase, settle: &mut Settle<'_>) -> Database {
    Database {
        page: w.engine.page().value(),
        cache: w.engine.cache().value(),
        multiblock_read: settle.count(&w.multiblock_read()),
        schemas: settle.count(&w.schemas()),
        scale: w.scale().value(),
        redo_size: w.redo_size().value(),
        compressibility: compressibility(w, settle),
        duplication: duplication(w, settle),
        torn_pages: w.torn_pages().value(),
        checkpoint: w.checkpoint().value(),
        writers: settle.count(&w.writers()),
    }
}

pub(super) fn resolve(written: &WrittenStudy, study: &Study, settle: &mut Settle<'_>) -> Database {
    let w = &written.database;
    let paged = study.stacks.iter().any(|stack| stack.engine == Engine::Pages);
    if !paged && !study.stacks.is_empty() {
        // Keys of the same name are another engine's, and no value of the page engine's counts but the
        // size of the data.
        return Database {
            scale: scale(w, study, settle),
            ..stand_in()
        };
    }
    let page = page(w, settle);
    Database {
        page,
        cache: Bytes(cache(w, study, settle) / page.0 * page.0),
        scale: scale(w, study, settle),
        redo_size: redo_size(w, study, settle),
        checkpoint: checkpoint(w, study, settle),
        ..alone(w, settle)
    }
}

fn page(w: &WrittenDatabase, settle: &mut Settle<'_>) -> Bytes {
    let key = w.engine.page();
    let is_odd = |page: Bytes| !page.0.is_power_of_two() || !PAGES.contains(&page);
    let Some(at) = key.written.filter(|at| is_odd(at.value)) else {
        return key.value();
    };
    settle.findings.add(
        &at.span,
        format!("a page cannot have {}", at.value),
        "write 2KiB, 4KiB, 8KiB, 16KiB or 32KiB",
    );
    key.usual
}

/// Where it is not said, at most half the memory budget: the rest is for the page cache and the engine's own maps.
fn cache(w: &WrittenDatabase, study: &Study, settle: &Settle<'_>) -> u64 {
    let key = w.engine.cache();
    let bytes = settle.scaled(key.value().0);
    let budget = study.memory.budget.filter(|_| key.written.is_none());
    budget.map_or(bytes, |budget| bytes.min(budget.0 / 2))
}

/// A share of the smallest stack, or bytes where a mounted place takes part.
fn scale(w: &WrittenDatabase, study: &Study, settle: &mut Settle<'_>) -> Scale {
    let key = w.scale();
    let directory = study.stacks.iter().any(|stack| stack.kind.directory().is_some());
    match (key.value(), key.written) {
        (_, None) if directory => {
            let rooms = study.stacks.iter().filter_map(|stack| space::usable(study, stack));
            let most = settle.scaled(ON_DIRECTORY.0);
            Scale::Bytes(Bytes(
                rooms.min().map_or(most, |room| most.min(room * 2 / 5 / MIB * MIB)),
            ))
        }
        (Scale::Bytes(bytes), _) => Scale::Bytes(Bytes(settle.scaled(bytes.0))),
        (Scale::Share(share), Some(at)) if share.0 <= 0.0 || share.0 > 1.0 => {
            let message = format!("data cannot take {share} of the space");
            settle.findings.add(&at.span, message, "write a share such as \"40%\"");
            Scale::Share(share)
        }
        (share, _) => share,
    }
}

/// Where it is not said, at most half the redo LUNs, or an eighth of the LUNs that the log shares with the data.
fn redo_size(w: &WrittenDatabase, study: &Study, settle: &Settle<'_>) -> Bytes {
    let key = w.redo_size();
    let size = settle.scaled(key.value().0);
    if key.written.is_some() {
        return Bytes(size);
    }
    let rooms = study.stacks.iter().filter_map(|stack| match &stack.redo {
        Some(_) => space::redo_room(study, stack).map(|bytes| bytes / 2),
        None => space::usable(study, stack).map(|bytes| bytes / 8),
    });
    let size = size.min(rooms.min().unwrap_or(u64::MAX));
    Bytes(if size >= MIB { size / MIB * MIB } else { size })
}

fn compressibility(w: &WrittenDatabase, settle: &mut Settle<'_>) -> f64 {
    let key = w.compressibility();
    let Some(at) = key.outside() else { return key.value() };
    let cure = "write uncompressed over compressed size, 1.0 (incompressible) to 100.0";
    settle
        .findings
        .add(&at.span, format!("`compressibility` cannot be {}", at.value), cure);
    key.usual
}

fn duplication(w: &WrittenDatabase, settle: &mut Settle<'_>) -> Share {
    let key = w.duplication();
    let Some(at) = key.written.filter(|at| at.value.0 >= 1.0) else {
        return key.value();
    };
    let cure = "write the share of pages that are copies of another page, below 100%";
    settle
        .findings
        .add(&at.span, format!("`duplication` cannot be {}", at.value), cure);
    key.usual
}

/// Where it is not said, at most a quarter of the shortest phase that updates: such a phase is to span at least three
/// checkpoints.
fn checkpoint(w: &WrittenDatabase, study: &Study, settle: &mut Settle<'_>) -> Duration {
    let updating = study.phases.iter().filter_map(Phase::updating_time);
    let shortest = updating.min().map_or(u64::MAX, |time| time.0 / 4);
    let key = w.checkpoint();
    let usual = key.usual.min(Duration(shortest.max(1_000_000)));
    if let Some(at) = key.written.filter(|at| at.value.0 == 0) {
        settle.findings.add(
            &at.span,
            "checkpoints cannot be 0s apart",
            format!("write the longest time between two: {}", key.example()),
        );
    }
    key.or(usual).value()
}
