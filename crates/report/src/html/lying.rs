//! How the data lie on what is below: extents before and after, and the size of the device's reads that follows from it.
//!
//! Takes the layouts and the cells, gives the section. Prevents: a fresh layout praised for what an aged one would do.

use super::figure_cells::{Column, Shown, column, framed, ranged, shown, stack_name, table};
use super::forest::line;
use super::markup::Markup;
use super::scale::{LogScale, axis};
use super::strips::strips;
use super::work::kibibytes;
use super::{Section, Source};
use crate::analysis::StackHead;
use crate::figures::Figure;
use crate::format::{bytes, number, percent};
use crate::layouts::{Layout, LayoutMoment, lost, place, whole};

pub(crate) fn section(source: &Source<'_>) -> Option<Section> {
    let mut body = Markup::new();
    extents(&mut body, source);
    strips(&mut body, source);
    moments(&mut body, source);
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
    let marks: Vec<f64> = scale.decades().into_iter().filter(|mark| *mark >= 1.0).collect();
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
        .headed(axis(&scale, &marks, 0.14, whole)),
        column("extents", "after the load", |one: &Layout| {
            ranged(one.extents_loaded, whole)
        }),
        column("extents", "at the end", |one: &Layout| {
            ranged(one.extents_at_the_end, whole)
        }),
        column("neighbours lost", "after the load", |one: &Layout| {
            ranged(loaded(one).and_then(|moment| moment.adjacency_lost), lost)
        }),
        column("neighbours lost", "at the end", |one: &Layout| {
            ranged(one.moments.last().and_then(|moment| moment.adjacency_lost), lost)
        }),
        column("pieces per read", "after the load", |one: &Layout| {
            ranged(loaded(one).and_then(|moment| moment.pieces_per_multiblock), number)
        }),
        column("pieces per read", "at the end", |one: &Layout| {
            ranged(
                one.moments.last().and_then(|moment| moment.pieces_per_multiblock),
                number,
            )
        }),
    ];
    table(
        body,
        &framed(source, "Extents of the data files", "Stack"),
        layouts,
        &columns,
        |page, one| {
            stack_name(page, &source.mark(&one.stack), &place(one, true));
        },
    );
    extents_words(body, layouts);
}

/// After the load; what a copy made was never loaded.
fn loaded(one: &Layout) -> Option<&LayoutMoment> {
    one.moments.first().filter(|moment| moment.after.is_none())
}

fn extents_words(body: &mut Markup, layouts: &[Layout]) {
    let read = layouts
        .iter()
        .flat_map(|one| &one.moments)
        .map(|moment| moment.multiblock_bytes)
        .next();
    let read = read.map_or(String::new(), |read| {
        format!(
            " Neighbours lost: of the pages next to each other in the file the share that are not next to each other below, stripes over \
             disks left out. Pieces: physical runs that a multiblock read of {} meets.",
            bytes(read)
        )
    });
    body.element(
        "p",
        &[("class", "quiet")],
        &format!(
            "Extents as what is below tells them; a logarithmic axis. Ring: after the load; dot: after the last phase. Medians over \
             blocks, their range below.{read}"
        ),
    );
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

/// More rows of moments than these are left to the JSON form.
const MOMENTS_MAX: usize = 400;

/// Every moment of every file, where there are more than two.
fn moments(body: &mut Markup, source: &Source<'_>) {
    let layouts = &source.analysis.layouts;
    let alone = layouts.iter().all(|one| one.file == "data 0");
    let rows: Vec<(&Layout, &LayoutMoment)> = layouts
        .iter()
        .flat_map(|one| one.moments.iter().map(move |moment| (one, moment)))
        .collect();
    if rows.is_empty() {
        return;
    }
    body.raw("<details><summary>");
    body.text(&format!(
        "Every moment as a table ({} of {})",
        rows.len().min(MOMENTS_MAX),
        rows.len()
    ));
    body.raw("</summary>");
    type Row<'a> = (&'a Layout, &'a LayoutMoment);
    let figure = |pick: fn(&LayoutMoment) -> Option<Figure>, form: fn(f64) -> String| {
        move |(_, moment): &Row<'_>| ranged(pick(moment), form)
    };
    let columns: Vec<Column<'_, Row<'_>>> = vec![
        column("after", "", |(_, moment): &Row<'_>| Shown::Text(moment.words().into())).of_words(),
        column("extents", "", figure(|one| one.extents, whole)),
        column("extent", "mean", figure(|one| one.bytes_per_extent, bytes)),
        column("neighbours", "lost", figure(|one| one.adjacency_lost, lost)),
        column(
            "neighbours",
            "on two disks by stripes",
            figure(|one| one.adjacency_striped, percent),
        ),
        column("pieces", "per read", figure(|one| one.pieces_per_multiblock, number)),
        column("neighbours", "how told", |(_, moment): &Row<'_>| {
            if moment.estimated {
                Shown::Text("estimated (compressed)".into())
            } else {
                Shown::Nothing
            }
        })
        .of_words(),
    ];
    table(
        body,
        &framed(source, "How the data files lay at each moment", "Stack"),
        &rows[..rows.len().min(MOMENTS_MAX)],
        &columns,
        |page, (one, _)| {
            stack_name(page, &source.mark(&one.stack), &place(one, alone));
        },
    );
    body.raw("</details>");
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
