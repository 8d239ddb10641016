//! Phases: what is done, how long, by whom.
//!
//! Takes the phases as written; gives [`Phase`]s. Prevents: a mix that SLOB itself refuses, a phase that never
//! ends, and parameters that contradict each other.

use super::settle::{MIB, Settle};
use super::{cuts, files, moves, questions, sql};
use crate::error::Span;
use crate::study::{Age, CutWork, End, Hotspot, LunSet, Phase, PhaseKind, Random, Redo, Scan};
use crate::units::{Bytes, Duration};
use crate::written::{
    At, Limits, PhaseWord, Said, StackWord, WrittenHotspot, WrittenPhase, WrittenStack, WrittenStudy, case, nearest,
};

/// Schemas that a scan may go over.
const SCAN_USERS_MAX: u64 = 65_536;

pub(super) fn resolve(written: &WrittenStudy, luns: &[LunSet], settle: &mut Settle<'_>) -> Vec<Phase> {
    settle.unique(written.phases.iter().map(|phase| &phase.name), "phase");
    let schemas = written.database.schemas().value();
    let loaded = sql::Loaded::of(written, settle);
    let asked = questions::Loaded::of(written, settle);
    let mut phases = Vec::new();
    for phase in &written.phases {
        let Some(kind) = &phase.kind else { continue };
        let name = settle.name(&phase.name, "phase");
        let (kind, usual) = match kind.value {
            PhaseWord::Random => {
                let random = random(phase, settle);
                let usual = (random.work_loop == 0).then_some(case::WORK_TIME);
                (PhaseKind::Random(random), usual)
            }
            PhaseWord::Scan => (PhaseKind::Scan(scan(phase, schemas, settle)), None),
            PhaseWord::Age => (PhaseKind::Age(age(phase, settle)), None),
            PhaseWord::Redo => (PhaseKind::Redo(redo(phase, settle)), Some(case::WORK_TIME)),
            PhaseWord::Copy => (PhaseKind::Copy(moves::copy(phase, settle)), None),
            PhaseWord::Rebalance => {
                let work = random(phase, settle);
                (PhaseKind::Rebalance(moves::rebalance(phase, work, settle)), None)
            }
            PhaseWord::Tpcc => {
                let tpcc = sql::tpcc(phase, &loaded, settle);
                (PhaseKind::Tpcc(tpcc), Some(case::WORK_TIME))
            }
            PhaseWord::Tpch => (PhaseKind::Tpch(questions::tpch(phase, &asked, settle)), None),
            PhaseWord::Bulk => (PhaseKind::Bulk(sql::bulk(phase, settle)), None),
            PhaseWord::Files => {
                let is_server = !written.stacks.is_empty() && written.stacks.iter().all(files::is_server);
                let serving = files::serving(phase, (&written.files, is_server), settle);
                (PhaseKind::Files(serving), Some(case::POINT_TIME))
            }
            PhaseWord::PowerCut | PhaseWord::Kill => {
                let end = match kind.value {
                    PhaseWord::Kill => End::Kill,
                    _ => End::PowerCut,
                };
                let work = match written.files.span {
                    Some(_) => CutWork::Files(files::under_a_cut(phase, settle)),
                    None => CutWork::Random(random(phase, settle)),
                };
                cuts::foreign_work(phase, &work, end, settle.findings);
                (PhaseKind::PowerCut(cuts::power_cut(phase, work, end, settle)), None)
            }
        };
        let time = phase.time().or(usual);
        check_time(time.value(), time.span(&phase.span), &kind, settle);
        let faults = cuts::faults(phase, luns, settle);
        let ranked = ranked(phase, &kind, !faults.is_empty(), settle);
        let against = against(phase, &kind, &phases, settle);
        phases.push(Phase {
            name,
            kind,
            time: time.value(),
            rest: rest(phase, written, settle),
            ranked,
            against,
            faults,
        });
    }
    phases
}

