//! One file per command; what each prints on stdout is its answer.

mod calibrate;
mod check;
mod clean;
mod quick;
mod report;
mod run;
mod stacks;

use crate::cli::{self, Command};
use crate::exit::Failure;
use anyhow::Context;
use std::io::Write;

pub(crate) fn dispatch(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Quick(flags) => quick::quick(flags),
        Command::Check(flags) => check::check(flags),
        Command::Run(flags) => run::run(flags),
        Command::Report(flags) => report::report(flags),
        Command::Stacks(flags) => stacks::stacks(flags),
        Command::Calibrate(flags) => calibrate::calibrate(flags),
        Command::Clean(flags) => clean::clean(flags),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut cli::definition(), "assay", &mut script);
            print_bytes(&script)
        }
        Command::Man => {
            let mut page = Vec::new();
            clap_mangen::Man::new(cli::definition())
                .render(&mut page)
                .context("render the man page")?;
            print_bytes(&page)
        }
    }
}

/// To stdout; a closed pipe is the reader's choice, not an error.
fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    match std::io::stdout().lock().write_all(bytes) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other.context("write to stdout")?),
    }
}

fn print(text: &str) -> Result<(), Failure> {
    let mut bytes = text.as_bytes().to_vec();
    if bytes.last() != Some(&b'\n') {
        bytes.push(b'\n');
    }
    print_bytes(&bytes)
}

fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print(&serde_json::to_string_pretty(value).context("make JSON")?)
}
