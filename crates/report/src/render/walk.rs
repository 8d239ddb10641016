//! A test that walks all four forms from one document: every figure of every table is found in each form that shows it.
//!
//! Takes a result file with everything in it. Prevents: a form that leaves out a column, a row or a table, and one that
//! prints another row's figure.

use super::*;
use crate::document::{Block, Document, Placed};
use crate::fixture::{Scene, actor, scene};
use crate::sections::{FromFile, document};
use ledger::PhaseKind;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

fn whole() -> Scene {
    let mut cached = actor("buffered", 5.0);
    cached.device = Some(0.02);
    let mut scene = scene(vec![
        actor("ext4", 1.0),
        actor("disk group", 1.01),
        actor("btrfs", 0.8),
        cached,
    ]);
    scene.blocks = 6;
    scene.rich = true;
    scene.extra = vec![(ledger::Measure::LowFlushes, 123_456.0)];
    let phases = [
        (PhaseKind::Load, "load"),
        (PhaseKind::Random, "50 % update"),
        (PhaseKind::Open, "on a schedule"),
        (PhaseKind::Scan, "fresh scan"),
        (PhaseKind::Scan, "aged scan"),
        (PhaseKind::Copy, "copy away"),
        (PhaseKind::Rebalance, "a disk joins"),
        (PhaseKind::Tpcc, "order entry"),
        (PhaseKind::Tpcc, "load curve"),
        (PhaseKind::Bulk, "bulk load"),
    ];
    scene.phases = phases.map(|(kind, name)| (kind, name.to_string())).into();
    scene
}

/// Every table, with the forms that show it.
fn tables<'a>(blocks: &'a [Placed], shown: Forms, found: &mut Vec<(Forms, &'a Table)>) {
    for (forms, block) in blocks {
        let forms = forms.and(shown);
        match block {
            Block::Table(table) => found.push((forms, table)),
            Block::Part(part) => tables(&part.blocks, forms, found),
            _ => {}
        }
    }
}

/// Rows of the three forms of letters, by what each begins with, and the numbers of JSON.
struct Printed {
    rows: [(Forms, HashMap<String, String>); 3],
    numbers: HashSet<u64>,
}

impl Printed {
    fn of(document: &Document, json: &Value, names: &HashSet<String>) -> Printed {
        let style = Style {
            width: 2_000,
            colour: false,
            utf8: true,
        };
        let by_name = |lines: Vec<&str>, head: &dyn Fn(&str) -> String| {
            let of = |name: &String| {
                let mine = lines.iter().filter(|line| line.starts_with(&head(name)));
                (name.clone(), mine.copied().collect::<Vec<_>>().join("\n"))
            };
            names.iter().map(of).collect::<HashMap<String, String>>()
        };
        let (terminal, markdown, page) = (terminal(document, &style), markdown(document), html(document));
        let clipped = |name: &str| format!("  {} ", page::clipped(name, 20));
        let page_rows: Vec<&str> = page.split("<tr>").map(|row| row.trim_start_matches("<th>")).collect();
        let named = |name: &str| maud::html! { (name) }.into_string();
        let in_page = |name: &String| {
            let mine = page_rows.iter().filter(|row| {
                let rest = row
                    .strip_prefix("<span")
                    .and_then(|row| row.split_once('>'))
                    .map_or(**row, |(_, rest)| rest);
                rest.strip_prefix(&named(name))
                    .is_some_and(|rest| rest.starts_with('<'))
            });
            (name.clone(), mine.copied().collect::<Vec<_>>().join("\n"))
        };
        let mut numbers = HashSet::new();
        collect(json, &mut numbers);
        Printed {
            rows: [
                (Forms::TERMINAL, by_name(terminal.lines().collect(), &clipped)),
                (
                    Forms::MARKDOWN,
                    by_name(markdown.lines().collect(), &|name| format!("| {name} |")),
                ),
                (Forms::FULL_PAGE, names.iter().map(in_page).collect()),
            ],
            numbers,
        }
    }

