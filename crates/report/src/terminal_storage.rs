//! How the data files lie, what scans read of it, and memory against data, in a terminal.
//!
//! Takes the analysis, puts lines on the page. A file is drawn as a strip: a letter a part of it, as high as the place where that
//! part lies. Prevents: a count of extents that nobody can picture, and a ramp drawn over means (of scattered places the mean is
//! always the middle).

use crate::analysis::{Analysis, PhaseReport};
use crate::figures::marked;
use crate::format::{bytes, number, percent};
use crate::layouts::{Layout, LayoutMoment, LayoutPicture, lost, place, whole};
use crate::page::{Page, plain};
use crate::spark::letter;
use crate::table::{Column, table};
use crate::text::{clipped, escaped, width};

/// Moments of a file that are shown; of more, the first and the last.
const MOMENTS_MAX: usize = 5;
const STRIP_MAX: usize = 56;
const STRIP_MIN: usize = 16;
const NAMES_MAX: usize = 16;
/// Of a phase and a stack.
const PAIRS_MAX: usize = 28;

/// How often the data files are broken into pieces, before and after.
pub(crate) fn layouts(page: &mut Page, analysis: &Analysis) {
    if analysis.layouts.is_empty() {
        return;
    }
    page.title("How the data files lie");
    // With one data file its number says nothing.
    let alone = analysis.layouts.iter().all(|other| other.file == "data 0");
    for one in analysis.layouts.iter().filter(|one| one.moments.is_empty()) {
        counts(page, one, alone);
    }
    let rows: Vec<(&Layout, &LayoutMoment)> = analysis
        .layouts
        .iter()
        .flat_map(|one| shown(one).into_iter().map(move |moment| (one, moment)))
        .collect();
    if rows.is_empty() {
        return;
    }
    figures(page, &rows, alone);
    strips(page, &rows, alone);
    scans(page, analysis);
    let mut words = legend(&rows);
    if analysis.stacks.iter().any(|stack| stack.kind == "btrfs") {
        words.push_str(" Addresses of btrfs are its own: how it spreads them over several LUNs is not in them.");
    }
    page.say(&words, 2, plain());
}

fn shown(one: &Layout) -> Vec<&LayoutMoment> {
    let all = &one.moments;
    if all.len() <= MOMENTS_MAX {
        return all.iter().collect();
    }
    all.first().into_iter().chain(all.last()).collect()
}

fn figures(page: &mut Page, rows: &[(&Layout, &LayoutMoment)], alone: bool) {
    let names: Vec<String> = rows.iter().map(|(one, _)| escaped(&place(one, alone))).collect();
    let column = |title, unit, cell: &dyn Fn(&LayoutMoment) -> Option<String>| {
        Column::new(title, unit, rows.iter().map(|(_, moment)| cell(moment)).collect())
    };
    let striped = rows
        .iter()
        .any(|(_, moment)| moment.adjacency_striped.is_some_and(|share| share.high > 0.0));
    let columns: Vec<Column> = [
        column("after", "", &|moment| {
            Some(clipped(&escaped(moment.words()), NAMES_MAX))
        }),
        column("extents", "", &|moment| marked(moment.extents, whole)),
        column("extent", "mean", &|moment| marked(moment.bytes_per_extent, bytes)),
        column("neighbours", "lost", &|moment| marked(moment.adjacency_lost, lost)),
        column("stripes", "", &|moment| {
            marked(moment.adjacency_striped.filter(|_| striped), percent)
        }),
        column("pieces", "/read", &|moment| {
            marked(moment.pieces_per_multiblock, number)
        }),
    ]
    .into_iter()
    .flatten()
    .collect();
    for line in table(&names, &columns, page.width) {
        page.put(line, plain());
    }
}

/// A picture with what stands before it.
struct Drawn<'a> {
    stack: String,
    after: String,
    picture: &'a LayoutPicture,
    bounds: (f64, f64),
}

/// Pictures that there are, the moments of a file under each other.
fn strips(page: &mut Page, rows: &[(&Layout, &LayoutMoment)], alone: bool) {
    let drawn: Vec<Drawn<'_>> = rows
        .iter()
        .filter_map(|(one, moment)| {
            Some(Drawn {
                picture: moment.picture.as_ref()?,
                stack: clipped(&escaped(&place(one, alone)), NAMES_MAX),
                after: clipped(&escaped(moment.words()), NAMES_MAX),
                bounds: one.bounds(),
            })
        })
        .collect();
    let stacks = drawn.iter().map(|row| width(&row.stack)).max().unwrap_or(0);
    let afters = drawn.iter().map(|row| width(&row.after)).max().unwrap_or(0);
    let room = page.width.saturating_sub(stacks + afters + 6).min(STRIP_MAX);
    if drawn.is_empty() || room < STRIP_MIN {
        return;
    }
    page.blank();
    for row in drawn {
        let gap = |text: &str, wanted: usize| " ".repeat(wanted.saturating_sub(width(text)));
        let strip = strip(row.picture, row.bounds, room, page.utf8);
        let (stack, after) = (gap(&row.stack, stacks), gap(&row.after, afters));
        page.put(
            format!("  {}{stack}  {}{after}  {strip}", row.stack, row.after),
            plain(),
        );
    }
}

/// One point for each letter, never a mean.
fn strip(picture: &LayoutPicture, (low, high): (f64, f64), letters: usize, utf8: bool) -> String {
    let count = picture.places.len();
    let letters = letters.min(count);
    let point = |nth: usize| picture.places[(2 * nth + 1) * count / (2 * letters)];
    (0..letters)
        .map(|nth| match point(nth) {
            Some(place) => letter((picture.on_disk(place).1 - low) / (high - low), utf8),
            None => ' ',
        })
        .collect()
}

