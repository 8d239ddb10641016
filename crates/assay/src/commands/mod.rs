//! One file or folder per command; what each prints on stdout is its answer.

mod answer;
mod calibrate;
mod check;
mod clean;
mod compare;
mod dg;
mod import;
mod modelled_luns;
mod page_file;
mod published;
mod quick;
mod ranks;
mod report;
mod run;
mod runs;
mod size;
mod stacks;
mod study_file;
mod watch;

use crate::cli::{self, Command};
use crate::exit::Failure;
use crate::printed;
use anyhow::Context;

pub(crate) fn dispatch(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Quick(flags) => quick::quick(flags),
        Command::Check(flags) => check::check(flags),
        Command::Run(flags) => run::run(flags),
        Command::Report(flags) => report::report(flags),
        Command::Compare(flags) => compare::compare(flags),
        Command::Size(flags) => size::size(flags),
        Command::Watch(flags) => watch::watch(flags),
        Command::Import(flags) => import::import(flags),
        Command::Published(flags) => published::published(flags),
        Command::Stacks(flags) => stacks::stacks(flags),
        Command::Calibrate(flags) => calibrate::calibrate(flags),
        Command::Clean(flags) => clean::clean(flags),
        Command::Dg(command) => dg::dispatch(command),
        Command::DeviceService => Ok(lab::serve_devices()?),
        Command::SqliteSessions => Ok(lab::serve_sqlite_sessions()?),
        Command::Instance => Ok(lab::serve_instance()?),
        Command::Keeper { run } => ranks::keep(run),
        Command::DecisionRows { scale, set } => Ok(lab::serve_decision_rows(scale, *set)?),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut cli::definition(), "assay", &mut script);
            Ok(printed::bytes(&script)?)
        }
        Command::Man { into: Some(dir), .. } => {
            let pages = clap_mangen::generate_to(cli::definition(), dir);
            Ok(pages.with_context(|| format!("write man pages into {}", dir.display()))?)
        }
        Command::Man { command, into: None } => {
            let mut page = Vec::new();
            clap_mangen::Man::new(page_of(command)?)
                .render(&mut page)
                .context("render the man page")?;
            Ok(printed::bytes(&page)?)
        }
    }
}

/// The definition whose man page was asked for.
fn page_of(command: &[String]) -> Result<clap::Command, Failure> {
    let mut page = cli::definition();
    page.build();
    for word in command {
        let inner = page.find_subcommand(word).cloned();
        page = inner.ok_or_else(|| {
            Failure::Usage(anyhow::anyhow!(
                "{} has no command {word}\n  `assay --help` lists them",
                page.get_name()
            ))
        })?;
    }
    Ok(page)
}
