//! How the data files lie on what is below them: figures after each phase that wrote, and pictures of the first and the
//! last moment.
//!
//! Takes the layouts, gives the section. Prevents: a count of extents that nobody can picture, and a fresh layout
//! praised for what an aged one would do.

use super::source::Source;

use crate::analysis::StackHead;
use crate::cells::PhaseReport;
use crate::document::{Block, Cell, Chart, Column, Fold, Form, Forms, Placed, Scatter, Section, Table, column};
use crate::figures::Figure;
use crate::format::{bytes, kibibytes, number, percent, whole};
use crate::phase_kind::kind_row;
use crate::stacks::layouts::{Layout, LayoutMoment, lost, place};

/// Moments of a file that are shown where there is little room; of more, the first and the last.
const MOMENTS_MAX: usize = 5;
/// Files drawn.
const FILES_MAX: usize = 24;

/// A file at a moment.
type At<'a> = (&'a Layout, &'a LayoutMoment);

pub(super) fn section(source: &Source<'_>) -> Option<Section> {
    let layouts = &source.analysis.layouts;
    let mut blocks = Vec::new();
    if !layouts.is_empty() {
        // With one data file its number says nothing.
        let alone = layouts.iter().all(|one| one.file == "data 0");
        let counted = layouts.iter().filter(|one| one.moments.is_empty());
        blocks.push((Forms::TERMINAL, Block::list(counted.map(|one| counts(one, alone)))));
        blocks.push((Forms::PAGE, Block::Table(extents(source, alone))));
        let rows: Vec<At<'_>> = layouts
            .iter()
            .flat_map(|one| one.moments.iter().map(move |at| (one, at)))
            .collect();
        if !rows.is_empty() {
            let table = vec![(Forms::ALL, Block::Table(moments(source, &rows, alone)))];
            blocks.push((Forms::ALL, Block::part("Every moment as a table", Fold::Always, table)));
            blocks.push((
                Forms::LONG,
                Block::Chart(Chart::Scatters(scatters(source, &rows, alone))),
            ));
            blocks.push((Forms::TERMINAL, Block::list(scans(source))));
            blocks.push((Forms::LONG, Block::Note(legend(source, &rows))));
        }
    }
    blocks.extend(read_sizes(source));
    Section::of("layout", "Fragmentation", "How the data files lie", blocks)
}

/// A file of which only counts are kept.
fn counts(one: &Layout, alone: bool) -> String {
    let count = |figure: Option<Figure>| figure.map_or("unknown".into(), |figure| whole(figure.median));
    let file = if alone {
        "data file".into()
    } else {
        format!("file {}", one.file)
    };
    format!(
        "{}, {file}, extents: {} loaded, {} at the end",
        one.stack,
        count(one.extents_loaded),
        count(one.extents_at_the_end)
    )
}

/// Before and after, a row a file.
fn extents(source: &Source<'_>, alone: bool) -> Table {
    /// After the load; what a copy made was never loaded.
    fn loaded(one: &Layout) -> Option<&LayoutMoment> {
        one.moments.first().filter(|moment| moment.after.is_none())
    }
    type Pick = fn(&Layout) -> Option<Figure>;
    let of = |head: &str, unit: &str, pick: Pick, form: Form| {
        column(head, unit, move |one: &Layout| Cell::ranged(pick(one), form))
    };
    let columns = [
        column("extents", "", |one: &Layout| {
            let ends = [one.extents_loaded, one.extents_at_the_end].map(|figure| figure.map(|figure| figure.median));
            Cell::Way([ends[0], ends[1], None], whole)
        }),
        of("extents", "after the load", |one| one.extents_loaded, whole),
        of("extents", "at the end", |one| one.extents_at_the_end, whole),
        of(
            "neighbours lost",
            "after the load",
            |one| loaded(one)?.adjacency_lost,
            lost,
        ),
        of(
            "neighbours lost",
            "at the end",
            |one| one.moments.last()?.adjacency_lost,
            lost,
        ),
        of(
            "pieces per read",
            "after the load",
            |one| loaded(one)?.pieces_per_multiblock,
            number,
        ),
        of(
            "pieces per read",
            "at the end",
            |one| one.moments.last()?.pieces_per_multiblock,
            number,
        ),
    ];
    let name = |one: &Layout| source.named(&one.stack, place(one, alone));
    let caption =
        "Extents of the data files, as the layer below reports them (ring: after the load; dot: after the last phase)";
    Table::of(caption, "stack", &source.analysis.layouts, name, columns)
}

