//! A session: the operation under way, as numbers.
//!
//! Prevents: a session that owns memory. All of them are one table.

use crate::load::Class;
use crate::tree::Hold;

/// The call of a session that is under way, or comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Now {
    /// None.
    Idle,
    /// Attributes of the home directory, where no file was free.
    Home,
    Getattr,
    /// A name that is there.
    Lookup,
    /// A name that is not.
    Missing,
    Access,
    Readlink,
    Read,
    Write {
        stable: bool,
    },
    Commit,
    List {
        sizes: bool,
    },
    Create,
    Remove,
    Mkdir,
    Rmdir,
    /// To the name of the session's other file.
    Rename,
    /// `cut`: back to the size the file was made with.
    Setattr {
        cut: bool,
    },
    Fsstat,
    Fsinfo,
}

/// One session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Session {
    pub(crate) now: Now,
    /// Under which class the operation is counted.
    pub(crate) class: Class,
    /// The file, and how it is held.
    pub(crate) file: u32,
    pub(crate) hold: Hold,
    /// The file whose name the first one gets; it is held alone.
    pub(crate) onto: Option<u32>,
    /// The part of the file, KiB.
    pub(crate) first: u32,
    pub(crate) kib: u32,
    /// KiB that further calls of this operation take.
    pub(crate) left: u32,
    /// A write of so many KiB follows the cut.
    pub(crate) then_append: u32,
    /// Changes of the tree when the call was sent.
    pub(crate) changes: u64,
    /// Place in the rows of a work of steps.
    pub(crate) row: u16,
    /// The file stays held for the next row.
    pub(crate) keeps: bool,
    /// The call was sent before, over a connection that ended.
    pub(crate) repeated: bool,
    /// The listing was refused before, and asked for again.
    pub(crate) refused_once: bool,
    /// Bytes of the operation so far.
    pub(crate) units: u64,
}

impl Session {
    pub(crate) fn new(nth: u32, rows: u16) -> Session {
        Session {
            now: Now::Idle,
            class: Class::Getattr,
            file: 0,
            hold: Hold::None,
            onto: None,
            first: 0,
            kib: 0,
            left: 0,
            then_append: 0,
            changes: 0,
            // Sessions begin at different rows, so that they do not march in step.
            row: if rows == 0 { 0 } else { (nth % u32::from(rows)) as u16 },
            keeps: false,
            repeated: false,
            refused_once: false,
            units: 0,
        }
    }
}
