//! `laboratory`: what examines the verdict procedure itself, from outside: is it wrong as rarely as it promises, and
//! what does it find?
//!
//! Run by hand, mostly on result files that `assay run` wrote. Prevents: a claim about the method that stands in a
//! document, and nowhere a command that prints it.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a binary: answers go to stdout, progress to stderr"
)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that cannot go on panics"))]

mod ageing;
mod before;
mod belief;
mod claim;
mod fixed;
mod flags;
mod outcome;
mod protocols;
mod result_file;
mod same_study;
mod schedules;
mod twins;

use clap::Parser;
use flags::{Command, Flags};
use std::process::ExitCode;

fn main() -> ExitCode {
    let ended = match &Flags::parse().command {
        Command::Twins(flags) => twins::run(flags),
        Command::Protocols(flags) => protocols::run(flags),
        Command::Before(flags) => before::run(flags),
        Command::Worlds(flags) => fixed::run(flags),
        Command::Ageing(flags) => ageing::run(flags),
        Command::Claim(flags) => claim::run(flags),
        Command::Schedules(flags) => schedules::run(flags),
        Command::Belief(flags) => belief::run(flags),
        Command::Measure(flags) => return belief::measure::run(flags),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
