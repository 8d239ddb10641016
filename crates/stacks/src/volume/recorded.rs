//! What the kernel and the tools said of volumes, as `benches/guest/record.sh` recorded it (`tests/recorded`): for the
//! tests of this module.
//!
//! Takes the name of a scene; gives what commands said, and lays out its files below a root of their own. Prevents: a
//! reader that is tried only with texts which we made up.

use super::lvm;
use super::mapped::Kernel;
use super::said::{mirror_status, raid_status, used_bytes};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// By which the group and the arrays of the recording are named.
pub(super) const UUID: [u8; 16] = [
    0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
];
/// How a line begins that begins something: a command, a file, bytes of a LUN.
const MARKS: [&str; 3] = ["$ ", "= ", "# at /"];

/// One file of the recording.
pub(super) struct Scene {
    /// A line that begins something, and those that follow.
    sections: Vec<(String, Vec<String>)>,
}

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded")
}

impl Scene {
    pub(super) fn of(name: &str) -> Scene {
        let path = recorded().join(format!("{name}.txt"));
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut sections: Vec<(String, Vec<String>)> = Vec::new();
        for line in text.lines() {
            if MARKS.iter().any(|mark| line.starts_with(mark)) {
                sections.push((line.to_owned(), Vec::new()));
            } else {
                let (_, lines) = sections.last_mut().expect("a scene begins with a mark");
                lines.push(line.to_owned());
            }
        }
        Scene { sections }
    }

    /// The names of all scenes.
    pub(super) fn all() -> Vec<String> {
        let files = fs::read_dir(recorded()).expect("the recording").flatten();
        let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names
            .filter_map(|name| Some(name.strip_suffix(".txt")?.to_owned()))
            .collect();
        names.sort();
        assert!(names.len() > 20, "only {} scenes are there", names.len());
        names
    }

    /// Commands that begin so, each with what it wrote to its standard output.
    fn commands(&self, beginning: &str) -> Vec<(&str, String)> {
        let commands = self.sections.iter().filter_map(|(header, lines)| {
            let command = header.strip_prefix("$ ")?;
            let said = lines
                .iter()
                .filter(|line| !line.starts_with("2> ") && !line.starts_with("? "));
            let said: String = said.map(|line| format!("{line}\n")).collect();
            command.starts_with(beginning).then_some((command, said))
        });
        commands.collect()
    }

    /// What `dmsetup status` said of a volume of the group, each time that it was asked.
    pub(super) fn status(&self, volume: &str) -> Vec<String> {
        let asked = format!("dmsetup status {}-{volume}", lvm::group(&UUID));
        let said = self.commands("dmsetup status").into_iter();
        said.filter(|(command, _)| *command == asked)
            .map(|(_, said)| said)
            .collect()
    }

    /// What `pvs` said of what is used, each time that it was asked.
    fn used(&self) -> Vec<String> {
        let said = self.commands("lvm pvs").into_iter();
        said.map(|(_, said)| said).collect()
    }

    /// Its files, and the LUNs of which bytes were recorded, below a root of their own.
    pub(super) fn laid_out(&self) -> Root {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().canonicalize().expect("it is there");
        let root = Root { path, _dir: dir };
        for (header, lines) in &self.sections {
            if let Some(path) = header.strip_prefix("= ") {
                match path.strip_suffix('/') {
                    Some(dir) => fs::create_dir_all(root.path.join(dir)).expect("made"),
                    None => root.put(path, &(lines.join("\n") + "\n")),
                }
            } else if let Some(place) = header.strip_prefix("# at /") {
                let (path, at) = place.split_once(' ').expect("a path and an offset");
                root.put_bytes(path, at.parse().expect("an offset"), &bytes_of(&lines.concat()));
            }
        }
        root
    }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("a byte in hexadecimal");
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// Files of a scene, as below `/`.
pub(super) struct Root {
    path: PathBuf,
    _dir: TempDir,
}

impl Root {
    pub(super) fn kernel(&self) -> Kernel<'_> {
        Kernel { root: &self.path }
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.path.join(path)
    }

    /// Writes a file, in the place of an older one.
    pub(super) fn put(&self, path: &str, text: &str) {
        self.put_bytes(path, 0, text.as_bytes());
    }

    fn put_bytes(&self, path: &str, at: usize, bytes: &[u8]) {
        let file = self.at(path);
        fs::create_dir_all(file.parent().expect("a directory")).expect("made");
        let mut content = vec![0; at];
        content.extend(bytes);
        fs::write(file, content).expect("written");
    }

    /// A LUN, as /dev names it.
    pub(super) fn lun(&self, name: &str) -> PathBuf {
        let path = self.at("dev").join(name);
        if !path.exists() {
            self.put(&format!("dev/{name}"), "");
        }
        path
    }

    /// The array of the recording.
    pub(super) fn array(&self) -> PathBuf {
        self.kernel().array_of(&UUID).expect("the array")
    }

