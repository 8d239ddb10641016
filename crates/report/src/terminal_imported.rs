//! Imported figures in a terminal: below the measured ones of the same phase, under a heading that says what they are.
//!
//! Takes imported phases, puts lines on the page. Prevents: a figure that nobody here measured read in one table with
//! those that were.

use crate::analysis::Analysis;
use crate::format::{nanoseconds, number, percent};
use crate::imported::{ImportedPhase, ImportedQuantity, SHOWN};
use crate::page::{Page, plain};
use crate::table::{Column, table};
use crate::text::escaped;

/// Those of a phase that was measured too.
pub(crate) fn imported_beside(page: &mut Page, analysis: &Analysis, phase: &str) {
    let of: Vec<&ImportedPhase> = analysis.imported.iter().filter(|one| one.phase == phase).collect();
    if of.is_empty() {
        return;
    }
    page.say("  imported, not measured here and not ranked:", 2, plain());
    rows(page, &of);
}

/// Those of phases that were not.
pub(crate) fn imported_alone(page: &mut Page, analysis: &Analysis) {
    let measured = |name: &str| analysis.phases.iter().any(|phase| phase.name == name);
    let mut names: Vec<&str> = Vec::new();
    for one in &analysis.imported {
        if !measured(&one.phase) && !names.contains(&one.phase.as_str()) {
            names.push(&one.phase);
        }
    }
    for name in names {
        page.title(&format!("{name} (imported, not measured here and not ranked)"));
        let of: Vec<&ImportedPhase> = analysis.imported.iter().filter(|one| one.phase == name).collect();
        rows(page, &of);
    }
}

fn rows(page: &mut Page, of: &[&ImportedPhase]) {
    let names: Vec<String> = of.iter().map(|one| escaped(&one.stack)).collect();
    let columns: Vec<Column> = SHOWN
        .iter()
        .filter_map(|(name, title, unit)| {
            let cell = |one: &&ImportedPhase| {
                let quantity = one.quantities.iter().find(|quantity| quantity.name == *name)?;
                Some(shown(quantity))
            };
            Column::new(title, unit, of.iter().map(cell).collect())
        })
        .collect();
    for line in table(&names, &columns, page.width) {
        page.put(line, plain());
    }
    for one in of {
        let sources: Vec<String> = one.sources.iter().map(said).collect();
        let nothing = if one.quantities.is_empty() {
            "; nothing in it can be set beside a measured figure (all of it: --json)"
        } else {
            ""
        };
        page.say(&format!("  {}: {}{nothing}", one.stack, sources.join("; ")), 4, plain());
    }
}

/// "awr.txt (AWR text, statistics; release 12.1)".
fn said(source: &crate::imported::ImportedSource) -> String {
    let mut about = vec![source.layout.clone()];
    for name in ["release", "version"] {
        about.extend(
            source
                .facts
                .iter()
                .filter(|fact| fact.name == name)
                .map(|fact| fact.value.clone()),
        );
    }
    if source.reports > 1 {
        about.push(format!("{} reports", source.reports));
    }
    format!("{} ({})", source.file, about.join(", "))
}

/// How a quantity is written, in the unit of its column.
pub(crate) fn form(name: &str) -> fn(f64) -> String {
    match name {
        name if name.ends_with("_bytes_per_s") => |value| number(value / 1e6),
        name if name.ends_with("_ns") => nanoseconds,
        "cpu_idle_share" => percent,
        _ => number,
    }
}

/// One report as it was printed, where its unit is the column's; several as their median and spread.
pub(crate) fn shown(quantity: &ImportedQuantity) -> String {
    let form = form(&quantity.name);
    let plain = quantity.name == "reads_per_s"
        || quantity.name == "writes_per_s"
        || quantity.name == "device_reads_per_s"
        || quantity.name == "device_writes_per_s";
    match &quantity.text {
        Some(text) if plain => escaped(text),
        Some(_) => form(quantity.figure.median),
        None if quantity.figure.low == quantity.figure.high => form(quantity.figure.median),
        None => format!(
            "{} ({} to {})",
            form(quantity.figure.median),
            form(quantity.figure.low),
            form(quantity.figure.high)
        ),
    }
}
