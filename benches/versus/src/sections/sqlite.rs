//! SQLite by our VFS, past the page cache, beside SQLite's own through it: order entry and bulk load, by a study.
//!
//! Takes the `assay` binary, which runs both on one file system in turns, block after block; gives each block as a
//! round, from its result file. Prevents: a VFS whose cost hides behind the cache that it goes around.

use super::{Bench, Found, say};
use crate::bounds::Due;
use crate::contender::Row;
use crate::figures::{Column, Table};
use crate::flags::Section;
use crate::undo::that_tidies;
use anyhow::{Context, ensure};
use ledger::{Ledger, Measure, PhaseId, PhaseRun, PhaseStatus, Trial, TrialId, TrialStatus};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const COLUMNS: &[Column] = &[
    Column::new("iops", "transactions or rows/s", 0),
    Column::new("process_us", "process CPU us each", 1),
    Column::new("system_us", "system CPU us each", 1),
    Column::new("read_kib", "device KiB read each", 2),
    Column::new("written_kib", "device KiB written each", 2),
];
const OWN: &str = "own VFS";
const OURS: &str = "our VFS";
const STACKS: [&str; 2] = [OWN, OURS];
const ORDERS: &str = "order entry";
const CACHED: &str = "order entry, large cache";
const BULK: &str = "bulk load";
/// One for each size of SQLite's cache: smaller than the database, and larger than it.
const STUDIES: [Study; 2] = [
    Study {
        name: "sqlite",
        cache: "32MiB",
        phases: &[ORDERS, BULK],
    },
    Study {
        name: "sqlite-large-cache",
        cache: "2GiB",
        phases: &[CACHED],
    },
];
/// Rows of a bulk load.
const ROWS: u64 = 20_000;
/// A study has an even number of blocks, four or more.
const BLOCKS_MIN: usize = 4;
/// Reasons that are told of one phase.
const REASONS_MAX: usize = 3;

/// Why runs of a phase do not count: the phase, the side, the reason.
type Lost = BTreeSet<(String, String, String)>;

struct Study {
    name: &'static str,
    cache: &'static str,
    phases: &'static [&'static str],
}

fn phases() -> impl Iterator<Item = &'static str> {
    STUDIES.iter().flat_map(|study| study.phases).copied()
}

fn name(phase: &str, stack: &str) -> String {
    format!("{phase}, {stack}")
}

/// What a study file says of a phase.
fn phase(name: &str, seconds: f64) -> String {
    let keys = match name {
        BULK => format!("kind = \"bulk\"\nrows = [{ROWS}]"),
        _ => format!("kind = \"tpcc\"\nusers = 8\nwarehouses = 1\ntime = \"{seconds:.0}s\""),
    };
    format!("[[phase]]\nname = \"{name}\"\n{keys}\n")
}

fn study(of: &Study, place: &Path, blocks: usize, seconds: f64) -> String {
    let (name, place, cache) = (of.name, place.display(), of.cache);
    let phases: Vec<String> = of.phases.iter().map(|name| phase(name, seconds)).collect();
    let phases = phases.join("\n");
    format!(
        r#"[study]
name = "versus-{name}"
question = "What does our VFS cost beside SQLite's own?"
blocks = {blocks}
stop_early = false
seed = 1
workers = 1
time_limit = "2h"

[[stack]]
name = "{OWN}"
kind = "directory"
path = "{place}"
access = "buffered"

[[stack]]
name = "{OURS}"
kind = "directory"
path = "{place}"

[database]
engine = "sqlite"
cache = "{cache}"

{phases}"#
    )
}

