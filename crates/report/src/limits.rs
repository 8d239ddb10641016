//! How much a result file may hold: what is derived from it grows with these counts.
//!
//! Takes counts, gives an error beyond them. Prevents: a report that never ends, of a file that no run wrote.

use ledger::{Ledger, LedgerError};

/// No study makes more (room `plan` refuses it), and what is derived grows with their products.
const STACKS_MAX: usize = 64;
const PHASES_MAX: usize = 512;
/// Blocks that were planned, and as many that were dropped; as many again in each extension.
pub(crate) const BLOCKS_MAX: u32 = 128;
/// Cells of the tables: a phase on a stack.
const CELLS_MAX: usize = 4096;
/// Runs of a phase, those that were begun again among them.
const RUNS_MAX: usize = 50_000;
/// Ranks that a launcher may start (room `hosts`).
const HOSTS_MAX: usize = 4096;

/// An error for a file that no run wrote.
pub(crate) fn must_be_of_a_study(
    ledger: &Ledger,
    stacks: usize,
    phases: usize,
    blocks: (u32, u32),
    runs: usize,
    hosts: usize,
) -> Result<(), LedgerError> {
    let counted = [
        (stacks, STACKS_MAX, "stacks"),
        (phases, PHASES_MAX, "phases"),
        (stacks.saturating_mul(phases), CELLS_MAX, "phases on stacks"),
        (blocks.0 as usize, blocks.1 as usize, "blocks"),
        (runs, RUNS_MAX, "runs of phases"),
        (hosts, HOSTS_MAX, "hosts"),
    ];
    match counted.into_iter().find(|(found, most, _)| found > most) {
        None => Ok(()),
        Some((found, most, what)) => Err(LedgerError::Damaged {
            path: ledger.path().into(),
            detail: format!("it holds {found} {what}, and no study has more than {most}"),
        }),
    }
}
