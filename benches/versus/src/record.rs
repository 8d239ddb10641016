//! What is kept of a run: tables as Markdown with the command, the machine and the versions; and where tools are found
//! that a run can do without.
//!
//! Prevents: figures whose machine, command or tool versions nobody remembers.

use crate::bounds;
use crate::flags::Flags;
use crate::sections::{Bench, Found, say};
use crate::undo::tool;
use anyhow::Context;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// fio's peak tool on the PATH. Only a name that says what it is: `io_uring` may be anything.
pub(crate) fn find_t_io_uring() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .flat_map(|dir| ["t_io_uring", "t-io_uring"].map(|name| dir.join(name)))
        .find(|candidate| candidate.is_file())
}

/// PostgreSQL's test of flushes: on the PATH, or of the newest version where Debian puts them.
pub(crate) fn find_pg_test_fsync() -> Option<PathBuf> {
    const NAME: &str = "pg_test_fsync";
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|dir| dir.join(NAME));
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| {
            Some((
                entry.file_name().to_str()?.parse::<u32>().ok()?,
                entry.path().join("bin").join(NAME),
            ))
        })
        .collect();
    versions.sort();
    let newest_first = versions.into_iter().rev().map(|(_, path)| path);
    on_path.chain(newest_first).find(|candidate| candidate.is_file())
}

/// Writes the run where the flags say, if it is one to keep.
pub(crate) fn write(flags: &Flags, bench: &Bench, found: &Found) -> anyhow::Result<()> {
    let dir = match (&flags.out, flags.quick || !flags.only.is_empty()) {
        (Some(dir), _) => dir.clone(),
        // A part, or a run too short to mean anything, is not kept unless asked for.
        (None, true) => return Ok(()),
        (None, false) => default_dir()?,
    };
    std::fs::create_dir_all(&dir).with_context(|| format!("make {}", dir.display()))?;
    let mut text = head(bench);
    let _ = writeln!(text, "{}", bounds::table(found));
    for table in &found.tables {
        text.push_str(&table.markdown());
    }
    let path = dir.join("README.md");
    std::fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    say(&format!("written to {}", path.display()));
    Ok(())
}

fn default_dir() -> anyhow::Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runs");
    let root = root.canonicalize().unwrap_or(root);
    let date = jiff::Zoned::now().strftime("%Y-%m-%d").to_string();
    Ok(root.join(format!("{date}-{}-versus", machine_kind())))
}

/// "2-core-virtio": processors and the kind of the first disk that is no loop, ram or zram.
fn machine_kind() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let disk = std::fs::read_dir("/sys/block").ok().and_then(|entries| {
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|e| e.file_name().into_string().ok())
            .collect();
        names.sort();
        names
            .into_iter()
            .find(|n| !["loop", "ram", "zram", "sr"].iter().any(|p| n.starts_with(p)))
    });
    let kind = match disk.as_deref().map(|name| name.get(..2).unwrap_or(name)) {
        Some("vd") => "virtio",
        Some("nv") => "nvme",
        Some("sd") => "scsi",
        Some("xv") => "xen",
        _ => "disk",
    };
    format!("{cores}-core-{kind}")
}

fn head(bench: &Bench) -> String {
    let date = jiff::Zoned::now().strftime("%Y-%m-%d").to_string();
    let mut text = format!("# {date}, {}\n\n```\n{}\n```\n\n", machine_kind(), command());
    for (what, fact) in host().into_iter().chain(tools(bench)) {
        let _ = writeln!(text, "* {what}: {fact}");
    }
    let _ = writeln!(
        text,
        "\nCPU is sampled from outside, in the same way for both sides, from 0.5 s after a loop began to 0.3 s \
         before its end: process = all threads of the tool, system = all processors that were not idle, kernel \
         threads included (whatever else the machine did is in it too). Instructions: {}.\n",
        bench.counters.words()
    );
    text
}

/// The first line that a program prints.
fn version(program: &str, args: &[&str]) -> String {
    tool(program, args).map_or(MISSING.into(), |text| {
        text.lines().next().unwrap_or("").trim().to_string()
    })
}

const MISSING: &str = "not found";

/// What is known of a run.
type Facts = Vec<(&'static str, String)>;

fn host() -> Facts {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_string();
    let info = read("/proc/cpuinfo");
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split(':').nth(1));
    let total = read("/proc/meminfo");
    let memory = total
        .lines()
        .next()
        .and_then(|line| line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok());
    let load = read("/proc/loadavg");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    vec![
        (
            "processors",
            format!("{cores} of {}", model.unwrap_or("unknown kind").trim()),
        ),
        (
            "memory",
            memory.map_or("unknown".into(), |kib| format!("{} GiB", kib >> 20)),
        ),
        ("kernel", version("uname", &["-sr"])),
        (
            "load average at the end",
            load.split(' ').take(3).collect::<Vec<_>>().join(" "),
        ),
    ]
}

fn tools(bench: &Bench) -> Facts {
    let source = ["-C", env!("CARGO_MANIFEST_DIR"), "describe", "--always", "--dirty"];
    let peak = match bench.t_io_uring {
        Some(_) => "found; it tells no version",
        None => MISSING,
    };
    let flushes = match &bench.pg_test_fsync {
        Some(path) => version(&path.display().to_string(), &["--version"]),
        None => MISSING.into(),
    };
    vec![
        (
            "rounds and seconds",
            format!(
                "{} rounds, {} s a run, order changed each round",
                bench.rounds, bench.seconds
            ),
        ),
        ("fio", version("fio", &["--version"])),
        ("t/io_uring", peak.into()),
        ("pg_test_fsync", flushes),
        ("SQLite", "the one in assay, on both sides".into()),
        ("rustc", version("rustc", &["--version"])),
        ("source", version("git", &source)),
    ]
}

/// The exact command.
fn command() -> String {
    let mut text = String::from("cargo run --release -p versus");
    let given: Vec<String> = std::env::args().skip(1).collect();
    if !given.is_empty() {
        let _ = write!(text, " -- {}", given.join(" "));
    }
    text
}