/// Idle time before it begins.
fn rest(phase: &WrittenPhase, written: &WrittenStudy, settle: &mut Settle<'_>) -> Duration {
    let key = phase.rest();
    let simulated = |stack: &WrittenStack| stack.kind.as_ref().is_some_and(|at| at.value == StackWord::Model);
    if let Some(at) = key.outside() {
        let message = format!("a phase cannot rest {}", at.value);
        settle.findings.add(&at.span, message, "write at most rest = \"1h\"");
    } else if let Some(at) = key.written.filter(|at| at.value.0 > 0)
        && written.stacks.iter().any(simulated)
    {
        let cure = "remove `rest`, or use stacks that this machine builds";
        settle
            .findings
            .add(&at.span, "a simulated device has nothing to rest from", cure);
    }
    key.value()
}

/// Compared between stacks unless the study says no; where it cannot be, or hardly makes sense, unless it says yes.
fn ranked(phase: &WrittenPhase, kind: &PhaseKind, broken: bool, settle: &mut Settle<'_>) -> bool {
    let (message, cure) = match kind {
        // One is had at the cost of the other: there is no better.
        PhaseKind::Rebalance(_) => (
            "a rebalance cannot be ranked: quick and gentle exclude each other",
            "remove it: compare the latencies and the time of the rebalances yourself",
        ),
        PhaseKind::PowerCut(cut) => (
            match cut.end {
                End::PowerCut => "power cuts cannot be ranked: what was acknowledged is there, or it is not",
                End::Kill => "kills cannot be ranked: what was acknowledged is there, or it is not",
            },
            "remove it: the report says for each stack what was kept and what was lost",
        ),
        kind => {
            // A load curve is to be seen whole; its steps are not a dozen questions.
            let curve = match kind {
                PhaseKind::Tpcc(tpcc) => tpcc.users.len() > 1,
                PhaseKind::Tpch(tpch) => tpch.is_curve(),
                _ => false,
            };
            return phase.ranked().or_if(broken || curve, false).value();
        }
    };
    if let Some(at) = phase.ranked.as_ref().filter(|at| at.value) {
        settle.findings.add(&at.span, message, cure);
    }
    false
}

