//! From the extents of a data file to what the result file keeps of them: counts and a small picture.
//!
//! Takes the extents that a port tells, and where the pages are; gives a [`FileLayout`]. Pure arithmetic, in the
//! number of extents. Prevents: two extents that touch counted as a break (a file system may cut a run wherever it
//! likes), and a stripe of a disk group taken for fragmentation.

use crate::sizes::Sizes;
use anyhow::Context;
use ledger::{BUCKETS, FileLayout, NOWHERE, PLACES};
use pages::Files;
use targets::{Extent, FileId, Port};

/// Bits of a disk group's physical addresses below the number of the disk.
const DISK_SHIFT: u32 = 48;

/// Where the pages of a data file are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pages {
    /// First byte of the first schema.
    begin: u64,
    /// Bytes of a schema.
    schema: u64,
    /// Schemas in the file.
    schemas: u64,
    page: u64,
    /// Bytes of a multiblock read; the first of a schema begins where the schema does.
    read: u64,
}

impl Pages {
    /// Of each of `files` data files.
    pub(crate) fn of(sizes: &Sizes, files: usize) -> Vec<Pages> {
        let (shape, n) = (&sizes.shape, files.max(1) as u64);
        let all = u64::from(shape.schemas);
        let bytes = pages::data_file_bytes(shape, &sizes.settings, files);
        let one = |(nth, bytes): (u64, u64)| {
            let schemas = all / n + u64::from(nth < all % n);
            Pages {
                begin: bytes - schemas * shape.schema_bytes(),
                schema: shape.schema_bytes(),
                schemas,
                page: u64::from(shape.page_bytes),
                read: u64::from(sizes.settings.multiblock_read) * u64::from(shape.page_bytes),
            }
        };
        (0..n).zip(bytes).map(one).collect()
    }

    fn end(&self) -> u64 {
        self.begin + self.schema * self.schemas
    }

    fn pages(&self) -> u64 {
        (self.end() - self.begin) / self.page
    }

    /// True when a break at this offset falls inside a multiblock read.
    fn breaks_a_read(&self, offset: u64) -> bool {
        let inside = (offset - self.begin) % self.schema;
        inside != 0 && !inside.is_multiple_of(self.read)
    }
}

/// The data files of one place, to be looked at again and again.
#[derive(Clone, Debug)]
pub(crate) struct DataFiles {
    files: Vec<(FileId, Pages)>,
    grouped: bool,
    /// The stack that they are on, when it is not the trial's own.
    on: Option<String>,
}

impl DataFiles {
    pub(crate) fn new(files: &Files, sizes: &Sizes, grouped: bool, on: Option<String>) -> DataFiles {
        let pages = Pages::of(sizes, files.data.len());
        DataFiles {
            files: files.data.iter().copied().zip(pages).collect(),
            grouped,
            on,
        }
    }

    /// How they lie now; nothing where it can't be told (raw devices, models).
    pub(crate) fn look<P: Port + ?Sized>(&self, port: &P) -> anyhow::Result<Vec<FileLayout>> {
        let mut found = Vec::new();
        for (number, (file, pages)) in self.files.iter().enumerate() {
            let extents = port.extents(*file).context("where the data lies")?;
            let layout = laid_out(&extents, pages, format!("data {number}"), self.grouped);
            found.extend(layout.map(|layout| FileLayout {
                on_stack: self.on.clone(),
                ..layout
            }));
        }
        Ok(found)
    }
}

/// A run of bytes that follow each other in the file and below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    from: u64,
    to: u64,
    physical: u64,
}

/// What the runs of a file lie on.
struct Below {
    /// Addresses are a disk group's.
    grouped: bool,
    devices: u64,
    /// From the first byte of a device to the last that is used of any.
    span: u64,
}

impl Below {
    fn of(runs: &[Run], grouped: bool) -> Below {
        let mut below = Below {
            grouped,
            devices: 1,
            span: 1,
        };
        for run in runs {
            below.devices = below.devices.max(below.disk(run.physical) + 1);
            below.span = below.span.max(below.offset(run.physical) + (run.to - run.from));
        }
        below
    }

    fn disk(&self, physical: u64) -> u64 {
        if self.grouped { physical >> DISK_SHIFT } else { 0 }
    }

    fn offset(&self, physical: u64) -> u64 {
        match self.grouped {
            true => physical & ((1 << DISK_SHIFT) - 1),
            false => physical,
        }
    }

    /// A place in the picture, device after device.
    fn place(&self, physical: u64) -> u16 {
        let on_device = self.offset(physical) as f64 / self.span as f64;
        let place = (self.disk(physical) as f64 + on_device) / self.devices as f64;
        (place * f64::from(NOWHERE - 1)).round() as u16
    }
}

