//! How the data files lie on what is below them: after the load, and after each phase that wrote.
//!
//! Takes the gathered file, gives a [`Layout`] a stack and file with its [`LayoutMoment`]s. Prevents: a fresh layout
//! praised for what an aged one would do, and stripes over disks read as fragmentation.

use crate::figures::{Figure, over};
use crate::format::percent;
use crate::history::{Book, Seen};
use ledger::{FileLayout, FileLayoutRow, NOWHERE, PhaseId};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// How one data file of one stack lay, over blocks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Layout {
    /// The stack.
    pub stack: String,
    /// Where a copy took it; `null`: on the stack itself.
    pub on: Option<String>,
    /// The file by its role: "data 0".
    pub file: String,
    /// Extents after the load.
    pub extents_loaded: Option<Figure>,
    /// Extents after the last phase.
    pub extents_at_the_end: Option<Figure>,
    /// In the order of a trial. Empty in files that kept only counts of extents.
    pub moments: Vec<LayoutMoment>,
}

/// How a file lay at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LayoutMoment {
    /// The phase after which it was looked at; `null`: the load.
    pub after: Option<String>,
    /// Extents as what lies below tells them.
    pub extents: Option<Figure>,
    /// Mean bytes of an extent.
    pub bytes_per_extent: Option<Figure>,
    /// Share of neighbouring pages that are not neighbours below, stripes left out.
    pub adjacency_lost: Option<Figure>,
    /// Share of neighbouring pages that lie on two disks because the file is striped.
    pub adjacency_striped: Option<Figure>,
    /// Bytes of a multiblock read of a scan.
    pub multiblock_bytes: f64,
    /// Physical runs that a multiblock read meets, mean: 1 when no read is broken.
    pub pieces_per_multiblock: Option<Figure>,
    /// Compressed extents, whose ends nobody tells: neighbours are estimated.
    pub estimated: bool,
    /// Of the first and the last moment, as one block saw it.
    pub picture: Option<LayoutPicture>,
}

/// Where a file lay, as one block saw it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LayoutPicture {
    /// The block, from 0.
    pub block: u32,
    /// Disks that the places are of, end to end; 1 where what is below has one address space.
    pub devices: u32,
    /// Places of points evenly spread over the file, each from 0 to 1 over all disks, to one scale for all moments;
    /// `null`: nowhere.
    pub places: Vec<Option<f64>>,
    /// Share of neighbouring pages that are neighbours below, in equal parts of the file.
    pub adjacent: Vec<f64>,
}

impl LayoutMoment {
    /// "load", or the phase.
    pub(crate) fn words(&self) -> &str {
        self.after.as_deref().unwrap_or("load")
    }
}

impl Layout {
    /// Lowest and highest place on its disk that any picture has, from 0 to 1; they differ.
    pub(crate) fn bounds(&self) -> (f64, f64) {
        let pictures = self.moments.iter().filter_map(|moment| moment.picture.as_ref());
        let places =
            pictures.flat_map(|picture| picture.places.iter().flatten().map(|place| picture.on_disk(*place).1));
        let (low, high) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), place| {
            (low.min(place), high.max(place))
        });
        if low < high { (low, high) } else { (0.0, 1.0) }
    }
}

impl LayoutPicture {
    /// The disk of a place, and how far up on it, from 0 to 1.
    pub(crate) fn on_disk(&self, place: f64) -> (f64, f64) {
        let along = place * f64::from(self.devices.max(1));
        // The very end belongs to the last disk.
        let disk = along.floor().min(f64::from(self.devices.max(1) - 1));
        (disk, along - disk)
    }
}

/// Stack, where a copy took it, and file where there are several.
pub(crate) fn place(one: &Layout, alone: bool) -> String {
    let on = one.on.as_ref().map_or(String::new(), |on| format!(" on {on}"));
    let file = if alone {
        String::new()
    } else {
        format!(", {}", one.file)
    };
    format!("{}{on}{file}", one.stack)
}

/// A share of neighbours lost: a few are not none.
pub(crate) fn lost(share: f64) -> String {
    if share > 0.0 && share < 0.0005 {
        "<0.1 %".into()
    } else {
        percent(share)
    }
}

const LOADED: &str = " loaded";
const AT_THE_END: &str = " at the end";

/// By stack in the study's order, then by place and file.
pub(crate) fn layouts(book: &Book) -> Vec<Layout> {
    let mut found = Vec::new();
    for stack in &book.stacks {
        let seen = moments(book, &stack.name);
        if seen.is_empty() {
            found.extend(counted_only(book, &stack.name));
            continue;
        }
        for ((on, file), moments) in seen {
            let home = on.is_none();
            let first = moments.first().filter(|moment| moment.after.is_none());
            found.push(Layout {
                stack: stack.name.clone(),
                extents_loaded: first.and_then(|moment| moment.extents),
                extents_at_the_end: moments.last().filter(|_| home).and_then(|moment| moment.extents),
                on,
                file,
                moments,
            });
        }
    }
    found
}

