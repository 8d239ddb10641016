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
mod verdict;

use crate::cli::dg::Dg;
use crate::exit::Failure;

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
