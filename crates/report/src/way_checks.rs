//! Stacks that run a file system's code elsewhere than a server would: in a process, in place of the kernel.
//!
//! Takes what a stack says of its way, and how busy the processors were. Prevents: processor time of a way taken for that of ZFS.

use crate::checks::Status;
use crate::format::percent;
use crate::history::Book;
use crate::order_checks::Found;
use ledger::{FactName, FactValue, ZfsWay};

/// Below it, requests wait for a processor about as long as they need one (a queue of few servers at seven tenths of what they can do, as the
/// generator's): the rate is that of the way as much as of the devices.
const IDLE_SHARE_MIN: f64 = 0.30;

/// Whether a stack's ZFS runs in a process: OpenZFS's library, or zfs-fuse.
pub(crate) fn is_in_a_process(book: &Book, stack: &str) -> bool {
    let way = book.of_stack(stack, FactName::WayToZfs);
    matches!(way, Some(FactValue::ZfsWay(ZfsWay::Userspace | ZfsWay::Fuse(_))))
}

/// Of a phase, given the share of the processors' time that was idle.
pub(crate) fn found(idle_share: f64) -> Found {
    let status = match idle_share < IDLE_SHARE_MIN {
        true => Status::Suspect,
        false => Status::Valid,
    };
    (
        "way to ZFS",
        status,
        format!("in a process, with {} of the processors idle", percent(idle_share)),
        format!("at least {}", percent(IDLE_SHARE_MIN)),
        "the rate is bound by what this way costs, which a kernel's ZFS does not: take bytes, extents and the ARC from it, and rates from \
         slower LUNs (an array, a disk, a model of one) or from `via = \"kernel\"`",
    )
}
