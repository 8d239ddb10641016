//! The page engine's parameters.
//!
//! Takes `[database]` as written and what is known of LUNs, memory and phases; gives [`Database`]. Prevents: a default
//! that does not fit the study it stands in (a redo log larger than its LUN, a cache as large as the memory).

use super::settle::{MIB, SECOND, Settle, or, value_or};
use crate::error::Span;
use crate::space;
use crate::study::{Database, Engine, PhaseKind, Scale, Study, TornPages};
use crate::units::{Bytes, Duration, Share};
use crate::written::{At, WrittenStudy};

/// What stands in the study until the database is settled.
pub(super) fn stand_in() -> Database {
    Database {
        page: Bytes(8 << 10),
        cache: Bytes(256 * MIB),
        multiblock_read: 16,
        schemas: 64,
        scale: Scale::Share(Share(0.4)),
        redo_size: Bytes(256 * MIB),
        compressibility: 1.0,
        duplication: Share(0.0),
        torn_pages: TornPages::Log,
        checkpoint: Duration(15 * SECOND),
        writers: 32,
    }
}

pub(super) fn resolve(written: &WrittenStudy, study: &Study, settle: &mut Settle<'_>) -> Database {
    let w = &written.database;
    let home = &w.span.clone().unwrap_or_else(|| written.header.span.clone());
    let usual = stand_in();
    let cache = w.engine.cache.as_ref().map(|at| at.value);
    let paged = study.stacks.iter().any(|stack| stack.engine == Engine::Pages);
    if !paged && !study.stacks.is_empty() {
        // Keys of the same name are another engine's, and no value of the page engine's counts but the
        // size of the data.
        return Database {
            scale: scale(&w.scale, study, settle),
            ..usual
        };
    }
    let page = page(&w.engine.page, home, settle);
    Database {
        page,
        cache: match cache {
            Some(cache) => whole_pages(settle.scaled(cache.0), page),
            None => whole_pages(usual_cache(study, settle), page),
        },
        multiblock_read: settle.count(&w.multiblock_read, "multiblock_read", usual.multiblock_read, 1..=128),
        schemas: settle.count(&w.schemas, "schemas", usual.schemas, 1..=65_536),
        scale: scale(&w.scale, study, settle),
        redo_size: match &w.redo_size {
            Some(at) => Bytes(settle.scaled(at.value.0)),
            None => usual_redo(study, settle),
        },
        compressibility: compressibility(&w.compressibility, home, settle),
        duplication: duplication(&w.duplication, home, settle),
        torn_pages: value_or(&w.torn_pages, usual.torn_pages),
        checkpoint: checkpoint(&w.checkpoint, study, home, settle),
        writers: settle.count(&w.writers, "writers", usual.writers, 1..=1024),
    }
}

fn page(written: &Option<At<Bytes>>, home: &Span, settle: &mut Settle<'_>) -> Bytes {
    let at = or(written, Bytes(8 << 10), home);
    if at.value.0.is_power_of_two() && (2 << 10..=32 << 10).contains(&at.value.0) {
        return at.value;
    }
    settle.findings.add(
        &at.span,
        format!("a page cannot have {}", at.value),
        "write 2KiB, 4KiB, 8KiB, 16KiB or 32KiB",
    );
    Bytes(8 << 10)
}

fn whole_pages(bytes: u64, page: Bytes) -> Bytes {
    Bytes(bytes / page.0 * page.0)
}

/// 256 MiB, or half the memory budget where that is less: the rest is for the page cache and the engine's own maps.
fn usual_cache(study: &Study, settle: &Settle<'_>) -> u64 {
    let usual = settle.scaled(256 * MIB);
    study.memory.budget.map_or(usual, |budget| usual.min(budget.0 / 2))
}

/// 40 % of the smallest stack, or 1 GiB where a mounted place takes part: a share of somebody's disk is
/// not ours to take.
fn scale(written: &Option<At<Scale>>, study: &Study, settle: &mut Settle<'_>) -> Scale {
    match written.as_ref().map(|at| (at.value, &at.span)) {
        Some((Scale::Bytes(bytes), _)) => Scale::Bytes(Bytes(settle.scaled(bytes.0))),
        Some((Scale::Share(share), span)) => {
            if share.0 <= 0.0 || share.0 > 1.0 {
                settle.findings.add(
                    span,
                    format!("data cannot take {share} of the space"),
                    "write a share such as \"40%\"",
                );
            }
            Scale::Share(share)
        }
        None if study.stacks.iter().any(|stack| stack.kind.directory().is_some()) => {
            let smallest = study
                .stacks
                .iter()
                .filter_map(|stack| space::usable(study, stack))
                .min();
            let gib = settle.scaled(1024 * MIB);
            Scale::Bytes(Bytes(smallest.map_or(gib, |space| gib.min(space * 2 / 5 / MIB * MIB))))
        }
        None => Scale::Share(Share(0.4)),
    }
}

/// 256 MiB, but no more than half the redo LUNs, or an eighth of the LUNs that the log shares with the data.
fn usual_redo(study: &Study, settle: &Settle<'_>) -> Bytes {
    let rooms = study.stacks.iter().filter_map(|stack| match &stack.redo {
        Some(_) => space::redo_room(study, stack).map(|bytes| bytes / 2),
        None => space::usable(study, stack).map(|bytes| bytes / 8),
    });
    let most = rooms.min().unwrap_or(u64::MAX);
    let size = settle.scaled(256 * MIB).min(most);
    Bytes(if size >= MIB { size / MIB * MIB } else { size })
}

fn compressibility(written: &Option<At<f64>>, home: &Span, settle: &mut Settle<'_>) -> f64 {
    let at = or(written, 1.0, home);
    if !(1.0..=100.0).contains(&at.value) {
        let cure = "write uncompressed over compressed size, 1.0 (incompressible) to 100.0";
        settle
            .findings
            .add(&at.span, format!("`compressibility` cannot be {}", at.value), cure);
        return 1.0;
    }
    at.value
}

fn duplication(written: &Option<At<Share>>, home: &Span, settle: &mut Settle<'_>) -> Share {
    let at = or(written, Share(0.0), home);
    if at.value.0 >= 1.0 {
        let cure = "write the share of pages that are copies of another page, below 100%";
        settle
            .findings
            .add(&at.span, format!("`duplication` cannot be {}", at.value), cure);
        return Share(0.0);
    }
    at.value
}

/// 15 s, or a quarter of the shortest phase that updates: such a phase is to span at least three checkpoints.
fn checkpoint(written: &Option<At<Duration>>, study: &Study, home: &Span, settle: &mut Settle<'_>) -> Duration {
    let updating = study.phases.iter().filter_map(|phase| match &phase.kind {
        PhaseKind::Random(random) if random.update_pct > 0 => phase.time,
        PhaseKind::Redo(_) => phase.time,
        PhaseKind::Rebalance(rebalance) if rebalance.work.update_pct > 0 => {
            Some(Duration(rebalance.before.0.saturating_add(rebalance.after.0)))
        }
        _ => None,
    });
    let shortest = updating.min().map_or(u64::MAX, |time| time.0 / 4);
    let at = or(written, Duration((15 * SECOND).min(shortest.max(1_000_000))), home);
    if at.value.0 == 0 {
        settle.findings.add(
            &at.span,
            "checkpoints cannot be 0s apart",
            "write the longest time between two: checkpoint = \"15s\"",
        );
    }
    at.value
}
