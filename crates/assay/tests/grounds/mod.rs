//! The places that tests put a SQLite database on: a buffered file, a file with direct I/O, a disk group on files or
//! devices.
//!
//! Prevents: a test of the disk group that is in truth one of a file.
#![allow(dead_code, clippy::unwrap_used, reason = "an example uses a part of it too")]

use databases::sqlite::{
    DirectFiles, FileSet, FileSetSpec, NewFile, Place, Room, SqliteError, TEMP_DEPTH, TEMP_MEMORY, TempSpace,
};
use diskgroup::{DiskSpec, FileSpec, Group, GroupPort, GroupSpec, MountOptions, Redundancy, Stripe};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use targets::{Access, FileId, OpenSpec, PsyncPort};

const FILES: [&str; 3] = ["db", "db-wal", "db-journal"];
const READERS: usize = 2;

/// A file set in files of a group.
type Grouped = Arc<FileSet<GroupPort<PsyncPort>>>;

/// Where a database is to be.
#[derive(Clone, Debug)]
pub(crate) enum Ground {
    Buffered(PathBuf),
    Direct(PathBuf),
    /// Disks of a group with two copies of everything.
    Group(Vec<PathBuf>),
    /// Disks of a group with one.
    Striped(Vec<PathBuf>),
}

/// A ground with what must live as long as the place.
pub(crate) struct Stood {
    pub(crate) place: Place,
    _files: Option<DirectFiles>,
    group: Option<(Group<PsyncPort>, Grouped)>,
    /// Files that were left by a crash, and that the group removed when it was opened.
    pub(crate) removed: usize,
}

fn spec() -> FileSetSpec {
    FileSetSpec {
        grow_step: 4 << 20,
        ..FileSetSpec::default()
    }
}

fn below(disks: &[PathBuf], memory: u64) -> PsyncPort {
    let specs: Vec<OpenSpec> = disks.iter().map(|d| OpenSpec::writing(d, Access::Direct)).collect();
    PsyncPort::open(&specs, memory, 16).unwrap()
}

fn file_set(group: &Group<PsyncPort>, disks: &[PathBuf], fresh: bool) -> Grouped {
    let port = |memory| group.open(below(disks, memory), &FILES).unwrap();
    let readers = (0..READERS).map(|_| port(1 << 20)).collect();
    Arc::new(match fresh {
        true => FileSet::create(port(4 << 20), readers, spec(), 7).unwrap(),
        false => FileSet::open(port(4 << 20), readers, spec()).unwrap(),
    })
}

impl Ground {
    /// An empty place.
    pub(crate) fn make(&self) -> Stood {
        self.stand(true)
    }

    /// The place as it was left.
    pub(crate) fn open(&self) -> Stood {
        self.stand(false)
    }

    fn stand(&self, fresh: bool) -> Stood {
        match self {
            Ground::Buffered(path) => Stood {
                place: Place::buffered(path),
                _files: None,
                group: None,
                removed: 0,
            },
            Ground::Direct(path) => {
                let files = DirectFiles::claim(path).unwrap();
                let file_set = match fresh {
                    true => files.create(&PsyncPort::open, READERS, spec(), 7).unwrap(),
                    false => files.open(&PsyncPort::open, READERS, spec()).unwrap(),
                };
                let temp = TempSpace::in_directory(path.parent().unwrap());
                Stood {
                    place: Place::with_temp(Arc::new(file_set), Arc::new(temp)).unwrap(),
                    _files: Some(files),
                    group: None,
                    removed: 0,
                }
            }
            Ground::Group(disks) | Ground::Striped(disks) => {
                let redundancy = match self {
                    Ground::Striped(_) => Redundancy::External,
                    _ => Redundancy::Normal,
                };
                let (group, removed) = if fresh {
                    (make_group(disks, redundancy), 0)
                } else {
                    open_group(disks)
                };
                let file_set = file_set(&group, disks, fresh);
                let temp = temp_space(&group, disks);
                Stood {
                    place: Place::with_temp(file_set.clone(), Arc::new(temp)).unwrap(),
                    _files: None,
                    group: Some((group, file_set)),
                    removed,
                }
            }
        }
    }
}

