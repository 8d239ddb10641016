//! What a run is called, and whether it has left anything.
//!
//! Prevents: two runs of one name, and a host called clean because nobody could look.

/// Unique for ever: the time and the process.
pub(super) fn run_id() -> String {
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    // Nobody can guess what a run will call its directories. Without random numbers the process's own number must do.
    sandbox::unique_name(&format!("{now}-")).unwrap_or_else(|_| format!("{now}-{}", std::process::id()))
}

/// Whether the journal of this run, which has given up, still has something to undo, as far as anybody can tell.
pub(super) fn is_left(run_id: &str) -> bool {
    // Without a place for journals the run had none, and has built nothing.
    stacks::state_dir().is_ok_and(|dir| stacks::is_left(&dir, run_id))
}