/// Runs the study; gives its result file.
fn result(bench: &Bench, of: &Study, blocks: usize, seconds: f64) -> anyhow::Result<PathBuf> {
    let assay = bench.binary()?;
    let place = bench.scratch.join(of.name);
    std::fs::create_dir(&place).context("make a directory for SQLite")?;
    let [text, result, said] = ["toml", "assay", "said"].map(|end| bench.scratch.join(format!("{}.{end}", of.name)));
    std::fs::write(&text, study(of, &place, blocks, seconds)).context("write a study")?;
    say(&format!("SQLite: a study of {blocks} blocks, cache {}", of.cache));
    let mut command = Command::new(&assay);
    command
        .arg("run")
        .arg(&text)
        .arg("--quiet")
        .arg("--output")
        .arg(&result);
    command.env("ASSAY_STATE_DIR", bench.scratch.join("state"));
    // Not through a pipe: nobody reads it while the study runs.
    let errors = File::create(&said).context("make a file for what assay says")?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
    let status = that_tidies(&mut command, &bench.interrupt)?;
    let said = std::fs::read(&said).context("read what assay said")?;
    let said = String::from_utf8_lossy(&said);
    ensure!(status.success(), "assay run: {status}: {}", said.trim());
    Ok(result)
}

/// Runs the study and fills the table.
pub(crate) fn run(bench: &Bench) -> anyhow::Result<Found> {
    let blocks = bench.rounds.next_multiple_of(2).max(BLOCKS_MIN);
    let seconds = 3.0 * bench.seconds;
    let names: Vec<String> = phases()
        .flat_map(|phase| STACKS.map(|stack| name(phase, stack)))
        .collect();
    let mut table = Table::new("SQLite by our VFS and by its own", COLUMNS, &names);
    let mut lost = Lost::new();
    for study in &STUDIES {
        let result = result(bench, study, blocks, seconds)?;
        lost.extend(fill(&result, study, &mut table)?);
    }
    let [small, large] = STUDIES.map(|study| study.cache);
    table.notes.push(format!(
        "Two studies of {blocks} blocks, in each of which both sides have a turn, on one file system: order entry of 8 \
         users on one warehouse for {seconds:.0} s, and a bulk load of {ROWS} rows in commits of 100. Write-ahead log, \
         synchronous FULL. SQLite's cache is {small} on both sides; with the large cache it is {large}, and the \
         database fits into it. SQLite's own VFS also has the page cache of the whole machine, which is empty when a \
         phase begins. Ours goes past it. There is one worker, so each side has one connection. CPU and time are \
         those of a phase with its drain; system CPU has the kernel's writing back in it."
    ));
    let mut found = Found::default();
    let absent = absent(&table, &lost).into_iter();
    found.absent.extend(absent.map(|why| (Section::Sqlite, why)));
    see(&mut table, &mut found);
    found.tables.push(table);
    Ok(found)
}

/// Blocks in which both have a figure: each is a round. Gives why others do not count.
fn fill(result: &Path, study: &Study, table: &mut Table) -> anyhow::Result<Lost> {
    let ledger = Ledger::open(result)?;
    let (done, others): (Vec<Trial>, Vec<Trial>) = ledger.trials()?.into_iter().partition(is_done);
    let mut lost: Lost = others.iter().flat_map(|trial| ended_early(study, trial)).collect();
    let trials: BTreeMap<TrialId, Trial> = done.into_iter().map(|trial| (trial.id, trial)).collect();
    let mut measures: BTreeMap<PhaseId, Vec<(Measure, f64)>> = BTreeMap::new();
    for measure in ledger.measures()? {
        measures.entry(measure.phase).or_default().push(measure.row);
    }
    let mut blocks: BTreeMap<(String, u32), BTreeMap<String, Row>> = BTreeMap::new();
    for phase in ledger.phases()? {
        let Some(trial) = trials.get(&phase.run.trial) else {
            continue;
        };
        let of_phase = measures.remove(&phase.id).unwrap_or_default();
        match row(&phase.run, &of_phase) {
            Ok(row) => {
                let block = blocks.entry((phase.run.name, trial.block)).or_default();
                block.insert(trial.stack.clone(), row);
            }
            Err(why) => {
                lost.insert((phase.run.name, trial.stack.clone(), why));
            }
        }
    }
    for ((phase, _), block) in blocks {
        if block.len() == STACKS.len() {
            for (stack, row) in block {
                table.add(&name(&phase, &stack), row);
            }
        }
    }
    Ok(lost)
}

fn is_done(trial: &Trial) -> bool {
    trial.status == TrialStatus::Done
}

