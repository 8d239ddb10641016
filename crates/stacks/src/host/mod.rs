//! What the host keeps for a stack: processes, mounts, control groups.
//!
//! Takes names and directories, gives what the kernel says. Prevents: a process, a mount or a group of somebody else's
//! taken for the run's.

pub(crate) mod cgroup;
pub(crate) mod modules;
pub(crate) mod mounts;
pub(crate) mod namespace;
pub(crate) mod process;
