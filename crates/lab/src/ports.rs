//! The port of a run: whichever way its stack stores things, one type, so that the engine is compiled once.
//!
//! Takes how I/O is issued and what disadvantage a stack is given; gives ports. Prevents: the choice among ways to
//! storage written down in each place that opens one.

use crate::inject;
use diskgroup::GroupPort;
use plan::Inject;
use targets::{BasePort, FaultPort, Method, ModelPort, Moved, OpenSpec, PsyncPort, TargetError, UringPort};
use zpool::ZpoolPort;

targets::one_of_ports! {
    /// A port on the files of the page engine, on whatever its stack is.
    #[allow(clippy::large_enum_variant, reason = "a box would be followed at every request")]
    pub(crate) enum StackPort {
        /// On files or devices.
        Plain(BasePort),
        /// On the files of a disk group.
        Group(GroupPort<BasePort>),
        /// The same with a group of its own for the redo log.
        GroupOfTwo(GroupPort<GroupPort<BasePort>>),
        /// On a pool of ZFS in a process.
        Pool(ZpoolPort),
        /// The same with faults over it.
        FaultyPool(FaultPort<ZpoolPort>),
        /// On a simulated device in virtual time.
        Model(FaultPort<ModelPort>),
    }
}

/// The page engine on the port of a run.
pub(crate) type PageEngine = pages::Instance<StackPort>;

impl StackPort {
    /// On a pool, with a stack's planted disadvantage if it has one.
    pub(crate) fn on_pool(port: ZpoolPort, inject: Inject, seed: u64) -> StackPort {
        if inject::is_planted(&inject) {
            StackPort::FaultyPool(inject::planted(port, inject, seed))
        } else {
            StackPort::Pool(port)
        }
    }

    /// What a simulated device has moved so far; nothing where the kernel counts.
    pub(crate) fn moved(&self) -> Moved {
        match self {
            StackPort::Model(port) => port.inner().moved(),
            _ => Moved::default(),
        }
    }

    /// It has rested until then: a clock of its own is set, the machine's goes by itself.
    pub(crate) fn rest_until(&mut self, moment: u64) {
        if let StackPort::Model(port) = self {
            port.inner_mut().rest_until(moment);
        }
    }
}

/// How ports on files and devices are opened in a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opener {
    pub(crate) method: Method,
    /// Of planted disadvantages.
    pub(crate) seed: u64,
}

impl Opener {
    /// A port on these files, with a stack's planted disadvantage if it has one.
    pub(crate) fn open(
        self,
        inject: Inject,
        files: &[OpenSpec],
        memory: u64,
        depth: usize,
    ) -> Result<BasePort, TargetError> {
        if !inject::is_planted(&inject) {
            return BasePort::open(self.method, files, memory, depth);
        }
        Ok(match self.method {
            Method::Ring => {
                let port = UringPort::open(files, memory, depth)?;
                BasePort::FaultyRing(inject::planted(port, inject, self.seed))
            }
            Method::Pread => {
                let port = PsyncPort::open(files, memory, depth)?;
                BasePort::FaultyPread(inject::planted(port, inject, self.seed))
            }
        })
    }
}
