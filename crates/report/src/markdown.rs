//! The report as short Markdown: the sentence, the verdicts, one table a phase, the doubts.
//!
//! Takes an [`Analysis`], gives text for an issue or a wiki page. Prevents: names in a study that turn into markup.

use crate::analysis::{Analysis, PhaseReport};
use crate::contrast::{contrast, same};
use crate::doubts::merged;
use crate::figures::marked;
use crate::format::{bytes, number, percent};
use crate::imported::SHOWN;
use crate::layouts;
use crate::moves;
use crate::order_words::{DERIVED, doubts, has_orders};
use crate::terminal_imported::shown;
use crate::text::escaped;

/// Short Markdown.
pub fn markdown(analysis: &Analysis) -> String {
    let study = &analysis.study;
    let question = if study.question.is_empty() {
        &study.name
    } else {
        &study.question
    };
    let mut out = format!("## {}\n\n**{}**\n\n", plain(question), plain(&analysis.sentence));
    let differences = contrast(analysis);
    if !differences.is_empty() {
        out.push_str("What differs between the stacks:\n\n");
        for line in differences.into_iter().chain(same(analysis)) {
            out.push_str(&format!("- {}\n", plain(&line)));
        }
        out.push('\n');
    }
    if !analysis.comparisons.is_empty() {
        out.push_str("| phase | stack | verdict |\n| --- | --- | --- |\n");
        for one in &analysis.comparisons {
            out.push_str(&format!(
                "| {} | {} | {} |\n",
                plain(&one.phase),
                plain(&one.stack),
                plain(&one.words)
            ));
        }
        out.push('\n');
    }
    changes(&mut out, analysis);
    ran_out(&mut out, analysis);
    phases(&mut out, analysis);
    storage(&mut out, analysis);
    if let Some(published) = &analysis.published {
        out.push_str("### What others published\n\n");
        for line in crate::published::lines(published) {
            out.push_str(&format!("- {}\n", plain(&line)));
        }
        out.push('\n');
    }
    for one in &analysis.unranked {
        let phase = one.phase.as_deref().unwrap_or("all phases");
        out.push_str(&format!(
            "- not ranked: {} in {}: {}\n",
            plain(&one.stack),
            plain(phase),
            plain(&one.reason)
        ));
    }
    for stack in &analysis.stacks {
        if let Some(reason) = &stack.skipped_reason {
            let cure = stack.skipped_cure.as_deref().unwrap_or_default();
            out.push_str(&format!(
                "- skipped: {}: {}: {}\n",
                plain(&stack.name),
                plain(reason),
                plain(cure)
            ));
        }
    }
    for doubt in merged(analysis) {
        out.push_str(&format!("- {} {}\n", doubt.status.word(), plain(&doubt.words)));
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// A table for each phase, and what was imported beside it.
fn phases(out: &mut String, analysis: &Analysis) {
    if has_orders(analysis) {
        out.push_str(&format!("{}\n\n", plain(DERIVED)));
    }
    for phase in analysis.phases.iter().filter(|phase| !phase.cells.is_empty()) {
        table(out, phase);
        imported(out, analysis, &phase.name);
    }
    alone(out, analysis);
}

/// Stacks that had no space left.
fn ran_out(out: &mut String, analysis: &Analysis) {
    for phase in &analysis.phases {
        for one in &phase.ran_out_of_space {
            let said = format!("{} {} in {}", one.stack, one.words, phase.name);
            out.push_str(&format!("**{}**\n\n", plain(&said)));
        }
    }
}

/// Phases against earlier ones on the same stack.
fn changes(out: &mut String, analysis: &Analysis) {
    if analysis.changes.is_empty() {
        return;
    }
    out.push_str("| phase | against | stack | verdict |\n| --- | --- | --- | --- |\n");
    for one in &analysis.changes {
        out.push_str(&format!(
            "| {} | {} | {} | {} |\n",
            plain(&one.phase),
            plain(&one.against),
            plain(&one.stack),
            plain(&one.words)
        ));
    }
    out.push('\n');
}

/// The table of one phase.
fn table(out: &mut String, phase: &PhaseReport) {
    out.push_str(&format!("### {} ({})\n\n", plain(&phase.name), phase.kind));
    let metric = match phase.metric {
        crate::Metric::OperationsPerSecond => ("op/s", 1.0),
        crate::Metric::BytesPerSecond => ("MB/s", 1e6),
        crate::Metric::NewOrdersPerMinute => ("new orders/min", 1.0),
        crate::Metric::ResponseNsP99 => ("p99 response, ms", 1e6),
        crate::Metric::ElapsedSeconds => ("s", 1.0),
    };
    out.push_str(&format!(
        "| stack | {} | blocks (lowest to highest) | CPU idle | reads from | writes to |\n",
        metric.0
    ));
    out.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for cell in &phase.cells {
        let (median, range) = match cell.primary {
            Some(f) => (
                number(f.median / metric.1),
                format!(
                    "{} ({} to {})",
                    f.n,
                    number(f.low / metric.1),
                    number(f.high / metric.1)
                ),
            ),
            None => ("-".into(), "-".into()),
        };
        let idle = cell.cpu_idle_share.map_or("-".into(), |share| percent(share.median));
        out.push_str(&format!(
            "| {} | {median} | {range} | {idle} | {} | {} |\n",
            plain(&cell.stack),
            cell.provenance.reads.origin.word(),
            cell.provenance.writes.origin.word()
        ));
    }
    out.push('\n');
    let overwritten = |cell: &crate::Cell| {
        let share = cell.overwritten_share?.median;
        Some(format!(
            "{}: {} of the pages overwritten at least once",
            cell.stack,
            percent(share)
        ))
    };
    let lines = phase.cells.iter().filter_map(overwritten);
    let lines = lines.chain(phase.cells.iter().flat_map(moves::lines));
    let lines: Vec<String> = lines.chain(order_entry(phase)).collect();
    for line in &lines {
        out.push_str(&format!("- {}\n", plain(line)));
    }
    if !lines.is_empty() {
        out.push('\n');
    }
}

/// What order entry was, what its figures are worth, and where more users no longer help.
fn order_entry(phase: &PhaseReport) -> Vec<String> {
    let mut said = Vec::new();
    for cell in &phase.cells {
        let Some(orders) = &cell.orders else { continue };
        if said.is_empty() {
            said.push(orders.words());
        }
        said.extend(doubts(&cell.stack, orders));
        let point = cell.load_curve.as_ref().and_then(|curve| curve.saturation.as_ref());
        said.extend(point.map(|point| format!("{}: {}", cell.stack, point.words)));
    }
    said
}

/// Files of more stacks or moments than these are left to the JSON form.
const ROWS_MAX: usize = 40;

/// How the data files lie, what the devices did for each request, and memory against data.
fn storage(out: &mut String, analysis: &Analysis) {
    let alone = analysis.layouts.iter().all(|one| one.file == "data 0");
    let moments = analysis
        .layouts
        .iter()
        .flat_map(|one| one.moments.iter().map(move |moment| (one, moment)));
    let rows: Vec<String> = moments
        .take(ROWS_MAX)
        .map(|(one, moment)| {
            let text = |figure: Option<crate::Figure>, form: fn(f64) -> String| {
                marked(figure, form).unwrap_or_else(|| "-".into())
            };
            format!(
                "| {} | {} | {} | {} | {} | {} |\n",
                plain(&layouts::place(one, alone)),
                plain(moment.words()),
                text(moment.extents, layouts::whole),
                text(moment.bytes_per_extent, bytes),
                text(moment.adjacency_lost, layouts::lost),
                text(moment.pieces_per_multiblock, number)
            )
        })
        .collect();
    if !rows.is_empty() {
        out.push_str("### How the data files lie (medians, ~ where blocks lie more than 10 % off)\n\n| stack | after | extents | mean extent | neighbours lost | pieces per read |\n");
        out.push_str("| --- | --- | --- | --- | --- | --- |\n");
        out.push_str(&rows.concat());
        out.push('\n');
    }
    inflation(out, analysis);
    modelled(out, analysis);
    let memory = analysis.memory.iter().filter_map(|one| {
        Some(format!(
            "- memory of {}: at most {}, {} of the data\n",
            plain(&one.stack),
            bytes(one.bytes_peak),
            percent(one.of_data()?)
        ))
    });
    let memory: Vec<String> = memory.collect();
    if !memory.is_empty() {
        out.push_str(&memory.concat());
        out.push('\n');
    }
}

fn inflation(out: &mut String, analysis: &Analysis) {
    let mut rows = Vec::new();
    for phase in &analysis.phases {
        for cell in phase.cells.iter().filter(|cell| !cell.inflation.is_empty()) {
            let one = &cell.inflation;
            let both = |sort: Option<crate::Inflated>| {
                sort.map_or("-".into(), |sort| {
                    let (requests, bytes) = (sort.requests_per_request, sort.bytes_per_byte);
                    format!("{}, {}", requests.marked(number), bytes.marked(number))
                })
            };
            let together = one.writes.filter(|_| !one.log_apart);
            rows.push(format!(
                "| {} | {} | {} | {} | {} | {} |\n",
                plain(&phase.name),
                plain(&cell.stack),
                both(one.reads),
                both(one.data_writes),
                both(one.log_writes),
                both(together)
            ));
        }
    }
    if rows.is_empty() {
        return;
    }
    out.push_str("### I/O inflation (requests, bytes at the nearest devices for each of the engine's; ~ where blocks lie more than 10 % off)\n\n");
    out.push_str(
        "| phase | stack | reads | data writes | log writes | all writes |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    rows.truncate(ROWS_MAX);
    out.push_str(&rows.concat());
    for line in &analysis.not_told_apart {
        out.push_str(&format!("\n- not told apart: {}", plain(line)));
    }
    out.push_str("\n\n");
}

/// What modelled devices counted; columns in which nobody has anything are left out.
fn modelled(out: &mut String, analysis: &Analysis) {
    let rows = &analysis.modelled;
    let columns = crate::modelled::COLUMNS.into_iter();
    let columns: Vec<_> = columns
        .filter(|(_, _, cell)| rows.iter().any(|one| cell(one).is_some()))
        .collect();
    if columns.is_empty() {
        return;
    }
    out.push_str(&format!("### {}\n\n| phase | stack |", crate::modelled::TITLE));
    for (title, unit, _) in &columns {
        out.push_str(&format!(" {} |", format!("{title} {unit}").trim_end()));
    }
    out.push_str(&format!("\n| --- | --- |{}\n", " --- |".repeat(columns.len())));
    for one in rows.iter().take(ROWS_MAX) {
        out.push_str(&format!("| {} | {} |", plain(&one.phase), plain(&one.stack)));
        for (_, _, cell) in &columns {
            out.push_str(&format!(" {} |", cell(one).unwrap_or_else(|| "-".into())));
        }
        out.push('\n');
    }
    out.push('\n');
}

/// What was imported for phases that were not measured.
fn alone(out: &mut String, analysis: &Analysis) {
    let measured = |name: &str| {
        analysis
            .phases
            .iter()
            .any(|phase| phase.name == name && !phase.cells.is_empty())
    };
    let mut alone: Vec<&str> = analysis.imported.iter().map(|one| one.phase.as_str()).collect();
    alone.sort_unstable();
    alone.dedup();
    for name in alone.into_iter().filter(|name| !measured(name)) {
        out.push_str(&format!("### {}\n\n", plain(name)));
        imported(out, analysis, name);
    }
}

/// What was imported for a phase: a list, for it is no row of the table above.
fn imported(out: &mut String, analysis: &Analysis, phase: &str) {
    let of: Vec<_> = analysis.imported.iter().filter(|one| one.phase == phase).collect();
    for one in &of {
        let figures: Vec<String> = SHOWN
            .iter()
            .filter_map(|(name, title, unit)| {
                let quantity = one.quantities.iter().find(|quantity| quantity.name == *name)?;
                Some(format!("{title} {unit} {}", shown(quantity)))
            })
            .collect();
        let files: Vec<&str> = one.sources.iter().map(|source| source.file.as_str()).collect();
        out.push_str(&format!(
            "- imported, not ranked: {}: {} ({})\n",
            plain(&one.stack),
            plain(&if figures.is_empty() {
                "nothing to set beside".into()
            } else {
                figures.join(", ")
            }),
            plain(&files.join(", "))
        ));
    }
    if !of.is_empty() {
        out.push('\n');
    }
}

/// Text that stays text in Markdown.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escaped(text).chars() {
        if matches!(c, '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '#' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
