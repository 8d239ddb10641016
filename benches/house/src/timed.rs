//! Times that Cargo gives: the build from nothing, and the tests by file.
//!
//! Takes the root, gives lines of text. Prevents: a test file whose share of the whole nobody knows.

use anyhow::Context;
use cargo_metadata::Message;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
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

/// Builds and runs all tests, one binary after another: the time of each file, longest first.
pub(crate) fn tests(root: &Path) -> anyhow::Result<String> {
    let built = Command::new("cargo")
        .args([
            "test",
            "--workspace",
            "--locked",
            "--no-run",
            "--quiet",
            "--message-format",
            "json",
        ])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("start cargo")?;
    anyhow::ensure!(built.status.success(), "the tests do not build: {}", built.status);
    let began = Instant::now();
    let mut times: BTreeMap<String, f64> = BTreeMap::new();
    let mut failed = Vec::new();
    for line in String::from_utf8_lossy(&built.stdout).lines() {
        let Ok(Message::CompilerArtifact(artifact)) = serde_json::from_str(line) else {
            continue;
        };
        let Some(program) = artifact.executable.filter(|_| artifact.profile.test) else {
            continue;
        };
        let folder = artifact.manifest_path.parent().context("a manifest has a folder")?;
        let room = folder.file_name().context("a room has a name")?;
        let ran = Command::new(&program)
            .args(["-Zunstable-options", "--report-time"])
            // The test program gives times of single tests only to who says this.
            .env("RUSTC_BOOTSTRAP", "1")
            .current_dir(folder)
            .output()
            .with_context(|| program.to_string())?;
        for (name, seconds) in String::from_utf8_lossy(&ran.stdout).lines().filter_map(timed) {
            let file = name.split_once("::").map_or(name, |(file, _)| file);
            *times
                .entry(format!("{room} {}: {file}", artifact.target.name))
                .or_default() += seconds;
        }
        if !ran.status.success() {
            failed.push(format!("{room} {}", artifact.target.name));
        }
    }
    let mut rows: Vec<_> = times.into_iter().collect();
    rows.sort_by(|one, other| other.1.total_cmp(&one.1));
    let lines = rows.iter().map(|(name, seconds)| format!("{seconds:>8.1} s  {name}\n"));
    let text: String = lines.collect();
    let total = began.elapsed().as_secs();
    let ended = if failed.is_empty() {
        "all passed".into()
    } else {
        format!("failed: {}", failed.join(", "))
    };
    Ok(format!(
        "\ntests: {total} s, {ended}; by file, tests that ran at once counted each:\n{text}"
    ))
}

/// `test power::cut ... ok <1.234s>`
fn timed(line: &str) -> Option<(&str, f64)> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let (_, seconds) = rest.rsplit_once('<')?;
    Some((name, seconds.strip_suffix("s>")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_line_of_a_test_has_its_time() {
        assert_eq!(super::timed("test a::b ... ok <0.210s>"), Some(("a::b", 0.21)));
        assert_eq!(super::timed("test a::b ... FAILED <3.000s>"), Some(("a::b", 3.0)));
        assert_eq!(super::timed("test a::b ... ignored"), None);
    }
}
