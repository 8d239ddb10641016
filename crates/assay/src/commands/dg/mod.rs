//! `assay dg`: disk groups by hand, with the habits of asmcmd.
//!
//! Everything a command says on stdout is its answer, as text in 80 columns or as JSON; progress and remarks go to
//! stderr.

mod admit;
mod check;
mod copy;
mod create;
mod disks;
mod facts;
mod list;
mod members;
mod meter;
mod opened;
mod port;
mod rebalance;
mod remove;
mod table;
mod transfer;

use super::{print, print_json};
use crate::cli::dg::Dg;
use crate::exit::Failure;
use anyhow::Context;

pub(crate) fn dispatch(command: &Dg) -> Result<(), Failure> {
    match command {
        Dg::Create(flags) => create::create(flags),
        Dg::Ls(flags) => list::ls(flags),
        Dg::Du(flags) => list::du(flags),
        Dg::Add(flags) => members::add(flags),
        Dg::Drop(flags) => members::drop(flags),
        Dg::Rebalance(flags) => rebalance::rebalance(flags),
        Dg::Check(flags) => check::check(flags),
        Dg::Cp(flags) => copy::cp(flags),
        Dg::Rm(flags) => remove::rm(flags),
    }
}

/// A number that was never used before: UUIDs are made of it.
fn fresh_seed() -> anyhow::Result<u64> {
    sandbox::random_number().context("draw the number that new UUIDs are made of")
}

/// The answer of a command, as asked for.
fn answer(
    json: bool,
    value: impl FnOnce() -> serde_json::Value,
    words: impl FnOnce() -> String,
) -> Result<(), Failure> {
    if json { print_json(&value()) } else { print(&words()) }
}
