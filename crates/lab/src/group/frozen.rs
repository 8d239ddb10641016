//! The disk group of a stack, opened frozen by the process of another instance.
//!
//! Takes the LUNs in the run's order; gives ports on the engine's files, numbered as in the run's. Prevents: two
//! processes that change the metadata of one group.

use crate::group::grouped::{DATA, GROUP, Lying, OWNER_DEPTH, OWNER_MEMORY, REDO_GROUP, mounting, names};
use crate::ports::{Opener, StackPort};
use diskgroup::{Group, GroupPort};
use plan::Inject;
use std::path::PathBuf;
use targets::{BasePort, OpenSpec};

/// The group, and the one of the redo log where that has its own.
pub(crate) struct Frozen {
    group: Group<BasePort>,
    redo: Option<Group<GroupPort<BasePort>>>,
    files: Vec<OpenSpec>,
    /// How many of them are the data's, the first ones.
    data: usize,
    inject: Inject,
    opener: Opener,
}

impl Frozen {
    /// `files`: LUNs of the data, so many, then those of the redo log.
    pub(crate) fn open(
        (files, data): (Vec<OpenSpec>, usize),
        redo: bool,
        inject: Inject,
        opener: Opener,
    ) -> anyhow::Result<Frozen> {
        let luns: Vec<PathBuf> = files.iter().map(|lun| lun.path.clone()).collect();
        let owner = opener.open(inject, &files, OWNER_MEMORY, OWNER_DEPTH)?;
        let mut frozen = Frozen {
            group: Group::mount_frozen(owner, &mounting(GROUP, names(&luns)))?,
            redo: None,
            files,
            data,
            inject,
            opener,
        };
        if redo {
            let owner = frozen.lying().first_of_two(OWNER_MEMORY, OWNER_DEPTH)?;
            // Over a port of the first group the disks of the second follow its one file.
            let all = [vec![DATA.to_string()], names(&luns[data.min(luns.len())..])].concat();
            frozen.redo = Some(Group::mount_frozen(owner, &mounting(REDO_GROUP, all))?);
        }
        Ok(frozen)
    }

    /// The group of the data.
    pub(crate) fn group(&self) -> &Group<BasePort> {
        &self.group
    }

    fn lying(&self) -> Lying<'_> {
        Lying {
            group: &self.group,
            redo: self.redo.as_ref(),
            files: &self.files,
            data: self.data,
            inject: self.inject,
            opener: self.opener,
        }
    }

    /// A port on the engine's files.
    pub(crate) fn port(&self, memory: u64, depth: usize) -> anyhow::Result<StackPort> {
        self.lying().port(memory, depth)
    }
}
