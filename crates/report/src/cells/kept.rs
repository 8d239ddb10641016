//! What became of all that was acknowledged when the power was cut or the engine killed.
//!
//! Takes all runs of a stack in a phase, also those that failed or whose trial did not end; gives a [`Kept`]. Prevents:
//! an answer about durability that gives the seconds of the test.

use crate::history::{Book, PhaseHead, Seen};
use crate::phase_kind::{EndedBy, kind_row};
use ledger::Measure;
use schemars::JsonSchema;
use serde::Serialize;

/// A stack in a phase of kind `power_cut` or `kill`. Counts are of all blocks together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Kept {
    /// The phase.
    pub phase: String,
    /// The stack.
    pub stack: String,
    /// True where processes were killed, false where the power was cut.
    pub killed: bool,
    /// Power cuts, or kills.
    pub cuts: f64,
    /// Power cuts that found unflushed writes.
    pub unflushed: f64,
    /// True where a run acknowledged something that could be lost: a power cut found unflushed writes. Under a file
    /// server every cut takes what lay in the server's memory.
    pub at_risk: bool,
    /// Kills that took what lay unwritten in memory with them.
    pub forced_down: f64,
    /// Kills among them that ended the process of a pool.
    pub pool_ended: f64,
    /// Cuts after which something acknowledged was missing, half there or older.
    pub losing: f64,
    /// Cuts after which stack or database could not be brought up.
    pub not_up: f64,
    /// What was acknowledged: transactions, or under a file server names and KiB.
    pub acknowledged: f64,
    /// How much of it was lost.
    pub lost: f64,
    /// Transactions that were there in part; `null` under a file server.
    pub half: Option<f64>,
    /// Pages that were older than before; `null` under a file server.
    pub older: Option<f64>,
    /// Names that were lost; `null` for a database.
    pub names_lost: Option<f64>,
    /// KiB that were lost; `null` for a database.
    pub kib_lost: Option<f64>,
    /// Cuts after which the write verifier hid a loss; `null` for a database.
    pub verifier_hid: Option<f64>,
}

impl Kept {
    /// Nothing where no power was cut and nothing killed.
    pub(crate) fn of(book: &Book, stack: &str, head: &PhaseHead) -> Option<Kept> {
        let runs: Vec<&Seen> = book.ever(stack, &head.name).collect();
        let sum = |measure| runs.iter().filter_map(|run| run.get(measure)).sum::<f64>();
        let of_files = runs.iter().any(|run| run.get(Measure::CutsNames).is_some());
        let of_database = |measure| (!of_files).then(|| sum(measure));
        let of_server = |measure| of_files.then(|| sum(measure));
        let cuts = sum(Measure::CutsMade);
        // Single cuts are not recorded: of several in one run, one may have found the acknowledgements and another the
        // unflushed writes.
        let has = |run: &Seen, measure| run.get(measure).is_some_and(|count| count > 0.0);
        let at_risk =
            |run: &&Seen| has(run, Measure::CutsAcknowledged) && (of_files || has(run, Measure::CutsUnflushed));
        (cuts > 0.0).then(|| Kept {
            phase: head.name.clone(),
            stack: stack.into(),
            killed: kind_row(head.kind).ended_by == Some(EndedBy::Kill),
            cuts,
            unflushed: sum(Measure::CutsUnflushed),
            at_risk: runs.iter().any(at_risk),
            forced_down: sum(Measure::CutsForcedDown),
            pool_ended: sum(Measure::CutsPoolEnded),
            losing: sum(Measure::CutsLosing),
            not_up: sum(Measure::CutsNotUp),
            acknowledged: sum(Measure::CutsAcknowledged),
            lost: sum(Measure::CutsLost),
            half: of_database(Measure::CutsHalf),
            older: of_database(Measure::CutsOlder),
            names_lost: of_server(Measure::CutsNamesLost),
            kib_lost: of_server(Measure::CutsKibLost),
            verifier_hid: of_server(Measure::CutsVerifierHid),
        })
    }

    /// Whether anything acknowledged was lost.
    pub(crate) fn is_loss(&self) -> bool {
        self.losing > 0.0
    }
}

/// Every stack in every phase that cut the power or killed.
pub(crate) fn kept(book: &Book) -> Vec<Kept> {
    let of_phase = |head| {
        book.stacks
            .iter()
            .filter_map(move |stack| Kept::of(book, &stack.name, head))
    };
    book.phases.iter().flat_map(of_phase).collect()
}