fn make_group(disks: &[PathBuf], redundancy: Redundancy) -> Group<PsyncPort> {
    let disk = |nth: usize| DiskSpec {
        overwrite: true,
        ..DiskSpec::new(FileId(nth as u16), &format!("disk{nth}"))
    };
    let members: Vec<DiskSpec> = (0..disks.len()).map(disk).collect();
    let mut random = [0; 8];
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom").unwrap(), &mut random).unwrap();
    let spec = GroupSpec::new("lite", redundancy);
    let group = Group::create(below(disks, 4 << 20), &spec, &members, u64::from_ne_bytes(random)).unwrap();
    for name in FILES {
        let file = FileSpec {
            name: name.into(),
            size: 1 << 20,
            redundancy: None,
            stripe: Stripe::Coarse,
        };
        group.create_file(&file).unwrap();
    }
    group
}

/// Deletes a scratch file.
struct Gone(Group<PsyncPort>, String);

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = self.0.delete_file(&self.1);
    }
}

/// Temporary files on the group, each by a port of its own.
fn temp_space(group: &Group<PsyncPort>, disks: &[PathBuf]) -> TempSpace {
    let (group, disks) = (group.clone(), disks.to_vec());
    TempSpace::new(move |number| {
        let spec = FileSpec {
            name: format!("temp{number}"),
            size: 0,
            redundancy: None,
            stripe: Stripe::Coarse,
        };
        let full = |error: diskgroup::GroupError| SqliteError::Full {
            file: "temporary".into(),
            bytes: 0,
            why: error.to_string(),
        };
        group.scratch_file(&spec).map_err(full)?;
        let gone = Gone(group.clone(), spec.name.clone());
        let specs: Vec<OpenSpec> = disks.iter().map(|d| OpenSpec::writing(d, Access::Direct)).collect();
        let below = PsyncPort::open(&specs, TEMP_MEMORY, TEMP_DEPTH)?;
        Ok(NewFile {
            port: group.open(below, &[spec.name.as_str()]).map_err(full)?,
            gone: Box::new(gone),
            room: Room::Asked,
        })
    })
}

fn open_group(disks: &[PathBuf]) -> (Group<PsyncPort>, usize) {
    let options = MountOptions {
        names: disks.iter().map(|d| d.display().to_string()).collect(),
        ..MountOptions::default()
    };
    let (group, mounted) = Group::mount(below(disks, 4 << 20), &options).unwrap();
    (group, mounted.files_removed.len())
}

impl Stood {
    /// Nothing takes space of the group but the files of the database and the metadata.
    pub(crate) fn must_own_no_more(&self) {
        let Some((group, _)) = &self.group else { return };
        let (info, files) = (group.info(), group.files());
        let names: BTreeSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, BTreeSet::from(FILES));
        let of_files: u64 = files.iter().map(|file| file.allocated_bytes).sum();
        assert_eq!(info.free_bytes + info.metadata_bytes + of_files, info.total_bytes);
    }

    /// Closes everything in good order; a group is checked, and must be sound. Sessions are gone by now.
    pub(crate) fn close(self) {
        drop(self.place);
        if let Some((group, file_set)) = self.group {
            drop(Arc::try_unwrap(file_set).ok().expect("the last count").into_ports());
            let report = group.check(false).unwrap();
            assert!(report.findings.is_empty(), "{:?}", report.findings);
            group.close().unwrap();
        }
    }
}

/// Files to be disks of a group, written in full.
pub(crate) fn disk_files(dir: &Path, count: usize, mib: usize) -> Vec<PathBuf> {
    let paths: Vec<PathBuf> = (0..count).map(|nth| dir.join(format!("disk{nth}"))).collect();
    for path in &paths {
        std::fs::write(path, vec![0; mib << 20]).unwrap();
    }
    paths
}