/// A turn that did not come to its end has no figure of any phase.
fn ended_early(study: &Study, trial: &Trial) -> Vec<(String, String, String)> {
    let why = match &trial.status {
        TrialStatus::Failed(why) => why.clone(),
        TrialStatus::Running | TrialStatus::Done | TrialStatus::Interrupted => "it was stopped".into(),
    };
    let lost = |phase: &&str| (phase.to_string(), trial.stack.clone(), why.clone());
    study.phases.iter().map(lost).collect()
}

/// Of each phase that has no round: why.
fn absent(table: &Table, lost: &Lost) -> Vec<String> {
    let is_absent = |phase: &&str| {
        let line = table.line(&name(phase, OURS));
        line.is_none_or(|line| line.rounds.is_empty())
    };
    let why = |phase: &str| {
        let of_phase = lost.iter().filter(|(of, _, _)| of == phase);
        let told: Vec<String> = of_phase
            .take(REASONS_MAX)
            .map(|(_, stack, why)| format!("{stack}: {why}"))
            .collect();
        format!("{phase}: no block has figures of both ({})", told.join("; "))
    };
    phases().filter(is_absent).map(why).collect()
}

/// What one phase took for each transaction or row, or why its figures do not count.
fn row(run: &PhaseRun, measures: &[(Measure, f64)]) -> Result<Row, String> {
    if let PhaseStatus::Invalid(why) | PhaseStatus::Failed(why) = &run.status {
        return Err(why.clone());
    }
    let get = |wanted: Measure| {
        measures
            .iter()
            .find(|(measure, _)| *measure == wanted)
            .map(|(_, value)| *value)
    };
    let count = match run.name.as_str() {
        BULK => ROWS as f64,
        _ => get(Measure::EngineOperations).ok_or("its transactions were not counted")?,
    };
    let seconds = (run.elapsed_ns + run.drain_ns) as f64 / 1e9;
    let mut row = Row::from([("iops".to_string(), count / seconds)]);
    for (key, measure, unit) in [
        ("process_us", Measure::CpuOwnNs, 1e3),
        ("system_us", Measure::CpuBusyNs, 1e3),
        ("read_kib", Measure::LowReadBytes, 1024.0),
        ("written_kib", Measure::LowWriteBytes, 1024.0),
    ] {
        row.extend(get(measure).map(|all| (key.to_string(), all / count / unit)));
    }
    Ok(row)
}

fn see(table: &mut Table, found: &mut Found) {
    for (phase, system, process, rate) in [
        (
            ORDERS,
            Due::SqliteOrders,
            Due::SqliteOrdersProcess,
            Due::SqliteOrdersRate,
        ),
        (
            CACHED,
            Due::SqliteCached,
            Due::SqliteCachedProcess,
            Due::SqliteCachedRate,
        ),
        (BULK, Due::SqliteBulk, Due::SqliteBulkProcess, Due::SqliteBulkRate),
    ] {
        let (ours, own) = (name(phase, OURS), name(phase, OWN));
        found.see(system, table.ratio("system CPU", &ours, &own, "system_us"));
        found.see(process, table.ratio("process CPU", &ours, &own, "process_us"));
        found.see(rate, table.ratio("rate", &ours, &own, "iops"));
        table.ratio("device bytes written", &ours, &own, "written_kib");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_that_has_no_round_has_its_reasons() {
        let names: Vec<String> = phases().map(|phase| name(phase, OURS)).collect();
        let mut table = Table::new("t", COLUMNS, &names);
        table.add(&name(BULK, OURS), Row::new());
        table.add(&name(CACHED, OURS), Row::new());
        let lost = |phase: &str, side: &str, why: &str| (phase.to_string(), side.to_string(), why.to_string());
        let lost = Lost::from([
            lost(ORDERS, OURS, "too short"),
            lost(ORDERS, OWN, "failed"),
            lost(BULK, OWN, "once"),
        ]);
        assert_eq!(
            absent(&table, &lost),
            ["order entry: no block has figures of both (our VFS: too short; own VFS: failed)"]
        );
    }
}
