//! What was not measured here: figures of other tools that were imported, and what others published.
//!
//! Takes both from the analysis, gives the section. Imported figures stand in tables of their own under a heading that says what
//! they are; published ratios stand beside ours with what may be said of both. Prevents: a figure that nobody here measured read
//! in one table with those that were.

use super::figure_cells::{Column, Shown, column, framed, stack_name, table};
use super::forest::{Forest, Interval};
use super::markup::Markup;
use super::{Section, Source};
use crate::format::ratio;
use crate::imported::{ImportedPhase, ImportedQuantity, ImportedSource, SHOWN};
use crate::published::{Agreement, Published, PublishedRatio};
use crate::terminal_imported::{form, shown as printed};

pub(crate) fn section(source: &Source<'_>) -> Option<Section> {
    let mut body = Markup::new();
    published(&mut body, source);
    imported(&mut body, source);
    Section::new("elsewhere", "Elsewhere", body)
}

fn published(body: &mut Markup, source: &Source<'_>) {
    let Some(published) = &source.analysis.published else {
        return;
    };
    body.raw("<h3>What others published</h3>");
    body.element(
        "p",
        &[("class", "quiet")],
        &format!(
            "{} ({}, {}): {}",
            published.title, published.source, published.year, published.about
        ),
    );
    ratios(body, source, published);
    body.raw("<details><summary>Its figures</summary>");
    let figure = |one: &crate::published::PublishedFigure| {
        let values: Vec<String> = one.values.iter().map(f64::to_string).collect();
        Shown::Text(values.join(", "))
    };
    let columns: Vec<Column<'_, crate::published::PublishedFigure>> = vec![
        column("phase", "", |one: &crate::published::PublishedFigure| {
            Shown::Text(one.phase.clone())
        })
        .of_words(),
        column("published", "one a run", figure),
        column("of", "", |one: &crate::published::PublishedFigure| {
            Shown::Text(one.quantity.clone())
        })
        .of_words(),
    ];
    table(
        body,
        &framed(source, "Figures as published", "Stack"),
        &published.figures,
        &columns,
        |page, one| {
            page.text(&one.stack);
        },
    );
    body.raw("</details>");
}

fn ours(one: &PublishedRatio) -> Option<Interval> {
    one.measured.map(|m| Interval {
        ratio: m.ratio,
        low: Some(m.low),
        high: Some(m.high),
    })
}

fn theirs(one: &PublishedRatio) -> Interval {
    Interval {
        ratio: (one.low * one.high).sqrt(),
        low: Some(one.low),
        high: Some(one.high),
    }
}

fn ratios(body: &mut Markup, source: &Source<'_>, published: &Published) {
    let both = published
        .ratios
        .iter()
        .flat_map(|one| ours(one).into_iter().chain([theirs(one)]));
    let both: Vec<Interval> = both.collect();
    let forest = Forest::over(&both, source.analysis.study.margin, PUBLISHED_CHART);
    let columns: Vec<Column<'_, PublishedRatio>> = vec![
        column("chart", "", |one: &PublishedRatio| {
            let class = match one.agreement {
                Agreement::DirectionAndSize | Agreement::Direction => "equal",
                Agreement::Opposite | Agreement::OneSeesNone => "worse",
                Agreement::CouldNotBeTold => "open",
            };
            Shown::Chart(forest.beside(ours(one).as_ref(), class, &theirs(one)))
        })
        .headed(forest.axis()),
        column("published", "", |one: &PublishedRatio| {
            let theirs = match one.low == one.high {
                true => ratio(one.low),
                false => format!("{} to {}", ratio(one.low), ratio(one.high)),
            };
            match &one.words {
                Some(words) => Shown::Spread(theirs, words.clone()),
                None => Shown::Text(theirs),
            }
        }),
        column("here", "", |one: &PublishedRatio| match &one.measured {
            Some(m) => {
                let doubt = if m.tested { "" } else { ", not tested" };
                Shown::Spread(ratio(m.ratio), format!("{} to {}{doubt}", ratio(m.low), ratio(m.high)))
            }
            None => Shown::Nothing,
        }),
        column("of ours", "", |one: &PublishedRatio| {
            one.ours
                .as_ref()
                .map_or(Shown::Nothing, |ours| Shown::Text(ours.clone()))
        })
        .of_words(),
        column("what may be said", "", |one: &PublishedRatio| {
            Shown::Text(one.says.clone())
        })
        .of_words(),
    ];
    body.raw("<div class=published>");
    table(
        body,
        &framed(source, "Published ratios beside ours", "Published"),
        &published.ratios,
        &columns,
        |page, one| {
            page.text(&one.theirs);
        },
    );
    body.raw(
        "</div><p class=\"quiet\">Above 1 is better for the first of the two. Diamond: as published; dot and line: measured here with its \
         interval; ratios marked not tested have a plain 95 % interval. Another machine and another size: printed to be read beside, \
         not to be met.</p>",
    );
}

/// Tells this chart from those of other sections.
const PUBLISHED_CHART: usize = 1_000_000;

fn imported(body: &mut Markup, source: &Source<'_>) {
    let all = &source.analysis.imported;
    if all.is_empty() {
        return;
    }
    body.raw("<h3>Imported figures<span class=aside>of other tools: not measured here, and never ranked</span></h3>");
    let mut phases: Vec<&str> = Vec::new();
    for one in all {
        if !phases.contains(&one.phase.as_str()) {
            phases.push(&one.phase);
        }
    }
    for phase in phases {
        let of: Vec<&ImportedPhase> = all.iter().filter(|one| one.phase == phase).collect();
        beside(body, source, phase, &of);
    }
    let sources: Vec<(&str, &ImportedSource)> = all
        .iter()
        .flat_map(|one| one.sources.iter().map(move |source| (one.stack.as_str(), source)))
        .collect();
    texts(body, source, &sources);
}

