//! Where the files of a stack are, for the process of another instance.
//!
//! Takes what the run said of its stack; gives ports on the files that the run has made. A disk group is opened
//! frozen. Prevents: an instance that makes, grows or mends what belongs to the run's own process.

use crate::group::frozen::Frozen;
use crate::instances::proof;
use crate::instances::wire::{Ground, Opening, Place};
use crate::ports::{Opener, StackPort};
use anyhow::Context;
use diskgroup::Group;
use pages::Files;
use rustix::fs::{Mode, OFlags};
use targets::{Access, BasePort, FileId, Method, OpenSpec, Which};

/// What must stay open as long as the ports.
pub(super) struct Stand<'a> {
    opening: &'a Opening,
    opener: Opener,
    group: Option<Frozen>,
}

impl<'a> Stand<'a> {
    pub(super) fn of(opening: &'a Opening) -> anyhow::Result<Stand<'a>> {
        let opener = Opener {
            method: if opening.ring { Method::Ring } else { Method::Pread },
            seed: opening.seed,
        };
        let group = match &opening.ground {
            Ground::Files(_) => None,
            Ground::Group { devices, data, redo } => {
                let inject = opening.inject.inject();
                let devices = devices.iter().map(spec).collect::<anyhow::Result<Vec<_>>>()?;
                Some(Frozen::open((devices, *data), *redo, inject, opener).context("open the disk group frozen")?)
            }
        };
        Ok(Stand { opening, opener, group })
    }

    /// The group of the data, whose extents its owner may move; that of a redo log stays as it is.
    pub(super) fn group(&self) -> Option<&Group<BasePort>> {
        self.group.as_ref().map(Frozen::group)
    }

    /// The engine's files, by their number in a port.
    pub(super) fn files(&self) -> Files {
        Files {
            data: self.opening.data.iter().copied().map(FileId).collect(),
            redo: FileId(self.opening.redo),
        }
    }

    /// A port for each of its workers.
    pub(super) fn ports(&self) -> anyhow::Result<Vec<StackPort>> {
        (0..self.opening.workers).map(|_| self.port()).collect()
    }

    fn port(&self) -> anyhow::Result<StackPort> {
        let Opening { memory, depth, .. } = *self.opening;
        match (&self.opening.ground, &self.group) {
            (Ground::Files(places), _) => {
                let specs = places.iter().map(spec).collect::<anyhow::Result<Vec<_>>>()?;
                let inject = self.opening.inject.inject();
                Ok(StackPort::Plain(self.opener.open(inject, &specs, memory, depth)?))
            }
            (Ground::Group { .. }, group) => group.as_ref().context("a disk group")?.port(memory, depth),
        }
    }
}

/// A file that is there, looked up in the directory that the run holds; a device, if it is the one that the run has
/// open: as long as it has, no other gets its number. On another host, whatever begins with what the run found.
fn spec(place: &Place) -> anyhow::Result<OpenSpec> {
    let access = if place.direct { Access::Direct } else { Access::Buffered };
    let mut spec = OpenSpec::writing(&place.path, access);
    if let Some((device, inode)) = place.is {
        spec = spec.that_is(Which { device, inode });
    }
    if let Some(proof) = &place.proof {
        spec = spec.that_is(proof::which(&place.path, proof)?);
    }
    let Some(held) = &place.held else { return Ok(spec) };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(held, flags, Mode::empty());
    let directory = directory.with_context(|| format!("the directory of {}", place.path.display()))?;
    Ok(spec.inside(&directory)?)
}
