//! The lab around the engine: a report of a large result, start-up, the size of the binary, what observing costs.
//!
//! Prevents: an instrument that is quick in its loop and slow everywhere else.

use super::{Bench, Found, say};
use crate::bounds::Due;
use crate::contender::Row;
use crate::figures::{Column, Spread, Table};
use crate::result::{self, Size};
use crate::undo::tool;
use anyhow::{Context, ensure};
use observers::{DEFAULT_INTERVAL, Watch};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const COLUMNS: &[Column] = &[
    Column::new("ms", "ms", 1),
    Column::new("mib", "MiB", 1),
    Column::new("core_pct", "% of one core", 3),
];
const HELP: &str = "assay --help";
const BINARY: &str = "release binary";
const OBSERVERS: &str = "observers at their default interval";
/// A start is short, and a report not much longer.
const STARTS: usize = 20;
const REPORTS: usize = 5;

/// Runs the table.
pub(crate) fn run(bench: &Bench) -> anyhow::Result<Found> {
    let assay = bench.binary()?;
    let sizes = [
        (
            "report of 200 phase runs (25 phases, 2 stacks, 4 blocks)",
            Size {
                phases: 25,
                stacks: 2,
                blocks: 4,
            },
        ),
        (
            "report of 200 phases (1,600 runs: 2 stacks, 4 blocks)",
            Size {
                phases: 200,
                stacks: 2,
                blocks: 4,
            },
        ),
    ];
    let names: Vec<String> = [HELP, BINARY, OBSERVERS]
        .into_iter()
        .chain(sizes.iter().map(|(name, _)| *name))
        .map(String::from)
        .collect();
    let mut table = Table::new("The lab", COLUMNS, &names);
    for _ in 0..STARTS {
        bench.interrupt.check()?;
        table.add(HELP, Row::from([("ms".into(), timed(&assay, &["--help"])?)]));
    }
    let bytes = std::fs::metadata(&assay).context("look at the binary")?.len();
    table.add(BINARY, Row::from([("mib".into(), bytes as f64 / 1048576.0)]));
    for (name, size) in &sizes {
        let path = bench.scratch.join("synthetic.assay");
        result::write(&path, *size)?;
        let shown = path.display().to_string();
        for _ in 0..REPORTS {
            bench.interrupt.check()?;
            table.add(name, Row::from([("ms".into(), timed(&assay, &["report", &shown])?)]));
        }
        std::fs::remove_file(&path).context("remove the synthetic result")?;
    }
    for _ in 0..bench.rounds {
        let share = observing(if bench.quick { 1.0 } else { 4.0 })?;
        table.add(OBSERVERS, Row::from([("core_pct".into(), share * 100.0)]));
    }
    Ok(owed(table, [sizes[0].0, sizes[1].0], bytes))
}

/// What was owed, and the table.
fn owed(table: Table, reports: [&str; 2], bytes: u64) -> Found {
    let mut found = Found::default();
    let ms = |name: &str| table.figure(name, "ms");
    found.see(Due::LabReport, ms(reports[0]));
    found.see(Due::LabReportLong, ms(reports[1]));
    found.see(Due::LabHelp, ms(HELP));
    // MB as a disk counts them.
    found.see(Due::LabBinary, Spread::of([bytes as f64 / 1e6]));
    found.see(Due::LabObservers, table.figure(OBSERVERS, "core_pct"));
    found.tables.push(table);
    found
}

/// The binary of this very source, built as it is released.
pub(crate) fn build() -> anyhow::Result<PathBuf> {
    say("building assay");
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let manifest = manifest.display().to_string();
    tool(
        &cargo,
        &[
            "build",
            "--release",
            "--quiet",
            "-p",
            "assay",
            "--manifest-path",
            &manifest,
        ],
    )?;
    let own = std::env::current_exe().context("find this program")?;
    let beside = own.parent().context("a program lies in a directory")?.join("assay");
    ensure!(
        beside.exists(),
        "{} was not built\n  name the binary by --assay",
        beside.display()
    );
    Ok(beside)
}

/// Wall time of a run from start to end, ms; its output is thrown away.
fn timed(program: &Path, args: &[&str]) -> anyhow::Result<f64> {
    let began = Instant::now();
    let status = Command::new(program)
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("start {}", program.display()))?;
    let took = began.elapsed();
    ensure!(status.success(), "{} {}: {status}", program.display(), args.join(" "));
    Ok(took.as_secs_f64() * 1e3)
}

/// CPU share of one core that watching every block device of this host takes.
fn observing(seconds: f64) -> anyhow::Result<f64> {
    let entries = std::fs::read_dir("/sys/block").context("list block devices")?;
    let devices: Vec<String> = entries
        .flatten()
        .filter_map(|e| e.file_name().into_string().ok())
        .collect();
    let watch = Watch::start(&devices, DEFAULT_INTERVAL)?;
    std::thread::sleep(Duration::from_secs_f64(seconds));
    let watched = watch.stop();
    watched.cost.core_share().context("no time passed")
}
