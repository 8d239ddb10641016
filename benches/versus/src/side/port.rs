//! The port that a study's page engine has: the way to storage is known when it runs, not when it is compiled.
//!
//! Takes a method and files, gives one type. Prevents: an engine that is measured over one port alone and is faster
//! than the one that studies run.

use crate::flags;
use diskgroup::GroupPort;
use targets::{BasePort, FaultPort, Method, ModelPort, Nanos, OpenSpec, StoredPort, TargetError, monotonic_ns};

targets::one_of_ports! {
    /// The ways that a run of a study chooses from, in the same nesting, and files in memory.
    #[allow(
        clippy::large_enum_variant,
        dead_code,
        reason = "as the port of a study, which has all of these ways whichever of them it takes"
    )]
    pub(crate) enum StudyPort {
        /// On files or devices.
        Plain(BasePort),
        /// On the files of a disk group.
        Group(GroupPort<BasePort>),
        /// The same with a group of its own for the redo log.
        GroupOfTwo(GroupPort<GroupPort<BasePort>>),
        /// On a simulated device in virtual time.
        Model(FaultPort<ModelPort>),
        /// On files in memory, where storage costs nothing but a copy.
        Memory(StoredPort<fn() -> Nanos>),
    }
}

impl StudyPort {
    /// On files or devices, by one method.
    pub(crate) fn open(
        method: flags::Method,
        files: &[OpenSpec],
        memory: u64,
        depth: usize,
    ) -> Result<StudyPort, TargetError> {
        let method = match method {
            flags::Method::Ring => Method::Ring,
            flags::Method::Pread => Method::Pread,
        };
        BasePort::open(method, files, memory, depth).map(StudyPort::Plain)
    }

    /// On files of these sizes in memory, all zeros.
    pub(crate) fn in_memory(sizes: &[u64], memory: u64, depth: usize) -> Result<StudyPort, TargetError> {
        StoredPort::open(sizes, memory, depth, monotonic_ns as fn() -> Nanos).map(StudyPort::Memory)
    }
}
