//! Assay: which storage stack to put a database on, what it costs, and whether to believe the answer.

mod cli;
mod exit;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    match commands::dispatch(cli::Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