fn check_time(time: Option<Duration>, span: &Span, kind: &PhaseKind, settle: &mut Settle<'_>) {
    match (time, kind) {
        (Some(_), PhaseKind::PowerCut(cut)) => {
            let (message, what) = match cut.end {
                End::PowerCut => ("the work of this phase ends with the power", "cut"),
                End::Kill => ("the work of this phase ends with a kill", "kill"),
            };
            let cure =
                format!("remove `time`: say between which times of work the {what} comes, by `earliest` and `latest`");
            settle.findings.add(span, message, cure);
        }
        (Some(_), PhaseKind::Tpch(_)) => {
            let cure = "remove `time`: it ends with the last question; `limit` says how long one may take";
            settle
                .findings
                .add(span, "this phase ends when its questions are answered", cure);
        }
        (Some(_), PhaseKind::Age(_) | PhaseKind::Copy(_) | PhaseKind::Rebalance(_) | PhaseKind::Bulk(_)) => {
            let cure = "remove `time`: an ageing ends with the last page, a copy with the last byte, \
                a rebalance `after` the last extent, a bulk load with the last row";
            settle.findings.add(span, "this phase ends when its work is done", cure);
        }
        (Some(Duration(0)), _) => {
            settle
                .findings
                .add(span, "a phase cannot last 0s", "write how long it runs: time = \"60s\"");
        }
        (None, PhaseKind::Random(random)) if random.work_loop == 0 => {
            let cure = "give it a `time`, or a `work_loop` of operations for each session";
            settle.findings.add(
                span,
                "this phase never ends: it has neither a time nor a number of operations",
                cure,
            );
        }
        (None, PhaseKind::Tpcc(_) | PhaseKind::Files(_) | PhaseKind::Redo(_)) => {
            settle.findings.add(
                span,
                "this phase never ends by itself",
                "write how long it runs: time = \"60s\"",
            );
        }
        _ => {}
    }
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

fn random(phase: &WrittenPhase, settle: &mut Settle<'_>) -> Random {
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

fn check_outstanding(phase: &WrittenPhase, outstanding: u32, work_unit: u32, settle: &mut Settle<'_>) {
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

fn age(phase: &WrittenPhase, settle: &mut Settle<'_>) -> Age {
    let age = Age {
        passes: settle.count(&phase.passes()),
        sessions: settle.count(&phase.sessions()),
        work_unit: settle.count(&phase.work_unit().or(case::AGE_PAGES)),
        redo_stress: phase.redo_stress().value(),
        outstanding: settle.count(&phase.outstanding()),
    };
    check_outstanding(phase, age.outstanding, age.work_unit, settle);
    age
}

/// As much as a small transaction writes; a commit of less than a block costs a block.
fn redo(phase: &WrittenPhase, settle: &mut Settle<'_>) -> Redo {
    let size = phase.commit_size();
    if let Some(at) = size.outside() {
        let message = format!("a commit cannot have {} of redo", at.value);
        let cure = format!("write {}, or {}", size.example(), size.limits);
        settle.findings.add(&at.span, message, cure);
    }
    Redo {
        sessions: settle.count(&phase.sessions()),
        commit_size: size.value(),
    }
}

/// The earlier phase that this one is held against: one whose figure means the same.
fn against(phase: &WrittenPhase, kind: &PhaseKind, earlier: &[Phase], settle: &mut Settle<'_>) -> Option<String> {
    let at = phase.against.as_ref()?;
    let Some(other) = earlier.iter().find(|other| other.name == at.value) else {
        let names = earlier.iter().map(|other| other.name.as_str());
        let cure = match nearest(&at.value, names) {
            Some(near) => format!("did you mean {near:?}?"),
            None => "name a phase that comes before this one, as `against = \"fresh scan\"`".to_string(),
        };
        settle
            .findings
            .add(&at.span, format!("no phase {:?} comes before this one", at.value), cure);
        return None;
    };
    let open = |kind: &PhaseKind| match kind {
        PhaseKind::Random(random) => random.rate.is_some(),
        PhaseKind::Tpcc(tpcc) => tpcc.rate.is_some(),
        _ => false,
    };
    if std::mem::discriminant(kind) != std::mem::discriminant(&other.kind) || open(kind) != open(&other.kind) {
        let message = format!(
            "{:?} is a phase of another kind: the two have no figure in common",
            at.value
        );
        settle.findings.add(
            &at.span,
            message,
            "hold a scan against a scan, random work against random work, both with a `rate` or both without",
        );
        return None;
    }
    Some(at.value.clone())
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

fn scan(phase: &WrittenPhase, schemas: u64, settle: &mut Settle<'_>) -> Scan {
    let home = &phase.span;
    let said = sql::one_of(&phase.users(), settle);
    let said = said.and_then(|at| settle.within("users", &at, &Limits::from(1..=SCAN_USERS_MAX)));
    let users = said.unwrap_or(schemas.clamp(1, case::SCAN_USERS) as u32);
    let parallel = settle.count(&phase.parallel());
    if u64::from(users) > schemas {
        let span = phase.users.as_ref().map_or(home, |at| &at.span);
        let message = format!("{users} users cannot be scanned: there are {schemas} schemas");
        settle.findings.add(
            span,
            message,
            format!("write users = {schemas} or less, or raise `schemas` in [database]"),
        );
    }
    if parallel > users {
        let span = phase.parallel.as_ref().map_or(home, |at| &at.span);
        let message = format!("{parallel} scans at the same time, of {users} users");
        settle.findings.add(
            span,
            message,
            format!("write parallel = {users} or less, or raise `users`"),
        );
    }
    Scan {
        users,
        degree: settle.count(&phase.degree()),
        parallel,
    }
}
