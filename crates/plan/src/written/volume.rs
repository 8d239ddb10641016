//! The keys of stacks of kind `lvm` and `md` as written.

use crate::study::StackWord::{self, Lvm, Md};
use crate::study::{LvmLayout, MdLevel, Resync, Snapshot, VolumeTop};
use crate::units::Bytes;

written! {
    /// Keys of kinds `lvm` and `md`.
    struct WrittenVolume of StackWord {
        /// what stands on the volume: `ext4`, `xfs`, or `none` (the volume is used as a device; `redo` must name a set)
        fs: VolumeTop [Lvm, Md] = (VolumeTop::Ext4);
        /// `linear` one LUN after the other, `striped`, `raid1` (two copies)
        layout: LvmLayout [Lvm] = (LvmLayout::Linear);
        /// LUNs that a stripe goes over; of `striped`
        stripes: u64 [Lvm] = (else "all LUNs of the set", in 2..=64);
        /// bytes on one LUN before the next follows: a power of two; of `striped`
        stripe_size: Bytes [Lvm] = (Bytes::kib(64), in Bytes::kib(4)..=Bytes::mib(4));
        /// the volume takes its blocks from a pool when they are first written; not with `raid1` or `fs = "none"`
        thin: bool [Lvm] = (false);
        /// taken when the data are loaded, and there while the phases work: `cow` copies what is overwritten, `thin`
        /// (of a thin volume) leaves it where it is. It halves the room
        snapshot: Snapshot [Lvm] = (Snapshot::None);
        /// `raid0`, `raid1` (a copy on each LUN), `raid10` (two copies), `raid5`
        level: MdLevel [Md] = "*required*";
        /// bytes on one LUN before the next follows: a power of two; not of `raid1`
        chunk: Bytes [Md] = (Bytes::kib(512), in Bytes::kib(4)..=Bytes::mib(4));
        /// of mirrors and `raid5`: the study waits (`wait`) until copies or parity are right; `assume` (mirrors only)
        /// takes the copies to be the same
        resync: Resync [Lvm, Md] = (Resync::Wait);
        /// the array notes what is being written; not of `raid0`
        bitmap: bool [Md] = (false);
    }
}