fn moments(source: &Source<'_>, rows: &[At<'_>], alone: bool) -> Table {
    let striped = rows.iter().any(is_striped);
    let of = |head: &str, unit: &str, pick: fn(&LayoutMoment) -> Option<Figure>, form: Form| {
        column(head, unit, move |(_, at): &At<'_>| Cell::ranged(pick(at), form))
    };
    let columns = [
        column("after", "", |(_, at): &At<'_>| Cell::text(at.words())).of_words(),
        of("extents", "", |at| at.extents, whole),
        of("extent", "mean", |at| at.bytes_per_extent, bytes),
        of("neighbours", "lost", |at| at.adjacency_lost, lost),
        column("stripes", "", move |(_, at): &At<'_>| {
            Cell::ranged(at.adjacency_striped.filter(|_| striped), percent)
        })
        .only(Forms::LONG),
        of("pieces", "/read", |at| at.pieces_per_multiblock, number),
        column("neighbours", "how known", |(_, at): &At<'_>| {
            Cell::maybe(at.estimated.then_some("estimated (compressed)"))
        })
        .of_words()
        .only(Forms::PAGE),
    ];
    let is_shown = |(one, at): &At<'_>| {
        let ends = [one.moments.first(), one.moments.last()];
        one.moments.len() <= MOMENTS_MAX || ends.into_iter().flatten().any(|end| std::ptr::eq(end, *at))
    };
    let name = |row: &At<'_>| {
        let forms = if is_shown(row) { Forms::ALL } else { Forms::PAGE };
        source.named(&row.0.stack, place(row.0, alone)).only(forms)
    };
    Table::of("How the data files lay at each moment", "stack", rows, name, columns)
}

fn is_striped((_, at): &At<'_>) -> bool {
    at.adjacency_striped.is_some_and(|share| share.high > 0.0)
}

/// Pictures that there are, the moments of a file one after the other.
fn scatters(source: &Source<'_>, rows: &[At<'_>], alone: bool) -> Vec<Scatter> {
    let of = |(one, at): &At<'_>| {
        let picture = at.picture.as_ref()?;
        let (low, high) = one.bounds();
        let point = |place: &Option<f64>| {
            let (band, up) = picture.on_disk((*place)?);
            Some((band, (up - low) / (high - low)))
        };
        let extents = at.extents.map_or("no".into(), |figure| whole(figure.median));
        let away = at.adjacency_lost.map_or("unknown".into(), |figure| lost(figure.median));
        Some(Scatter {
            name: source.named(&one.stack, place(one, alone)),
            after: at.words().into(),
            about: format!("{extents} extents, {away} of neighbours lost"),
            bands: picture.devices,
            points: picture.places.iter().map(point).collect(),
            lost: picture.adjacent.iter().map(|share| 1.0 - share).collect(),
        })
    };
    rows.iter().filter_map(of).take(2 * FILES_MAX).collect()
}

/// Average size of a device's read in scans, in the order of the phases.
fn scans(source: &Source<'_>) -> Vec<String> {
    let analysis = source.analysis;
    let scans: Vec<&PhaseReport> = analysis
        .phases
        .iter()
        .filter(|phase| kind_row(phase.kind).is_scan)
        .collect();
    if scans.len() > MOMENTS_MAX {
        return Vec::new();
    }
    let of = |stack: &StackHead| {
        let sizes = scans.iter().filter_map(|phase| {
            let cell = phase.cells.iter().find(|cell| cell.stack == stack.name)?;
            Some(format!("{} in {}", bytes(cell.near.bytes_per_read?.median), phase.name))
        });
        let sizes: Vec<String> = sizes.collect();
        (!sizes.is_empty()).then(|| format!("{}, device reads of scans: {}", stack.name, sizes.join(", ")))
    };
    analysis.stacks.iter().filter_map(of).collect()
}

fn legend(source: &Source<'_>, rows: &[At<'_>]) -> String {
    let read = rows.first().map_or(0.0, |(_, at)| at.multiblock_bytes);
    let but = if rows.iter().any(is_striped) {
        ", but for stripes over disks"
    } else {
        ""
    };
    let mut words = format!(
        "Neighbours lost: pages next to each other in the file and not below{but}. Pieces: physical runs that a \
         multiblock read of {} meets.",
        bytes(read)
    );
    if let Some(picture) = rows.iter().find_map(|(_, at)| at.picture.as_ref()) {
        words.push_str(&format!(
            " A strip is the file from its start to its end (block {}), its height where that part lies: a ramp is \
             in order, noise is scattered.",
            picture.block.saturating_add(1)
        ));
    }
    if rows.iter().any(|(_, at)| at.estimated) {
        words.push_str(" Where extents are compressed, neighbours are estimated.");
    }
    if source.analysis.stacks.iter().any(|stack| stack.kind == "btrfs") {
        words.push_str(" Addresses of btrfs are its own: they do not show how it spreads data over several LUNs.");
    }
    words
}

/// Average size of a read at the device nearest to the stack, a column a phase.
fn read_sizes(source: &Source<'_>) -> Option<Placed> {
    let reads = |phase: &&PhaseReport| phase.cells.iter().any(|cell| cell.near.bytes_per_read.is_some());
    let phases: Vec<&PhaseReport> = source.analysis.phases.iter().filter(reads).collect();
    let stacks = source
        .analysis
        .stacks
        .iter()
        .filter(|stack| stack.skipped_reason.is_none());
    let stacks: Vec<&StackHead> = stacks.collect();
    let columns: Vec<Column<'_, &StackHead>> = phases
        .iter()
        .map(|phase| {
            column(&phase.name, "KiB", |stack: &&StackHead| {
                let cell = phase.cells.iter().find(|cell| cell.stack == stack.name);
                Cell::figure(cell.and_then(|cell| cell.near.bytes_per_read), kibibytes)
            })
        })
        .collect();
    let caption = "Average size of a read at the nearest device";
    let table = source.table(caption, &stacks, |stack| &stack.name, columns);
    (!phases.is_empty()).then_some((Forms::FULL_PAGE, Block::Table(table)))
}
