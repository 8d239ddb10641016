//! `versus`: Assay beside the tools it replaces, both sides in one run, interleaved, as ratios with their spread.
//!
//! Run by hand on a machine that does nothing else: `cargo run --release -p versus`. It is no test; what may not grow
//! is held by a count of instructions in the tests. Prevents: a claim of speed that nobody can repeat.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a binary: tables go to stdout, progress to stderr"
)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that cannot go on panics"))]

mod accounts;
mod bounds;
mod child;
mod contender;
mod database;
mod figures;
mod flags;
mod instructions;
mod places;
mod record;
mod result;
mod sections;
mod side;
mod stepped;
mod undo;

use clap::{Parser, ValueEnum};
use flags::{Command, Flags, Section};
use places::Sizes;
use sections::reads::{self, Kind};
use sections::{Bench, Found, say};
use std::path::Path;
use std::process::ExitCode;
use undo::Interrupt;

fn main() -> ExitCode {
    let flags = Flags::parse();
    let result = match &flags.command {
        Some(Command::Side(side)) => side::run(side),
        Some(Command::Cost(cost)) => sections::grows::cost(cost),
        Some(Command::Simulated(what)) => side::simulated::run(what),
        None => versus(&flags),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("versus: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// All sections, their tables, and what was owed.
fn versus(flags: &Flags) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen()?;
    let scratch = tempfile::Builder::new()
        .prefix("assay-versus-")
        .tempdir_in(&flags.dir)?;
    let bench = bench(flags, scratch.path(), interrupt);
    let mut found = Found::default();
    for section in Section::value_variants().iter().copied() {
        if !flags.only.is_empty() && !flags.only.contains(&section) {
            continue;
        }
        bench.interrupt.check()?;
        found.asked.push(section);
        match one(&bench, section) {
            Ok(part) => {
                for table in &part.tables {
                    println!("{}", table.markdown());
                }
                found.tables.extend(part.tables);
                found.seen.extend(part.seen);
                found.absent.extend(part.absent);
            }
            // A place that can't be had here is said to be missing, not left out in silence.
            Err(error) => {
                bench.interrupt.check()?;
                say(&format!("{section:?} is left out: {error:#}"));
                found.absent.push((section, format!("{error:#}")));
            }
        }
    }
    println!("{}", bounds::table(&found));
    record::write(flags, &bench, &found)
}

/// What every section is told.
fn bench(flags: &Flags, scratch: &Path, interrupt: Interrupt) -> Bench {
    Bench {
        rounds: if flags.quick { 1 } else { flags.rounds.max(1) },
        seconds: if flags.quick { 1.5 } else { flags.seconds.max(1.5) },
        sizes: Sizes::of(flags.quick),
        quick: flags.quick,
        scratch: scratch.to_owned(),
        t_io_uring: flags.t_io_uring.clone().or_else(record::find_t_io_uring),
        pg_test_fsync: flags.pg_test_fsync.clone().or_else(record::find_pg_test_fsync),
        assay: flags.assay.clone(),
        before: flags.before.clone(),
        counters: instructions::Counters::find(),
        interrupt,
    }
}

fn one(bench: &Bench, section: Section) -> anyhow::Result<Found> {
    let dir = &bench.scratch;
    match section {
        Section::File => reads::run(bench, &places::file(dir, bench.sizes.file)?, Kind::File),
        Section::Xfs => reads::run(bench, &places::xfs(dir, bench.sizes, &bench.interrupt)?, Kind::Xfs),
        Section::Zram => reads::run(bench, &places::zram(dir, bench.sizes.zram, 1)?, Kind::Zram),
        Section::Processors => sections::processors::run(bench),
        Section::Sessions => sections::sessions::run(bench),
        Section::Updates => sections::updates::run(bench),
        Section::Mixed => sections::mixed::run(bench),
        Section::Redo => sections::redo::run(bench),
        Section::Sqlite => sections::sqlite::run(bench),
        Section::Scan => sections::scan::run(bench),
        Section::Group => sections::group::run(bench),
        Section::Lab => sections::lab::run(bench),
        Section::Grows => sections::grows::run(bench),
        Section::GroupSizes => sections::group_sizes::run(bench),
    }
}
