//! What the engine has open on a stack that stands: its disk group or its pool, and the ports of its workers.
//!
//! Takes a stand and how ports are opened; gives ports of one type, whatever the stack is. Prevents: a place that
//! works with stacks of one kind and was never asked for another.

use crate::condition::Condition;
use crate::group::changing::Changes;
use crate::group::grouped::Grouped;
use crate::host::stand::Stand;
use crate::instances::wire::{Opening, Planted};
use crate::moves::volumes::VolumeOf;
use crate::pool::pooled::Pooled;
use crate::ports::{Opener, StackPort};
use crate::sizes::Sizes;
use anyhow::Context;
use diskgroup::Follower;
use sandbox::Directory;
use stacks::Ground;
use targets::Method;

/// A stand with what the engine has open on it.
pub(crate) struct Opened<'a> {
    pub(crate) stand: &'a Stand,
    pub(crate) sizes: &'a Sizes,
    opener: Opener,
    workers: u32,
    held: Held,
    /// A database is or was there.
    pub(crate) used: bool,
}

/// What must be open before a port can be.
enum Held {
    /// Nothing: files and devices are opened by each port, and what a group or a pool lies on is not open now.
    Nothing,
    Group(Box<Grouped>),
    Pool(Pooled),
}

impl<'a> Opened<'a> {
    /// Nothing is open yet.
    pub(crate) fn new(stand: &'a Stand, sizes: &'a Sizes, opener: Opener, workers: u32) -> Opened<'a> {
        Opened {
            stand,
            sizes,
            opener,
            workers,
            held: Held::Nothing,
            used: false,
        }
    }

    /// Makes the group or the pool of a stand that has one, unless it is open.
    pub(crate) fn prepare(&mut self) -> anyhow::Result<()> {
        let (stack, built) = (&self.stand.stack, &self.stand.built);
        self.held = match (&built.ground, &self.held) {
            (Ground::Group(_), Held::Nothing) => {
                Held::Group(Box::new(Grouped::make(stack, built, self.sizes, self.opener)?))
            }
            (Ground::ProcessPool(_), Held::Nothing) => {
                Held::Pool(Pooled::make(stack, built, self.workplace()?, self.sizes)?)
            }
            _ => return Ok(()),
        };
        Ok(())
    }

    /// Opens what was made on the stand before the power failed: its group or its pool.
    pub(crate) fn reopen(&mut self) -> anyhow::Result<()> {
        let (stack, built) = (&self.stand.stack, &self.stand.built);
        self.held = match &built.ground {
            Ground::Group(_) => Held::Group(Box::new(Grouped::reopen(stack, built, self.sizes, self.opener)?)),
            Ground::ProcessPool(_) => Held::Pool(Pooled::import(stack, built, self.workplace()?)?),
            Ground::Files(_) | Ground::Devices { .. } | Ground::MountedPool { .. } | Ground::Server => Held::Nothing,
        };
        Ok(())
    }

    fn workplace(&self) -> anyhow::Result<&'a Directory> {
        let workplace = self.stand.workplace.as_ref();
        workplace.context("where the process of a pool works")
    }

    /// Gone without a word, as a process is whose machine has no power.
    pub(crate) fn lose(&mut self) {
        if let Held::Pool(pool) = std::mem::replace(&mut self.held, Held::Nothing) {
            pool.zpool().kill();
        }
    }

    /// Its group, or the volume that it lies in, to be changed while workers use it.
    pub(crate) fn changes<'b>(&'b self, volume: Option<&'b VolumeOf<'b>>) -> Option<&'b dyn Changes> {
        match &self.held {
            Held::Group(group) => Some(&**group as &dyn Changes),
            Held::Nothing | Held::Pool(_) => volume.map(|volume| volume as &dyn Changes),
        }
    }

    /// Its pool in a process.
    pub(crate) fn pool(&self) -> Option<&Pooled> {
        match &self.held {
            Held::Pool(pool) => Some(pool),
            Held::Nothing | Held::Group(_) => None,
        }
    }

    /// How what it stands on is.
    pub(crate) fn condition(&self) -> Condition {
        match &self.held {
            Held::Group(group) => group.condition(),
            Held::Nothing | Held::Pool(_) => self.stand.condition(),
        }
    }

    /// What the study does not say of it.
    pub(crate) fn facts(&self) -> anyhow::Result<Vec<ledger::Disclosed>> {
        match &self.held {
            Held::Nothing => Ok(Vec::new()),
            Held::Group(group) => Ok(group.facts()),
            Held::Pool(pool) => pool.facts(),
        }
    }

    /// A port with so much memory and depth.
    pub(crate) fn port(&self, memory: u64, depth: usize) -> anyhow::Result<StackPort> {
        let inject = self.stand.stack.inject;
        match &self.held {
            Held::Group(group) => group.port(memory, depth),
            Held::Pool(pool) => Ok(StackPort::on_pool(pool.port(memory, depth)?, inject, self.opener.seed)),
            Held::Nothing => {
                let files = self.stand.specs(self.sizes)?;
                Ok(StackPort::Plain(self.opener.open(inject, &files, memory, depth)?))
            }
        }
    }

    /// A port for each worker of the engine.
    pub(crate) fn ports(&self) -> anyhow::Result<Vec<StackPort>> {
        let (memory, depth) = (
            self.sizes.memory_bytes(),
            self.sizes.depth(self.stand.data_file_count()),
        );
        (0..self.workers).map(|_| self.port(memory, depth)).collect()
    }

    /// What each other instance needs to open its workers, so many each, here or on a host of its own; the directories
    /// stay held until they have.
    pub(crate) fn openings(
        &self,
        (count, each): (u32, u32),
        on_hosts: bool,
    ) -> anyhow::Result<(Vec<Opening>, Vec<Directory>)> {
        let (stand, files) = (self.stand, self.stand.files());
        let (ground, held) = match &self.held {
            Held::Group(_) => (stand.group_of_others()?, Vec::new()),
            Held::Nothing => stand.files_of_others(self.sizes)?,
            Held::Pool(_) => anyhow::bail!("the process of a pool serves one instance"),
        };
        let ground = if on_hosts { ground.of_other_hosts()? } else { ground };
        let opening = |nth: u32| Opening {
            ground: ground.clone(),
            data: files.data.iter().map(|file| file.0).collect(),
            redo: files.redo.0,
            first: nth * each,
            workers: each,
            settings: self.sizes.settings,
            memory: self.sizes.memory_bytes(),
            depth: self.sizes.depth(stand.data_file_count()),
            ring: self.opener.method == Method::Ring,
            seed: self.opener.seed,
            inject: Planted::of(&stand.stack.inject),
            hears: None,
        };
        Ok(((1..count).map(opening).collect(), held))
    }

    /// Lets so many other instances follow its group, before they open it; nobody where it has none.
    pub(crate) fn admit(&self, count: u32) -> anyhow::Result<Vec<Follower>> {
        match &self.held {
            Held::Group(group) => Ok(group.admit(count)?),
            Held::Nothing | Held::Pool(_) => Ok(Vec::new()),
        }
    }

    /// Closes a group in good order. Its ports must be gone.
    pub(crate) fn close(self) -> anyhow::Result<()> {
        match self.held {
            Held::Group(group) => group.close(),
            Held::Nothing | Held::Pool(_) => Ok(()),
        }
    }
}
