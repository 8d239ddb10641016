//! What a call of the binary waits for when it does not end: printed before the test fails.
//!
//! Prevents: a failure that says "still at work" and nothing about the cause.

use rustix::process::Pid;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Longest print of a debugger.
const LINES_MAX: usize = 400;

/// The process, those that it started, daemons, and whatever waits for a device: each thread's state and the kernel's
/// function in which it waits. Then the stacks of the process, where a debugger is installed.
pub(super) fn report(pid: Pid) -> String {
    let pid = pid.as_raw_nonzero().get();
    let all = processes();
    let mut ours = vec![pid];
    let mut at = 0;
    while at < ours.len() {
        let parent = ours[at];
        ours.extend(
            all.iter()
                .filter(|(_, (_, above))| *above == parent)
                .map(|(&child, _)| child),
        );
        at += 1;
    }
    // A daemon has left its parent; it works where the test's files are.
    let here = |pid: &i32| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|dir| dir.starts_with("/var/tmp"));
    let waits = |pid: &i32| all.get(pid).is_some_and(|(state, _)| *state == 'D') || here(pid);
    let strangers: Vec<i32> = all
        .keys()
        .filter(|pid| waits(pid) && !ours.contains(pid))
        .copied()
        .collect();
    let mut text = String::new();
    for pid in ours.into_iter().chain(strangers) {
        threads(pid, &mut text);
    }
    // A debugger waits as long as a thread that waits for a device.
    let stacks = Command::new("timeout")
        .args(["-k", "5", "60", "gdb", "-p", &pid.to_string(), "-batch"])
        .args(["-ex", "thread apply all bt 25"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    if let Ok(output) = stacks {
        let said = String::from_utf8_lossy(&output.stdout);
        let frames = said
            .lines()
            .filter(|line| line.starts_with('#') || line.starts_with("Thread"));
        frames.take(LINES_MAX).for_each(|line| _ = writeln!(text, "{line}"));
    }
    text
}

/// State and parent of each process.
fn processes() -> BTreeMap<i32, (char, i32)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let of_entry = |entry: std::fs::DirEntry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // A name may hold spaces and brackets.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut words = rest.split_whitespace();
        Some((pid, (words.next()?.chars().next()?, words.next()?.parse().ok()?)))
    };
    entries.filter_map(of_entry).collect()
}

/// Equal threads are counted, not repeated.
fn threads(pid: i32, text: &mut String) {
    let read = |path: &Path, name: &str| std::fs::read_to_string(path.join(name)).unwrap_or_default();
    let dir = format!("/proc/{pid}");
    let command = read(Path::new(&dir), "cmdline").replace('\0', " ");
    let _ = writeln!(text, "{pid}: {command}");
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for task in std::fs::read_dir(format!("{dir}/task")).into_iter().flatten().flatten() {
        let path = task.path();
        let state = read(&path, "stat");
        let state = state.rsplit_once(')').map_or("?", |(_, rest)| &rest[..2]);
        let call = read(&path, "syscall");
        let line = format!(
            "{} {} in {} (system call {})",
            read(&path, "comm").trim(),
            state.trim(),
            read(&path, "wchan").trim(),
            call.split_whitespace().next().unwrap_or("?")
        );
        *counted.entry(line).or_default() += 1;
    }
    for (line, count) in counted {
        let _ = writeln!(text, "  {count} x {line}");
    }
}
