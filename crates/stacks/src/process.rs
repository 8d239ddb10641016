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
}
