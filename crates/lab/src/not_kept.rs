//! Whether a stack that did not come back after a cut or a kill has lost what it stored, or the host was in the way.
//!
//! Takes the error of bringing it up, gives what the rooms say of their own errors. Prevents: a host without memory
//! for a port, or a directory that cannot be made, written down as a loss of data, which is the gravest thing that
//! can be said of a stack.

use crate::causes;
use crate::full;
use databases::postgres::PostgresError;
use databases::sqlite::SqliteError;
use diskgroup::GroupError;
use files::FilesError;
use pages::PagesError;
use stacks::StackError;
use std::error::Error;
use std::fmt;
use targets::TargetError;
use zpool::ZpoolError;

/// What was acknowledged is not there, in words.
#[derive(Debug)]
pub(crate) struct NotKept(pub(crate) String);

impl fmt::Display for NotKept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for NotKept {}

/// Whether storage lost something: what is known of the first cause that tells. An error that nobody knows is the
/// host's. So is a lack of space: what recovers writes, and a full file system or a quota refuses that without having
/// lost anything.
pub(crate) fn is_loss(error: &anyhow::Error) -> bool {
    !full::ran_out_of_space(error) && error.chain().find_map(told).unwrap_or(false)
}

/// Of files that were whole before, on a stack that overwrites in place: who lacks space there has lost their blocks.
pub(crate) fn of_whole_files(error: anyhow::Error) -> anyhow::Error {
    match full::ran_out_of_space(&error) {
        true => NotKept(format!("blocks of whole files are gone: {}", causes::chain(&error))).into(),
        false => error,
    }
}

fn told(cause: &(dyn Error + 'static)) -> Option<bool> {
    if cause.is::<NotKept>() {
        return Some(true);
    }
    if let Some(error) = cause.downcast_ref::<StackError>() {
        return Some(error.is_of_storage());
    }
    if let Some(error) = cause.downcast_ref::<ZpoolError>() {
        return Some(error.is_of_storage());
    }
    if let Some(error) = cause.downcast_ref::<PostgresError>() {
        return Some(error.is_of_storage());
    }
    if let Some(error) = cause.downcast_ref::<FilesError>() {
        return Some(error.is_of_storage());
    }
    match cause.downcast_ref::<PagesError>() {
        Some(PagesError::Target(error)) => return below(error),
        Some(error) => return error.is_of_storage(),
        None => {}
    }
    match cause.downcast_ref::<GroupError>() {
        Some(GroupError::Target(error)) => return below(error),
        Some(error) => return error.is_of_storage(),
        None => {}
    }
    match cause.downcast_ref::<SqliteError>() {
        Some(SqliteError::Target(error)) => return below(error),
        Some(error) => return error.is_of_storage(),
        None => {}
    }
    below(cause.downcast_ref::<TargetError>()?)
}

/// A port over a group or a pool hands their errors on as its own.
fn below(error: &TargetError) -> Option<bool> {
    match error {
        TargetError::Layer(inner) => told(inner.as_ref()),
        error => error.is_of_storage(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;
    use targets::{FileId, IoFault};

    /// No space left, and a quota.
    #[test]
    fn a_full_file_system_is_no_loss() {
        for errno in [28, 122] {
            let written = PagesError::Io {
                what: "page write",
                file: FileId(0),
                offset: 0,
                len: 8192,
                fault: IoFault::Errno(errno),
            };
            assert!(!is_loss(&anyhow::Error::from(written).context("recover")));
            let grown = || TargetError::Path {
                what: "grow",
                path: "/x".into(),
                source: std::io::Error::from_raw_os_error(errno),
                cure: "",
            };
            assert!(!is_loss(&grown().into()));
            assert!(is_loss(&of_whole_files(grown().into())), "whole files need no space");
            let layer = TargetError::Layer(Box::new(GroupError::Target(grown())));
            assert!(!is_loss(&PagesError::Target(layer).into()));
        }
    }

    #[test]
    fn a_host_in_the_way_is_no_loss() {
        let no_memory = || std::io::Error::from_raw_os_error(12);
        let memory = |bytes| TargetError::Memory {
            bytes,
            source: no_memory(),
        };
        let damaged = || GroupError::Damaged { what: "x".into() };
        let missing = || PagesError::NoDatabase { what: "x".into() };
        assert!(is_loss(&missing().into()));
        assert!(is_loss(&damaged().into()));
        assert!(is_loss(&anyhow::Error::from(NotKept("x".into())).context("y")));
        assert!(is_loss(
            &PagesError::Target(TargetError::Layer(Box::new(damaged()))).into()
        ));
        assert!(is_loss(&anyhow::Error::from(missing()).context("open the database")));
        assert!(!is_loss(&memory(1).into()));
        assert!(!is_loss(&PagesError::Target(memory(1)).into()));
        assert!(!is_loss(
            &PagesError::Target(TargetError::Layer(Box::new(GroupError::Target(memory(1))))).into()
        ));
        let directory: anyhow::Result<()> = Err(no_memory()).context("make a directory");
        assert!(!is_loss(&directory.expect_err("an error")));
    }
}
