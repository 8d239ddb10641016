//! A disk whose content is not to be believed: what it holds is made anew from the other copies.
//!
//! Two copies that differ do not say which of them is right. Where pages have no checksums, whoever knows that one disk
//! was damaged says so here. Prevents: a check that overwrites the good copy with the bad one because the bad one came
//! first.

use crate::error::GroupError;
use crate::metadata::core::Core;
use std::collections::BTreeSet;
use targets::Port;

impl<P: Port> Core<P> {
    /// Marks every copy on a disk as stale that is not the only one; gives the number of marked copies, and the files
    /// that have data on this disk alone.
    pub(crate) fn distrust(&mut self, number: u16) -> Result<(u64, BTreeSet<String>), GroupError> {
        self.alive()?;
        let mut copies = BTreeSet::new();
        for file in self.files.values() {
            for extent in 0..file.extents() {
                let here = |p: &&crate::layout::file::Pointer| p.disk == number && !p.stale;
                if file.pointers_of(extent).iter().any(|p| here(&p)) {
                    copies.insert((file.number, extent, number));
                }
            }
        }
        let alone = self.mark_stale(&copies)?;
        self.board.advance();
        self.settle_trouble()?;
        let names = alone.iter().filter_map(|a| self.files.get(&a.0));
        let files = names.map(|f| f.name.clone()).collect();
        Ok(((copies.len() - alone.len()) as u64, files))
    }
}
