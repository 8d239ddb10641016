//! The keys of stacks of kind `lvm` and `md` as written.

use super::value::StackWord::{self, Lvm, Md};
use super::value::VolumeTop;
use crate::study::{LvmLayout, MdLevel, Resync, Snapshot};
use crate::units::Bytes;

written! {
    /// Keys of kinds `lvm` and `md`.
    struct WrittenVolume of StackWord {
        /// what stands on the volume: `ext4`, `xfs`, or `none` (the volume is used as a device; `redo` must name a set)
        fs: VolumeTop [Lvm, Md] = "`ext4`";
        /// `linear` one LUN after the other, `striped`, `raid1` (two copies)
        layout: LvmLayout [Lvm] = "`linear`";
        /// LUNs that a stripe goes over, 2 to 64; of `striped`
        stripes: u64 [Lvm] = "all LUNs of the set";
        /// bytes on one LUN before the next follows: a power of two from 4 KiB to 4 MiB; of `striped`
        stripe_size: Bytes [Lvm] = "`\"64KiB\"`";
        /// the volume takes its blocks from a pool when they are first written; not with `raid1` or `fs = "none"`
        thin: bool [Lvm] = "`false`";
        /// taken when the data are loaded, and there while the phases work: `cow` copies what is overwritten, `thin`
        /// (of a thin volume) leaves it where it is. It halves the room
        snapshot: Snapshot [Lvm] = "`none`";
        /// `raid0`, `raid1` (a copy on each LUN), `raid10` (two copies), `raid5`
        level: MdLevel [Md] = "*required*";
        /// bytes on one LUN before the next follows: a power of two from 4 KiB to 4 MiB; not of `raid1`
        chunk: Bytes [Md] = "`\"512KiB\"`";
        /// of mirrors and `raid5`: the study waits (`wait`) until copies or parity are right; `assume` (mirrors only)
        /// takes the copies to be the same
        resync: Resync [Lvm, Md] = "`wait`";
        /// the array notes what is being written; not of `raid0`
        bitmap: bool [Md] = "`false`";
    }
}
