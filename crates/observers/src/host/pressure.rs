//! Pressure stall information: how long tasks stood still for want of CPU, I/O or memory, from `/proc/pressure`.
//!
//! Takes the text, gives microseconds since boot. Source: `Documentation/accounting/psi.rst` of the kernel.
//! Prevents: a kernel without it (or booted with `psi=0`) reporting that nothing ever stalled.

use crate::Root;

/// Time stalled since boot, microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stall {
    /// At least one task stood still.
    pub some_us: u64,
    /// All tasks that were not idle stood still at once; absent for CPU before kernel 5.13.
    pub full_us: Option<u64>,
}

/// Stalls by cause; `None` where the kernel does not tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pressure {
    /// For want of a CPU.
    pub cpu: Option<Stall>,
    /// Waiting for I/O.
    pub io: Option<Stall>,
    /// Waiting for memory: reclaim, refaults.
    pub memory: Option<Stall>,
}

impl Stall {
    /// Reads the text of one pressure file; `None` when there is no `some` line with a total.
    pub fn parse(text: &str) -> Option<Self> {
        let total = |kind: &str| {
            let line = text
                .lines()
                .find(|line| line.split_ascii_whitespace().next() == Some(kind))?;
            line.split_ascii_whitespace()
                .find_map(|word| word.strip_prefix("total="))?
                .parse()
                .ok()
        };
        Some(Stall {
            some_us: total("some")?,
            full_us: total("full"),
        })
    }
}

/// Stalls until now.
pub(crate) fn read(root: &Root) -> Pressure {
    let stall = |name| Stall::parse(&root.proc_text(name)?);
    Pressure {
        cpu: stall("pressure/cpu"),
        io: stall("pressure/io"),
        memory: stall("pressure/memory"),
    }
}
