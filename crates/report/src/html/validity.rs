//! Provenance and validity: where the bytes came from and went to, and every check with figure, threshold and advice.
//!
//! Takes the cells and the checks, gives the section. Prevents: a number believed because nothing was said against it.

use super::figure_cells::{Column, Shown, column, framed, stack_name, table};
use super::head::status_class;
use super::markup::Markup;
use super::{Section, Source};
use crate::check::{Check, Status};
use crate::doubts::merged;
use crate::format::{bytes, percent};
use crate::provenance::{Direction, Origin};

pub(crate) fn section(source: &Source<'_>) -> Option<Section> {
    let mut body = Markup::new();
    doubts(&mut body, source);
    provenance(&mut body, source);
    sheet(&mut body, source);
    Section::new("validity", "Validity", body)
}

fn doubts(body: &mut Markup, source: &Source<'_>) {
    let doubts = merged(source.analysis);
    if doubts.is_empty() {
        return;
    }
    body.raw("<h3>What speaks against it</h3><ul class=\"doubts\">");
    for doubt in doubts {
        body.raw("<li>");
        body.element("span", &[("class", status_class(doubt.status))], doubt.status.word());
        body.raw(" ");
        body.text(&doubt.words);
        body.raw("</li>");
    }
    body.raw("</ul>");
}

/// One stack in one phase.
struct Row<'a> {
    stack: &'a str,
    phase: &'a str,
    reads: Direction,
    writes: Direction,
}

impl Row<'_> {
    /// False where a cache, or nothing that can be seen, stood for the device, and where nothing was asked of one.
    fn met_a_device(&self) -> bool {
        let origins = [self.reads, self.writes].map(|one| one.origin);
        let plain = |one: &Origin| matches!(one, Origin::Device | Origin::None);
        origins.iter().all(plain) && origins.contains(&Origin::Device)
    }
}

/// More rows are folded.
const ROWS_OPEN_MAX: usize = 60;

