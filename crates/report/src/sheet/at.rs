//! Where the rules of phases look: one stack in one phase, with all that has to be known of it.
//!
//! Takes the gathered file and the cell, gives an [`At`]. Prevents: two rules that look at other runs.

use super::between::Between;
use crate::cells::{Cell, PhaseReport};
use crate::figures::Figure;
use crate::history::{Book, PhaseHead, Runs, Seen};
use ledger::{FactName, FactValue, Measure, PhaseKind, Role, Way, ZfsWay};

/// One stack in one phase, to be checked.
pub(crate) struct At<'a> {
    pub report: &'a PhaseReport,
    pub cell: &'a Cell,
    pub kind: PhaseKind,
    /// Its sessions go home after so many operations: the rate falls when the first one does, on every device.
    pub by_count: bool,
    pub margin: f64,
    /// Whether the stack's ZFS runs in a process of its own.
    pub in_process: bool,
    /// Whether it reads through the page cache from a device that others may use as well.
    pub shares_cached_device: bool,
    /// What lies between the nearest devices and the lowest, where it moves other bytes than it is given.
    pub between: Option<Between>,
    /// Those that the cell's figures are of.
    pub runs: Vec<&'a Seen>,
    /// Those that came through: what shuts a run out is found here.
    pub all: Vec<&'a Seen>,
}

impl<'a> At<'a> {
    pub(crate) fn new(book: &'a Book, report: &'a PhaseReport, cell: &'a Cell, head: &PhaseHead) -> At<'a> {
        let way = book.of_stack(&cell.stack, FactName::WayToZfs);
        At {
            report,
            cell,
            kind: head.kind,
            by_count: book.goes_home_by_count(&head.name),
            margin: book.study.margin,
            in_process: matches!(way, Some(FactValue::ZfsWay(ZfsWay::Userspace | ZfsWay::Fuse(_)))),
            shares_cached_device: shares_cached_device(book, &cell.stack),
            between: Between::of(book, &cell.stack),
            runs: book.valid(&cell.stack, &report.name),
            all: book.came_through(&cell.stack, &report.name),
        }
    }

    /// The figure of the runs.
    pub(crate) fn figure(&self, value: impl Fn(&Seen) -> Option<f64>) -> Option<Figure> {
        self.runs.figure(value)
    }

    /// The figure of a measure.
    pub(crate) fn measured(&self, measure: Measure) -> Option<Figure> {
        self.runs.measured(measure)
    }
}

/// Of a directory that was there; LUNs of a study are the stack's own.
fn shares_cached_device(book: &Book, stack: &str) -> bool {
    let reads_go = book.of_stack(stack, FactName::ReadsGo.on(Role::Data));
    let mut found = book.stacks.iter().filter(|one| one.name == stack);
    found.any(|stack| stack.kind == "directory") && !matches!(reads_go, Some(FactValue::Way(Way::Around)))
}
