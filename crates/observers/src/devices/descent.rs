//! The way down from a place to the lowest visible devices.
//!
//! Takes what `stat` says of a place, gives its [`Lineage`]: file systems to their devices, devices to what they are
//! made of, files of loop devices to the file system they lie on, and so on.
//! Prevents: a chain that leads back to itself being followed for ever, and a device that is reached on two ways being
//! counted twice.

use std::path::{Path, PathBuf};

use crate::devices::mountinfo::{self, Mount};
use crate::devices::topology::{self, Below};
use crate::{Backing, DeviceName, Level, Lineage, ObserveError, Place, Root};

/// Chains longer than this are a loop of links, not storage.
const DEPTH_MOST: usize = 16;
/// Source of the mounts of modelled LUNs (`luns::serve`).
const MODELLED: &str = "assay-luns";

/// The lineage of a file, directory or block device on the running kernel.
pub fn lineage(path: &Path) -> Result<Lineage, ObserveError> {
    lineage_in(&Root::live(), path)
}

/// [`lineage`] from given roots.
pub fn lineage_in(root: &Root, path: &Path) -> Result<Lineage, ObserveError> {
    let place = (root.look)(path).map_err(|source| ObserveError::Place {
        path: path.to_path_buf(),
        source,
    })?;
    Ok(Walk::new(root).of(&place))
}

/// A descent under way.
struct Walk<'a> {
    root: &'a Root,
    mounts: Vec<Mount>,
    found: Vec<(DeviceName, usize)>,
    lowest: Vec<DeviceName>,
    backing: Backing,
    notes: Vec<String>,
}

impl<'a> Walk<'a> {
    /// A descent that has not begun.
    fn new(root: &'a Root) -> Self {
        let mounts = mountinfo::parse(&root.proc_text("self/mountinfo").unwrap_or_default());
        Walk {
            root,
            mounts,
            found: Vec::new(),
            lowest: Vec::new(),
            backing: Backing::Devices,
            notes: Vec::new(),
        }
    }

    /// The lineage of a place.
    fn of(mut self, place: &Place) -> Lineage {
        let file_system = match place.device {
            Some(_) => None,
            None => mountinfo::covering(&self.mounts, place).map(|mount| mount.kind.clone()),
        };
        self.place(place, 0);
        self.finish(place.canonical.clone(), file_system)
    }

    /// A file, directory or device at a depth.
    fn place(&mut self, place: &Place, depth: usize) {
        let mount = mountinfo::covering(&self.mounts, place).cloned();
        if let Some(name) = place.device.and_then(|numbers| topology::name_of(self.root, numbers)) {
            return self.device(name, depth);
        }
        if let Some(name) = topology::name_of(self.root, place.on) {
            if let Some(mount) = &mount {
                self.extra_devices(mount, depth);
            }
            return self.device(name, depth);
        }
        match mount {
            Some(mount) => self.anonymous(&mount, depth),
            None => self.end(
                Backing::Hidden,
                format!("{}: no mount covers it", place.canonical.display()),
            ),
        }
    }

    /// A file system without a device number of its own.
    fn anonymous(&mut self, mount: &Mount, depth: usize) {
        let at = mount.point.display().to_string();
        match mount.kind.as_str() {
            "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" | "rootfs" => {
                self.end(
                    Backing::Memory,
                    format!("{at} is {}: main memory, no storage at all", mount.kind),
                );
            }
            "nfs" | "nfs4" | "cifs" | "smb3" | "ceph" | "9p" | "virtiofs" | "afs" | "lustre" | "glusterfs" => {
                self.end(
                    Backing::Network,
                    format!("{at} is {} from {}: devices are elsewhere", mount.kind, mount.source),
                );
            }
            "overlay" => self.overlay(mount, depth),
            "zfs" => {
                let dataset = &mount.source;
                self.end(
                    Backing::Hidden,
                    format!("{at} is ZFS dataset {dataset}: its pool's devices are not listed in /sys"),
                );
            }
            _ => self.sources(mount, depth),
        }
    }

    /// File systems whose source names their devices: btrfs, bcachefs.
    fn sources(&mut self, mount: &Mount, depth: usize) {
        let mut names = Vec::new();
        for source in mount.source.split(':').filter(|source| source.starts_with('/')) {
            let numbers = (self.root.look)(Path::new(source)).ok().and_then(|place| place.device);
            let by_number = numbers.and_then(|numbers| topology::name_of(self.root, numbers));
            let by_name = source
                .strip_prefix("/dev/")
                .filter(|name| topology::exists(self.root, name))
                .map(str::to_owned);
            names.extend(by_number.or(by_name));
        }
        if mount.kind == "btrfs" {
            names = btrfs_members(self.root, &names).unwrap_or(names);
        }
        if names.is_empty() {
            let note = format!(
                "{} is {} from {}: Assay cannot find its devices",
                mount.point.display(),
                mount.kind,
                mount.source
            );
            return self.end(Backing::Hidden, note);
        }
        for name in names {
            self.device(name, depth);
        }
    }

