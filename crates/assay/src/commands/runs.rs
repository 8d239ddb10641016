//! What a run is called, and whether it has left anything.
//!
//! Prevents: two runs of one name.

/// Unique for ever: the time and the process.
pub(super) fn run_id() -> String {
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    // Nobody can guess what a run will call its directories. Without random numbers the process's own number must do.
    sandbox::unique_name(&format!("{now}-")).unwrap_or_else(|_| format!("{now}-{}", std::process::id()))
}

/// Whether the journal of this run, which has given up, still has something to undo.
pub(super) fn is_left(run_id: &str) -> bool {
    let left = stacks::state_dir()
        .and_then(|dir| stacks::leftovers(&dir))
        .unwrap_or_default();
    left.iter().any(|journal| journal.run_id == run_id)
}
