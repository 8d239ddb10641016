//! Processes known by more than their number: a number is used again, a number with its start time is not.

/// Start time of a process in clock ticks since boot (`/proc/<pid>/stat`, field 22), or `None` when there is none.
pub(crate) fn start_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold spaces and parentheses of its own; fields are counted after the last one.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Whether that very process runs.
pub(crate) fn is_alive(pid: u32, started: u64) -> bool {
    start_of(pid) == Some(started)
}

/// Processes whose working directory is this one, as far as they may be looked at. One that has ended and that nobody has waited
/// for has none.
pub(crate) fn working_in(dir: &std::path::Path) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter(|e| std::fs::read_link(e.path().join("cwd")).is_ok_and(|cwd| cwd == dir))
        .filter_map(|e| e.file_name().to_str()?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_another_start_time_is_another_process() {
        let pid = std::process::id();
        let started = start_of(pid).expect("a start time");
        assert!(is_alive(pid, started));
        assert!(!is_alive(pid, started + 1));
        assert!(start_of(u32::MAX).is_none());
    }

    #[test]
    fn who_works_in_a_directory_is_found_and_stopped() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = std::fs::canonicalize(dir.path()).expect("its path");
        let undo = crate::undo::Undo::StopServer { data: path.clone() };
        undo.take("none").expect("nobody there is fine");
        let spawned = std::process::Command::new("sleep").arg("60").current_dir(&path).spawn();
        let mut child = spawned.expect("a child");
        assert_eq!(working_in(&path), [child.id()]);
        undo.take("none").expect("it ends");
        let status = child.wait().expect("its end");
        assert!(!status.success() && working_in(&path).is_empty());
    }
}
