//! The keys of a stack of kind `zfs` as written.

use super::section::Section;
use super::value::At;
use crate::error::Findings;
use crate::units::Bytes;
use crate::zfs::{RedoAs, Vdevs, ZfsPreset, ZfsWay};

/// Keys of kind `zfs`.
#[derive(Default)]
pub(crate) struct WrittenZfs {
    pub(crate) via: Option<At<ZfsWay>>,
    pub(crate) preset: Option<At<ZfsPreset>>,
    pub(crate) vdevs: Option<At<Vdevs>>,
    pub(crate) ashift: Option<At<u64>>,
    pub(crate) recordsize: Option<At<Bytes>>,
    pub(crate) compression: Option<At<String>>,
    pub(crate) checksum: Option<At<String>>,
    pub(crate) primarycache: Option<At<String>>,
    pub(crate) logbias: Option<At<String>>,
    pub(crate) sync: Option<At<String>>,
    pub(crate) atime: Option<At<String>>,
    pub(crate) prefetch: Option<At<bool>>,
    pub(crate) prefetch_distance: Option<At<Bytes>>,
    pub(crate) arc_max: Option<At<Bytes>>,
    pub(crate) arc_min: Option<At<Bytes>>,
    pub(crate) redo_as: Option<At<RedoAs>>,
}

pub(crate) fn read(s: &mut Section<'_>, findings: &mut Findings) -> WrittenZfs {
    WrittenZfs {
        via: s.get("via", findings),
        preset: s.get("preset", findings),
        vdevs: s.get("vdevs", findings),
        ashift: s.get("ashift", findings),
        recordsize: s.get("recordsize", findings),
        compression: s.get("compression", findings),
        checksum: s.get("checksum", findings),
        primarycache: s.get("primarycache", findings),
        logbias: s.get("logbias", findings),
        sync: s.get("sync", findings),
        atime: s.get("atime", findings),
        prefetch: s.get("prefetch", findings),
        prefetch_distance: s.get("prefetch_distance", findings),
        arc_max: s.get("arc_max", findings),
        arc_min: s.get("arc_min", findings),
        redo_as: s.get("redo_as", findings),
    }
}
