//! Where everything lies: in a worker's port memory, in the data files and in the redo file.
//!
//! All places are computed here from plain data. Prevents: two parts of the engine that disagree about an offset, and a
//! file or a memory that turns out too small in the middle of a phase.
//!
//! Data file: control area (two blocks of each worker; used in the first file), doublewrite areas (with
//! [`TornPages::Double`]), then whole schemas one after another. Redo file: one thread (a contiguous region) per
//! worker.

use crate::format::shape::{BLOCK_BYTES, Files, Settings, Shape, TornPages};
use targets::FileId;

/// Large requests of loader and recovery kept in flight.
const BULK_CHUNKS: u64 = 8;
const CHUNK_BYTES: u64 = 1 << 20;
const REDO_BUFFER_MAX: u64 = 4 << 20;
/// Every multiblock read that lies inside a schema of whole megabytes then lies inside one stripe or allocation unit.
const DATA_START_ALIGNMENT: u64 = 1 << 20;

fn up(bytes: u64, to: u64) -> u64 {
    bytes.div_ceil(to) * to
}

/// Places of one worker.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) page_bytes: u64,
    pub(crate) pages_per_schema: u32,
    pub(crate) frames: u32,
    pub(crate) staging_at: u64,
    pub(crate) writers: u32,
    pub(crate) redo_buffer_at: [u64; 2],
    pub(crate) redo_buffer_bytes: u64,
    pub(crate) control_at: u64,
    pub(crate) bulk_at: u64,
    pub(crate) bulk_bytes: u64,
    pub(crate) chunk_bytes: u64,
    pub(crate) multiblock_bytes: u64,
    pub(crate) memory: u64,
    pub(crate) worker: u32,
    pub(crate) workers: u32,
    pub(crate) files: Files,
    pub(crate) data_start: u64,
    pub(crate) doublewrite: (FileId, u64),
    pub(crate) redo_at: u64,
    pub(crate) redo_bytes: u64,
}

fn doublewrite_bytes(shape: &Shape, settings: &Settings) -> u64 {
    match settings.torn_pages {
        TornPages::Double => up(u64::from(settings.writers) * u64::from(shape.page_bytes), BLOCK_BYTES),
        TornPages::Log | TornPages::None => 0,
    }
}

fn control_bytes(settings: &Settings) -> u64 {
    u64::from(settings.workers) * 2 * BLOCK_BYTES
}

fn data_start(shape: &Shape, settings: &Settings, files: usize) -> u64 {
    let areas = u64::from(settings.workers).div_ceil(files.max(1) as u64);
    up(
        control_bytes(settings) + areas * doublewrite_bytes(shape, settings),
        DATA_START_ALIGNMENT,
    )
}

impl Layout {
    pub(crate) fn new(shape: &Shape, settings: &Settings, files: &Files, worker: u32) -> Layout {
        let page = u64::from(shape.page_bytes);
        let frames = settings.frames(shape);
        let redo_bytes = settings.redo_thread_bytes();
        let redo_buffer = (redo_bytes / 4 / BLOCK_BYTES * BLOCK_BYTES).min(REDO_BUFFER_MAX);
        let multiblock = u64::from(settings.multiblock_read) * page;
        let chunk = up(
            CHUNK_BYTES.min(shape.schema_bytes()).max(multiblock),
            BLOCK_BYTES.max(page),
        );
        let staging_at = up(frames * page, BLOCK_BYTES);
        let redo_at = up(staging_at + u64::from(settings.writers) * page, BLOCK_BYTES);
        let control_at = redo_at + 2 * redo_buffer;
        let bulk_at = control_at + BLOCK_BYTES;
        let bulk_bytes = (BULK_CHUNKS * chunk).max(redo_buffer);
        let n = files.data.len().max(1);
        let nth_area = u64::from(worker) / n as u64;
        let area = control_bytes(settings) + nth_area * doublewrite_bytes(shape, settings);
        Layout {
            page_bytes: page,
            pages_per_schema: shape.pages_per_schema,
            frames: frames as u32,
            staging_at,
            writers: settings.writers,
            redo_buffer_at: [redo_at, redo_at + redo_buffer],
            redo_buffer_bytes: redo_buffer,
            control_at,
            bulk_at,
            bulk_bytes,
            chunk_bytes: chunk,
            multiblock_bytes: multiblock,
            memory: bulk_at + bulk_bytes,
            worker,
            workers: settings.workers,
            files: files.clone(),
            data_start: data_start(shape, settings, n),
            doublewrite: (files.data.get(worker as usize % n).copied().unwrap_or(FileId(0)), area),
            redo_at: u64::from(worker) * redo_bytes,
            redo_bytes,
        }
    }

    #[inline]
    pub(crate) fn frame_at(&self, frame: u32) -> u64 {
        u64::from(frame) * self.page_bytes
    }

    pub(crate) fn staging(&self, slot: u32) -> u64 {
        self.staging_at + u64::from(slot) * self.page_bytes
    }

    pub(crate) fn bulk_chunks(&self) -> u32 {
        (self.bulk_bytes / self.chunk_bytes) as u32
    }

    /// Multiblock reads that can be in flight.
    pub(crate) fn scan_buffers(&self) -> u32 {
        (self.bulk_bytes / self.multiblock_bytes) as u32
    }

    pub(crate) fn scan_buffer_at(&self, buffer: u32) -> u64 {
        self.bulk_at + u64::from(buffer) * self.multiblock_bytes
    }

