//! How the data files lie on what is below them at one moment: counts, and a small picture of each file.
//!
//! Takes and gives [`FileLayout`]. A list of extents may have a hundred thousand rows; this is what a report needs of it, in
//! two kilobytes. Prevents: fragmentation that is claimed and cannot be looked at, and a result file that is mostly extents.
//!
//! ## The picture
//!
//! `places` holds [`PLACES`] times 16 bits, little-endian: the physical place of as many points, evenly spread over the file
//! ((n + 1/2) / [`PLACES`] of its length). All devices stand end to end, each `span_bytes` long, and a place is its share of the
//! whole times 65,534; 65,535 is a point without a place. `adjacent` holds [`BUCKETS`] bytes: of the neighbouring pages that
//! begin in each of as many equal parts of the file the share that are neighbours below too, times 255; a pair that lies on two
//! devices by striping counts as neighbours here.

use crate::error::LedgerError;
use crate::file::Ledger;
use crate::rows::{PhaseId, TrialId};
use rusqlite::types::Type;
use rusqlite::{Connection, Error, params};

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
    pub on: Option<String>,
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
    /// What is below does not tell where its compressed extents end: a neighbour is one that begins within the uncompressed length.
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

/// The table that version 3 added.
pub(crate) const TABLE: &str = "
CREATE TABLE IF NOT EXISTS file_layout (
    trial INTEGER NOT NULL REFERENCES trial(id), phase INTEGER REFERENCES phase(id), on_stack TEXT, file TEXT NOT NULL,
    bytes INTEGER NOT NULL, extents INTEGER NOT NULL, runs INTEGER NOT NULL, page_bytes INTEGER NOT NULL,
    pairs INTEGER NOT NULL, pairs_apart INTEGER NOT NULL, pairs_striped INTEGER NOT NULL, read_bytes INTEGER NOT NULL,
    reads INTEGER NOT NULL, pieces INTEGER NOT NULL, estimated INTEGER NOT NULL, devices INTEGER NOT NULL,
    span_bytes INTEGER NOT NULL, places BLOB NOT NULL, adjacent BLOB NOT NULL);
";

impl Ledger {
    /// Records how files lie outside a phase: after the load.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of writing.
    pub fn layouts_of(&mut self, trial: TrialId, layouts: &[FileLayout]) -> Result<(), LedgerError> {
        self.act("record how files lie", |connection| {
            insert(connection, trial, None, layouts)
        })
    }

    /// How files lay, in the order recorded; nothing in a file of a version that knew no such table.
    ///
    /// # Errors
    /// [`LedgerError`], as every act of reading.
    pub fn layouts(&self) -> Result<Vec<FileLayoutRow>, LedgerError> {
        let there = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'file_layout'";
        if self.rows(there, (), |row| row.get::<_, i64>(0))?.first() != Some(&1) {
            return Ok(Vec::new());
        }
        let sql = "SELECT trial, phase, on_stack, file, bytes, extents, runs, page_bytes, pairs, pairs_apart, pairs_striped,
            read_bytes, reads, pieces, estimated, devices, span_bytes, places, adjacent FROM file_layout ORDER BY rowid";
        self.rows(sql, (), |row| {
            let drawn: [usize; 2] = [17, 18].map(|nth| {
                row.get_ref(nth)
                    .map_or(0, |value| value.as_blob().map_or(0, <[u8]>::len))
            });
            let devices: u32 = row.get(15)?;
            if devices > DEVICES_MAX || drawn[0] > 4 * PLACES || drawn[1] > 2 * BUCKETS {
                let why = format!(
                    "a picture of {devices} devices, {} and {} bytes is none of ours",
                    drawn[0], drawn[1]
                );
                return Err(Error::FromSqlConversionFailure(15, Type::Integer, why.into()));
            }
            Ok(FileLayoutRow {
                trial: TrialId(row.get(0)?),
                phase: row.get::<_, Option<i64>>(1)?.map(PhaseId),
                layout: FileLayout {
                    on: row.get(2)?,
                    file: row.get(3)?,
                    bytes: row.get(4)?,
                    extents: row.get(5)?,
                    runs: row.get(6)?,
                    page_bytes: row.get(7)?,
                    pairs: row.get(8)?,
                    pairs_apart: row.get(9)?,
                    pairs_striped: row.get(10)?,
                    read_bytes: row.get(11)?,
                    reads: row.get(12)?,
                    pieces: row.get(13)?,
                    estimated: row.get(14)?,
                    devices,
                    span_bytes: row.get(16)?,
                    places: places(&row.get::<_, Vec<u8>>(17)?),
                    adjacent: row.get(18)?,
                },
            })
        })
    }
}

fn places(blob: &[u8]) -> Vec<u16> {
    blob.chunks_exact(2)
        .map(|two| u16::from_le_bytes([two[0], two[1]]))
        .collect()
}

pub(crate) fn insert(
    connection: &Connection,
    trial: TrialId,
    phase: Option<PhaseId>,
    layouts: &[FileLayout],
) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO file_layout VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
    )?;
    for one in layouts {
        let places: Vec<u8> = one.places.iter().flat_map(|place| place.to_le_bytes()).collect();
        insert.execute(params![
            trial.0,
            phase.map(|id| id.0),
            one.on,
            one.file,
            one.bytes,
            one.extents,
            one.runs,
            one.page_bytes,
            one.pairs,
            one.pairs_apart,
            one.pairs_striped,
            one.read_bytes,
            one.reads,
            one.pieces,
            one.estimated,
            one.devices,
            one.span_bytes,
            places,
            one.adjacent,
        ])?;
    }
    Ok(())
}
