//! Names of groups and disks that are never used twice: 128 bits from a seed that the caller passes in.
//!
//! Prevents: a disk of another group with the same name taken for one's own.

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// 128 random bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    pub(crate) fn random(rng: &mut Xoshiro256PlusPlus) -> Uuid {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&rng.next_u64().to_le_bytes());
        bytes[8..].copy_from_slice(&rng.next_u64().to_le_bytes());
        Uuid(bytes)
    }
}

impl std::fmt::Display for Uuid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (nth, byte) in self.0.iter().enumerate() {
            if matches!(nth, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Uuid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}