/// Average size of a device's read in scans, in the order of the phases.
fn scans(page: &mut Page, analysis: &Analysis) {
    let scans: Vec<&PhaseReport> = analysis.phases.iter().filter(|phase| phase.kind == "scan").collect();
    if scans.is_empty() || scans.len() > MOMENTS_MAX {
        return;
    }
    page.blank();
    for stack in &analysis.stacks {
        let sizes: Vec<String> = scans
            .iter()
            .filter_map(|phase| {
                let cell = phase.cells.iter().find(|cell| cell.stack == stack.name)?;
                let size = cell.near.bytes_per_read?;
                Some(format!("{} in {}", bytes(size.median), phase.name))
            })
            .collect();
        if !sizes.is_empty() {
            page.say(
                &format!("  {}, device reads of scans: {}", stack.name, sizes.join(", ")),
                4,
                plain(),
            );
        }
    }
}

fn legend(rows: &[(&Layout, &LayoutMoment)]) -> String {
    let read = rows.first().map_or(0.0, |(_, moment)| moment.multiblock_bytes);
    let block = rows
        .iter()
        .find_map(|(_, moment)| moment.picture.as_ref())
        .map(|picture| picture.block);
    let mut words = format!(
        "  Neighbours lost: pages next to each other in the file and not below{}. Pieces: physical runs that a multiblock read of {} \
         meets.",
        if rows
            .iter()
            .any(|(_, m)| m.adjacency_striped.is_some_and(|share| share.high > 0.0))
        {
            ", but for stripes over disks"
        } else {
            ""
        },
        bytes(read)
    );
    if let Some(block) = block {
        words.push_str(&format!(
            " A strip is the file from its begin to its end (block {}), its height where that part lies: a ramp is in order, \
             noise is scattered.",
            block.saturating_add(1)
        ));
    }
    if rows.iter().any(|(_, moment)| moment.estimated) {
        words.push_str(" Where extents are compressed, neighbours are estimated.");
    }
    words
}

/// A file of which only counts are kept.
fn counts(page: &mut Page, one: &Layout, alone: bool) {
    let count = |figure: Option<crate::Figure>| match figure {
        Some(figure) => whole(figure.median),
        None => "unknown".into(),
    };
    let file = if alone {
        "data file".into()
    } else {
        format!("file {}", one.file)
    };
    page.say(
        &format!(
            "  {}, {file}, extents: {} loaded, {} at the end",
            one.stack,
            count(one.extents_loaded),
            count(one.extents_at_the_end)
        ),
        4,
        plain(),
    );
}

/// What modelled devices counted, a line a phase and stack.
pub(crate) fn modelled(page: &mut Page, analysis: &Analysis) {
    if analysis.modelled.is_empty() {
        return;
    }
    page.title(crate::modelled::TITLE);
    let name = |one: &crate::ModelledDevices| clipped(&escaped(&format!("{}: {}", one.phase, one.stack)), PAIRS_MAX);
    let names: Vec<String> = analysis.modelled.iter().map(name).collect();
    let columns: Vec<Column> = crate::modelled::COLUMNS
        .into_iter()
        .filter_map(|(title, unit, cell)| Column::new(title, unit, analysis.modelled.iter().map(cell).collect()))
        .collect();
    for line in table(&names, &columns, page.width) {
        page.put(line, plain());
    }
}

/// Memory at its highest, a line a stack.
pub(crate) fn memory(page: &mut Page, analysis: &Analysis) {
    if analysis.memory.is_empty() {
        return;
    }
    page.title("Memory at its highest");
    let names: Vec<String> = analysis.memory.iter().map(|one| escaped(&one.stack)).collect();
    let column = |title, unit, cell: &dyn Fn(&crate::MemoryOfStack) -> Option<String>| {
        Column::new(title, unit, analysis.memory.iter().map(cell).collect())
    };
    let columns: Vec<Column> = [
        column("memory", "at most", &|one| Some(bytes(one.bytes_peak))),
        column("of the", "data", &|one| one.of_data().map(percent)),
        column("buffer", "cache", &|one| one.buffer_cache_bytes.map(bytes)),
        column("data", "", &|one| one.data_bytes.map(bytes)),
        column("budget", "", &|one| {
            let held = if one.enforced { "" } else { " not held" };
            one.budget_bytes.map(|budget| format!("{}{held}", bytes(budget)))
        }),
        column("highest in", "", &|one| Some(clipped(&escaped(&one.phase), NAMES_MAX))),
    ]
    .into_iter()
    .flatten()
    .collect();
    for line in table(&names, &columns, page.width) {
        page.put(line, plain());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_is_a_ramp_on_every_disk() {
        // Two disks in turn, each filled from its begin to its end.
        let places = (0..512)
            .map(|n| Some((f64::from(n % 2) + f64::from(n) / 512.0) / 2.0))
            .collect();
        let picture = LayoutPicture {
            block: 0,
            devices: 2,
            places,
            adjacent: Vec::new(),
        };
        assert_eq!(strip(&picture, (0.0, 1.0), 16, true), "▁▁▂▂▃▃▄▄▅▅▆▆▇▇██");
        assert_eq!(strip(&picture, (0.0, 1.0), 8, false), "_.:-=+*#");
        let nowhere = LayoutPicture {
            places: vec![None; 512],
            ..picture
        };
        assert_eq!(strip(&nowhere, (0.0, 1.0), 4, true), "    ");
    }
}
