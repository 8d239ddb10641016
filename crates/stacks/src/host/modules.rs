//! Modules of the running kernel, loaded or not.
//!
//! Prevents: a kernel that is taken to lack what it would load by itself.

use std::path::Path;

/// Whether this kernel has a module of that name, loaded or not.
pub(crate) fn has(name: &str) -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let file = Path::new("/lib/modules").join(release.trim()).join("modules.dep");
    let modules = std::fs::read_to_string(file).unwrap_or_default();
    modules
        .lines()
        .filter_map(|l| l.split(':').next())
        .any(|m| m.contains(&format!("/{name}.ko")))
}
