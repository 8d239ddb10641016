//! What modelled devices counted of themselves, and memory at its highest against the size of the data.
//!
//! Takes both from the analysis, gives a section each. Prevents: a model's word without its witness, and a stack that
//! is fast by the memory it takes.

pub(super) mod capacity;
pub(super) mod kept;

use crate::document::{Bar, Block, Cell, Form, Forms, Section, Table, column};
use crate::figures::Figure;
use crate::format::{bytes, number, percent};
use crate::sections::source::Source;
use crate::stacks::memory::MemoryOfStack;
use crate::stacks::modelled::ModelledDevices;

pub(super) fn modelled(source: &Source<'_>) -> Option<Section> {
    let rows = &source.analysis.modelled;
    let of = |head: &str, unit: &str, pick: fn(&ModelledDevices) -> Option<Figure>, form: Form| {
        column(head, unit, move |one: &ModelledDevices| Cell::unmarked(pick(one), form))
    };
    let columns = [
        of("requests", "model", |one| one.requests, number),
        of("requests", "kernel", |one| one.kernel_requests, number),
        of("bytes", "model", |one| one.bytes, bytes),
        of("bytes", "kernel", |one| one.kernel_bytes, bytes),
        of("flushes", "", |one| one.flushes, number),
        of("arm", "moves", |one| one.seeks, number),
        of("cache", "hits", |one| one.cache_hit_share, percent),
        of("destaged", "", |one| one.destaged_bytes, bytes),
        of("moved", "inside", |one| one.moved_bytes, bytes),
        of("held", "back s", |one| one.held_back_s, number),
        of("processors", "busy", |one| one.processor_share, percent),
        of("unflushed", "at end", |one| one.unflushed_bytes, bytes),
        of("busy", "s", |one| one.busy_s, number),
        of("late", "us", |one| one.late_us_mean, number),
    ];
    let name = |one: &ModelledDevices| source.named(&one.stack, format!("{}: {}", one.phase, one.stack));
    let table = Table::of("Counts of modelled devices", "phase: stack", rows, name, columns);
    let blocks = if rows.is_empty() {
        Vec::new()
    } else {
        vec![(Forms::ALL, Block::Table(table))]
    };
    let title = "What modelled devices did, totals of a phase (medians)";
    Section::of("modelled", "Modelled devices", title, blocks)
}

pub(super) fn memory(source: &Source<'_>) -> Option<Section> {
    let rows = &source.analysis.memory;
    let of = |head: &str, unit: &str, pick: fn(&MemoryOfStack) -> Option<f64>, form: Form| {
        column(head, unit, move |one: &MemoryOfStack| Cell::number(pick(one), form))
    };
    let columns = [
        column("against the data", "", |one: &MemoryOfStack| {
            Cell::Bar(Bar {
                size: one.bytes_peak,
                part: one.buffer_cache_bytes,
                whole: one.data_bytes,
                limit: one.budget_bytes,
            })
        }),
        of("memory", "at most", |one| Some(one.bytes_peak), bytes),
        of("of the", "data", |one| one.of_data(), percent),
        of("buffer", "cache", |one| one.buffer_cache_bytes, bytes),
        of("data", "", |one| one.data_bytes, bytes),
        column("budget", "", |one: &MemoryOfStack| {
            let held = if one.enforced { "" } else { " not held" };
            Cell::maybe(one.budget_bytes.map(|budget| format!("{}{held}", bytes(budget))))
        }),
        column("highest in", "", |one: &MemoryOfStack| Cell::text(&one.phase)).of_words(),
    ];
    let table = source.table("Memory against data", rows, |one| &one.stack, columns);
    let words = "Bar: the engine's own memory (a database server's and a pool's processes among it) and the page \
         cache it caused; the inner line: the engine's buffer cache. Tall line: the size of the data. Dashed: the \
         budget. What a device or an array has of its own is unknown.";
    let blocks = match rows.is_empty() {
        true => Vec::new(),
        false => vec![
            (Forms::ALL, Block::Table(table)),
            (Forms::PAGE, Block::Note(words.into())),
        ],
    };
    Section::of("memory", "Memory", "Memory at its highest", blocks)
}