/// How a file lies; `None` when nothing of its pages has a place. `grouped`: the addresses are a disk group's.
pub(crate) fn laid_out(extents: &[Extent], pages: &Pages, file: String, grouped: bool) -> Option<FileLayout> {
    let runs = runs(extents, pages);
    if runs.is_empty() || pages.pages() == 0 {
        return None;
    }
    let below = Below::of(&runs, grouped);
    let mut reads = pages.schema / pages.read + u64::from(!pages.schema.is_multiple_of(pages.read));
    reads *= pages.schemas;
    let broken = runs.windows(2).filter(|pair| pages.breaks_a_read(pair[1].from)).count();
    let mut neighbours = neighbours(&runs, pages);
    let together: u64 = neighbours.iter().map(|(together, _)| together).sum();
    let pairs = pages.pages() - 1;
    let pairs_apart = pairs - together.min(pairs);
    let pairs_striped = striped(&runs, pages, &below, &mut neighbours).min(pairs_apart);
    Some(FileLayout {
        on_stack: None,
        file,
        bytes: runs.iter().map(|run| run.to - run.from).sum(),
        extents: extents.len() as u64,
        runs: runs.len() as u64,
        page_bytes: pages.page,
        pairs,
        pairs_apart,
        pairs_striped,
        read_bytes: pages.read,
        reads,
        pieces: reads + broken as u64,
        estimated: extents.iter().any(|extent| extent.packed),
        devices: below.devices as u32,
        span_bytes: below.span,
        places: places(&runs, pages, &below),
        adjacent: neighbours
            .iter()
            .map(|(together, all)| if *all == 0 { 255 } else { (together * 255 / all) as u8 })
            .collect(),
    })
}

/// Pairs of pages that a stripe sets apart; `neighbours`, for a picture of what was torn apart, has them together.
fn striped(runs: &[Run], pages: &Pages, below: &Below, neighbours: &mut [(u64, u64)]) -> u64 {
    let mut striped = 0;
    for pair in runs.windows(2) {
        let at = pair[1].from;
        let inside = (at - pages.begin) % pages.page;
        if inside == 0 && pair[0].to == at && below.disk(pair[0].physical) != below.disk(pair[1].physical) {
            striped += 1;
            neighbours[bucket_of((at - pages.begin) / pages.page - 1, pages)].0 += 1;
        }
    }
    striped
}

/// Where evenly spread points of the file lie.
fn places(runs: &[Run], pages: &Pages, below: &Below) -> Vec<u16> {
    let bytes = pages.end() - pages.begin;
    let place = |n: u64| {
        let at = pages.begin + (u128::from(2 * n + 1) * u128::from(bytes) / (2 * PLACES as u128)) as u64;
        let run = runs[..runs.partition_point(|run| run.from <= at)].last();
        run.filter(|run| at < run.to)
            .map_or(NOWHERE, |run| below.place(run.physical + (at - run.from)))
    };
    (0..PLACES as u64).map(place).collect()
}

/// Runs inside the pages, in the order of the file.
fn runs(extents: &[Extent], pages: &Pages) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut before: Option<&Extent> = None;
    for extent in extents {
        let from = extent.logical.max(pages.begin);
        let to = (extent.logical + extent.length).min(pages.end());
        if from >= to {
            continue;
        }
        // Of compressed bytes nobody tells how long they are below, only that they are not longer than above.
        let follows = before.is_some_and(|before| {
            let far = extent.physical.wrapping_sub(before.physical);
            before.logical + before.length == extent.logical
                && (far == before.length || before.packed && far > 0 && far < before.length)
        });
        match runs.last_mut() {
            Some(last) if follows && last.to == from => last.to = to,
            _ => runs.push(Run {
                from,
                to,
                physical: extent.physical + (from - extent.logical),
            }),
        }
        before = Some(extent);
    }
    runs
}

/// First page of a part of the file whose pair with its follower is counted there.
fn begin_of(bucket: u64, pages: &Pages) -> u64 {
    (bucket * pages.pages()).div_ceil(BUCKETS as u64).min(pages.pages() - 1)
}

/// The part in which a page's pair with its follower is counted.
fn bucket_of(page: u64, pages: &Pages) -> usize {
    (page * BUCKETS as u64 / pages.pages()) as usize
}