    fn devices(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.at("sys/block")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    /// As `dmsetup remove`, which refuses where something stands on the mapping.
    pub(super) fn remove_mapping(&self, name: &str) {
        let is_it = |dir: &PathBuf| fs::read_to_string(dir.join("dm/name")).is_ok_and(|said| said.trim() == name);
        let dir = self.devices().into_iter().find(is_it).expect("the mapping");
        let own = dir.file_name().expect("a name");
        for other in self.devices() {
            let stands_on_it = other.join("slaves").join(own).exists();
            assert!(!stands_on_it, "{} stands on {name}", other.display());
            let _ = fs::remove_dir(other.join("holders").join(own));
        }
        fs::remove_dir_all(&dir).expect("removed");
    }
}

#[test]
fn every_recorded_status_is_read_for_what_it_is() {
    let mut read = 0;
    for name in Scene::all() {
        for (command, said) in Scene::of(&name).commands("dmsetup status") {
            let mut targets = said.lines().map(|line| line.split_whitespace().nth(2));
            let first = targets.next().flatten();
            let is_mirror = first == Some("mirror") || targets.any(|target| target == Some("mirror"));
            assert_eq!(
                raid_status(&said).is_some(),
                first == Some("raid"),
                "{name}, {command}: {said}"
            );
            assert_eq!(mirror_status(&said).is_some(), is_mirror, "{name}, {command}: {said}");
            read += usize::from(first == Some("raid") || is_mirror);
        }
    }
    assert!(read >= 7, "only {read} are of a raid or a mirror");
}

#[test]
fn a_lost_copy_is_known_and_a_new_one_is_not_taken_for_whole() {
    let status = |scene: &str| -> Vec<_> {
        let said = Scene::of(scene).status("data");
        said.iter().map(|said| raid_status(said).expect("a raid")).collect()
    };
    let lost = status("lvm-raid1-lost")[0];
    assert_eq!((lost.lost, lost.has_lost(0), lost.has_lost(1)), (1, false, true));
    assert!(!lost.is_in_step(), "its figures alone say that nothing is left to copy");
    let without = status("lvm-raid1-without")[0];
    assert!(without.lost == 1 && without.has_lost(1) && !without.is_in_step());
    let made = status("lvm-raid1-resync")[0];
    assert!(made.lost == 0 && !made.is_in_step());
    assert!(status("lvm-raid1")[0].is_in_step());
    let repaired = status("lvm-raid1-repair");
    let (begun, over) = (repaired[0], repaired[repaired.len() - 1]);
    assert_eq!(begun.lost, 0);
    assert!(!begun.is_in_step() && begun.in_step.done < begun.in_step.all);
    assert!(over.is_in_step() && over.in_step.done == over.in_step.all);
}

#[test]
fn a_move_by_pvmove_goes_on_and_its_mapping_is_gone_at_the_end() {
    let said = Scene::of("lvm-pvmove").status("pvmove0");
    let (last, before) = said.split_last().expect("it was asked");
    assert_eq!((last.as_str(), mirror_status(last)), ("", None));
    let done: Vec<u64> = before
        .iter()
        .map(|said| mirror_status(said).expect("a mirror").sectors.done)
        .collect();
    assert!(
        done.len() > 1 && done.is_sorted() && done[0] < done[done.len() - 1],
        "{done:?}"
    );
}

/// A copy of a mirror has two segments, of which pvmove moves one after the other: a whole first one is not all.
#[test]
fn a_move_of_several_segments_is_not_over_with_the_first() {
    let said = Scene::of("lvm-raid1-pvmove").status("pvmove0");
    let first = mirror_status(&said[0]).expect("a mirror").sectors;
    assert_eq!((first.done, first.all), (73_728 * 2 / 18, 73_728 + 8_192));
}

/// Sectors are 512 bytes, and `pvs` was asked for bytes.
#[test]
fn what_is_used_of_all_luns_is_the_size_of_the_volume() {
    for name in ["lvm-linear", "lvm-striped", "lvm-pvmove"] {
        let scene = Scene::of(name);
        let used: Option<Vec<u64>> = scene.used().iter().map(|said| used_bytes(said)).collect();
        let used = used.expect("a figure for each LUN");
        let volume = scene.laid_out().kernel().bytes(&lvm::mapping(&UUID));
        assert_eq!(used.iter().sum::<u64>(), volume.expect("its size"), "{name}: {used:?}");
    }
}

#[test]
fn what_is_no_figure_of_one_lun_is_no_figure() {
    let said = Scene::of("lvm-raid1-unknown").used();
    let used: Vec<Option<u64>> = said.iter().map(|said| used_bytes(said)).collect();
    let [first, free, refused, all] = used[..] else {
        panic!("{used:?}")
    };
    assert!(first.is_some_and(|bytes| bytes > 0) && free == Some(0));
    assert_eq!((refused, all), (None, None), "{said:?}");
    for odd in [
        "",
        "\n",
        "  unknown device\n",
        "  [unknown]\n",
        "  -4194304\n",
        "  46137344B\n",
        "  44.00m\n",
        "  99999999999999999999\n",
    ] {
        assert_eq!(used_bytes(odd), None, "{odd:?}");
    }
}