fn provenance(body: &mut Markup, source: &Source<'_>) {
    let phases = source.analysis.phases.iter();
    let all = phases.flat_map(|phase| {
        phase.cells.iter().map(|cell| Row {
            stack: &cell.stack,
            phase: &phase.name,
            reads: cell.provenance.reads,
            writes: cell.provenance.writes,
        })
    });
    // On a lean page only what there is something to tell about.
    let rows: Vec<Row<'_>> = all.filter(|row| !(source.lean && row.met_a_device())).collect();
    if rows.is_empty() {
        return;
    }
    let caption = "Where the bytes came from and went to";
    let fold = rows.len() > ROWS_OPEN_MAX;
    if fold {
        body.raw("<details><summary>");
        body.text(&format!("{caption} ({} rows)", rows.len()));
        body.raw("</summary>");
    }
    let moved = |value: Option<f64>| value.map_or(Shown::Nothing, |value| Shown::Text(bytes(value)));
    let columns: Vec<Column<'_, Row<'_>>> = vec![
        column("phase", "", |row: &Row<'_>| Shown::Text(row.phase.to_string())).of_words(),
        column("reads", "from", |row: &Row<'_>| origin(row.reads)).of_words(),
        column("reads", "asked", |row: &Row<'_>| moved(Some(row.reads.asked_bytes))),
        column("reads", "device moved", |row: &Row<'_>| moved(row.reads.low_bytes)),
        column("writes", "to", |row: &Row<'_>| origin(row.writes)).of_words(),
        column("writes", "asked", |row: &Row<'_>| moved(Some(row.writes.asked_bytes))),
        column("writes", "device moved", |row: &Row<'_>| moved(row.writes.low_bytes)),
    ];
    table(body, &framed(source, caption, "Stack"), &rows, &columns, |page, row| {
        stack_name(page, &source.mark(row.stack), row.stack);
    });
    if fold {
        body.raw("</details>");
    }
    body.raw(
        "<p class=\"quiet\">All blocks together. Device: at least 90 % of the bytes asked met the lowest visible device; cache: at most \
         10 %; mixed: between. What lies below that device, a host or an array, is unknown.</p>",
    );
}

fn origin(direction: Direction) -> Shown {
    let word = direction.origin.word();
    Shown::Text(match direction.share() {
        Some(share) if !matches!(direction.origin, Origin::None | Origin::Unknown) => {
            format!("{word} ({})", percent(share))
        }
        _ => word.to_string(),
    })
}

/// Rows of checks that are written out; more VALID ones are only counted.
const VALID_ROWS_MAX: usize = 600;

fn sheet(body: &mut Markup, source: &Source<'_>) {
    let checks = &source.analysis.checks;
    if checks.is_empty() {
        return;
    }
    let mut subjects: Vec<(&str, Vec<&Check>)> = Vec::new();
    for check in checks {
        match subjects.iter_mut().find(|(subject, _)| *subject == check.subject) {
            Some((_, of)) => of.push(check),
            None => subjects.push((&check.subject, vec![check])),
        }
    }
    body.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Validity sheet\"><table class=\"figures sheet\"><caption>Validity sheet</caption><thead><tr><th scope=\"col\">Check</th>");
    const ORDER: [Status; 4] = [Status::Valid, Status::Note, Status::Suspect, Status::Invalid];
    for status in ORDER {
        body.element("th", &[("scope", "col")], status.word());
    }
    body.raw("<th scope=\"col\" class=\"words\">Wanted</th></tr></thead><tbody>");
    for (subject, of) in &subjects {
        body.raw("<tr>");
        body.element("th", &[("scope", "row")], subject);
        for status in ORDER {
            let count = of.iter().filter(|check| check.status == status).count();
            match count {
                0 => body.raw("<td class=\"none\">-</td>"),
                _ => {
                    body.raw("<td>");
                    body.element("span", &[("class", status_class(status))], &count.to_string());
                    body.raw("</td>");
                }
            }
        }
        let same = of
            .iter()
            .all(|check| check.threshold == of[0].threshold && check.threshold != "none");
        body.element("td", &[("class", "words")], if same { &of[0].threshold } else { "" });
        body.raw("</tr>");
    }
    body.raw("</tbody></table></div>");
    every_check(body, checks);
}

fn every_check(body: &mut Markup, checks: &[Check]) {
    let valid = checks.iter().filter(|check| check.status == Status::Valid).count();
    let shown: Vec<&Check> = if valid > VALID_ROWS_MAX {
        checks
            .iter()
            .filter(|check| check.status != Status::Valid)
            .take(VALID_ROWS_MAX)
            .collect()
    } else {
        checks.iter().collect()
    };
    body.raw("<details><summary>");
    body.text(&format!(
        "Every check with its figure ({} of {})",
        shown.len(),
        checks.len()
    ));
    body.raw("</summary><div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Every check\"><table class=\"facts\"><caption>Every check with its figure</caption><thead><tr><th scope=\"col\">Check</th><th scope=\"col\">Stack</th><th scope=\"col\">Phase</th><th scope=\"col\">Outcome</th><th scope=\"col\">Found</th><th scope=\"col\">Wanted</th><th scope=\"col\">What to do</th></tr></thead><tbody>");
    for check in shown {
        body.raw("<tr>");
        body.element("th", &[("scope", "row")], &check.subject);
        body.element("td", &[], check.stack.as_deref().unwrap_or("all"));
        body.element("td", &[], check.phase.as_deref().unwrap_or("all"));
        body.raw("<td>");
        body.element("span", &[("class", status_class(check.status))], check.status.word());
        body.raw("</td>");
        body.element("td", &[], &check.figure);
        body.element("td", &[], &check.threshold);
        body.element(
            "td",
            &[],
            if check.status == Status::Valid {
                ""
            } else {
                &check.advice
            },
        );
        body.raw("</tr>");
    }
    body.raw("</tbody></table></div></details>");
}
