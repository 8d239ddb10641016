//! SLOB's parameters as plain data, and whether they can run in a given shape with given settings.
//!
//! Prevents: a phase that starts and then can never go on, because its sessions hold more pages than the cache has or
//! write larger transactions than the log takes.

use crate::engine::commit::record_bytes_max;
use crate::engine::log::Log;
use crate::error::PagesError;
use crate::format::layout::Layout;
use crate::format::shape::{Files, Settings, Shape};
use targets::FileId;

/// SLOB's parameters for one phase. Think time and open arrival belong to the driver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomWork {
    /// Percent of operations that update: 0 to 50, or 100.
    pub update_pct: u32,
    /// Percent of operations that are scans of the start of the schema.
    pub scan_pct: u32,
    /// Bytes of such a scan.
    pub scan_table_bytes: u64,
    /// Sessions in all, shared out over the workers.
    pub sessions: u32,
    /// Pages an operation touches.
    pub work_unit: u32,
    /// Operations per session; 0: until the driver stops.
    pub work_loop: u64,
    /// Updates change 19 columns (heavy) instead of 2 (lite).
    pub heavy: bool,
    /// Reads a session keeps in flight.
    pub outstanding: u32,
    /// Hot spot inside each schema, if any.
    pub hotspot: Option<Hotspot>,
    /// Every how many operations of a session goes to the first schema, whatever schema it serves; 0: none.
    pub hot_schema_frequency: u32,
}

/// A range of each schema that is worked on more often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hotspot {
    /// Bytes of the range.
    pub bytes: u64,
    /// Where it starts.
    pub offset: u64,
    /// Every how many operations of a session goes there.
    pub frequency: u32,
}

impl RandomWork {
    /// A schema belongs to one worker.
    fn check_hot_schema(&self, settings: &Settings) -> Result<(), PagesError> {
        if self.hot_schema_frequency > 0 && settings.workers > 1 {
            return Err(PagesError::settings(
                format!(
                    "a hot schema with {} workers: a schema belongs to one worker, which would do its own work and \
                     everybody's",
                    settings.workers
                ),
                "use one worker, or no hot schema",
            ));
        }
        Ok(())
    }

    /// Refuses what can't run in this shape and with these settings.
    pub(crate) fn check(&self, shape: &Shape, settings: &Settings) -> Result<(), PagesError> {
        let refuse = |what: String, cure: String| Err(PagesError::settings(what, cure));
        if (51..=99).contains(&self.update_pct) || self.update_pct > 100 || self.scan_pct > 100 {
            return refuse(
                format!("update_pct {} with scan_pct {}", self.update_pct, self.scan_pct),
                "use an update_pct of 0 to 50, or 100, as SLOB does".into(),
            );
        }
        if self.sessions < settings.workers || self.work_unit == 0 || !(1..=64).contains(&self.outstanding) {
            return refuse(
                format!(
                    "{} sessions on {} workers, work_unit {}, {} reads outstanding",
                    self.sessions, settings.workers, self.work_unit, self.outstanding
                ),
                "use at least one session per worker, one page per operation, and 1 to 64 outstanding reads".into(),
            );
        }
        self.check_hot_schema(settings)?;
        if self.work_unit > shape.pages_per_schema {
            return refuse(
                format!(
                    "work_unit {} in schemas of {} pages",
                    self.work_unit, shape.pages_per_schema
                ),
                "use a smaller work_unit or larger schemas".into(),
            );
        }
        let pinned = if self.update_pct > 0 {
            self.work_unit
        } else {
            self.outstanding.min(self.work_unit)
        };
        let sessions = self.sessions.div_ceil(settings.workers);
        let needed = u64::from(sessions) * u64::from(pinned) * 2;
        if needed > settings.frames(shape) {
            let bytes = needed * u64::from(shape.page_bytes) * u64::from(settings.workers);
            return refuse(
                format!(
                    "{} sessions that hold {pinned} pages each need more than half of a cache of {} bytes",
                    self.sessions, settings.cache_bytes
                ),
                format!("use fewer sessions, a smaller work_unit, or a cache of at least {bytes} bytes"),
            );
        }
        let files = Files {
            data: vec![FileId(0)],
            redo: FileId(0),
        };
        let layout = Layout::new(shape, settings, &files, 0);
        let (torn, column) = (settings.torn_pages, shape.column_bytes() as u64);
        let record = record_bytes_max(u64::from(self.work_unit), layout.page_bytes, torn, column);
        if self.update_pct > 0 && record > Log::record_max(layout.redo_buffer_bytes) {
            return refuse(
                format!(
                    "an update of {} pages can need {record} bytes of redo at once",
                    self.work_unit
                ),
                format!(
                    "use a smaller work_unit, or a larger redo log (a quarter of it, at most 4 MiB, is the redo \
                     buffer: now {})",
                    layout.redo_buffer_bytes
                ),
            );
        }
        Ok(())
    }
}
