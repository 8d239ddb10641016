//! A group that is open for one command: found, claimed, mounted, closed in good order at the end.
//!
//! Prevents: a command that leaves the group as after a crash because it forgot to close it on one of its ways out.

use super::disks::{self, Claim};
use super::port::DiskPort;
use crate::cli::dg::Place;
use crate::exit::Failure;
use crate::printed::say;
use diskgroup::{DiskInfo, Group, GroupError, MountOptions, Mounted};
use std::fmt;
use std::path::PathBuf;

/// Memory and depth of the port for metadata.
const METADATA_BYTES: u64 = 8 << 20;
const METADATA_DEPTH: usize = 32;

/// An open group.
pub(super) struct Opened {
    pub(super) name: String,
    pub(super) group: Group<DiskPort>,
    pub(super) mounted: Mounted,
    /// The files of all ports, in order.
    pub(super) paths: Vec<PathBuf>,
    claim: Claim,
}

/// Which disks are opened.
pub(super) struct Found {
    pub(super) name: String,
    pub(super) members: Vec<PathBuf>,
    /// Disks that are not in the group yet and shall be open in all ports.
    pub(super) new: Vec<PathBuf>,
}

/// Finds the group that a command was given.
pub(super) fn find(place: &Place, arguments: &[PathBuf], wanted: Option<&str>) -> Result<Found, Failure> {
    let paths = disks::named(place, arguments)?;
    let survey = disks::survey(&paths)?;
    let (name, members) = disks::members(&paths, &survey, wanted.or(place.group.as_deref()))?;
    Ok(Found {
        name,
        members,
        new: Vec::new(),
    })
}

pub(super) fn run_error(error: impl Into<anyhow::Error>) -> Failure {
    Failure::Run(error.into())
}

/// Makes a port on disks for metadata.
pub(super) fn metadata_port(claim: &Claim) -> Result<DiskPort, Failure> {
    claim.port(METADATA_BYTES, METADATA_DEPTH)
}

/// What opening a group found, and set right where it could. It prints as one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Note {
    /// Disks that are not there.
    Missing(Vec<String>),
    HeadersRepaired(Vec<String>),
    TablesRepaired(Vec<String>),
    FilesRemoved(Vec<String>),
    /// Disks that would not be brought in order.
    RepairsRefused(Vec<String>),
    ExtentsSettled(u64),
}

impl Note {
    /// Whether something is left to be done, so that nobody may call it repaired.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Note::Missing(_) | Note::RepairsRefused(_) => true,
            Note::HeadersRepaired(_) | Note::TablesRepaired(_) | Note::FilesRemoved(_) | Note::ExtentsSettled(_) => {
                false
            }
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, names) = match self {
            Note::Missing(disks) => ("disks missing, taken offline", disks),
            Note::HeadersRepaired(disks) => ("a damaged header was written again", disks),
            Note::TablesRepaired(disks) => ("a damaged allocation table was written again", disks),
            Note::FilesRemoved(files) => ("removed incomplete and half-deleted files", files),
            Note::RepairsRefused(disks) => (
                "disks that refused repairs at opening; what they lack is recorded as stale",
                disks,
            ),
            Note::ExtentsSettled(count) => {
                return write!(
                    f,
                    "{count} extents that were being written when the group was last in use were made equal"
                );
            }
        };
        write!(f, "{what}: {}", names.join(", "))
    }
}

impl Opened {
    /// Claims the disks and opens the group.
    pub(super) fn mount(found: Found, force: bool) -> Result<Opened, Failure> {
        let mut paths = found.members;
        let options = MountOptions {
            group: Some(found.name.clone()),
            force,
            // Only these are looked at: what stands on new disks is no part of the group.
            names: paths.iter().map(|p| p.display().to_string()).collect(),
            ..MountOptions::default()
        };
        paths.extend(found.new);
        let claim = disks::claim(&paths)?;
        let port = metadata_port(&claim)?;
        let (group, mounted) = Group::mount(port, &options).map_err(run_error)?;
        Ok(Opened {
            name: found.name,
            group,
            mounted,
            paths,
            claim,
        })
    }

    /// A port for data.
    pub(super) fn port(&self, memory_bytes: u64, depth: usize) -> Result<DiskPort, Failure> {
        self.claim.port(memory_bytes, depth)
    }

    /// The path of a disk, or "-" where it is not there.
    pub(super) fn path_of(&self, disk: &DiskInfo) -> String {
        let path = disk.file.and_then(|f| self.paths.get(usize::from(f.0)));
        path.map_or_else(|| "-".to_string(), |p| p.display().to_string())
    }

    /// The name in the group of what was given as a name or as a path.
    pub(super) fn disk_named(&self, given: &str) -> Result<String, Failure> {
        let disks = self.group.disks();
        let path = PathBuf::from(given);
        let by_path = |d: &&DiskInfo| {
            let file = d.file.and_then(|f| self.paths.get(usize::from(f.0)));
            file.is_some_and(|p| disks::is_among(&path, std::slice::from_ref(p)))
        };
        let found = disks
            .iter()
            .find(|d| d.name == given)
            .or_else(|| disks.iter().find(by_path));
        found.map(|d| d.name.clone()).ok_or_else(|| {
            run_error(GroupError::NoDisk {
                name: given.to_string(),
            })
        })
    }

    /// What opening found and set right, for stderr.
    pub(super) fn say_mounted(&self) {
        for note in self.notes() {
            say!("{}: {note}", self.name);
        }
    }

    /// The same, each with its type.
    pub(super) fn notes(&self) -> Vec<Note> {
        let m = &self.mounted;
        type Listed = fn(Vec<String>) -> Note;
        let listed: [(Listed, &[String]); 5] = [
            (Note::Missing, &m.missing),
            (Note::HeadersRepaired, &m.headers_repaired),
            (Note::TablesRepaired, &m.tables_repaired),
            (Note::FilesRemoved, &m.files_removed),
            (Note::RepairsRefused, &m.repairs_refused),
        ];
        let listed = listed.into_iter().filter(|(_, names)| !names.is_empty());
        let settled = (m.extents_settled > 0).then_some(Note::ExtentsSettled(m.extents_settled));
        listed
            .map(|(note, names)| note(names.to_vec()))
            .chain(settled)
            .collect()
    }

    /// Ends the use of the group. The command's own error comes first.
    pub(super) fn close<T>(self, result: Result<T, Failure>) -> Result<T, Failure> {
        let closed = self.group.close();
        let value = result?;
        closed.map_err(run_error)?;
        Ok(value)
    }
}

/// Opens the group of a command, does the work, closes it.
pub(super) fn with<T>(
    place: &Place,
    found: Found,
    work: impl FnOnce(&Opened) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let opened = Opened::mount(found, place.force)?;
    opened.say_mounted();
    let result = work(&opened);
    opened.close(result)
}
