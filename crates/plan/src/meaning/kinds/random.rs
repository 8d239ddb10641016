//! Phases of kind `random`: SLOB's work, which other kinds have under them too.
//!
//! Takes a phase as written; gives [`Random`]. Prevents: a mix that SLOB itself refuses, and parameters that contradict
//! each other.

use super::asked::Asked;
use crate::error::Span;
use crate::meaning::settle::{MIB, Settle};
use crate::study::{Hotspot, Random};
use crate::units::Bytes;
use crate::written::{At, PhaseWord, Said, WrittenHotspot, WrittenPhase, case};

pub(super) fn phase(phase: &WrittenPhase, settle: &mut Settle<'_>) -> Asked {
    let random = random(phase, settle);
    let usual = (random.work_loop == 0).then_some(case::WORK_TIME);
    Asked::lasting(random, usual)
}

/// SLOB's rule for its percentages: 0 to 50, or 100.
fn percent(key: &Said<'_, u64>, home: &Span, settle: &mut Settle<'_>) -> u32 {
    let value = settle.count(key);
    if (51..=99).contains(&value) {
        let why = "SLOB refuses 51 to 99, where its results are not repeatable";
        let message = format!("`{}` cannot be {value}: {why}", key.key);
        settle.findings.add(key.span(home), message, "choose 0 to 50, or 100");
    }
    value
}

pub(super) fn random(phase: &WrittenPhase, settle: &mut Settle<'_>) -> Random {
    let home = &phase.span;
    let scan_pct = percent(&phase.scan_pct(), home, settle);
    let cut = |at: &At<PhaseWord>| matches!(at.value, PhaseWord::PowerCut | PhaseWord::Kill);
    let cut = phase.kind.as_ref().is_some_and(cut);
    // SLOB's default, as far as the scans leave room for it.
    let update_pct = phase.update_pct();
    let usual = update_pct.usual.min(u64::from(100 - scan_pct));
    let update_pct = update_pct.or(usual).or_if(cut && scan_pct == 0, case::CUT_UPDATES);
    let random = Random {
        update_pct: percent(&update_pct, home, settle),
        scan_pct,
        scan_table_size: phase.scan_table_size().value(),
        sessions: settle.count(&phase.sessions()),
        work_unit: settle.count(&phase.work_unit()),
        work_loop: phase.work_loop().value(),
        redo_stress: phase.redo_stress().value(),
        outstanding: settle.count(&phase.outstanding()),
        think_tm_frequency: settle.count(&phase.think_tm_frequency()),
        think_tm_min: phase.think_tm_min().value(),
        think_tm_max: phase.think_tm_max().value(),
        hotspot: hotspot(phase, settle),
        hot_schema_frequency: settle.count(&phase.hot_schema_frequency()),
        rate: phase.rate().value().map(|rate| rate.0),
    };
    check_random(phase, &random, settle);
    random
}

fn check_random(phase: &WrittenPhase, random: &Random, settle: &mut Settle<'_>) {
    let home = &phase.span;
    if random.update_pct + random.scan_pct > 100 {
        let span = phase.scan_pct.as_ref().map_or(home, |at| &at.span);
        let message = format!(
            "{} % scans and {} % updates are more than all operations",
            random.scan_pct, random.update_pct
        );
        settle.findings.add(
            span,
            message,
            "lower `scan_pct` or `update_pct` until both fit into 100",
        );
    }
    if random.think_tm_min > random.think_tm_max {
        let span = phase
            .think_tm_min
            .as_ref()
            .or(phase.think_tm_max.as_ref())
            .map_or(home, |at| &at.span);
        let message = format!(
            "`think_tm_min` ({}) is above `think_tm_max` ({})",
            random.think_tm_min, random.think_tm_max
        );
        settle.findings.add(span, message, "swap them, or raise `think_tm_max`");
    }
    if let Some(at) = phase.rate.as_ref().filter(|at| at.value.is_some()) {
        if random.think_tm_frequency > 0 {
            let cure = "keep one of them: `rate` for arrivals on a schedule, think time for sessions that pause";
            settle
                .findings
                .add(&at.span, "a phase has a `rate` or think time, not both", cure);
        }
        if random.rate.is_some_and(|rate| !(1e-3..=1e9).contains(&rate)) {
            let cure = "write operations a second for the whole instance: rate = \"500/s\"";
            settle.findings.add(&at.span, "`rate` is out of range", cure);
        }
    }
    check_outstanding(phase, random.outstanding, random.work_unit, settle);
    let scanned = phase.scan_table_size();
    if let Some(at) = scanned.outside() {
        let cure = format!("write {}", scanned.example());
        settle
            .findings
            .add(&at.span, format!("a scan of {} is no scan", at.value), cure);
    }
}

