//! One file (or a directory that users make and remove) of the model, and who holds it.
//!
//! Prevents: a read that is judged while a write of the same file is under way.

use crate::client::{Identity, Node};

/// What a file is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Read and written, if accessed.
    Data,
    /// Created and removed, and empty.
    Spare,
    /// A directory that is made and removed.
    Inner,
    /// The log of one session.
    Log,
}

/// How a session holds a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hold {
    None,
    Shared,
    Alone,
}

/// One file. Sizes are KiB.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) node: Node,
    pub(crate) directory: u32,
    pub(crate) kind: Kind,
    /// The size it was made with, to which it is cut back.
    pub(crate) home: u32,
    /// The size that was last sent.
    pub(crate) size: u32,
    /// Room for versions; 0: never written again.
    pub(crate) room: u32,
    pub(crate) grains: u32,
    /// The number that its data carry: of the first name that it had.
    pub(crate) content: u32,
    pub(crate) identity: Identity,
    /// Its name exists, as far as answers say.
    pub(crate) there: bool,
    /// Its removal was acknowledged, and it was not made again.
    pub(crate) removed: bool,
    /// A call that makes or removes the name has no answer.
    pub(crate) open: bool,
    /// Something of it is not stable.
    pub(crate) dirty: bool,
    /// It was cut back, and that is not stable.
    pub(crate) cut_back: bool,
    /// It waits to be cut back.
    pub(crate) over: bool,
    readers: u32,
    alone: bool,
    /// When its name or size last changed, in changes of the tree.
    pub(crate) changed: u64,
}

impl File {
    pub(crate) fn new((node, content): (Node, u32), directory: u32, kind: Kind, kib: u32) -> File {
        File {
            node,
            directory,
            kind,
            home: kib,
            size: 0,
            room: 0,
            grains: 0,
            content,
            identity: Identity::default(),
            there: false,
            removed: false,
            open: false,
            dirty: false,
            cut_back: false,
            over: false,
            readers: 0,
            alone: false,
            changed: 0,
        }
    }

    /// Whether it may be held so now.
    pub(crate) fn is_free_for(&self, hold: Hold) -> bool {
        match hold {
            Hold::None => true,
            Hold::Shared => !self.alone,
            Hold::Alone => !self.alone && self.readers == 0,
        }
    }

    /// Whether its name or size may be either of two.
    pub(crate) fn is_changing(&self) -> bool {
        self.alone || self.open
    }

    pub(crate) fn hold(&mut self, hold: Hold) {
        match hold {
            Hold::None => {}
            Hold::Shared => self.readers += 1,
            Hold::Alone => self.alone = true,
        }
    }

    pub(crate) fn release(&mut self, hold: Hold) {
        match hold {
            Hold::None => {}
            Hold::Shared => self.readers -= 1,
            Hold::Alone => self.alone = false,
        }
    }

    /// Nobody holds it: all sessions ended.
    pub(crate) fn release_all(&mut self) {
        (self.readers, self.alone) = (0, false);
    }

    /// What two names are of changes places; the names themselves stay.
    pub(crate) fn swap_objects(&mut self, other: &mut File) {
        use std::mem::swap;
        swap(&mut self.node, &mut other.node);
        swap(&mut self.home, &mut other.home);
        swap(&mut self.size, &mut other.size);
        swap(&mut self.room, &mut other.room);
        swap(&mut self.grains, &mut other.grains);
        swap(&mut self.content, &mut other.content);
        swap(&mut self.identity, &mut other.identity);
        swap(&mut self.dirty, &mut other.dirty);
        swap(&mut self.cut_back, &mut other.cut_back);
    }

    /// Bytes in it.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.size) * 1024
    }
}
