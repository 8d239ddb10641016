//! How much room a study has and fills, as far as the file alone can tell.
//!
//! Takes a resolved study; gives bytes, or `None` where only the machine knows (devices, mounted places). Prevents: two
//! rooms that compute the size of the data differently.

use crate::study::{
    Access, Database, Engine, Lack, LunSet, LunSource, Phase, Scale, Stack, Study, Tpch, Vdevs, Zfs, ZfsWay,
};
use crate::units::Bytes;

/// What the process of zfs-fuse holds beside its ARC: 120 to 140 MiB seen under load, whatever the ARC.
const FUSE_BESIDE_ARC: u64 = 128 << 20;

/// Bytes of a LUN set; `None` for devices and for sets that do not exist.
pub(crate) fn set_bytes(study: &Study, name: &str) -> Option<u64> {
    match &study.luns.iter().find(|set| set.name == name)?.source {
        LunSource::Files { count, size, .. } => size.0.checked_mul(u64::from(*count)),
        LunSource::Devices { .. } => None,
    }
}

/// LUNs of a set; `None` for sets that do not exist.
pub(crate) fn luns(study: &Study, name: &str) -> Option<usize> {
    study.luns.iter().find(|set| set.name == name).map(LunSet::count)
}

/// Bytes of a stack before the file system takes its own part: an upper bound of what data and redo can use.
pub(crate) fn usable(study: &Study, stack: &Stack) -> Option<u64> {
    if let Some(model) = stack.kind.model() {
        return Some(model.size.0);
    }
    let mut bytes = set_bytes(study, stack.data.as_ref()?)?;
    if let Some(group) = stack.kind.disk_group() {
        let luns = luns(study, stack.data.as_ref()?)? as u64;
        bytes = bytes / luns.max(1) * luns.saturating_sub(u64::from(group.reserve));
    }
    if let Some(zfs) = stack.kind.pool() {
        let luns = luns(study, stack.data.as_ref()?)? as u64;
        return Some(zfs_room(zfs, bytes, luns.max(1)));
    }
    let luns = luns(study, stack.data.as_ref()?)? as u32;
    if let Some(volume) = stack.kind.volume() {
        let members = luns.saturating_sub(volume.reserve);
        return Some(volume.room(bytes / u64::from(luns.max(1)) * u64::from(members), members));
    }
    Some(bytes / u64::from(stack.kind.copies(luns)))
}

/// Why the ARC of a stack, what its way holds beside it, and the cache of its database are more than the study's
/// memory budget; `None`: they fit, or there is no budget, or it is no pool.
pub fn over_budget(study: &Study, stack: &Stack) -> Option<Lack> {
    let (Some(zfs), Some(budget)) = (stack.kind.pool(), study.memory.budget) else {
        return None;
    };
    let cache = match &stack.engine {
        Engine::Pages => study.database.cache,
        Engine::Postgres(postgres) => postgres.cache,
        Engine::Sqlite(sqlite) => sqlite.memory(stack.access == Access::Direct),
        Engine::Files(_) => Bytes(0),
    };
    let (beside, process) = match zfs.via {
        Some(ZfsWay::Fuse) => {
            let process = format!(", {} that zfs-fuse holds beside it", Bytes(FUSE_BESIDE_ARC));
            (FUSE_BESIDE_ARC, process)
        }
        _ => (0, String::new()),
    };
    (zfs.arc_max.0 + beside + cache.0 >= budget.0).then(|| Lack {
        key: "arc_max",
        why: format!(
            "an ARC of {}{process} and a database cache of {cache} do not fit into a memory budget of {budget}",
            zfs.arc_max
        ),
        cure: "lower `arc_max` or `database.cache`, or raise `memory.budget`".to_string(),
    })
}

/// What a pool leaves for data: copies or parity, and the 1/32 that OpenZFS keeps for itself. Parity of records of
/// a few sectors is not one LUN of several but half: with one parity sector for each row of data, and allocations
/// in pairs, a record of `n` sectors takes `n + ceil(n / (luns - 1))` rounded up to an even number.
pub fn zfs_room(zfs: &Zfs, bytes: u64, luns: u64) -> u64 {
    let kept = bytes / 32 * 31;
    match zfs.vdevs {
        Vdevs::Stripe => kept,
        Vdevs::Mirror => kept / luns,
        Vdevs::Raidz1 => {
            let sectors = zfs.recordsize.0.div_ceil(1 << zfs.ashift).max(1);
            let taken = (sectors + sectors.div_ceil((luns - 1).max(1))).next_multiple_of(2);
            (kept as f64 * sectors as f64 / taken as f64) as u64
        }
    }
}