/// Reads in flight are reads of pages.
pub(super) fn check_outstanding(phase: &WrittenPhase, outstanding: u32, work_unit: u32, settle: &mut Settle<'_>) {
    if outstanding <= work_unit {
        return;
    }
    let span = phase.outstanding.as_ref().or(phase.work_unit.as_ref());
    let message = format!("`outstanding` is {outstanding}, but an operation touches {work_unit} pages (`work_unit`)");
    let cure = format!("write outstanding = {work_unit} or less");
    settle
        .findings
        .add(span.map_or(&phase.span, |at| &at.span), message, cure);
}

/// The hot spot, from the table or from SLOB's flat names.
fn hotspot(phase: &WrittenPhase, settle: &mut Settle<'_>) -> Option<Hotspot> {
    let flat = phase;
    let alone = [&flat.hotspot_mb, &flat.hotspot_offset_mb, &flat.hotspot_frequency]
        .into_iter()
        .flatten()
        .next();
    if let (Some(_), Some(span)) = (
        &phase.hotspot,
        flat.do_hotspot.as_ref().map(|at| &at.span).or(alone.map(|at| &at.span)),
    ) {
        settle.findings.add(
            span,
            "the hot spot is written twice, as `hotspot` and in SLOB's names",
            "keep one of the two",
        );
        return None;
    }
    let hotspot = match &phase.hotspot {
        Some(written) => from_table(written.as_ref()?, phase, settle),
        None => from_flat(flat, alone, settle)?,
    };
    let span = phase
        .hotspot
        .as_ref()
        .and_then(|h| h.as_ref())
        .map_or(&phase.span, |h| &h.span);
    if hotspot.size.0 < 32 << 10 {
        let cure = "write the bytes that are hot in each schema: hotspot = { size = \"8MiB\", frequency = 3 }";
        settle
            .findings
            .add(span, format!("a hot spot of {} holds no page", hotspot.size), cure);
    }
    Some(hotspot)
}

fn from_table(written: &WrittenHotspot, phase: &WrittenPhase, settle: &mut Settle<'_>) -> Hotspot {
    let scaled = |at: &Option<At<Bytes>>| Bytes(settle.scaled(at.as_ref().map_or(0, |at| at.value.0)));
    let (size, offset) = (scaled(&written.size), scaled(&written.offset));
    // A malformed size has been reported where it stands; this keeps it from being reported again as empty.
    let size = if written.size.is_none() { Bytes(MIB) } else { size };
    // As that of SLOB's name.
    let frequency = Said {
        key: "frequency",
        written: written.frequency.as_ref(),
        ..phase.hotspot_frequency()
    };
    Hotspot {
        size,
        offset,
        frequency: settle.count(&frequency),
    }
}

fn from_flat(flat: &WrittenPhase, alone: Option<&At<u64>>, settle: &mut Settle<'_>) -> Option<Hotspot> {
    let Some(on) = &flat.do_hotspot else {
        if let Some(at) = alone {
            let cure = "write do_hotspot = true, or remove what belongs to it";
            settle.findings.add(
                &at.span,
                "the study describes a hot spot, but `do_hotspot` is missing",
                cure,
            );
        }
        return None;
    };
    if !on.value {
        // As SLOB does: FALSE switches the others off without deleting them.
        return None;
    }
    let size = settle.count(&flat.hotspot_mb());
    let offset = settle.count(&flat.hotspot_offset_mb());
    Some(Hotspot {
        size: Bytes(settle.scaled(u64::from(size) * MIB)),
        offset: Bytes(settle.scaled(u64::from(offset) * MIB)),
        frequency: settle.count(&flat.hotspot_frequency()),
    })
}