    /// Figures that a form should show and does not.
    fn missing(&self, tables: &[(Forms, &Table)]) -> (usize, Vec<String>) {
        let (mut figures, mut missing) = (0, Vec::new());
        for (forms, table) in tables {
            for (nth, row) in table.rows.iter().enumerate() {
                for column in &table.columns {
                    let forms = forms.and(row.forms).and(column.forms);
                    let Some(text) = figure_text(&column.cells[nth]) else {
                        continue;
                    };
                    figures += 1;
                    let mut say = |form: &str| {
                        let head = format!("{} {}", column.head, column.unit);
                        missing.push(format!("{form}: {text} of {head}, {}, {}", row.text, table.caption));
                    };
                    for (form, rows) in &self.rows {
                        let written = if *form == Forms::FULL_PAGE {
                            text.trim_start_matches('~')
                        } else {
                            &text
                        };
                        let written = maud::html! { (written) }.into_string();
                        let found = rows
                            .get(&row.text)
                            .is_some_and(|row| row.contains(&written) || row.contains(&*text));
                        if forms.has(*form) && !found {
                            say(&format!("{form:?}"));
                        }
                    }
                    // The second stamp of a schedule is unpacked for the page alone.
                    if forms.has(Forms::TEXTS) && !self.has_numbers(&column.cells[nth]) {
                        say("JSON");
                    }
                }
            }
        }
        (figures, missing)
    }

    fn has_numbers(&self, cell: &Cell) -> bool {
        let values = match cell {
            Cell::Figure(figure, ..) | Cell::Range(figure, ..) => vec![figure.median, figure.low, figure.high],
            Cell::Number(value, _) => vec![*value],
            _ => Vec::new(),
        };
        values.iter().all(|value| self.numbers.contains(&value.to_bits()))
    }
}

/// How a figure stands in forms of letters; `None` for what is no figure.
fn figure_text(cell: &Cell) -> Option<String> {
    let letters = Letters { most: 12, utf8: true };
    match cell {
        Cell::Figure(..) | Cell::Range(..) | Cell::Number(..) | Cell::Interval(..) => lettered(cell, letters),
        _ => None,
    }
}

/// All numbers, and the quotients of those that stand side by side: a share of two of them is none of its own.
fn collect(value: &Value, numbers: &mut HashSet<u64>) {
    match value {
        Value::Number(number) => {
            numbers.extend(number.as_f64().map(f64::to_bits));
        }
        Value::Array(all) => all.iter().for_each(|one| collect(one, numbers)),
        Value::Object(fields) => {
            fields.values().for_each(|one| collect(one, numbers));
            let side_by_side: Vec<f64> = fields.values().filter_map(Value::as_f64).collect();
            let quotients = side_by_side
                .iter()
                .flat_map(|above| side_by_side.iter().map(move |below| above / below));
            numbers.extend(quotients.map(f64::to_bits));
        }
        _ => {}
    }
}

#[test]
fn every_figure_of_every_table_is_in_each_form() {
    let filmed = whole().film();
    let analysis = filmed.analysis();
    let file = FromFile::read(&filmed.ledger, &analysis).unwrap();
    let mut one = document(&analysis, Some(&file));
    let json = json(&analysis);
    let names = |one: &Document| {
        let mut found = Vec::new();
        one.sections
            .iter()
            .for_each(|section| tables(&section.blocks, Forms::ALL, &mut found));
        found
            .iter()
            .flat_map(|(_, table)| table.rows.iter().map(|row| row.text.clone()))
            .collect()
    };
    let printed = Printed::of(&one, &json, &names(&one));
    let mut found = Vec::new();
    one.sections
        .iter()
        .for_each(|section| tables(&section.blocks, Forms::ALL, &mut found));
    let (figures, missing) = printed.missing(&found);
    assert!(figures > 1_000, "{figures} figures");
    assert!(missing.is_empty(), "{} of {figures}: {missing:#?}", missing.len());
    // A column that no form has printed is noticed in each of the four.
    let memory = one.sections.iter_mut().find(|section| section.id == "memory").unwrap();
    let Block::Table(table) = &mut memory.blocks[0].1 else {
        panic!("no table")
    };
    let unknown = crate::figures::Figure::of([Some(987_654_321.0)]).unwrap();
    table.columns.push(Cells {
        head: "unknown".into(),
        mark: None,
        unit: String::new(),
        forms: Forms::ALL,
        words: false,
        compared: false,
        breaks: false,
        cells: table
            .rows
            .iter()
            .map(|_| Cell::figure(unknown, crate::format::number))
            .collect(),
    });
    let rows = table.rows.len();
    let mut found = Vec::new();
    one.sections
        .iter()
        .for_each(|section| tables(&section.blocks, Forms::ALL, &mut found));
    assert_eq!(printed.missing(&found).1.len(), 4 * rows);
}
