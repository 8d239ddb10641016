//! What the kernel has of volumes: mappings by their group, arrays by their UUID, and the names in /dev that go with
//! them.
//!
//! Reads `/sys/block`, of this machine or of a recorded one. Prevents: an undo that believes the metadata on a disk,
//! which may be another's by then.

use crate::device;
use crate::host::modules;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const SECTOR: u64 = 512;

/// A mapping of the device mapper.
pub(super) struct Mapping {
    /// As dmsetup names it.
    pub(super) name: String,
    /// Nothing stands on it.
    pub(super) is_free: bool,
}

/// Where a kernel says what it has: below a root.
#[derive(Clone, Copy)]
pub(super) struct Kernel<'a> {
    pub(super) root: &'a Path,
}

/// The kernel that runs.
pub(super) fn here() -> Kernel<'static> {
    Kernel { root: Path::new("/") }
}

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// The names in a directory; none where there is no such directory.
fn names_in(dir: &Path) -> impl Iterator<Item = OsString> + use<> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name())
}

/// Removes one name, never what it leads to.
fn forget(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

impl Kernel<'_> {
    fn block(&self) -> PathBuf {
        self.root.join("sys/block")
    }

    fn dev(&self) -> PathBuf {
        self.root.join("dev")
    }

    /// Devices whose names begin so.
    fn devices(&self, beginning: &str) -> io::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(self.block())?.flatten();
        let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(beginning));
        Ok(named.map(|entry| entry.path()).collect())
    }

    /// Mappings of a group of LVM's: the group's name is in theirs, and LVM made them.
    pub(super) fn mappings_of(&self, group: &str) -> io::Result<Vec<Mapping>> {
        let mut found = Vec::new();
        for dir in self.devices("dm-")? {
            let (Some(name), Some(uuid)) = (read(&dir.join("dm/name")), read(&dir.join("dm/uuid"))) else {
                continue;
            };
            let is_its = name.strip_prefix(group).is_some_and(|rest| rest.starts_with('-')) && uuid.starts_with("LVM-");
            if is_its {
                let is_free = fs::read_dir(dir.join("holders")).is_ok_and(|mut holders| holders.next().is_none());
                found.push(Mapping { name, is_free });
            }
        }
        Ok(found)
    }

    /// The directory of a mapping.
    fn mapping(&self, name: &str) -> Option<PathBuf> {
        let mut all = self.devices("dm-").ok()?.into_iter();
        all.find(|dir| read(&dir.join("dm/name")).as_deref() == Some(name))
    }

    /// Size of a mapping.
    pub(super) fn bytes(&self, name: &str) -> io::Result<u64> {
        let sectors = self.mapping(name).and_then(|dir| read(&dir.join("size")));
        let bytes = sectors.and_then(|text| text.parse::<u64>().ok()?.checked_mul(SECTOR));
        bytes.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// What a mapping stands on, by the names of the kernel; nothing where it is gone.
    pub(super) fn below(&self, name: &str) -> Vec<OsString> {
        let dir = self.mapping(name);
        dir.map(|dir| names_in(&dir.join("slaves")).collect())
            .unwrap_or_default()
    }

    /// Where no udev takes names away, they are taken away here: of mappings of a group that is gone.
    pub(super) fn forget_names(&self, group: &str) -> io::Result<()> {
        if self.has_udev() {
            return Ok(());
        }
        let of_group = self.dev().join(group);
        for (dir, beginning) in [
            (self.dev().join("mapper"), format!("{group}-")),
            (of_group.clone(), String::new()),
        ] {
            for name in names_in(&dir).filter(|name| name.to_string_lossy().starts_with(&beginning)) {
                forget(&dir.join(name))?;
            }
        }
        match fs::remove_dir(&of_group) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    /// The array with this UUID, as the kernel names it; `NotFound` where there is none.
    pub(super) fn array_of(&self, uuid: &[u8; 16]) -> io::Result<PathBuf> {
        for dir in self.devices("md")? {
            let Some(name) = dir.file_name().map(Path::new) else {
                continue;
            };
            let is_member = |member: OsString| {
                let path = self.dev().join(member);
                device::holds(&path, "md", uuid).unwrap_or(false)
            };
            // Newer kernels say it themselves (that of 6.1 does) while the array works; otherwise a member does.
            let said = read(&dir.join("md/uuid")).filter(|said| *said != device::uuid_text(&[0; 16]));
            let is_it = match said {
                Some(said) => said == device::uuid_text(uuid),
                None => names_in(&dir.join("slaves")).any(is_member),
            };
            if is_it {
                return Ok(self.dev().join(name));
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }

    /// What an array does beside its work: "idle", "resync", "recover".
    pub(super) fn action_of(&self, array: &Path) -> io::Result<String> {
        self.of_array(array, "sync_action")
    }

    /// What the kernel says of an array.
    pub(super) fn of_array(&self, array: &Path, attribute: &str) -> io::Result<String> {
        let name = array.file_name().unwrap_or_default();
        let file = self.block().join(name).join("md").join(attribute);
        Ok(fs::read_to_string(file)?.trim().to_owned())
    }

    /// The LUNs that the kernel has in an array, by its names for them, each with its state.
    pub(super) fn members_of(&self, array: &Path) -> Vec<(String, String)> {
        let name = array.file_name().unwrap_or_default();
        let entries = names_in(&self.block().join(name).join("md"));
        let members = entries.filter_map(|entry| {
            let entry = entry.into_string().ok()?;
            let state = self.of_array(array, &format!("{entry}/state")).ok()?;
            Some((entry.strip_prefix("dev-")?.to_owned(), state))
        });
        members.collect()
    }

    /// What the kernel says of one LUN in an array: "in_sync", "faulty", "spare,write_error" and the like; `None`: it
    /// is not in it.
    pub(super) fn state_in(&self, array: &Path, lun: &Path) -> Option<String> {
        let lun = fs::canonicalize(lun).ok()?;
        self.of_array(array, &format!("dev-{}/state", lun.file_name()?.to_str()?))
            .ok()
    }

    /// Where no udev does it: the name of an array that is gone, and the node that it led to. `hex`: its UUID, for a
    /// name that another one took meanwhile stays.
    pub(super) fn forget_array(&self, link: &Path, hex: &str) -> io::Result<()> {
        if self.has_udev() || !link.to_string_lossy().contains(&hex[..16]) {
            return Ok(());
        }
        let node = fs::canonicalize(link).ok();
        forget(link)?;
        let gone = |node: &PathBuf| {
            let name = node.file_name().unwrap_or_default();
            let is_array = name.to_string_lossy().starts_with("md") && node.parent() == Some(self.dev().as_path());
            is_array && !self.block().join(name).exists()
        };
        node.filter(gone).map_or(Ok(()), |node| forget(&node))
    }

    /// Whether udev runs, which names devices.
    pub(super) fn has_udev(&self) -> bool {
        self.root.join("run/udev/control").exists()
    }

    /// Whether md has what this module brings, as it says itself: also where it is part of the kernel.
    pub(super) fn has_level(&self, module: &str) -> bool {
        let said = fs::read_to_string(self.root.join("proc/mdstat")).unwrap_or_default();
        let level = if module == "raid456" { "raid5" } else { module };
        said.lines()
            .next()
            .is_some_and(|line| line.contains(&format!("[{level}]")))
    }
}

/// Whether the kernel has LVM's part, or a module of it.
pub(crate) fn has_lvm() -> bool {
    Path::new("/sys/class/misc/device-mapper").exists() || modules::has("dm-mod")
}

/// Whether the kernel has md, or a module of it.
pub(crate) fn has_md() -> bool {
    Path::new("/proc/mdstat").exists() || modules::has("md-mod")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::lvm;
    use crate::volume::recorded::{Root, Scene, UUID};
    use std::os::unix::fs::symlink;

    const GROUP: &str = "assay_0123456789abcdef0123456789abcdef";
    const HEX: &str = "0123456789abcdef0123456789abcdef";

    fn laid_out(scene: &str) -> Root {
        Scene::of(scene).laid_out()
    }

    /// Of the group, without its name.
    fn mappings(root: &Root) -> Vec<String> {
        let all = root.kernel().mappings_of(GROUP).expect("sysfs is there");
        let name = |mapping: &Mapping| mapping.name.trim_start_matches(GROUP).to_owned();
        let mut names: Vec<String> = all.iter().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn mappings_of_a_group_are_found_in_every_layout() {
        assert_eq!(lvm::group(&UUID), GROUP);
        for (scene, expected) in [
            ("lvm-linear", vec!["-data"]),
            ("lvm-striped", vec!["-data"]),
            ("lvm-cow", vec!["-data", "-data-real", "-kept", "-kept-cow"]),
            ("lvm-pool", vec!["-pool", "-pool_tdata", "-pool_tmeta"]),
            (
                "lvm-thin",
                vec!["-data", "-kept", "-pool", "-pool-tpool", "-pool_tdata", "-pool_tmeta"],
            ),
            ("lvm-pvmove", vec!["-data", "-pvmove0"]),
            (
                "lvm-raid1-lost",
                vec![
                    "-data",
                    "-data_rimage_0",
                    "-data_rimage_1",
                    "-data_rmeta_0",
                    "-data_rmeta_1",
                ],
            ),
            ("md-raid1", vec![]),
        ] {
            let root = laid_out(scene);
            assert_eq!(mappings(&root), expected, "{scene}");
            for other in ["", "assay", &GROUP[..GROUP.len() - 1]] {
                let found = root.kernel().mappings_of(other).expect("sysfs is there");
                assert!(found.is_empty(), "{scene}: {other:?}");
            }
        }
    }

    #[test]
    fn a_mapping_that_lvm_has_not_made_is_not_the_groups() {
        let root = laid_out("lvm-odd");
        root.put("sys/block/dm-7/dm/name", &format!("{GROUP}-mine\n"));
        root.put("sys/block/dm-7/dm/uuid", "\n");
        root.put("sys/block/dm-8/dm/name", &format!("{GROUP}-secret\n"));
        root.put("sys/block/dm-8/dm/uuid", "CRYPT-LUKS2-0123\n");
        // It is just being made, or goes.
        root.put("sys/block/dm-9/dm/name", &format!("{GROUP}-going\n"));
        assert_eq!(mappings(&root), ["-data"]);
    }

    /// Removes mappings as an undo does, and gives their names in that order.
    fn taken_apart(root: &Root) -> Vec<String> {
        let mut gone = Vec::new();
        loop {
            let all = root.kernel().mappings_of(GROUP).expect("sysfs is there");
            if all.is_empty() {
                return gone;
            }
            let free: Vec<&Mapping> = all.iter().filter(|mapping| mapping.is_free).collect();
            assert!(!free.is_empty(), "{} stay, and none is free", all.len());
            for mapping in free {
                root.remove_mapping(&mapping.name);
                gone.push(mapping.name.clone());
            }
        }
    }

    #[test]
    fn every_layout_is_taken_apart_from_its_top() {
        let mut all = 0;
        for scene in Scene::all() {
            let root = laid_out(&scene);
            if root.at("sys/block").exists() {
                all += taken_apart(&root).len();
            }
        }
        assert!(all > 20, "{all} mappings in all scenes");
    }

    #[test]
    fn a_mapping_whose_holders_cannot_be_seen_is_not_free() {
        let root = laid_out("lvm-linear");
        fs::remove_dir(root.at("sys/block/dm-0/holders")).expect("it was empty");
        let all = root.kernel().mappings_of(GROUP).expect("sysfs is there");
        assert!(all.len() == 1 && !all[0].is_free);
    }

    #[test]
    fn the_size_of_a_pool_is_read_and_nothing_else_is_a_size() {
        let pool = format!("{GROUP}-pool");
        let root = laid_out("lvm-pool");
        assert_eq!(root.kernel().bytes(&pool).expect("its size"), 196_608 * 512);
        let missing = root.kernel().bytes("nonesuch").expect_err("there is none");
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let odd = laid_out("lvm-linear");
        for text in ["", "-8", "8.5", "8 sectors", "18446744073709551615"] {
            odd.put("sys/block/dm-0/size", text);
            assert!(odd.kernel().bytes(&format!("{GROUP}-data")).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_copy_stands_on_its_lun_and_a_moved_volume_on_what_moves_it() {
        let below = |scene: &str, name: &str| {
            let mut names = laid_out(scene).kernel().below(name);
            names.sort();
            names
        };
        assert_eq!(below("lvm-raid1-lost", &lvm::copy(&UUID, 0)), ["ubdb"]);
        assert_eq!(below("lvm-raid1-lost", &lvm::copy(&UUID, 1)), ["loop0"]);
        assert_eq!(below("lvm-raid1-repair", &lvm::copy(&UUID, 1)), ["ubdd"]);
        assert_eq!(below("lvm-raid1-lost", &lvm::copy(&UUID, 2)), [""; 0]);
        assert_eq!(below("lvm-pvmove", &lvm::mapping(&UUID)), ["dm-1", "ubdc", "ubdd"]);
    }

    #[test]
    fn an_array_is_found_by_its_uuid_alone() {
        let root = laid_out("md-raid0");
        let kernel = root.kernel();
        assert_eq!(kernel.array_of(&UUID).expect("the array"), root.at("dev/md127"));
        let other = [0xee; 16];
        assert!(kernel.array_of(&other).is_err());
        // As on kernels that do not say it: the superblock of a member does, though others can't be read.
        fs::remove_file(root.at("sys/block/md127/md/uuid")).expect("removed");
        assert_eq!(kernel.array_of(&UUID).expect("the array"), root.at("dev/md127"));
        assert!(kernel.array_of(&other).is_err());
        // An inactive array does not say its own.
        root.put("sys/block/md127/md/uuid", "00000000-0000-0000-0000-000000000000\n");
        assert_eq!(kernel.array_of(&UUID).expect("the array"), root.at("dev/md127"));
        assert!(kernel.array_of(&other).is_err());
        root.put("dev/ubdb", "cut short");
        let gone = kernel.array_of(&UUID).expect_err("no member says it");
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
        assert!(laid_out("md-tool").kernel().array_of(&UUID).is_err(), "no sysfs");
    }

    #[test]
    fn labels_that_the_tools_wrote_are_known() {
        let group = laid_out("lvm-linear");
        let mut physical_volume = [0; 16];
        physical_volume[2] = 1;
        let holds = |root: &Root, kind: &str, uuid: &[u8; 16]| {
            device::holds(&root.lun("ubdb"), kind, uuid).unwrap_or_else(|e| panic!("{kind}: {e}"))
        };
        assert!(holds(&group, "lvm", &physical_volume) && !holds(&group, "lvm", &UUID));
        let array = laid_out("md-raid0");
        assert!(holds(&array, "md", &UUID) && !holds(&array, "md", &physical_volume));
    }

    #[test]
    fn levels_are_those_that_md_names() {
        let root = laid_out("md-tool");
        for level in ["raid0", "raid1", "raid10", "raid456"] {
            assert!(root.kernel().has_level(level), "{level}");
        }
        assert!(!root.kernel().has_level("dm-raid") && !root.kernel().has_level("raid"));
        root.put("proc/mdstat", "Personalities : [raid10] \nunused devices: [raid1]\n");
        assert!(root.kernel().has_level("raid10"));
        assert!(!root.kernel().has_level("raid1") && !root.kernel().has_level("raid456"));
        root.put("proc/mdstat", "");
        assert!(!root.kernel().has_level("raid10"));
    }

    #[test]
    fn names_of_a_group_that_is_gone_go_and_all_others_stay() {
        let root = laid_out("md-raid1");
        let names = [
            format!("dev/mapper/{GROUP}-data"),
            format!("dev/mapper/{GROUP}0-data"),
            "dev/mapper/control".to_owned(),
            format!("dev/{GROUP}/data"),
        ];
        names.iter().for_each(|name| root.put(name, ""));
        let stay = || names.iter().map(|name| root.at(name).exists()).collect::<Vec<_>>();
        root.put("run/udev/control", "");
        root.kernel().forget_names(GROUP).expect("udev does it");
        assert_eq!(stay(), [true, true, true, true]);
        fs::remove_file(root.at("run/udev/control")).expect("removed");
        root.kernel().forget_names(GROUP).expect("they go");
        assert_eq!(stay(), [false, true, true, false]);
        assert!(!root.at("dev").join(GROUP).exists());
        root.kernel().forget_names(GROUP).expect("nothing is left to do");
    }

    #[test]
    fn the_node_of_an_array_goes_with_it_and_not_before() {
        let root = laid_out("md-raid1");
        let link = root.at("dev/md/assay-0123456789abcdef");
        let name = |hex: &str| {
            root.put("dev/md127", "");
            root.put("dev/md/other", "");
            let _ = fs::remove_file(&link);
            symlink("../md127", &link).expect("linked");
            root.kernel().forget_array(&link, hex).expect("forgotten");
            (fs::symlink_metadata(&link).is_ok(), root.at("dev/md127").exists())
        };
        assert_eq!(name(&"ee".repeat(16)), (true, true), "another array's name");
        assert_eq!(name(HEX), (false, true), "the kernel has the array still");
        fs::remove_dir_all(root.at("sys/block/md127")).expect("stopped");
        assert_eq!(name(HEX), (false, false));
        assert!(root.at("dev/md/other").exists());
    }
}
