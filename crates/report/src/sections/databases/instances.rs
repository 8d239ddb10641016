//! Several instances of the page engine: a row for each.
//!
//! Takes a phase, gives blocks; none where each stack has one instance. Prevents: a sum that hides an instance which
//! got less than its share.

use crate::cells::PhaseReport;
use crate::cells::instances::InstanceFigures;
use crate::document::{Block, Cell, Form, Forms, Placed, column};
use crate::figures::Figure;
use crate::format::{bytes, megabytes, nanoseconds, number, percent, whole};
use crate::sections::source::Source;

const WORDS: &str = "Instance 1 is the run's own process. Rates are those of its own time, without the drain. \
     Processor time and memory are those of its process, the drain among them.";

pub(in crate::sections) fn blocks(source: &Source<'_>, phase: &PhaseReport) -> Vec<Placed> {
    type OnStack<'a> = (&'a str, &'a InstanceFigures);
    let cells = phase.cells.iter();
    let rows: Vec<OnStack<'_>> = cells
        .flat_map(|cell| cell.instances.iter().map(|one| (cell.stack.as_str(), one)))
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let of = |head: &str, unit: &str, pick: fn(&InstanceFigures) -> Option<Figure>, form: Form| {
        column(head, unit, move |(_, one): &OnStack<'_>| Cell::ranged(pick(one), form))
    };
    let columns = [
        column("instance", "", |(_, one): &OnStack<'_>| {
            Cell::Number(one.instance.into(), whole)
        }),
        of("sessions", "", |one| one.sessions, whole).only(Forms::PAGE),
        of("operations", "per s", |one| one.operations_per_s, number),
        of("share", "of all", |one| one.share, percent),
        of("p99", "service", |one| one.service_ns_p99, nanoseconds),
        of("cache", "hits", |one| one.cache_hit_share, percent),
        of("commits", "per s", |one| one.commits_per_s, number),
        of("redo", "MB/s", |one| one.redo_bytes_per_s, megabytes).only(Forms::PAGE),
        of("CPU", "us/op", |one| one.cpu_us_per_operation, number),
        of("memory", "at most", |one| one.memory_bytes_peak, bytes).only(Forms::PAGE),
    ];
    let caption = format!("Instances: {}", phase.name);
    let table = source.table(caption, &rows, |(stack, _)| stack, columns);
    vec![
        (Forms::LONG, Block::Label("each instance".into())),
        (Forms::LONG, Block::Table(table)),
        (Forms::PAGE, Block::Note(WORDS.into())),
    ]
}
