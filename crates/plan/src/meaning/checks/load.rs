//! Contradictions between the data, the room for it, the memory and the sessions.
//!
//! Takes the study as written and as meant; gives findings. Prevents: a full LUN during the load, a cache that
//! cannot hold what the sessions have changed, a hot spot outside its schema.

use super::places::place;
use crate::error::{Findings, Span};
use crate::space;
use crate::study::{Engines, Random, Scale, Study};
use crate::units::Bytes;
use crate::written::{WrittenPhase, WrittenStudy};

/// A schema belongs to one worker.
pub(super) fn workers(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    let (workers, schemas) = (study.workers, study.database.schemas);
    if workers > schemas {
        let message = format!("{workers} workers share {schemas} schemas, and a schema belongs to one worker");
        let cure = format!("write workers = {schemas} or less, or raise `schemas` in [database]");
        findings.add(place(&written.header.workers, &written.header.span), message, cure);
    }
    for (w, phase) in written.phases.iter().zip(&study.phases) {
        let hot = phase.kind.slob_work().is_some_and(|work| work.hot_schema_frequency > 0);
        if hot && workers > 1 {
            let message =
                format!("a hot schema belongs to one of {workers} workers, which would have to do everybody's work");
            let cure = "write workers = 1 in [study], or remove `hot_schema_frequency`";
            findings.add(place(&w.hot_schema_frequency, &w.span), message, cure);
        }
    }
}

/// Where `[database]` stands, or the study.
fn home(written: &WrittenStudy) -> &Span {
    written.database.span.as_ref().unwrap_or(&written.header.span)
}

/// Data and redo must fit.
pub(super) fn room(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    let home = home(written);
    if matches!(study.database.scale, Scale::Share(share) if share.0 > 1.0) {
        return;
    }
    let scale = place(&written.database.scale, home);
    let redo = study.database.redo_size;
    let workers = u64::from(study.workers);
    if redo.0 < workers << 20 {
        let message = format!(
            "a redo log of {redo} is too small for {workers} {}",
            if workers == 1 { "worker" } else { "workers" }
        );
        let cure = "write at least 1MiB for each worker, better some hundred in all: redo_size = \"256MiB\"";
        findings.add(place(&written.database.redo_size, home), message, cure);
        return;
    }
    for stack in study.stacks.iter().filter(|stack| stack.engine.is_pages()) {
        if let Some((set, bytes)) = stack
            .redo
            .as_ref()
            .and_then(|set| Some((set, space::redo_room(study, stack)?)))
            && redo.0 > stack.kind.left(bytes)
        {
            let message = format!(
                "a redo log of {redo} does not fit into the LUN set {set:?} of {}",
                Bytes(bytes)
            );
            let cure = "lower `redo_size` in [database], or make the LUN larger; a file system keeps 5% for itself";
            findings.add(place(&written.database.redo_size, home), message, cure);
            return;
        }
        let (Some(data), Some(space)) = (space::data_bytes(study), space::usable(study, stack)) else {
            continue;
        };
        let beside = if stack.redo.is_none() { redo.0 } else { 0 };
        if data.saturating_add(beside) > stack.kind.left(space) {
            let message = format!(
                "{} of data{} do not fit into the {} of stack {:?}",
                Bytes(data),
                if beside > 0 {
                    format!(" and {redo} of redo log")
                } else {
                    String::new()
                },
                Bytes(space),
                stack.name
            );
            let cure = match study.database.scale {
                Scale::Share(_) => "lower `scale` or `redo_size`, or make the LUNs larger",
                Scale::Bytes(_) => {
                    "lower `scale` or `redo_size`, make the LUNs larger, or say a share: scale = \"40%\""
                }
            };
            findings.add(scale, message, cure);
            return;
        }
    }
}

/// The cache must fit into the memory, and be a cache.
pub(super) fn memory(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    let (cache, page) = (study.database.cache, study.database.page);
    let span = place(&written.database.engine.cache, home(written));
    if let Some(budget) = study.memory.budget
        && cache >= budget
    {
        let message = format!("a cache of {cache} leaves nothing of the memory budget of {budget}");
        let cure = "lower `cache` in [database] (half the budget is usual), or raise `budget` in [memory]";
        findings.add(span, message, cure);
        return;
    }
    if cache.0 < 128 * page.0 {
        let message = format!("a cache of {cache} holds fewer than 128 pages of {page}");
        findings.add(
            span,
            message,
            format!("write cache = \"{}\" or more", Bytes(128 * page.0)),
        );
    }
}