    /// File and offset of a page.
    #[inline]
    pub(crate) fn home(&self, schema: u32, page: u32) -> (FileId, u64) {
        let n = self.files.data.len() as u32;
        let schema_bytes = u64::from(self.pages_per_schema) * self.page_bytes;
        let offset = self.data_start + u64::from(schema / n) * schema_bytes + u64::from(page) * self.page_bytes;
        (self.files.data[(schema % n) as usize], offset)
    }

    /// Index of a data file among the data files.
    pub(crate) fn data_index(&self, schema: u32) -> usize {
        schema as usize % self.files.data.len()
    }

    /// Number of a page among the pages of this worker: `(schema, page)` to local.
    #[inline]
    pub(crate) fn local(&self, schema: u32, page: u32) -> u32 {
        schema / self.workers * self.pages_per_schema + page
    }

    /// The reverse of [`Layout::local`].
    #[inline]
    pub(crate) fn address(&self, local: u32) -> (u32, u32) {
        let schema = local / self.pages_per_schema * self.workers + self.worker;
        (schema, local % self.pages_per_schema)
    }

    /// Place of one of the worker's two control blocks.
    pub(crate) fn control(&self, slot: u64) -> (FileId, u64) {
        (self.files.data[0], (u64::from(self.worker) * 2 + slot) * BLOCK_BYTES)
    }
}

/// Schemas of a worker.
pub(crate) fn schemas_of(shape: &Shape, workers: u32, worker: u32) -> u32 {
    shape.schemas / workers + u32::from(worker < shape.schemas % workers)
}

/// Bytes that each of `files` data files must hold: control area, doublewrite areas and its schemas.
pub fn data_file_bytes(shape: &Shape, settings: &Settings, files: usize) -> Vec<u64> {
    let n = files.max(1) as u64;
    let start = data_start(shape, settings, files);
    let schemas = u64::from(shape.schemas);
    (0..n)
        .map(|f| start + (schemas / n + u64::from(f < schemas % n)) * shape.schema_bytes())
        .collect()
}

/// Bytes that the redo file must hold.
pub fn redo_file_bytes(settings: &Settings) -> u64 {
    settings.redo_thread_bytes() * u64::from(settings.workers)
}

/// Bytes of port memory that each worker's port must be opened with: its share of the cache, write staging, redo
/// buffers and buffers of large reads.
pub fn memory_bytes(shape: &Shape, settings: &Settings) -> u64 {
    Layout::new(
        shape,
        settings,
        &Files {
            data: vec![FileId(0)],
            redo: FileId(1),
        },
        0,
    )
    .memory
}

/// Bytes of the engine's own maps outside port memory, for the whole instance: 8 bytes and
/// a bit per page of data, 48 per frame.
pub fn map_bytes(shape: &Shape, settings: &Settings) -> u64 {
    shape.pages() * 8 + shape.pages().div_ceil(8) + settings.frames(shape) * u64::from(settings.workers) * 48
}

/// Requests that a worker's port should take at once: what `sessions` of it read with `outstanding` reads each, and
/// what the writers, the log and flushes need beside them. A smaller port works; reads then wait inside the engine.
pub fn depth(settings: &Settings, files: usize, sessions: u32, outstanding: u32) -> usize {
    reserved(settings, files) + (sessions.max(1) as usize * outstanding.max(1) as usize).max(BULK_CHUNKS as usize)
}

/// Requests kept free for everything but reads.
pub(crate) fn reserved(settings: &Settings, files: usize) -> usize {
    settings.writers as usize + files.max(1) + 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_do_not_overlap_and_stay_inside_the_files() {
        let shape = Shape {
            page_bytes: 2048,
            schemas: 7,
            pages_per_schema: 13,
            seed: 1,
            compressibility: 1.0,
            duplication: 0.0,
        };
        let settings = Settings {
            cache_bytes: 1 << 20,
            multiblock_read: 4,
            torn_pages: TornPages::Double,
            checkpoint_ns: 1,
            writers: 5,
            redo_bytes: 1 << 20,
            workers: 3,
        };
        let files = Files {
            data: vec![FileId(0), FileId(1)],
            redo: FileId(2),
        };
        let sizes = data_file_bytes(&shape, &settings, 2);
        let mut taken = std::collections::BTreeMap::new();
        let mut claim = |file: FileId, from: u64, len: u64| {
            assert!(from + len <= sizes[file.0 as usize]);
            assert!(taken.insert((file, from), len).is_none());
        };
        for worker in 0..3 {
            let layout = Layout::new(&shape, &settings, &files, worker);
            for slot in 0..2 {
                let (file, at) = layout.control(slot);
                claim(file, at, BLOCK_BYTES);
            }
            claim(layout.doublewrite.0, layout.doublewrite.1, 5 * 2048);
            for schema in (worker..7).step_by(3) {
                for page in 0..13 {
                    assert_eq!(layout.address(layout.local(schema, page)), (schema, page));
                    let (file, at) = layout.home(schema, page);
                    claim(file, at, 2048);
                }
            }
            assert_eq!(schemas_of(&shape, 3, worker), (worker..7).step_by(3).count() as u32);
            assert!(layout.memory <= memory_bytes(&shape, &settings));
        }
        let mut end = (FileId(0), 0);
        for ((file, at), len) in taken {
            assert!(file != end.0 || at >= end.1, "overlap at {at} of {file:?}");
            end = (file, at + len);
        }
    }
}
