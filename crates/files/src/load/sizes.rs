//! Sizes of files, in KiB.
//!
//! Prevents: files of one size where the published work has a distribution.

use crate::error::FilesError;

/// A distribution of sizes: whole KiB, whole percents that add up to 100.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sizes {
    table: Vec<(u32, u8)>,
}

/// SFS 3.0, `Default_file_size_dist`; fstress has the same. 26.7 KiB on average.
const SFS97: [(u32, u8); 10] = [
    (1, 33),
    (2, 21),
    (4, 13),
    (8, 10),
    (16, 8),
    (32, 5),
    (64, 4),
    (128, 3),
    (256, 2),
    (1024, 1),
];

/// Largest file, KiB.
const KIB_MAX: u32 = 1 << 22;

impl Sizes {
    /// The distribution of SFS 97 and SFS 3.0.
    pub fn sfs97() -> Sizes {
        Sizes { table: SFS97.to_vec() }
    }

    /// All files of one size.
    pub fn one(kib: u32) -> Result<Sizes, FilesError> {
        Sizes::new(&[(kib, 100)])
    }

    /// Sizes in KiB with their percents.
    pub fn new(table: &[(u32, u8)]) -> Result<Sizes, FilesError> {
        let sum: u32 = table.iter().map(|(_, percent)| u32::from(*percent)).sum();
        let refused = if sum != 100 {
            Some(format!(
                "the percents of the file sizes add up to {sum}\nlet them add up to 100"
            ))
        } else if table.iter().any(|(kib, _)| *kib == 0 || *kib > KIB_MAX) {
            Some("a file size is 0 or above 4 GiB\ngive sizes from 1KiB to 4GiB, whole KiB".to_owned())
        } else {
            None
        };
        match refused {
            Some(why) => Err(FilesError::Settings(why)),
            None => Ok(Sizes { table: table.to_vec() }),
        }
    }

    /// Mean size, bytes.
    pub fn mean_bytes(&self) -> f64 {
        let sum: f64 = self
            .table
            .iter()
            .map(|(kib, pct)| f64::from(*kib) * f64::from(*pct))
            .sum();
        sum * 1024.0 / 100.0
    }

    /// Largest size, KiB.
    pub fn largest_kib(&self) -> u32 {
        self.table.iter().map(|(kib, _)| *kib).max().unwrap_or(0)
    }

    /// What all sizes are multiples of, KiB.
    pub(crate) fn unit_kib(&self) -> u32 {
        let divides = |unit: &u32| self.table.iter().all(|(kib, _)| kib.is_multiple_of(*unit));
        [4, 2].into_iter().find(divides).unwrap_or(1)
    }

    /// The size of a draw from 0 to 99, KiB.
    pub(crate) fn size_kib(&self, draw: u8) -> u32 {
        let mut left = draw;
        for (kib, percent) in &self.table {
            match left.checked_sub(*percent) {
                Some(rest) => left = rest,
                None => return *kib,
            }
        }
        unreachable!("percents add up to 100 and the draw is below")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_the_published_one() {
        assert!((Sizes::sfs97().mean_bytes() / 1024.0 - 26.7).abs() < 0.05);
        let drawn: u32 = (0..100).map(|draw| Sizes::sfs97().size_kib(draw)).sum();
        assert!((f64::from(drawn) / 100.0 - Sizes::sfs97().mean_bytes() / 1024.0).abs() < 1e-9);
    }

    #[test]
    fn empty_files_and_wrong_sums_are_refused() {
        assert!(Sizes::new(&[(4, 99)]).is_err());
        assert!(Sizes::one(0).is_err());
        assert!(Sizes::one(16).is_ok());
    }
}