/// What the sessions of each phase touch must exist and fit.
pub(super) fn sessions(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    let schema = space::data_bytes(study).map(|data| data / u64::from(study.database.schemas));
    for (w, phase) in written.phases.iter().zip(&study.phases) {
        let Some(random) = phase.kind.slob_work() else {
            if schema == Some(0) && phase.kind.engines() == Engines::Pages {
                no_pages(written, study, 1, findings);
                return;
            }
            if let Some((sessions, work_unit)) = phase.kind.own().changes() {
                changes(w, sessions, work_unit, study, findings);
            }
            continue;
        };
        let pages = schema.map(|bytes| bytes / study.database.page.0);
        if pages.is_some_and(|pages| pages < u64::from(random.work_unit)) {
            no_pages(written, study, random.work_unit, findings);
            return;
        }
        if random.update_pct > 0 {
            changes(w, random.sessions, random.work_unit, study, findings);
        }
        if let Some(schema) = schema {
            ranges(w, random, schema, findings);
        }
    }
}

/// Each schema needs as many pages as an operation touches.
fn no_pages(written: &WrittenStudy, study: &Study, least: u32, findings: &mut Findings) {
    let schemas = study.database.schemas;
    let data = space::data_bytes(study).unwrap_or(0);
    let message = format!(
        "{} of data in {schemas} schemas leave each fewer than the {least} pages of {} that an operation touches",
        Bytes(data),
        study.database.page
    );
    let span = place(&written.database.scale, home(written));
    findings.add(
        span,
        message,
        "raise `scale` or the LUN size, or lower `schemas` or `work_unit`",
    );
}

/// Pages of open transactions stay in the cache, and their images in the redo log, until the commit.
fn changes(w: &WrittenPhase, sessions: u32, work_unit: u32, study: &Study, findings: &mut Findings) {
    let pages = u64::from(sessions) * u64::from(work_unit);
    let bytes = pages.saturating_mul(study.database.page.0);
    let span = w
        .work_unit
        .as_ref()
        .or(w.sessions.as_ref())
        .map_or(&w.span, |at| &at.span);
    let asked = format!(
        "{sessions} sessions with {work_unit} pages each may hold {} changed",
        Bytes(bytes)
    );
    if bytes > study.database.cache.0 / 2 {
        let message = format!("{asked}, more than half the cache of {}", study.database.cache);
        findings.add(
            span,
            message,
            "lower `sessions` or `work_unit`, or raise `cache` in [database]",
        );
    } else if bytes > study.database.redo_size.0 / 2 {
        let message = format!("{asked}, more than half the redo log of {}", study.database.redo_size);
        findings.add(
            span,
            message,
            "lower `sessions` or `work_unit`, or raise `redo_size` in [database]",
        );
    }
}

/// Hot spots and short scans lie inside a schema.
fn ranges(w: &WrittenPhase, random: &Random, schema: u64, findings: &mut Findings) {
    if let Some(hot) = random.hotspot {
        let span = match &w.hotspot {
            Some(Some(table)) => &table.span,
            _ => place(&w.hotspot_mb, &w.span),
        };
        if hot.offset.0.saturating_add(hot.size.0) > schema {
            let message = format!(
                "a hot spot of {} at {} ends outside a schema of {}",
                hot.size,
                hot.offset,
                Bytes(schema)
            );
            findings.add(
                span,
                message,
                "lower its size or offset, or raise `scale` in [database]",
            );
        }
    }
    if random.scan_pct > 0 && random.scan_table_size.0 > schema {
        let span = place(&w.scan_table_size, &w.span);
        let message = format!(
            "a scan of {} is longer than a schema of {}",
            random.scan_table_size,
            Bytes(schema)
        );
        findings.add(span, message, "lower `scan_table_size`, or raise `scale` in [database]");
    }
}
