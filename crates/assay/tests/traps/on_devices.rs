//! The traps on real devices by name, so that those which a machine cannot set are listed all the same.
//!
//! Prevents: a machine without root, or without a tool, that looks as if it had set every trap there is.

use crate::traps::sheet::Trap;

pub(crate) const BELOW: Trap = Trap {
    name: "the page cache below a loop device serves a direct run",
    objection: "the file system cache served it",
    line: ("provenance", "invalid"),
};
pub(crate) const IGNORED: Trap = Trap {
    name: "a target that takes O_DIRECT and ignores it",
    objection: "O_DIRECT on one side only",
    line: ("direct access", "suspect"),
};
pub(crate) const JOURNALLED: Trap = Trap {
    name: "a file system on a disk that takes O_DIRECT and ignores it",
    objection: "the file system cached it, whatever it was asked",
    line: ("direct access", "suspect"),
};
pub(crate) const ASKEW: Trap = Trap {
    name: "a partition that begins in the middle of a block",
    objection: "the partition was misaligned",
    line: ("alignment", "suspect"),
};
pub(crate) const OPTIONS: Trap = Trap {
    name: "two stacks with unlike mount options",
    objection: "you did not disclose the configuration",
    line: ("mount options", "suspect"),
};
pub(crate) const AHEAD: Trap = Trap {
    name: "another read-ahead on one side",
    objection: "one of them read ahead",
    line: ("read-ahead", "suspect"),
};
pub(crate) const UNLIKE: Trap = Trap {
    name: "LUNs that are not alike",
    objection: "the LUNs were not the same",
    line: ("LUNs alike", "suspect"),
};
pub(crate) const SPARSE: Trap = Trap {
    name: "a sparse file that was never written",
    objection: "it read from nowhere, at the speed of memory",
    line: ("LUN whole", "suspect"),
};
pub(crate) const HOGS: Trap = Trap {
    name: "programs that compute beside the run",
    objection: "something else used the processors",
    line: ("background CPU", "suspect"),
};
pub(crate) const TRAFFIC: Trap = Trap {
    name: "another process writes to the stack's own disk",
    objection: "somebody else used the disk",
    line: ("other processes' I/O", "suspect"),
};
pub(crate) const KEPT: Trap = Trap {
    name: "a run kept to one processor, which something else fills",
    objection: "half of the processors were idle, but not the one that it had",
    line: ("host CPU", "suspect"),
};
pub(crate) const HELD: Trap = Trap {
    name: "a limit on processor time that nobody remembers",
    objection: "the container was throttled",
    line: ("throttling", "suspect"),
};
pub(crate) const GENERATOR: Trap = Trap {
    name: "a run that measures the generator",
    objection: "the host was the bottleneck",
    line: ("generator", "suspect"),
};
pub(crate) const HORDE: Trap = Trap {
    name: "a host on which watching is work itself",
    objection: "your monitoring slowed it down",
    line: ("observer", "suspect"),
};
pub(crate) const SLOW: Trap = Trap {
    name: "a LUN slower than its fellows",
    objection: "one of the five disks was dying",
    line: ("slow LUN", "suspect"),
};
pub(crate) const ROTTEN: Trap = Trap {
    name: "a mirror that hides a disk whose pages come back wrong",
    objection: "one of the disks was failing, and nobody noticed",
    line: ("device errors", "suspect"),
};
pub(crate) const DYING: Trap = Trap {
    name: "a mirror that hides a disk that reports errors",
    objection: "the array was running degraded",
    line: ("device errors", "suspect"),
};
pub(crate) const MODELLED: Trap = Trap {
    name: "a modelled disk that is taken for a real one",
    objection: "that is a simulation",
    line: ("modelled device", "note"),
};
pub(crate) const LIES: Trap = Trap {
    name: "a stack that acknowledges flushes it has not done",
    objection: "it never waited for the disk",
    line: ("data loss", "invalid"),
};
pub(crate) const NO_BARRIERS: Trap = Trap {
    name: "a file system mounted so that it passes no flushes on",
    objection: "barriers were off",
    line: ("data loss", "invalid"),
};
pub(crate) const NEVER_CUT: Trap = Trap {
    name: "a speed of which nobody asked what is kept",
    objection: "fast, and was it still there after a power cut?",
    line: ("durability", "note"),
};

/// Those on places, disks and processes of the machine.
pub(crate) const PLACED: [Trap; 14] = [
    BELOW, IGNORED, JOURNALLED, ASKEW, OPTIONS, AHEAD, UNLIKE, SPARSE, HOGS, TRAFFIC, KEPT, HELD, GENERATOR, HORDE,
];

/// Those on LUNs that this tool serves itself.
pub(crate) const SERVED: [Trap; 7] = [SLOW, ROTTEN, DYING, MODELLED, LIES, NO_BARRIERS, NEVER_CUT];
