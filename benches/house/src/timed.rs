//! Times that Cargo gives: the build from nothing, and the tests by file.
//!
//! Takes the root, gives lines of text. Prevents: a test file whose share of the whole nobody knows.

use anyhow::Context;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Builds the release into an empty folder: its time, and the size of the binary.
pub(crate) fn build(root: &Path) -> anyhow::Result<String> {
    let target = tempfile::tempdir().context("make a folder for the build")?;
    let began = Instant::now();
    let status = Command::new("cargo")
        .args([
            "build",
            "--release",
            "--locked",
            "--quiet",
            "-p",
            "assay",
            "--target-dir",
        ])
        .arg(target.path())
        .current_dir(root)
        .status()
        .context("start cargo")?;
    anyhow::ensure!(status.success(), "the build failed: {status}");
    let seconds = began.elapsed().as_secs();
    let binary = target.path().join("release/assay");
    let bytes = std::fs::metadata(&binary)
        .with_context(|| binary.display().to_string())?
        .len();
    let size = format!("{:.1} MB", bytes as f64 / 1e6);
    Ok(format!("\nrelease from nothing: {seconds} s, binary {size}\n"))
}

/// Builds and runs all tests: the time of each file, longest first.
pub(crate) fn tests(root: &Path) -> anyhow::Result<String> {
    let cargo = |more: &[&str]| {
        let mut command = Command::new("cargo");
        command
            .args(["test", "--workspace", "--locked", "--no-fail-fast"])
            .args(more);
        command.current_dir(root);
        command
    };
    let status = cargo(&["--no-run", "--quiet"]).status().context("start cargo")?;
    anyhow::ensure!(status.success(), "the tests do not build: {status}");
    let began = Instant::now();
    let ran = cargo(&[]).output().context("start cargo")?;
    let total = began.elapsed().as_secs();
    // Cargo names the file on one stream, the test program its time on the other: both are in the same order.
    let (named, said) = (
        String::from_utf8_lossy(&ran.stderr),
        String::from_utf8_lossy(&ran.stdout),
    );
    let names = named.lines().filter_map(|line| {
        let line = line.trim();
        let unit = line
            .strip_prefix("Running ")
            .or_else(|| line.strip_prefix("Doc-tests "));
        unit.map(str::to_string)
    });
    let seconds = said.lines().filter_map(|line| {
        let (_, after) = line.split_once("finished in ")?;
        after.trim_end_matches('s').parse::<f64>().ok()
    });
    let mut times: BTreeMap<String, f64> = BTreeMap::new();
    for (name, seconds) in names.zip(seconds) {
        *times.entry(name).or_default() += seconds;
    }
    let mut rows: Vec<_> = times.into_iter().collect();
    rows.sort_by(|one, other| other.1.total_cmp(&one.1));
    let lines = rows.iter().map(|(name, seconds)| format!("{seconds:>8.1} s  {name}\n"));
    let text: String = lines.collect();
    let ended = if ran.status.success() {
        "all passed"
    } else {
        "some failed"
    };
    Ok(format!("\ntests: {total} s, {ended}\n{text}"))
}