/// Of each part of the file: pairs of neighbouring pages that lie in one run, and all that begin in it.
fn neighbours(runs: &[Run], pages: &Pages) -> Vec<(u64, u64)> {
    let pairs = pages.pages() - 1;
    let begin = |bucket: u64| begin_of(bucket, pages);
    debug_assert_eq!(begin(BUCKETS as u64), pairs);
    let mut found: Vec<(u64, u64)> = (0..BUCKETS as u64).map(|b| (0, begin(b + 1) - begin(b))).collect();
    let mut bucket = 0;
    for run in runs {
        // Whole pages of the run; a page that is itself broken is nobody's neighbour.
        let first = (run.from - pages.begin).div_ceil(pages.page);
        let end = (run.to - pages.begin) / pages.page;
        let mut at = first;
        while at + 1 < end {
            while begin(bucket + 1) <= at {
                bucket += 1;
            }
            let upto = begin(bucket + 1).min(end - 1);
            found[bucket as usize].0 += upto - at;
            at = upto;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: Pages = Pages {
        begin: 1 << 20,
        schema: 1 << 20,
        schemas: 8,
        page: 8192,
        read: 131_072,
    };

    fn extent(logical: u64, physical: u64, length: u64) -> Extent {
        Extent {
            logical,
            physical,
            length,
            unwritten: false,
            packed: false,
        }
    }

    #[test]
    fn extents_that_touch_are_one_run() {
        let extents = [extent(0, 5 << 20, 3 << 20), extent(3 << 20, 8 << 20, 6 << 20)];
        let found = laid_out(&extents, &PAGES, "data 0".into(), false).unwrap();
        assert_eq!(
            (found.extents, found.runs, found.pairs, found.pairs_apart),
            (2, 1, 1023, 0)
        );
        assert_eq!((found.reads, found.pieces, found.bytes), (64, 64, 8 << 20));
        assert!(found.adjacent.iter().all(|share| *share == 255));
        assert!(found.places.windows(2).all(|pair| pair[0] < pair[1]), "a ramp");
        assert_eq!(found.places.len(), PLACES);
        // The first point lies half a step behind the first page, on a device that ends where the file does.
        let wanted = (6.0 * 1024.0 * 1024.0 + 8192.0) / (14.0 * 1024.0 * 1024.0) * 65_534.0;
        assert!((f64::from(found.places[0]) - wanted).abs() < 1.0, "{}", found.places[0]);
    }

    #[test]
    fn every_page_elsewhere_breaks_every_read() {
        let pages = 1024;
        let place = |page: u64| (page * 389 % pages) * 16_384;
        let extents: Vec<Extent> = (0..pages)
            .map(|n| extent((1 << 20) + n * 8192, place(n), 8192))
            .collect();
        let found = laid_out(&extents, &PAGES, "data 0".into(), false).unwrap();
        assert_eq!((found.runs, found.pairs_apart, found.pairs_striped), (1024, 1023, 0));
        assert_eq!(found.pieces, 1024, "16 pieces a read");
        assert!(found.adjacent.iter().all(|share| *share == 0));
    }

    #[test]
    fn striping_is_told_from_fragmentation() {
        // Units of 1 MiB round four disks; unit 6 was moved elsewhere on its own disk.
        let extents: Vec<Extent> = (0..9u64)
            .map(|unit| {
                let row = if unit == 6 { 50 } else { unit / 4 };
                extent(unit << 20, (unit % 4) << DISK_SHIFT | row << 20, 1 << 20)
            })
            .collect();
        let found = laid_out(&extents, &PAGES, "data 0".into(), true).unwrap();
        assert_eq!(
            (found.devices, found.runs, found.pairs_apart, found.pairs_striped),
            (4, 8, 7, 7)
        );
        assert_eq!(found.pieces, found.reads, "no read crosses a unit");
        assert_eq!(found.span_bytes, 51 << 20);
        assert!(
            found.adjacent.iter().all(|share| *share == 255),
            "nothing was torn apart"
        );
    }

    #[test]
    fn reads_begin_where_their_schema_does() {
        // Schemas of 24 pages: a full read and one of 8 pages each.
        let pages = Pages {
            begin: 0,
            schema: 24 * 8192,
            schemas: 4,
            page: 8192,
            read: 131_072,
        };
        // Breaks at the border of a schema, at the border of a read, and inside one, amid a page.
        let cuts = [0, 24 * 8192, 40 * 8192, 50 * 8192 + 4096, 96 * 8192];
        let extents: Vec<Extent> = cuts
            .windows(2)
            .enumerate()
            .map(|(nth, cut)| extent(cut[0], (4 - nth as u64) << 30, cut[1] - cut[0]))
            .collect();
        let found = laid_out(&extents, &pages, "data 0".into(), false).unwrap();
        assert_eq!((found.reads, found.pieces), (8, 9));
        // The broken page is a neighbour of neither side.
        assert_eq!((found.pairs, found.pairs_apart), (95, 4));
    }

    #[test]
    fn compressed_neighbours_begin_within_their_length() {
        let packed = |logical, physical| Extent {
            packed: true,
            ..extent(logical, physical, 131_072)
        };
        let (a, b) = (1 << 20, (1 << 20) + 131_072);
        let close = laid_out(&[packed(a, 0), packed(b, 40_960)], &PAGES, "d".into(), false).unwrap();
        assert_eq!((close.runs, close.estimated), (1, true));
        let far = laid_out(&[packed(a, 0), packed(b, 1 << 30)], &PAGES, "d".into(), false).unwrap();
        assert_eq!(far.runs, 2);
    }

    #[test]
    fn nothing_is_nothing() {
        assert_eq!(laid_out(&[], &PAGES, "d".into(), false), None);
        assert_eq!(laid_out(&[extent(0, 7, 1 << 20)], &PAGES, "d".into(), false), None);
        let holed = laid_out(&[extent(2 << 20, 0, 1 << 20)], &PAGES, "d".into(), false).unwrap();
        assert_eq!(holed.places[0], NOWHERE);
    }
}
