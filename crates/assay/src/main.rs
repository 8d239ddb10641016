//! Assay: which storage stack to put a database on, what it costs, and whether to believe the answer.

mod cli;
mod commands;
mod exit;
mod printed;
mod progress;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    // The process that runs OpenZFS is this program, started by itself: no user's command, so no flag
    // of the command line.
    if zpool::Launch::asked_for() {
        return ExitCode::from(zpool::serve_standard_input());
    }
    let command = cli::Cli::parse().command;
    // A report unpacks thousands of distributions one after the other, in memory that it should find again.
    if !command.reads_result_files() {
        targets::keep_little_freed_memory();
    }
    match commands::dispatch(&command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
