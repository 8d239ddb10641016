//! The tests of this room, one binary: each file says what it prevents.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test says why it skips, and panics where it cannot go on"
)]

mod answers;
mod beside;
mod brief;
mod browser;
mod capacity;
mod changes;
mod chromium;
mod compare;
mod cost;
mod databases;
mod failed_before;
mod fixture;
mod forms;
mod hosts;
mod instances;
mod invalid;
mod kept;
mod not_tested;
mod own_blocks;
mod places;
mod sentences;
mod serving;
mod sheet;
mod sizing;
mod sizing_reads;
mod storage;
mod temporary;
mod time_spent;
mod verdicts;
