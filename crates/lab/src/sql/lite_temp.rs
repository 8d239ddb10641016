//! Where SQLite sorts and groups: beside the data, or on LUNs of its own; in a directory or on a disk group.
//!
//! Takes the stack's place, gives the VFS a place for temporary files, and their counts. On a group each is a scratch
//! file: made, grown and deleted there, on a port of its own. Prevents: questions whose temporary space is memory that
//! nobody asked for.

use crate::condition::Condition;
use crate::host::descriptors;
use databases::sqlite::{NewFile, Room, SqliteError, TEMP_DEPTH, TEMP_MEMORY, TempCounts, TempSpace};
use diskgroup::{FileSpec, Group, GroupError, Stripe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use targets::{BasePort, Method, OpenSpec};

/// A group with how its disks are opened.
type Opened = (Group<BasePort>, Vec<OpenSpec>);

/// Temporary files that a user's question may have open, and what this process has open besides.
const FILES_OF_USER: usize = 16;
const FILES_BESIDE: usize = 1024;

/// Where temporary files go.
pub(super) struct Temp {
    /// The directory, where SQLite's own VFS makes them.
    directory: Option<PathBuf>,
    /// The place, where ours does.
    space: Option<Arc<TempSpace>>,
    /// The group that is theirs alone.
    own: Option<Group<BasePort>>,
    /// The directory lies on LUNs that are theirs alone.
    apart: bool,
    /// Disks that a port of a file opens.
    disks: usize,
    /// Counts when the phase began.
    before: TempCounts,
}

impl Temp {
    fn of(directory: Option<PathBuf>, space: Option<TempSpace>) -> Temp {
        Temp {
            directory,
            space: space.map(Arc::new),
            own: None,
            apart: false,
            disks: 1,
            before: TempCounts::default(),
        }
    }

    /// Made by SQLite's own VFS, through the page cache.
    pub(super) fn buffered(directory: PathBuf) -> Temp {
        Temp::of(Some(directory), None)
    }

    /// Files without a name, around the page cache.
    pub(super) fn direct(directory: &Path) -> Temp {
        Temp::of(None, Some(TempSpace::in_directory(directory)))
    }

    /// Scratch files of the group of the data, or of one of their own.
    pub(super) fn grouped(group: Group<BasePort>, disks: Vec<OpenSpec>, own: Option<Opened>) -> Temp {
        let apart = own.as_ref().map(|(group, _)| group.clone());
        let (group, disks) = own.unwrap_or((group, disks));
        let count = disks.len();
        let space = TempSpace::new(move |number| scratch(&group, &disks, number));
        Temp {
            own: apart,
            disks: count,
            ..Temp::of(None, Some(space))
        }
    }

    pub(super) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    pub(super) fn space(&self) -> Option<&Arc<TempSpace>> {
        self.space.as_ref()
    }

    /// So many users are going to ask: each temporary file has its disks open.
    pub(super) fn ready(&self, users: usize) {
        let wanted = (users * FILES_OF_USER * self.disks + FILES_BESIDE) as u64;
        // Without it a question ends with the error of a file that could not be opened.
        descriptors::raise_to(wanted);
    }

    /// The same; `apart`: the directory lies on LUNs that are theirs alone.
    pub(super) fn lying(self, apart: bool) -> Temp {
        Temp { apart, ..self }
    }

    /// As a setting of the database.
    pub(super) fn setting(&self) -> ledger::DatabaseSetting {
        let by = match (&self.space, &self.own, self.apart) {
            (_, Some(_), _) => "files of a disk group of their own",
            (None, _, false) => "files, made by SQLite through the page cache",
            (None, _, true) => "files on LUNs of their own, made by SQLite through the page cache",
            (Some(_), _, false) => "files, made by a VFS of assay where the database's are made",
            (Some(_), _, true) => "files on LUNs of their own, made by a VFS of assay",
        };
        ledger::DatabaseSetting {
            name: "temporary files of questions".to_string(),
            value: by.to_string(),
            source: "assay".to_string(),
        }
    }

    pub(super) fn begin_count(&mut self) {
        self.before = self.counts();
    }

    /// Bytes of temporary files since; `None`: nobody counts them.
    pub(super) fn counted(&self) -> Option<TempCounts> {
        self.space.is_some().then(|| self.counts() - self.before)
    }

    fn counts(&self) -> TempCounts {
        self.space.as_ref().map(|space| space.counts()).unwrap_or_default()
    }

    /// How the group is that is theirs alone.
    pub(super) fn condition(&self) -> Condition {
        let of = |group: &Group<BasePort>| Condition::of(group.disks(), [group.info()]);
        self.own.as_ref().map(of).unwrap_or_default()
    }

    /// Closes what is theirs alone. No file may be open.
    pub(super) fn close(self) -> Result<(), GroupError> {
        match self.own {
            Some(group) => group.close().map(|_| ()),
            None => Ok(()),
        }
    }
}

/// Deletes a scratch file. One that can't be deleted is gone with the next mount.
struct Gone(Group<BasePort>, String);

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = self.0.delete_file(&self.1);
    }
}

fn scratch(group: &Group<BasePort>, disks: &[OpenSpec], number: u64) -> Result<NewFile<PortOf>, SqliteError> {
    let spec = FileSpec {
        name: format!("assay-temp-{number}"),
        size: 0,
        redundancy: None,
        stripe: Stripe::Coarse,
    };
    group.scratch_file(&spec).map_err(refused)?;
    let gone = Gone(group.clone(), spec.name.clone());
    let below = BasePort::open(Method::Pread, disks, TEMP_MEMORY, TEMP_DEPTH)?;
    Ok(NewFile {
        port: group.open(below, &[spec.name.as_str()]).map_err(refused)?,
        gone: Box::new(gone),
        room: Room::Asked,
    })
}

type PortOf = diskgroup::GroupPort<BasePort>;

fn refused(error: GroupError) -> SqliteError {
    match error {
        GroupError::Full { needed, .. } => SqliteError::Full {
            file: "temporary".into(),
            bytes: needed,
            why: error.to_string().lines().next().unwrap_or_default().to_string(),
        },
        GroupError::Target(error) => error.into(),
        other => targets::TargetError::Layer(Box::new(other)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_says_whether_temporary_files_have_luns_of_their_own() {
        let directory = || PathBuf::from("/var/tmp");
        for apart in [false, true] {
            for temp in [Temp::buffered(directory()), Temp::direct(&directory())] {
                let value = temp.lying(apart).setting().value;
                assert_eq!(value.contains("LUNs of their own"), apart, "{value}");
                assert_eq!(
                    value.contains("where the database's"),
                    !apart && value.contains("VFS"),
                    "{value}"
                );
            }
        }
    }
}
