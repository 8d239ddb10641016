//! How what a stack stands on is, while phases run on it.

use diskgroup::{DiskInfo, GroupInfo, Redundancy};

/// How what a stack stands on is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Condition {
    /// What it has lost so far, in words: it goes on without that as long as its copies allow.
    pub(crate) lost: Option<String>,
    /// Reads that another copy had to serve since it was opened; `None` where nothing is kept twice.
    pub(crate) mended: Option<u64>,
    /// Bytes in use of the disks of the group that holds the data, copies and metadata counted.
    pub(crate) used_bytes: Option<u64>,
}

/// Asks for it.
pub(crate) type Health<'a> = dyn Fn() -> Condition + 'a;

impl Condition {
    pub(crate) fn of(disks: Vec<DiskInfo>, groups: impl IntoIterator<Item = GroupInfo>) -> Condition {
        let mirrored = |group: &GroupInfo| group.redundancy > Redundancy::External;
        let mended = groups.into_iter().filter(mirrored).map(|group| group.rescued_reads);
        Condition {
            lost: lost_of(disks),
            mended: mended.reduce(|one, other| one + other),
            used_bytes: None,
        }
    }

    /// With what is in use of the group that holds the data.
    pub(crate) fn using(self, data: &GroupInfo) -> Condition {
        Condition {
            used_bytes: Some(data.total_bytes - data.free_bytes),
            ..self
        }
    }

    /// Of two stacks together.
    pub(crate) fn with(self, other: Condition) -> Condition {
        let mended = [self.mended, other.mended].into_iter().flatten();
        Condition {
            lost: self.lost.or(other.lost),
            mended: mended.reduce(|one, other| one + other),
            used_bytes: None,
        }
    }
}

/// Disks that a group has lost, in words.
fn lost_of(disks: Vec<DiskInfo>) -> Option<String> {
    let away: Vec<String> = disks
        .into_iter()
        .filter(|disk| !disk.online || disk.failing)
        .map(|disk| disk.name)
        .collect();
    (!away.is_empty()).then(|| format!("the disk group lost {}", away.join(", ")))
}
