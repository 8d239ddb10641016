//! The files of a group, by number and by name.
//!
//! Who reads takes it for the files by number. They come and go here alone, so that the names are always theirs.
//! Prevents: a walk over all files for each that is asked for by name.

use crate::layout::file::File;
use std::collections::BTreeMap;
use std::ops::Deref;

/// All files.
#[derive(Default)]
pub(crate) struct Directory {
    files: BTreeMap<u32, File>,
    /// Number of the file of each name. Names never change.
    numbers: BTreeMap<String, u32>,
}

impl Directory {
    /// Adds a file; gives the one that had its number.
    pub(crate) fn insert(&mut self, file: File) -> Option<File> {
        self.numbers.insert(file.name.clone(), file.number);
        self.files.insert(file.number, file)
    }

    pub(crate) fn remove(&mut self, number: &u32) -> Option<File> {
        let file = self.files.remove(number)?;
        self.numbers.remove(&file.name);
        Some(file)
    }

    pub(crate) fn get_mut(&mut self, number: &u32) -> Option<&mut File> {
        self.files.get_mut(number)
    }

    /// The file of a name, whatever its state.
    pub(crate) fn named(&self, name: &str) -> Option<&File> {
        self.files.get(self.numbers.get(name)?)
    }
}

impl Deref for Directory {
    type Target = BTreeMap<u32, File>;

    fn deref(&self) -> &BTreeMap<u32, File> {
        &self.files
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_name_finds_what_a_walk_over_all_files_finds(
            steps in prop::collection::vec((any::<bool>(), 0u32..12), 1..60),
        ) {
            let mut directory = Directory::default();
            for (nth, (comes, which)) in (256u32..).zip(steps) {
                let name = format!("f{which}");
                let known = directory.named(&name).map(|file| file.number);
                match known {
                    None if comes => drop(directory.insert(File::bare(nth, &name, 1))),
                    Some(number) if !comes => drop(directory.remove(&number)),
                    _ => {}
                }
                for name in (0..12).map(|which| format!("f{which}")) {
                    let walked = directory.values().find(|file| file.name == name);
                    let found = directory.named(&name);
                    prop_assert_eq!(found.map(|file| file.number), walked.map(|file| file.number));
                }
            }
        }
    }
}