    /// Overlay: new data goes to the upper layer; what is only read may come from lower ones.
    fn overlay(&mut self, mount: &Mount, depth: usize) {
        let upper = mount
            .options
            .split(',')
            .find_map(|option| option.strip_prefix("upperdir="));
        let path = upper.map(|upper| PathBuf::from(mountinfo::unescape(upper)));
        match path.and_then(|path| (self.root.look)(&path).ok()) {
            Some(place) if depth < DEPTH_MOST => {
                self.notes.push(format!(
                    "{} is an overlay: lower layers may lie elsewhere",
                    mount.point.display()
                ));
                self.place(&place, depth + 1);
            }
            _ => self.end(
                Backing::Hidden,
                format!("{} is an overlay whose layers are out of sight", mount.point.display()),
            ),
        }
    }

    /// XFS can keep its log and its real-time part on other devices.
    fn extra_devices(&mut self, mount: &Mount, depth: usize) {
        for option in mount.options.split(',') {
            let Some(path) = option.strip_prefix("logdev=").or_else(|| option.strip_prefix("rtdev=")) else {
                continue;
            };
            let numbers = (self.root.look)(Path::new(path)).ok().and_then(|place| place.device);
            match numbers.and_then(|numbers| topology::name_of(self.root, numbers)) {
                Some(name) => self.device(name, depth),
                None => self
                    .notes
                    .push(format!("{option}: Assay cannot find this device of the file system")),
            }
        }
    }

    fn device(&mut self, name: DeviceName, depth: usize) {
        if depth >= DEPTH_MOST {
            return self
                .notes
                .push(format!("{name}: the chain is cut after {DEPTH_MOST} levels"));
        }
        match self.found.iter_mut().find(|(known, _)| *known == name) {
            // Met before at the same depth or lower: its own chain is there already.
            Some((_, known_depth)) if *known_depth >= depth => return,
            Some((_, known_depth)) => *known_depth = depth,
            None => self.found.push((name.clone(), depth)),
        }
        match topology::below(self.root, &name) {
            Below::Devices(names) => names.into_iter().for_each(|below| self.device(below, depth + 1)),
            Below::File(path) => match (self.root.look)(&path) {
                // What is counted at a device by calculation is what the stack did to it; the file below is how it is
                // played.
                Ok(place) if self.is_modelled(&place) => {
                    self.lowest_device(
                        name.clone(),
                        format!("{name} is a modelled device, served through FUSE"),
                    );
                }
                Ok(place) => self.place(&place, depth + 1),
                Err(error) => {
                    // What it moves may come from the page cache below it, where nobody can look.
                    if !topology::is_direct_loop(self.root, &name) {
                        self.backing = Backing::Hidden;
                    }
                    self.lowest_device(
                        name.clone(),
                        format!("{name}: cannot look at {}: {error}", path.display()),
                    );
                }
            },
            Below::Memory => {
                self.backing = Backing::Memory;
                self.lowest_device(name.clone(), format!("{name} is main memory, no storage at all"));
            }
            Below::Nothing => self.lowest_device(name.clone(), topology::hint(self.root, &name)),
        }
    }

    /// Whether a file is one of those that room `luns` serves.
    fn is_modelled(&self, place: &Place) -> bool {
        mountinfo::covering(&self.mounts, place).is_some_and(|mount| mount.source == MODELLED)
    }

    fn lowest_device(&mut self, name: DeviceName, note: String) {
        if !self.lowest.contains(&name) {
            self.lowest.push(name);
            self.notes.push(note);
        }
    }

    fn end(&mut self, backing: Backing, note: String) {
        self.backing = backing;
        self.notes.push(note);
    }

    fn finish(mut self, path: PathBuf, file_system: Option<String>) -> Lineage {
        let depth = self.found.iter().map(|(_, depth)| depth + 1).max().unwrap_or(0);
        let mut levels = vec![Level::default(); depth];
        for (name, depth) in self.found {
            levels[depth].devices.push(name);
        }
        levels.retain(|level| !level.devices.is_empty());
        levels.iter_mut().for_each(|level| level.devices.sort());
        self.lowest.sort();
        Lineage {
            path,
            file_system,
            levels,
            lowest: self.lowest,
            backing: self.backing,
            notes: self.notes,
        }
    }
}

/// All members of the btrfs that any of these devices belongs to.
fn btrfs_members(root: &Root, names: &[DeviceName]) -> Option<Vec<DeviceName>> {
    let dir = root.sys.join("fs/btrfs");
    let members = topology::entries(dir.clone())
        .into_iter()
        .map(|uuid| topology::entries(dir.join(uuid).join("devices")));
    members
        .into_iter()
        .find(|members| members.iter().any(|member| names.contains(member)))
}
