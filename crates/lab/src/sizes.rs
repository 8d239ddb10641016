//! From the study's sizes to the engine's: how many pages, how much memory, how deep a queue.
//!
//! Takes the resolved study and the room that the smallest stack has; gives plain data of the engine, the same for
//! every stack. Prevents: stacks that hold unlike amounts of data.

use anyhow::ensure;
use pages::{Settings, Shape, TornPages};
use plan::{Scale, Study};

/// What every stack of the study gets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) shape: Shape,
    pub(crate) settings: Settings,
    /// Most sessions of any phase.
    pub(crate) sessions: u32,
    /// Most reads a session keeps in flight in any phase.
    pub(crate) outstanding: u32,
}

/// Sizes for a smallest stack with `usable` bytes for data; `None` where the study gives bytes and nobody looked.
pub(crate) fn sizes(study: &Study, usable: Option<u64>) -> anyhow::Result<Sizes> {
    let database = &study.database;
    let asked = match (database.scale, usable) {
        (Scale::Bytes(bytes), _) => bytes.0,
        (Scale::Share(share), Some(usable)) => (usable as f64 * share.0) as u64,
        (Scale::Share(_), None) => anyhow::bail!("a share of nothing: no stack could be built"),
    };
    let pages = database.pages_per_schema(asked);
    ensure!(
        pages >= 2,
        "{} of data for {} schemas of pages of {} is less than two pages a schema\n  \
         raise `database.scale`, or lower `database.schemas`",
        plan::Bytes(asked),
        database.schemas,
        database.page
    );
    let shape = Shape {
        page_bytes: u32::try_from(database.page.0)?,
        schemas: database.schemas,
        pages_per_schema: u32::try_from(pages)?,
        seed: study.root_seed(),
        compressibility: database.compressibility,
        duplication: database.duplication.0,
    };
    let settings = Settings {
        cache_bytes: database.cache.0,
        multiblock_read: database.multiblock_read,
        torn_pages: match database.torn_pages {
            plan::TornPages::Log => TornPages::Log,
            plan::TornPages::Double => TornPages::Double,
            plan::TornPages::None => TornPages::None,
        },
        checkpoint_ns: database.checkpoint.0,
        writers: database.writers,
        redo_bytes: database.redo_size.0,
        workers: study.workers,
    };
    pages::check(&shape, &settings)?;
    let (sessions, outstanding) = most_in_flight(study);
    Ok(Sizes {
        shape,
        settings,
        sessions,
        outstanding,
    })
}

/// Most sessions of any phase, and most reads that a session keeps in flight.
fn most_in_flight(study: &Study) -> (u32, u32) {
    let each = study.phases.iter().map(|phase| phase.kind.in_flight());
    each.fold((1, 1), |(sessions, outstanding), one| {
        (sessions.max(one.sessions), outstanding.max(one.each))
    })
}

impl Sizes {
    /// Memory of one worker's port.
    pub(crate) fn memory_bytes(&self) -> u64 {
        pages::memory_bytes(&self.shape, &self.settings)
    }

    /// Memory of the engine: the ports of all its workers, and its maps.
    pub(crate) fn engine_bytes(&self) -> u64 {
        self.memory_bytes() * u64::from(self.settings.workers) + pages::map_bytes(&self.shape, &self.settings)
    }

    /// Depth of one worker's port on `files` data files.
    pub(crate) fn depth(&self, files: usize) -> usize {
        pages::depth(&self.settings, files, self.sessions, self.outstanding)
    }
}
