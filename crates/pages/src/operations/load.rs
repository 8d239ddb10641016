//! The loader: fills a new database with large sequential writes, several in flight.
//!
//! Order matters: old control blocks are destroyed first and the new one is written last, so that a load that was cut
//! short is no database. The redo log is filled with incompressible bytes, so that neither a first write into it nor an
//! old database's batches in it can be met later.

use crate::engine::worker::{Ready, Region, Worker};
use crate::error::PagesError;
use crate::format::content::mix;
use crate::format::shape::BLOCK_BYTES;
use crate::purpose::Purpose;
use std::ops::ControlFlow;
use targets::{Op, Port};

/// What a chunk is filled with.
#[derive(Clone, Copy)]
enum Fill {
    /// Pages of this schema from this page.
    Pages { schema: u32, page: u32 },
    /// Bytes that are no redo.
    Redo { offset: u64 },
}

impl<P: Port> Worker<P> {
    /// Loads this worker's schemas and prepares its redo thread. `advance` hears of bytes written, and
    /// may end the load.
    pub(crate) fn load(&mut self, advance: &mut dyn FnMut(u64) -> ControlFlow<()>) -> Result<(), PagesError> {
        let at = self.layout.control_at;
        self.port.bytes_mut(at, BLOCK_BYTES as usize).fill(0);
        for slot in 0..2 {
            self.bulk(Op::Write, self.layout.control(slot), at, BLOCK_BYTES)?;
        }
        self.flush_all()?;
        let mut free: Vec<u32> = (0..self.layout.bulk_chunks()).collect();
        let chunk = self.layout.chunk_bytes;
        let schemas = (self.layout.worker..self.shape.schemas).step_by(self.layout.workers as usize);
        for schema in schemas {
            let mut offset = 0;
            while offset < self.shape.schema_bytes() {
                let len = chunk.min(self.shape.schema_bytes() - offset);
                let page = (offset / self.layout.page_bytes) as u32;
                let place = self.layout.home(schema, page);
                self.load_chunk(
                    &mut free,
                    Fill::Pages { schema, page },
                    Region::new(place, len),
                    advance,
                )?;
                offset += len;
            }
        }
        let mut offset = 0;
        while offset < self.layout.redo_bytes {
            let len = chunk.min(self.layout.redo_bytes - offset);
            let place = (self.layout.files.redo, self.layout.redo_at + offset);
            self.load_chunk(&mut free, Fill::Redo { offset }, Region::new(place, len), advance)?;
            offset += len;
        }
        while free.len() < self.layout.bulk_chunks() as usize {
            self.chunk_done(&mut free, advance)?;
        }
        self.flush_all()?;
        self.record_now()
    }

    fn load_chunk(
        &mut self,
        free: &mut Vec<u32>,
        fill: Fill,
        region: Region,
        advance: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(), PagesError> {
        let chunk = loop {
            match free.pop() {
                Some(chunk) => break chunk,
                None => self.chunk_done(free, advance)?,
            }
        };
        let at = self.layout.bulk_at + u64::from(chunk) * self.layout.chunk_bytes;
        let (content, database, page_bytes) = (self.content, self.database, self.layout.page_bytes as usize);
        let bytes = self.port.bytes_mut(at, region.len as usize);
        match fill {
            Fill::Pages { schema, page } => {
                for (nth, bytes) in bytes.chunks_exact_mut(page_bytes).enumerate() {
                    content.load(bytes, schema, page + nth as u32, database);
                }
            }
            Fill::Redo { offset } => {
                for (nth, word) in bytes.chunks_exact_mut(8).enumerate() {
                    word.copy_from_slice(&mix(database ^ (offset + nth as u64 * 8)).to_le_bytes());
                }
            }
        }
        self.places[chunk as usize] = region;
        self.submit(Op::Write, region, at, Purpose::Bulk(chunk))
    }

    fn chunk_done(
        &mut self,
        free: &mut Vec<u32>,
        advance: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(), PagesError> {
        self.poll(1, None)?;
        while let Some(ready) = self.ready.pop() {
            if let Ready::Bulk { chunk } = ready {
                free.push(chunk);
                if advance(u64::from(self.places[chunk as usize].len)).is_break() {
                    return Err(PagesError::Interrupted);
                }
            }
        }
        Ok(())
    }
}
