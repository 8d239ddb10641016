//! The root: where the metadata file lies. Second block of every disk; the copy with the highest sequence counts.
//!
//! Prevents: metadata that can be found only through metadata.

use crate::error::GroupError;
use crate::layout::block::{self, Address, BODY, Eye, Pen};
use crate::layout::file::{Pointer, are_apart};
use crate::layout::header::{NAME_BYTES, is_name};
use crate::layout::journal::INCARNATION_MAX;
use crate::metadata::space::{FILES_END, FIRST_FILE};
use crate::uuid::Uuid;

/// Allocation units of the metadata file: most that the root has room for.
pub(crate) const META_EXTENTS_MAX: usize = 160;

/// Body from byte 48:
///
/// | bytes | what |
/// | --- | --- |
/// | 48..56 | incarnation: how often the group was mounted |
/// | 56..60 | number of the next file |
/// | 60 | 1: a rebalance is wanted or under way |
/// | 61..110 | name of the group: a length and 48 bytes |
/// | 112..114 | extents of the metadata file, of one unit each |
/// | 128.. | for each extent 3 copies of 8 bytes: first unit (4), disk (2), flags (2; 2: no such copy) |
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Root {
    pub(crate) incarnation: u64,
    pub(crate) next_file: u32,
    pub(crate) rebalance: bool,
    pub(crate) name: String,
    pub(crate) extents: Vec<Vec<Pointer>>,
}

const NO_COPY: u16 = 2;

impl Root {
    pub(crate) fn encode(&self, group: Uuid, sequence: u64) -> Box<[u8]> {
        let mut bytes = block::blank();
        let mut pen = Pen::new(&mut bytes, BODY);
        pen.u64(self.incarnation);
        pen.u32(self.next_file);
        pen.u8(u8::from(self.rebalance));
        pen.text(&self.name, NAME_BYTES);
        pen.seek(112);
        pen.u16(self.extents.len() as u16);
        pen.seek(128);
        for extent in &self.extents {
            for copy in 0..3 {
                let pointer = extent.get(copy);
                pen.u32(pointer.map_or(0, |p| p.au));
                pen.u16(pointer.map_or(0, |p| p.disk));
                pen.u16(if pointer.is_some() { 0 } else { NO_COPY });
            }
        }
        block::seal(&mut bytes, group, Address::Root, sequence);
        bytes
    }

    /// # Errors
    /// [`GroupError::Damaged`].
    pub(crate) fn decode(bytes: &[u8]) -> Result<Root, GroupError> {
        let mut eye = Eye::new(bytes, BODY);
        let (incarnation, next_file, rebalance) = (eye.u64(), eye.u32(), eye.u8() == 1);
        let name = eye
            .text(NAME_BYTES)
            .filter(|name| is_name(name))
            .ok_or_else(|| GroupError::damaged("the root's name"))?;
        eye.seek(112);
        let count = usize::from(eye.u16());
        if count > META_EXTENTS_MAX || count == 0 {
            return Err(GroupError::damaged("the root's number of extents"));
        }
        eye.seek(128);
        let mut pointer = || {
            let (au, disk, flags) = (eye.u32(), eye.u16(), eye.u16());
            (flags & NO_COPY == 0).then_some(Pointer { disk, au, stale: false })
        };
        let extents: Vec<Vec<Pointer>> = (0..count)
            .map(|_| [pointer(), pointer(), pointer()].into_iter().flatten().collect())
            .collect();
        if !(FIRST_FILE..=FILES_END).contains(&next_file) || incarnation > INCARNATION_MAX {
            return Err(GroupError::damaged("the root's counts"));
        }
        if extents.iter().any(|copies| copies.is_empty() || !are_apart(copies)) {
            return Err(GroupError::damaged("the root's extents"));
        }
        Ok(Root {
            incarnation,
            next_file,
            rebalance,
            name,
            extents,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_survives() {
        let pointer = |disk, au| Pointer { disk, au, stale: false };
        let root = Root {
            incarnation: 7,
            next_file: 300,
            rebalance: true,
            name: "data".into(),
            extents: vec![
                vec![pointer(0, 5)],
                vec![pointer(1, 6), pointer(2, 7), pointer(63, u32::MAX)],
            ],
        };
        assert_eq!(Root::decode(&root.encode(Uuid([1; 16]), 4)).unwrap(), root);
        assert!(Root::decode(&block::blank()).is_err());
    }
}
