//! What a seed stands for: a database so small that its log wraps and its cache overflows within a few dozen
//! transactions.

use pages::{Files, RandomWork, Settings, Shape, TornPages, data_file_bytes, depth, memory_bytes, redo_file_bytes};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use targets::{FileId, Model};

/// Parameters of one database and of the work on it.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) shape: Shape,
    pub(crate) settings: Settings,
    pub(crate) work: RandomWork,
    pub(crate) data_files: usize,
    pub(crate) service_ns: u64,
    pub(crate) flush_ns: u64,
}

impl Scenario {
    pub(crate) fn files(&self) -> Files {
        Files {
            data: (0..self.data_files as u16).map(FileId).collect(),
            redo: FileId(self.data_files as u16),
        }
    }

    /// Whether the storage under it must keep page writes whole.
    pub(crate) fn never_torn(&self) -> bool {
        self.settings.torn_pages == TornPages::None
    }

    pub(crate) fn model(&self, seed: u64) -> Model {
        let mut sizes = data_file_bytes(&self.shape, &self.settings, self.data_files);
        sizes.push(redo_file_bytes(&self.settings));
        let depth = depth(
            &self.settings,
            self.data_files,
            self.work.sessions,
            self.work.outstanding,
        );
        let mut model = Model::new(&sizes, memory_bytes(&self.shape, &self.settings), depth, seed);
        model.service_ns = self.service_ns;
        model.flush_ns = self.flush_ns;
        model.spread = 1.0;
        model
    }
}

/// The scenario of a seed.
pub(crate) fn scenario(seed: u64) -> Scenario {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut pick = |of: &[u64]| of[rng.next_u64() as usize % of.len()];
    let torn_pages = match seed % 3 {
        0 => TornPages::Log,
        1 => TornPages::Double,
        _ => TornPages::None,
    };
    let (sessions, work_unit) = (pick(&[1, 2, 4]), pick(&[1, 2, 3]));
    let page_bytes = pick(&[2048, 2048, 2048, 4096]);
    let frames = sessions * work_unit * 2 + pick(&[4, 4, 12]);
    // The buffer is a quarter of the log and must hold the largest transaction.
    let buffer = (work_unit * (page_bytes + 4096)).div_ceil(4096) * 4096;
    let shape = Shape {
        page_bytes: page_bytes as u32,
        schemas: pick(&[1, 2, 3]) as u32,
        pages_per_schema: pick(&[5, 16, 16, 24]) as u32,
        seed: pick(&[1, 2, 3]),
        compressibility: 1.0,
        duplication: 0.0,
    };
    let settings = Settings {
        cache_bytes: frames * page_bytes,
        multiblock_read: pick(&[1, 4]) as u32,
        torn_pages,
        checkpoint_ns: pick(&[300_000, 2_000_000, 20_000_000, u64::MAX]),
        writers: pick(&[1, 2, 4]) as u32,
        redo_bytes: buffer * 4 * pick(&[1, 1, 2, 4]),
        workers: 1,
    };
    let work = RandomWork {
        update_pct: pick(&[50, 100, 100]) as u32,
        scan_pct: pick(&[0, 0, 0, 20]) as u32,
        scan_table_bytes: 6 * page_bytes,
        sessions: sessions as u32,
        work_unit: work_unit as u32,
        work_loop: pick(&[5, 20, 40]),
        heavy: pick(&[0, 1]) == 1,
        outstanding: pick(&[1, 2]) as u32,
        hotspot: None,
        hot_schema_frequency: 0,
    };
    Scenario {
        shape,
        settings,
        work,
        data_files: pick(&[1, 2]) as usize,
        service_ns: pick(&[5_000, 80_000]),
        flush_ns: pick(&[5_000, 500_000]),
    }
}
