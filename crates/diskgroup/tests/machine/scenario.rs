//! From a seed to a machine and a group.

use diskgroup::{DiskSpec, Geometry, GroupSpec, Redundancy};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use targets::FileId;

pub(crate) const AU: u64 = 16 << 10;

/// What one seed stands for.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) redundancy: Redundancy,
    /// Sizes of all disks in bytes, members first.
    pub(crate) sizes: Vec<u64>,
    /// How many are members at first.
    pub(crate) members: usize,
    /// Failure group of each disk.
    pub(crate) groups: Vec<String>,
    pub(crate) journal_blocks: u32,
    pub(crate) lives: usize,
    pub(crate) steps: usize,
    pub(crate) ports: usize,
}

pub(crate) fn below(rng: &mut Xoshiro256PlusPlus, n: u64) -> u64 {
    rng.next_u64() % n
}

pub(crate) fn scenario(seed: u64, redundancy: Option<Redundancy>) -> Scenario {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5ce0);
    let all = [Redundancy::External, Redundancy::Normal, Redundancy::High];
    let redundancy = redundancy.unwrap_or(all[[0, 1, 1, 1, 2, 2][below(&mut rng, 6) as usize]]);
    let members = redundancy.copies() + below(&mut rng, 4) as usize;
    let count = members + 2;
    let units = 40 + below(&mut rng, 30);
    let uneven = below(&mut rng, 2) == 0;
    let sizes = (0..count)
        .map(|_| (units + if uneven { below(&mut rng, 24) } else { 0 }) * AU + 4096)
        .collect();
    // Two disks in a failure group where there are enough.
    let pairs = members >= 2 * redundancy.copies() && below(&mut rng, 2) == 0;
    let groups = (0..count)
        .map(|n| format!("fg{}", if pairs { n / 2 } else { n }))
        .collect();
    Scenario {
        redundancy,
        sizes,
        members,
        groups,
        journal_blocks: [32, 40, 64][below(&mut rng, 3) as usize],
        lives: 2 + below(&mut rng, 3) as usize,
        steps: 30 + below(&mut rng, 120) as usize,
        ports: 1 + below(&mut rng, 2) as usize,
    }
}

impl Scenario {
    pub(crate) fn spec(&self) -> GroupSpec {
        GroupSpec {
            name: "data".into(),
            redundancy: self.redundancy,
            geometry: Geometry {
                au_bytes: AU as u32,
                growth_at: [8, 16],
            },
            journal_blocks: self.journal_blocks,
            small_units: true,
            uuid: None,
        }
    }

    pub(crate) fn disk(&self, nth: usize) -> DiskSpec {
        DiskSpec {
            failure_group: Some(self.groups[nth].clone()),
            ..DiskSpec::new(FileId(nth as u16), &format!("d{nth}"))
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        (0..self.sizes.len()).map(|n| format!("/dev/d{n}")).collect()
    }
}
