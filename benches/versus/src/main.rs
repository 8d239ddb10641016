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
mod cold;
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
mod symbols;
mod undo;

use clap::{Parser, ValueEnum};
use flags::{Command, Flags, Section};
use places::Sizes;
use sections::reads::{self, Kind};
use sections::{Bench, Found, lab, say};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use undo::Interrupt;

fn main() -> ExitCode {
    let flags = Flags::parse();
    let result = match &flags.command {
        Some(Command::Side(side)) => side::run(side),
        Some(Command::Cost(cost)) => sections::grows::cost(cost),
        Some(Command::Simulated(what)) => side::simulated::run(what),
        Some(Command::Guest(guest)) => sections::mirror::in_guest(guest),
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
    let mut cut = None;
    for section in asked(flags) {
        if let Err(error) = bench.interrupt.check() {
            found.absent.push((section, "the run was interrupted".into()));
            cut = Some(error);
            continue;
        }
        found.asked.push(section);
        match one(&bench, section) {
            Ok(part) => keep(&mut found, section, part),
            // A place that can't be had here is said to be missing, not left out in silence.
            Err(error) => {
                say(&format!("{section:?} is left out: {error:#}"));
                found.absent.push((section, format!("{error:#}")));
            }
        }
    }
    println!("{}", bounds::table(&found));
    // An interrupted run keeps the sections that it ended.
    record::write(flags, &bench, &found)?;
    cut.or_else(|| bench.interrupt.check().err()).map_or(Ok(()), Err)
}

/// Prints the tables of a section, and adds them to what was found.
fn keep(found: &mut Found, section: Section, part: Found) {
    for table in &part.tables {
        println!("{}", table.markdown());
    }
    found.absent.extend(left_out(section, &part));
    found.tables.extend(part.tables);
    found.seen.extend(part.seen);
    found.absent.extend(part.absent);
}

/// The sections that are to run, in their order.
fn asked(flags: &Flags) -> impl Iterator<Item = Section> {
    let all = Section::value_variants().iter().copied();
    all.filter(move |section| flags.only.is_empty() || flags.only.contains(section))
}

/// Contenders that a section could do without, and had to.
fn left_out(section: Section, part: &Found) -> impl Iterator<Item = (Section, String)> {
    let all = part.tables.iter().flat_map(|table| &table.left_out);
    all.map(move |(name, why)| (section, format!("{name}: {why}")))
}

/// The `assay` binary: the one that was named, or one built of this source before anything is measured. The reason
/// where there is none.
fn assay(flags: &Flags) -> Result<PathBuf, String> {
    if let Some(path) = &flags.assay {
        return Ok(path.clone());
    }
    if !asked(flags).any(Section::runs_assay) {
        return Err("it was not built: no section asks for it".into());
    }
    lab::build().map_err(|error| format!("{error:#}"))
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
        assay: assay(flags),
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
        Section::Floor => sections::floor::run(bench),
        Section::Group => sections::group::run(bench),
        Section::Mirror => sections::mirror::run(bench),
        Section::Lab => sections::lab::run(bench),
        Section::Grows => sections::grows::run(bench),
        Section::GroupSizes => sections::group_sizes::run(bench),
        Section::Bookkeeping => sections::bookkeeping::run(bench),
        Section::Engineer => sections::engineer::run(bench),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_assay_has_it_before_the_first_section() {
        let flags = |only: &str| Flags::try_parse_from(["versus", "--only", only]).unwrap();
        for (only, needed) in [
            ("sqlite", true),
            ("scan,lab", true),
            ("grows", true),
            ("bookkeeping", true),
            ("redo,group", false),
            // It builds what it measures.
            ("engineer", false),
        ] {
            assert_eq!(asked(&flags(only)).any(Section::runs_assay), needed, "{only}");
        }
        assert!(assay(&flags("scan")).is_err(), "nothing is built that nobody runs");
        let named = Flags::try_parse_from(["versus", "--assay", "/x/assay"]).unwrap();
        assert_eq!(assay(&named), Ok(PathBuf::from("/x/assay")));
        assert_eq!(asked(&named).count(), Section::value_variants().len());
    }
}
