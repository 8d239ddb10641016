//! Modules of the running kernel, loaded or not, and those that are built into it.
//!
//! Prevents: a kernel that is taken to lack what it would load by itself.

use std::path::Path;

/// Lists of the kernel's own: what can be loaded, and what is part of it.
const LISTS: [&str; 2] = ["modules.dep", "modules.builtin"];

/// Whether this kernel has a module of that name, loaded or not.
pub(crate) fn has(name: &str) -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let dir = Path::new("/lib/modules").join(release.trim());
    let is_listed = |list: &&str| names(&std::fs::read_to_string(dir.join(list)).unwrap_or_default(), name);
    // A kernel that loaded it is shown so also where nobody put its files, in a container for example.
    Path::new("/sys/module").join(name.replace('-', "_")).exists() || LISTS.iter().any(is_listed)
}

/// Whether the lists can be read at all. Where they can't, as in many containers, the kernel may still load a module.
pub(crate) fn are_listed() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let dir = Path::new("/lib/modules").join(release.trim());
    LISTS.iter().any(|list| dir.join(list).exists())
}

/// Where the script of the guest is: in the source, and where the Debian package puts it.
const GUEST: [&str; 2] = ["benches/guest", "/usr/share/assay/guest"];

/// What to do where the kernel lacks a module.
pub(crate) fn cure(module: &str) -> String {
    let [source, package] = GUEST;
    format!("modprobe {module}, or use a guest that has it: guest.sh STUDY (in {source} or {package})")
}

/// Whether a list names the module; both forms of list begin each line with its file.
fn names(list: &str, name: &str) -> bool {
    let wanted = format!("/{name}.ko");
    list.lines()
        .filter_map(|line| line.split(':').next())
        .any(|file| file.contains(&wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_found_by_its_file_and_not_where_another_needs_it() {
        let loadable = "kernel/drivers/md/dm-raid.ko.xz: kernel/drivers/md/raid456.ko.xz\n\
                        kernel/drivers/md/raid1.ko.xz: kernel/drivers/md/md-mod.ko.xz\n";
        assert!(names(loadable, "dm-raid") && names(loadable, "raid1"));
        assert!(!names(loadable, "raid456") && !names(loadable, "md-mod") && !names(loadable, "raid"));
        assert!(names("kernel/drivers/md/dm-mod.ko\n", "dm-mod"));
    }

    #[test]
    fn the_script_of_the_guest_is_where_the_cure_says() {
        let above = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let [source, package] = GUEST;
        assert!(above.join(source).join("guest.sh").is_file());
        let packaged = std::fs::read_to_string(above.join("crates/assay/Cargo.toml")).expect("what is packaged");
        let line = format!("[\"../../{source}/*.sh\", \"{}/\"", package.trim_start_matches('/'));
        assert!(packaged.contains(&line), "{line}");
        assert!(GUEST.iter().all(|place| cure("nfsd").contains(place)));
    }
}
