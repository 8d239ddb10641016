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

use clap::Parser;
use flags::{Command, Flags, Section};
use places::Sizes;
use sections::reads::{self, Kind};
use sections::{Bench, Found, Owed, say};
use std::process::ExitCode;
use undo::Interrupt;

fn main() -> ExitCode {
    let flags = Flags::parse();
    let result = match &flags.command {
        Some(Command::Side(side)) => side::run(side),
        Some(Command::Cost(cost)) => sections::grows::cost(cost),
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
    let bench = Bench {
        rounds: if flags.quick { 1 } else { flags.rounds.max(1) },
        seconds: if flags.quick { 1.5 } else { flags.seconds.max(1.5) },
        sizes: Sizes::of(flags.quick),
        quick: flags.quick,
        scratch: scratch.path().to_owned(),
        t_io_uring: flags.t_io_uring.clone().or_else(record::find_t_io_uring),
        assay: flags.assay.clone(),
        before: flags.before.clone(),
        counters: instructions::Counters::find(),
        interrupt,
    };
    let mut found = Found::default();
    let wanted = |section: Section| flags.only.is_empty() || flags.only.contains(&section);
    for section in [
        Section::File,
        Section::Xfs,
        Section::Zram,
        Section::Updates,
        Section::Scan,
        Section::Group,
        Section::Sessions,
        Section::Lab,
        Section::Grows,
    ] {
        if wanted(section) {
            bench.interrupt.check()?;
            let part = match one(&bench, section) {
                Ok(part) => part,
                Err(error) => skipped(&bench, section, &error)?,
            };
            for table in &part.tables {
                println!("{}", table.markdown());
            }
            found.tables.extend(part.tables);
            found.owed.extend(part.owed);
        }
    }
    println!("{}", record::owed(&found.owed));
    record::write(flags, &bench, &found)
}

fn one(bench: &Bench, section: Section) -> anyhow::Result<Found> {
    let dir = &bench.scratch;
    let (kind, place) = match section {
        Section::File => (Kind::File, places::file(dir, bench.sizes.file)),
        Section::Xfs => (Kind::Xfs, places::xfs(dir, bench.sizes, &bench.interrupt)),
        Section::Zram => (Kind::Zram, places::zram(dir, bench.sizes.zram)),
        Section::Updates => return sections::updates::run(bench),
        Section::Scan => return sections::scan::run(bench),
        Section::Group => return sections::group::run(bench),
        Section::Sessions => return sections::sessions::run(bench),
        Section::Lab => return sections::lab::run(bench),
        Section::Grows => return sections::grows::run(bench),
    };
    match place {
        Ok(place) => reads::run(bench, &place, kind),
        Err(error) => skipped(bench, section, &error),
    }
}

/// A place that can't be had here is said to be missing, not left out in silence.
fn skipped(bench: &Bench, section: Section, error: &anyhow::Error) -> anyhow::Result<Found> {
    bench.interrupt.check()?;
    say(&format!("{section:?} is left out: {error:#}"));
    Ok(Found {
        tables: Vec::new(),
        owed: vec![Owed {
            what: format!("{section:?}"),
            owed: "-".into(),
            seen: format!("not measured here: {error:#}"),
            met: None,
        }],
    })
}
