//! How the data lie on what is below: extents before and after, and the size of the device's reads that follows from it.
//!
//! Takes the layouts and the cells, gives the section. Prevents: a fresh layout praised for what an aged one would do.

use super::figure_cells::{Column, Shown, column, framed, ranged, shown, stack_name, table};
use super::forest::line;
use super::markup::Markup;
use super::scale::{LogScale, axis};
use super::work::kibibytes;
use super::{Section, Source};
use crate::analysis::StackHead;
use crate::format::number;
use crate::layouts::Layout;

pub(crate) fn section(source: &Source<'_>) -> Option<Section> {
    let mut body = Markup::new();
    extents(&mut body, source);
    read_sizes(&mut body, source);
    Section::new("layout", "Fragmentation", body)
}

fn extents(body: &mut Markup, source: &Source<'_>) {
    let layouts = &source.analysis.layouts;
    let ends = layouts
        .iter()
        .flat_map(|one| [one.extents_loaded, one.extents_at_the_end]);
    let values = ends.flatten().flat_map(|figure| [figure.low, figure.high]);
    let Some(scale) = LogScale::over(values) else { return };
    // With one and the same count everywhere a scale says nothing.
    let scale = if scale.high() / scale.low() < 4.0 {
        LogScale::between(scale.low() / 2.0, scale.high() * 2.0)
    } else {
        scale
    };
    let whole: Vec<f64> = scale.decades().into_iter().filter(|mark| *mark >= 1.0).collect();
    let alone = layouts.iter().all(|one| one.file == "data 0");
    let columns: Vec<Column<'_, Layout>> = vec![
        column("file", "", |one: &Layout| {
            if alone {
                Shown::Nothing
            } else {
                Shown::Text(one.file.clone())
            }
        })
        .of_words(),
        column("extents", "", |one: &Layout| {
            Shown::Chart(dumbbell(one, &scale, &source.mark(&one.stack)))
        })
        .headed(axis(&scale, &whole, 0.14, count)),
        column("extents", "after the load", |one: &Layout| {
            ranged(one.extents_loaded, count)
        }),
        column("extents", "at the end", |one: &Layout| {
            ranged(one.extents_at_the_end, count)
        }),
    ];
    table(
        body,
        &framed(source, "Extents of the data files", "Stack"),
        layouts,
        &columns,
        |page, one| {
            stack_name(page, &source.mark(&one.stack), &one.stack);
        },
    );
    body.raw(
        "<p class=\"quiet\">An extent is a run of bytes that follow each other on what is below; a logarithmic axis. Ring: after the \
         load; dot: after the last phase. Medians over blocks, their range below.</p>",
    );
}

/// Half an extent is the median of two blocks.
fn count(value: f64) -> String {
    number(value).replace(".00", "").replace(".0", "")
}

fn dumbbell(one: &Layout, scale: &LogScale, mark: &str) -> Markup {
    let mut page = Markup::new();
    page.raw("<svg class=dumbbell aria-hidden=true>");
    page.open("g", &[("class", mark)]);
    let place = |figure: Option<crate::Figure>| figure.map(|figure| scale.percent(figure.median));
    let (from, to) = (place(one.extents_loaded), place(one.extents_at_the_end));
    if let (Some(from), Some(to)) = (&from, &to) {
        line(&mut page, "way", from, "50%", to, "50%");
    }
    for (place, class, radius) in [(to, "end", "4"), (from, "begin", "6")] {
        if let Some(place) = place {
            page.empty(
                "circle",
                &[("class", class), ("cx", &place), ("cy", "50%"), ("r", radius)],
            );
        }
    }
    page.raw("</g></svg>");
    page
}

/// Average size of a read at the device nearest to the stack, phase by phase.
fn read_sizes(body: &mut Markup, source: &Source<'_>) {
    let phases: Vec<_> = source
        .analysis
        .phases
        .iter()
        .filter(|phase| phase.cells.iter().any(|cell| cell.near.bytes_per_read.is_some()))
        .collect();
    if phases.is_empty() {
        return;
    }
    let stacks: Vec<&StackHead> = source
        .analysis
        .stacks
        .iter()
        .filter(|stack| stack.skipped_reason.is_none())
        .collect();
    let columns: Vec<Column<'_, &StackHead>> = phases
        .iter()
        .map(|phase| {
            column(&phase.name, "KiB", |stack: &&StackHead| {
                let cell = phase.cells.iter().find(|cell| cell.stack == stack.name);
                shown(cell.and_then(|cell| cell.near.bytes_per_read), kibibytes)
            })
        })
        .collect();
    table(
        body,
        &framed(source, "Average size of a read at the nearest device", "Stack"),
        &stacks,
        &columns,
        |page, stack| {
            stack_name(page, &source.mark(&stack.name), &stack.name);
        },
    );
}
