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
const BULK: &str = "bulk load";
const PHASES: [&str; 2] = [ORDERS, BULK];
/// Rows of a bulk load.
const ROWS: u64 = 20_000;
/// A study has an even number of blocks, four or more.
const BLOCKS_MIN: usize = 4;
/// Reasons that are told of one phase.
const REASONS_MAX: usize = 3;

/// Why runs of a phase do not count: the phase, the side, the reason.
type Lost = BTreeSet<(String, String, String)>;

fn name(phase: &str, stack: &str) -> String {
    format!("{phase}, {stack}")
}

fn study(place: &Path, blocks: usize, seconds: f64) -> String {
    let place = place.display();
    format!(
        r#"[study]
name = "versus-sqlite"
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
cache = "32MiB"

[[phase]]
name = "{ORDERS}"
kind = "tpcc"
users = 8
warehouses = 1
time = "{seconds:.0}s"

[[phase]]
name = "{BULK}"
kind = "bulk"
rows = [{ROWS}]
"#
    )
}

/// Runs the study; gives its result file.
fn result(bench: &Bench, blocks: usize, seconds: f64) -> anyhow::Result<PathBuf> {
    let assay = bench.binary()?;
    let place = bench.scratch.join("sqlite");
    std::fs::create_dir(&place).context("make a directory for SQLite")?;
    let [text, result, said] = ["toml", "assay", "said"].map(|end| bench.scratch.join(format!("sqlite.{end}")));
    std::fs::write(&text, study(&place, blocks, seconds)).context("write a study")?;
    say(&format!("SQLite: a study of {blocks} blocks"));
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
    let result = result(bench, blocks, seconds)?;
    let names: Vec<String> = PHASES
        .iter()
        .flat_map(|phase| STACKS.map(|stack| name(phase, stack)))
        .collect();
    let mut table = Table::new("SQLite by our VFS and by its own", COLUMNS, &names);
    let lost = fill(&result, &mut table)?;
    table.notes.push(format!(
        "One study of {blocks} blocks, in each of which both have a turn, on one file system: order entry of 8 users \
         on one warehouse for {seconds:.0} s, and a bulk load of {ROWS} rows in commits of 100. Write-ahead log, \
         synchronous FULL, cache 32 MiB on both sides. SQLite's own VFS goes through the page cache, which is empty \
         when a phase begins; ours goes past it. CPU and time are those of a phase with its drain; system CPU has the \
         kernel's writing back in it."
    ));
    let mut found = Found::default();
    let absent = absent(&table, &lost).into_iter();
    found.absent.extend(absent.map(|why| (Section::Sqlite, why)));
    see(&mut table, &mut found);
    found.tables.push(table);
    Ok(found)
}

/// Blocks in which both have a figure: each is a round. Gives why others do not count.
fn fill(result: &Path, table: &mut Table) -> anyhow::Result<Lost> {
    let ledger = Ledger::open(result)?;
    let (done, others): (Vec<Trial>, Vec<Trial>) = ledger.trials()?.into_iter().partition(is_done);
    let mut lost: Lost = others.iter().flat_map(ended_early).collect();
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

/// A turn that did not come to its end has no figure of either phase.
fn ended_early(trial: &Trial) -> [(String, String, String); 2] {
    let why = match &trial.status {
        TrialStatus::Failed(why) => why.clone(),
        TrialStatus::Running | TrialStatus::Done | TrialStatus::Interrupted => "it was stopped".into(),
    };
    PHASES.map(|phase| (phase.to_string(), trial.stack.clone(), why.clone()))
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
    PHASES.into_iter().filter(is_absent).map(why).collect()
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
        let names = PHASES.map(|phase| name(phase, OURS));
        let mut table = Table::new("t", COLUMNS, &names);
        table.add(&name(BULK, OURS), Row::new());
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
