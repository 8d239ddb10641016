//! `laboratory measure`: sets the traps, runs twins on this machine, and prints the table of `laboratory belief`.
//!
//! Takes a study of twins and a directory; runs the tests of traps and `assay run` as children. What takes an hour to
//! make is given, not made. Prevents: figures that were put together by hand from several runs.

use crate::flags;
use crate::outcome::Failure;
use anyhow::{Context, anyhow, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

pub(crate) fn run(flags: &flags::Measure) -> ExitCode {
    match measure(flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn measure(flags: &flags::Measure) -> Result<(), Failure> {
    let dir = whole(&flags.dir)?;
    let study = whole(&flags.study)?;
    let assay = match &flags.assay {
        Some(path) => whole(path)?,
        None => beside_this()?,
    };
    let (traps, twins) = (dir.join("traps.json"), dir.join("twins.assay"));
    if twins.exists() {
        let twins = twins.display();
        return Err(Failure::usage(format_args!(
            "{twins} is there already: take it away, or say --dir elsewhere"
        )));
    }
    let of_traps = set_traps(&traps);
    if let Err(why) = &of_traps {
        eprintln!("{why:#}");
        // A trap that is missed is a line of the table; where the tests wrote nothing, there is none.
        if !traps.exists() {
            return Err(Failure::Missed(anyhow!("{why:#}")));
        }
    }
    let mut twins_run = sandbox::command(&assay);
    twins_run
        .arg("run")
        .arg(study)
        .arg("--output")
        .arg(&twins)
        .arg("--quiet");
    child("twins", twins_run.current_dir(&dir))?;
    eprintln!("simulated studies");
    super::run(&flags::Belief {
        twins: vec![twins],
        traps: Some(traps),
        given: flags.given.clone(),
        drawing: flags.drawing,
    })?;
    // Whatever else the tests of traps failed for must not end well either.
    of_traps.map_err(Failure::Missed)
}

/// Runs the tests that set traps; they write what was caught there.
fn set_traps(into: &Path) -> anyhow::Result<()> {
    let _ = std::fs::remove_file(into);
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let mut tests = Command::new(cargo);
    tests
        .args([
            "test",
            "--release",
            "--package",
            "assay",
            "--test",
            "integration",
            "--manifest-path",
        ])
        .arg(manifest)
        .args(["--", "traps::"])
        .env("ASSAY_TRAPS", into);
    child("traps", &mut tests)
}

/// What a child prints goes to standard error: the table alone is this program's answer.
fn child(what: &str, command: &mut Command) -> anyhow::Result<()> {
    eprintln!("{what}");
    let ended = command.stdout(Stdio::from(std::io::stderr())).status();
    let ended = ended.with_context(|| format!("{what}: start {command:?}"))?;
    ensure!(ended.success(), "{what}: {ended}");
    Ok(())
}

fn beside_this() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().context("find this program")?;
    let assay = own.with_file_name("assay");
    match assay.exists() {
        true => Ok(assay),
        false => Err(Failure::usage(format_args!(
            "{} is not built\n  build it (cargo build --release -p assay), or name the binary by --assay",
            assay.display()
        ))),
    }
}

fn whole(path: &Path) -> Result<PathBuf, Failure> {
    std::fs::canonicalize(path).map_err(|e| Failure::usage(format_args!("{}: {e}", path.display())))
}
