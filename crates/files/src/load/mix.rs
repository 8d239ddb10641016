//! Mixes of calls: whole percents that add up to 100.
//!
//! Prevents: a mix that keeps nothing (unstable writes and no commit), and percents that do not add up.

use super::class::{CLASS_COUNT, Class};
use crate::error::FilesError;

/// Percent of each class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mix {
    percents: [u8; CLASS_COUNT],
}

/// SFS 97 and SFS 3.0, NFS version 3 (`nfsv3_Ops` of its source; fstress's `specsfs97` has the same without FSINFO).
const SFS97: [(Class, u8); 14] = [
    (Class::Lookup, 27),
    (Class::Read, 18),
    (Class::Getattr, 11),
    (Class::Write, 9),
    (Class::Readdirplus, 9),
    (Class::Readlink, 7),
    (Class::Access, 7),
    (Class::Commit, 5),
    (Class::Readdir, 2),
    (Class::Create, 1),
    (Class::Remove, 1),
    (Class::Setattr, 1),
    (Class::Fsstat, 1),
    (Class::Fsinfo, 1),
];

/// SFS 93, LADDIS: a mix of NFS version 2. Its writes are synchronous: ask for `stable` of 100 %.
const SFS93: [(Class, u8); 10] = [
    (Class::Lookup, 34),
    (Class::Read, 22),
    (Class::Write, 15),
    (Class::Getattr, 13),
    (Class::Readlink, 8),
    (Class::Readdir, 3),
    (Class::Create, 2),
    (Class::Remove, 1),
    (Class::Setattr, 1),
    (Class::Fsstat, 1),
];

/// SPECstorage 2020, SWBUILD (user's guide 1.2): stat 70, write file 7, read file 6, access 6, chmod 5, readdir 2,
/// unlink 2, create 1, mkdir 1. Files are read and written whole. One of the two percents of unlink is a commit here,
/// for an NFS client commits what it wrote when it closes a file, and the published table counts no close.
const BUILD: [(Class, u8); 10] = [
    (Class::Getattr, 70),
    (Class::Write, 7),
    (Class::Read, 6),
    (Class::Access, 6),
    (Class::Setattr, 5),
    (Class::Readdir, 2),
    (Class::Remove, 1),
    (Class::Commit, 1),
    (Class::Create, 1),
    (Class::Mkdir, 1),
];

impl Mix {
    /// SFS 97 and SFS 3.0, NFS version 3.
    pub fn sfs97() -> Mix {
        Mix::of(&SFS97)
    }

    /// SFS 93 (LADDIS).
    pub fn sfs93() -> Mix {
        Mix::of(&SFS93)
    }

    /// A software build, as SPECstorage 2020 has it.
    pub fn build() -> Mix {
        Mix::of(&BUILD)
    }

    fn of(table: &[(Class, u8)]) -> Mix {
        let mut percents = [0; CLASS_COUNT];
        for (class, percent) in table {
            percents[*class as usize] += percent;
        }
        Mix { percents }
    }

    /// A table of one's own: whole percents, together 100, each class once. `RMDIR` takes back what `MKDIR` made:
    /// the two share their percents.
    pub fn new(table: &[(Class, u8)]) -> Result<Mix, FilesError> {
        let sum: u32 = table.iter().map(|(_, percent)| u32::from(*percent)).sum();
        if sum != 100 {
            return Err(FilesError::Settings(format!(
                "the percents of the mix add up to {sum}\nlet them add up to 100"
            )));
        }
        for class in Class::ALL {
            if table.iter().filter(|(named, _)| *named == class).count() > 1 {
                return Err(FilesError::Settings(format!(
                    "the mix names {} twice\nname each class once",
                    class.name()
                )));
            }
        }
        Ok(Mix::of(table))
    }

    /// Percent of a class.
    pub fn percent(&self, class: Class) -> u8 {
        self.percents[class as usize]
    }

    /// Refused where unstable writes are never committed.
    pub(crate) fn check(&self, stable_pct: u8) -> Result<(), FilesError> {
        let unstable = self.percent(Class::Write) > 0 && stable_pct < 100;
        if unstable && self.percent(Class::Commit) == 0 {
            return Err(FilesError::Settings(
                "the mix writes unstable and never commits: nothing is ever stable\n\
                 give `commit` a share of the mix, or set `stable` to 100 %"
                    .into(),
            ));
        }
        Ok(())
    }

    /// The class of a draw from 0 to 99.
    pub(crate) fn class(&self, draw: u8) -> Class {
        let mut left = draw;
        for class in Class::ALL {
            match left.checked_sub(self.percents[class as usize]) {
                Some(rest) => left = rest,
                None => return class,
            }
        }
        unreachable!("percents add up to 100 and the draw is below")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_add_up_and_draws_follow_them() {
        for mix in [Mix::sfs97(), Mix::sfs93(), Mix::build()] {
            assert_eq!(mix.percents.iter().map(|p| u32::from(*p)).sum::<u32>(), 100);
            let mut drawn = [0; CLASS_COUNT];
            (0..100).for_each(|draw| drawn[mix.class(draw) as usize] += 1);
            assert_eq!(drawn, mix.percents);
        }
        assert_eq!(Mix::sfs97().percent(Class::Lookup), 27);
    }

    #[test]
    fn what_keeps_nothing_or_does_not_add_up_is_refused() {
        assert!(Mix::new(&[(Class::Read, 60), (Class::Write, 39)]).is_err());
        assert!(Mix::new(&[(Class::Read, 50), (Class::Read, 50)]).is_err());
        let mix = Mix::new(&[(Class::Read, 60), (Class::Write, 40)]).unwrap();
        assert!(mix.check(50).is_err());
        assert!(mix.check(100).is_ok());
        assert!(Mix::sfs97().check(0).is_ok());
    }
}