/// A row of figures: imported, or measured here in the phase of the same name.
struct Row<'a> {
    stack: &'a str,
    /// What it is of: `None` for a measured one.
    imported: Option<&'a ImportedPhase>,
    /// Quantities of the imported ones that have a measured figure.
    beside: &'a [&'a ImportedPhase],
}

impl Row<'_> {
    fn cell(&self, name: &str) -> Shown {
        let named = |one: &ImportedPhase| one.quantities.iter().find(|quantity| quantity.name == name).cloned();
        if let Some(imported) = self.imported {
            return named(imported).map_or(Shown::Nothing, |quantity| Shown::Text(printed(&quantity)));
        }
        let measured = self
            .beside
            .iter()
            .filter_map(|one| named(one))
            .find_map(|quantity: ImportedQuantity| {
                let here = quantity.measured.iter().find(|measured| measured.stack == self.stack)?;
                Some(form(name)(here.figure.median))
            });
        measured.map_or(Shown::Nothing, Shown::Text)
    }
}

fn beside(body: &mut Markup, source: &Source<'_>, phase: &str, of: &[&ImportedPhase]) {
    let mut measured: Vec<&str> = Vec::new();
    let quantities = of.iter().flat_map(|one| &one.quantities);
    for here in quantities.flat_map(|quantity| &quantity.measured) {
        if !measured.contains(&here.stack.as_str()) {
            measured.push(&here.stack);
        }
    }
    let imported = of.iter().map(|one| Row {
        stack: &one.stack,
        imported: Some(one),
        beside: of,
    });
    let here = measured.into_iter().map(|stack| Row {
        stack,
        imported: None,
        beside: of,
    });
    let rows: Vec<Row<'_>> = imported.chain(here).collect();
    let mut columns: Vec<Column<'_, Row<'_>>> = vec![
        column("", "", |row: &Row<'_>| {
            Shown::Text(
                if row.imported.is_some() {
                    "imported"
                } else {
                    "measured here"
                }
                .into(),
            )
        })
        .of_words(),
    ];
    for (name, title, unit) in SHOWN {
        columns.push(column(title, unit, move |row: &Row<'_>| row.cell(name)));
    }
    let caption = format!("Imported for {phase}, beside what was measured");
    table(
        body,
        &framed(source, &caption, "Stack"),
        &rows,
        &columns,
        |page, row| match row.imported {
            Some(_) => page.text(row.stack),
            None => stack_name(page, &source.mark(row.stack), row.stack),
        },
    );
}

/// More figures of one text than these are left to the JSON form.
const FIGURES_MAX: usize = 200;

fn texts(body: &mut Markup, source: &Source<'_>, sources: &[(&str, &ImportedSource)]) {
    let columns: Vec<Column<'_, (&str, &ImportedSource)>> = vec![
        column("file", "", |(_, one): &(&str, &ImportedSource)| {
            Shown::Text(one.file.clone())
        })
        .of_words(),
        column("of", "", |(_, one): &(&str, &ImportedSource)| {
            Shown::Text(one.layout.clone())
        })
        .of_words(),
        column("reports", "", |(_, one): &(&str, &ImportedSource)| {
            Shown::Text(one.reports.to_string())
        }),
        column("figures", "", |(_, one): &(&str, &ImportedSource)| {
            Shown::Text(one.figures.len().to_string())
        }),
        column("SHA-256", "begins with", |(_, one): &(&str, &ImportedSource)| {
            Shown::Text(one.sha256.chars().take(12).collect())
        })
        .of_words(),
    ];
    table(
        body,
        &framed(source, "Where they are from", "Stack"),
        sources,
        &columns,
        |page, (stack, _)| {
            page.text(stack);
        },
    );
    for (_, one) in sources {
        printed_figures(body, source, one);
    }
}

/// Every figure of a text, as printed.
fn printed_figures(body: &mut Markup, source: &Source<'_>, one: &ImportedSource) {
    body.raw("<details><summary>");
    body.text(&format!(
        "{}: every figure as printed ({})",
        one.file,
        one.figures.len()
    ));
    body.raw("</summary>");
    for fact in &one.facts {
        body.element(
            "p",
            &[("class", "quiet")],
            &format!("{}: {} (line {})", fact.name, fact.value, fact.line),
        );
    }
    let columns: Vec<Column<'_, crate::ImportedFigure>> = vec![
        column("report", "", |figure: &crate::ImportedFigure| {
            Shown::Text(figure.report.clone())
        })
        .of_words(),
        column("as printed", "", |figure: &crate::ImportedFigure| {
            Shown::Text(figure.text.clone())
        }),
        column("unit", "", |figure: &crate::ImportedFigure| {
            Shown::Text(figure.unit.clone())
        })
        .of_words(),
        column("line", "", |figure: &crate::ImportedFigure| {
            Shown::Text(figure.line.to_string())
        }),
    ];
    let shown = &one.figures[..one.figures.len().min(FIGURES_MAX)];
    let caption = format!("Figures of {}", one.file);
    table(
        body,
        &framed(source, &caption, "Figure"),
        shown,
        &columns,
        |page, figure| {
            page.text(&figure.name);
        },
    );
    if one.figures.len() > shown.len() {
        body.raw("<p class=\"quiet\">The JSON form has the others.</p>");
    }
    for note in &one.notes {
        body.element("p", &[("class", "quiet")], note);
    }
    body.raw("</details>");
}
