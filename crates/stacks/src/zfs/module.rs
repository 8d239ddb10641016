//! The kernel's module: whether it is there, what it counts, and its settings given back.
//!
//! Its cache belongs to the machine. Prevents: a machine whose ARC stays small after a run.

use super::counts::ArcCounted;
use std::io;
use std::path::Path;

pub(super) const MODULE: &str = "/sys/module/zfs";
const DEVICE: &str = "/dev/zfs";
pub(super) const ARC_STATS: &str = "/proc/spl/kstat/zfs/arcstats";

/// Whether the module is loaded and can be spoken to.
pub(crate) fn is_loaded() -> bool {
    Path::new(MODULE).exists() && Path::new(DEVICE).exists()
}

/// As the module tells it; empty where there is none.
pub(crate) fn version() -> String {
    let told = std::fs::read_to_string(Path::new(MODULE).join("version")).unwrap_or_default();
    told.trim().to_owned()
}

/// Puts a setting back. The module is gone: so is its setting.
///
/// A bound of the ARC that reads 0 was the module's own choice, but a 0 that is written changes nothing: what was in
/// force is written `first`, then what stood there.
pub(crate) fn restore(file: &Path, first: Option<&str>, value: &str) -> io::Result<()> {
    for value in first.into_iter().chain([value]) {
        match std::fs::write(file, value) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            written => written?,
        }
    }
    Ok(())
}

/// What the machine's cache has counted; `None` where it can't be read.
pub(crate) fn arc() -> Option<ArcCounted> {
    ArcCounted::of_table(&table())
}

pub(super) fn table() -> String {
    std::fs::read_to_string(ARC_STATS).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_that_the_module_chose_is_in_force_again_before_its_zero_is_written() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("zfs_arc_max");
        // A file in a directory that is not there, as when the module was removed.
        restore(&dir.path().join("gone/zfs_arc_max"), Some("1"), "0").expect("no module, no setting");
        std::fs::write(&file, "67108864").expect("written");
        restore(&file, Some("1073741824"), "0").expect("restored");
        assert_eq!(std::fs::read_to_string(&file).expect("read"), "0");
        restore(&file, None, "4096").expect("restored");
        assert_eq!(std::fs::read_to_string(&file).expect("read"), "4096");
    }
}