/// Where a copy took it, and the file.
type Place = (Option<String>, String);
/// By ordinal and name of the phase after which they were taken: block and layout.
type Moments<'a> = BTreeMap<(u32, Option<&'a str>), Vec<(u32, &'a FileLayout)>>;

fn moments<'b>(book: &'b Book, stack: &'b str) -> BTreeMap<Place, Vec<LayoutMoment>> {
    let mut rows: BTreeMap<Place, Moments<'_>> = BTreeMap::new();
    for (block, ran) in book.runs(stack) {
        // Ordinal and name of a phase; the load comes before all.
        let name = |seen: &'b Seen| {
            (
                seen.id,
                (seen.run.ordinal.saturating_add(1), Some(seen.run.name.as_str())),
            )
        };
        let names: BTreeMap<PhaseId, (u32, Option<&str>)> = ran.phases.values().map(name).collect();
        for FileLayoutRow { phase, layout, .. } in book.layouts.of(ran.trial.id) {
            let when = match phase {
                None => Some((0, None)),
                Some(id) => names.get(id).copied(),
            };
            let Some(when) = when else { continue };
            let place = (layout.on_stack.clone(), layout.file.clone());
            let of_place = rows.entry(place).or_default();
            of_place.entry(when).or_default().push((block, layout));
        }
    }
    let whole = |(place, moments): (Place, Moments<'_>)| {
        let last = moments.len() - 1;
        // Pictures to one scale: that of the farthest place of any moment.
        let all = || moments.values().flatten().map(|(_, layout)| layout);
        let span = all().map(|one| one.span_bytes).max().unwrap_or(1);
        let devices = all().map(|one| one.devices).max().unwrap_or(1);
        let moments = moments.iter().enumerate();
        let moments = moments.map(|(nth, ((_, after), of))| {
            let mut moment = moment(*after, of);
            if nth == 0 || nth == last {
                moment.picture = of.first().map(|(block, one)| picture(*block, one, span, devices));
            }
            moment
        });
        (place, moments.collect())
    };
    rows.into_iter().map(whole).collect()
}

fn moment(after: Option<&str>, of: &[(u32, &FileLayout)]) -> LayoutMoment {
    let figure = |value: &dyn Fn(&FileLayout) -> Option<f64>| Figure::of(of.iter().map(|(_, layout)| value(layout)));
    let share = |part: u64, whole: u64| over(Some(part as f64), Some(whole as f64));
    LayoutMoment {
        after: after.map(str::to_string),
        extents: figure(&|one| Some(one.extents as f64)),
        bytes_per_extent: figure(&|one| share(one.bytes, one.extents)),
        adjacency_lost: figure(&|one| share(one.pairs_apart.saturating_sub(one.pairs_striped), one.pairs)),
        adjacency_striped: figure(&|one| share(one.pairs_striped, one.pairs)),
        multiblock_bytes: of.first().map_or(0.0, |(_, one)| one.read_bytes as f64),
        pieces_per_multiblock: figure(&|one| share(one.pieces, one.reads)),
        estimated: of.iter().any(|(_, one)| one.estimated),
        picture: None,
    }
}

fn picture(block: u32, one: &FileLayout, span: u64, devices: u32) -> LayoutPicture {
    let stretch = one.span_bytes as f64 / span.max(1) as f64;
    let place = |raw: &u16| {
        if *raw == NOWHERE {
            return None;
        }
        let along = f64::from(*raw) / f64::from(NOWHERE - 1) * f64::from(one.devices);
        // The very end belongs to the last device.
        let disk = along.floor().min(f64::from(one.devices.max(1) - 1));
        let place = (disk + (along - disk) * stretch) / f64::from(devices.max(1));
        Some((place * 1e4).round() / 1e4)
    };
    LayoutPicture {
        block,
        devices,
        places: one.places.iter().map(place).collect(),
        adjacent: one
            .adjacent
            .iter()
            .map(|share| (f64::from(*share) / 255.0 * 1e3).round() / 1e3)
            .collect(),
    }
}

/// Of a file that kept only counts.
fn counted_only(book: &Book, stack: &str) -> Vec<Layout> {
    let mut files: BTreeMap<&str, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    let rows = book.runs(stack).flat_map(|(_, ran)| book.extents.of(ran.trial.id));
    for row in rows {
        let count = row.summary.extents as f64;
        if let Some(file) = row.summary.file.strip_suffix(LOADED) {
            files.entry(file).or_default().0.push(count);
        } else if let Some(file) = row.summary.file.strip_suffix(AT_THE_END) {
            files.entry(file).or_default().1.push(count);
        }
    }
    let one = |(file, (loaded, ended)): (&str, (Vec<f64>, Vec<f64>))| Layout {
        stack: stack.into(),
        on: None,
        file: file.into(),
        extents_loaded: Figure::of_all(loaded),
        extents_at_the_end: Figure::of_all(ended),
        moments: Vec::new(),
    };
    files.into_iter().map(one).collect()
}
