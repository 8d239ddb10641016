//! How the data files lie on what is below them at one moment: counts, and a small picture of each file.
//!
//! Takes and gives [`FileLayout`]. A list of extents may have a hundred thousand rows; this is what a report needs of
//! it, in two kilobytes. Prevents: fragmentation that is claimed and cannot be looked at, and a result file that is
//! mostly extents.
//!
//! ## The picture
//!
//! `places` holds [`PLACES`] times 16 bits, little-endian: the physical place of as many points, evenly spread over
//! the file ((n + 1/2) / [`PLACES`] of its length). All devices stand end to end, each `span_bytes` long, and a
//! place is its share of the whole times 65,534; 65,535 is a point without a place. `adjacent` holds [`BUCKETS`]
//! bytes: of the neighbouring pages that begin in each of as many equal parts of the file the share that are
//! neighbours below too, times 255; a pair that lies on two devices by striping counts as neighbours here.

use super::columns::columns;
use super::keys::{PhaseId, TrialId};
use rusqlite::types::{ToSqlOutput, Type};
use rusqlite::{Error, Row};

/// Points of the picture.
pub const PLACES: usize = 512;
/// Parts of the file whose neighbours are counted apart.
pub const BUCKETS: usize = 256;
/// Most devices that a stack stands on: a band is drawn for each.
const DEVICES_MAX: u32 = 1024;
/// In [`FileLayout::places`]: this point of the file lies nowhere.
pub const NOWHERE: u16 = u16::MAX;

/// One data file at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLayout {
    /// The stack on which it lies, when a copy took it to another than the trial's own.
    pub on_stack: Option<String>,
    /// The file by its role: "data 0".
    pub file: String,
    /// Bytes of pages in it.
    pub bytes: u64,
    /// Extents as what lies below tells them.
    pub extents: u64,
    /// Runs of bytes that follow each other both in the file and below: neighbouring extents that touch are one run.
    pub runs: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pairs of neighbouring pages.
    pub pairs: u64,
    /// Of these, pairs that are not neighbours below.
    pub pairs_apart: u64,
    /// Of those apart, pairs that lie on two devices, as striping wants it.
    pub pairs_striped: u64,
    /// Bytes of a multiblock read.
    pub read_bytes: u64,
    /// Multiblock reads that one scan of the whole file takes.
    pub reads: u64,
    /// Runs that these reads meet, all together: `reads` when no read is broken.
    pub pieces: u64,
    /// What is below does not tell where its compressed extents end: a neighbour is one that begins within the
    /// uncompressed length.
    pub estimated: bool,
    /// Devices that `places` speaks of; 1 where what is below has one address space, however many devices it has.
    pub devices: u32,
    /// Bytes of a device up to the highest place that any file of the stack has.
    pub span_bytes: u64,
    /// Places, see above.
    pub places: Vec<u16>,
    /// Shares of neighbours, see above.
    pub adjacent: Vec<u8>,
}

/// A [`FileLayout`] as read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLayoutRow {
    /// The trial.
    pub trial: TrialId,
    /// The phase after which it was taken; `None`: after the load.
    pub phase: Option<PhaseId>,
    /// The layout.
    pub layout: FileLayout,
}

columns!(FileLayout: on_stack, file, bytes, extents, runs, page_bytes, pairs, pairs_apart, pairs_striped, read_bytes,
    reads, pieces, estimated, devices as some_devices, span_bytes, places as points, adjacent as parts);

/// Devices that a picture has bands for.
mod some_devices {
    use super::{DEVICES_MAX, Row, ToSqlOutput, none_of_ours};

    pub(crate) fn put(devices: &u32) -> ToSqlOutput<'_> {
        (*devices).into()
    }

    pub(crate) fn get(row: &Row<'_>, nth: usize) -> rusqlite::Result<u32> {
        let devices = row.get(nth)?;
        match devices > DEVICES_MAX {
            true => Err(none_of_ours(nth, &format!("{devices} devices"))),
            false => Ok(devices),
        }
    }
}

/// Places, 16 bits each.
mod points {
    use super::{PLACES, Row, ToSqlOutput, blob};

    pub(crate) fn put(places: &[u16]) -> ToSqlOutput<'_> {
        places
            .iter()
            .flat_map(|place| place.to_le_bytes())
            .collect::<Vec<u8>>()
            .into()
    }

    pub(crate) fn get(row: &Row<'_>, nth: usize) -> rusqlite::Result<Vec<u16>> {
        let pairs = blob(row, nth, 4 * PLACES)?;
        Ok(pairs
            .chunks_exact(2)
            .map(|two| u16::from_le_bytes([two[0], two[1]]))
            .collect())
    }
}

/// Shares of neighbours, 8 bits each.
mod parts {
    use super::{BUCKETS, Row, ToSqlOutput, blob};

    pub(crate) fn put(shares: &[u8]) -> ToSqlOutput<'_> {
        shares.to_vec().into()
    }

    pub(crate) fn get(row: &Row<'_>, nth: usize) -> rusqlite::Result<Vec<u8>> {
        Ok(blob(row, nth, 2 * BUCKETS)?.to_vec())
    }
}

fn blob<'a>(row: &'a Row<'_>, nth: usize, most: usize) -> rusqlite::Result<&'a [u8]> {
    let bytes = row.get_ref(nth)?.as_blob()?;
    match bytes.len() > most {
        true => Err(none_of_ours(nth, &format!("{} bytes", bytes.len()))),
        false => Ok(bytes),
    }
}

fn none_of_ours(nth: usize, what: &str) -> Error {
    Error::FromSqlConversionFailure(
        nth,
        Type::Integer,
        format!("a picture of {what} is none of ours").into(),
    )
}