/// Bytes of the LUN set of a stack's redo log, before the file system takes its own part; `None` where it lies
/// beside the data, or only the machine knows.
pub(crate) fn redo_room(study: &Study, stack: &Stack) -> Option<u64> {
    room_beside(study, stack, stack.redo.as_ref()?)
}

/// Bytes of a LUN set that a stack has beside that of its data, as [`redo_room`] gives them.
fn room_beside(study: &Study, stack: &Stack, set: &str) -> Option<u64> {
    let bytes = set_bytes(study, set)?;
    if let Some(volume) = stack.kind.volume() {
        return Some(volume.beside_data().room(bytes, luns(study, set)? as u32));
    }
    let copies = stack.kind.disk_group().map_or(1, |group| group.redundancy.copies());
    Some(bytes / u64::from(copies))
}

/// Bytes of the data in whole pages of whole schemas, the same on every stack; `None` when a share is asked of room
/// that only the machine knows.
pub(crate) fn data_bytes(study: &Study) -> Option<u64> {
    let paged = study.stacks.is_empty() || study.stacks.iter().any(|stack| stack.engine.is_pages());
    let random = study.phases.iter().any(|phase| phase.kind.random().is_some());
    if !paged && !random {
        return Some(sql_bytes(study));
    }
    let asked = match study.database.scale {
        Scale::Bytes(bytes) => bytes.0,
        Scale::Share(share) => {
            let rooms: Option<Vec<u64>> = study.stacks.iter().map(|stack| usable(study, stack)).collect();
            (rooms?.into_iter().min()? as f64 * share.0) as u64
        }
    };
    let database = &study.database;
    Some(database.pages_per_schema(asked) * u64::from(database.schemas) * database.page.0)
}

/// Temporary files of questions against the LUN set that a stack has for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemporarySpace {
    /// The LUN set.
    pub set: String,
    /// Bytes that the questions of the study spill at the same time; an upper bound, measured with PostgreSQL.
    pub needed: u64,
    /// Bytes that the set has room for; `None` where only the machine knows.
    pub room: Option<u64>,
}

impl TemporarySpace {
    /// Of a stack; `None` where its temporary files lie beside the data, or where no phase asks questions.
    pub fn of(study: &Study, stack: &Stack) -> Option<TemporarySpace> {
        let set = stack.temp.clone()?;
        let asked = study.phases.iter().filter_map(|phase| phase.kind.tpch());
        Some(TemporarySpace {
            needed: asked.map(Tpch::spilled_bytes).max()?,
            room: room_beside(study, stack, &set),
            set,
        })
    }

    /// Whether the set may be too small, with what a file system takes for itself.
    pub fn is_short(&self) -> bool {
        self.room.is_some_and(|room| self.needed > room / 20 * 19)
    }
}

/// What a phase in SQL takes on a stack, and the key that says how much.
pub(crate) fn in_sql(phase: &Phase, stack: &Stack) -> Option<(u64, &'static str)> {
    phase.kind.own().in_sql(stack.temp.is_some())
}

/// Bytes that phases in SQL load: the company once, and the largest bulk load; and the largest tree of files.
fn sql_bytes(study: &Study) -> u64 {
    let (mut once, mut within) = (0, 0);
    for loads in study.phases.iter().map(|phase| phase.kind.own().loads()) {
        once = loads.once.max(once);
        within = loads.within.max(within);
    }
    once + within
}

/// Schemas of so many multiblock reads lose less than 5 % when they are cut to whole ones.
const READS_TO_ROUND: u64 = 20;

impl Database {
    /// Pages of each schema of a database of `bytes`: whole pages, and whole multiblock reads where that costs less
    /// than 5 %, so that a scan's reads lie inside stripes and allocation units instead of across their borders.
    pub fn pages_per_schema(&self, bytes: u64) -> u64 {
        let pages = bytes / u64::from(self.schemas) / self.page.0;
        let read = u64::from(self.multiblock_read);
        if pages >= read * READS_TO_ROUND {
            pages / read * read
        } else {
            pages
        }
    }
}
