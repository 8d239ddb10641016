//! A file that is gone on with: what must hold before, and only then the file is changed.
//!
//! Takes a result file, its study and where it would go on. Prevents: a refusal that takes its end and its seal from a
//! finished file, or uses an extension up.

use crate::again::{alike, extend};
use crate::instances::ranks::Ranks;
use crate::result_file::must_match;
use crate::site::Site;
use ledger::{Extension, Ledger};
use plan::Study;
use std::path::Path;

/// In which file a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// A new one.
    New,
    /// That of a stopped run.
    Resume,
    /// That of a study that has ended, to which blocks are added.
    Extend,
}

/// Looks whether a run may go on with this file, on this host or with these; gives the extension that it adds.
///
/// # Errors
/// The file is of another study, version, host or user; to be extended, its study has not ended, has nothing open, or
/// has no extension left. The last line is the cure.
pub fn may_go_on(
    ledger: &Ledger,
    path: &Path,
    study: &Study,
    start: Start,
    ranks: Option<&Ranks>,
) -> anyhow::Result<Option<Extension>> {
    let file = path.display();
    alike::must_be_of_this_version(ledger, &file)?;
    must_match(ledger, path, study)?;
    let next = match start {
        Start::Extend => Some(extend::extension(ledger, path)?),
        Start::New | Start::Resume => None,
    };
    alike::must_be_of_this_place(ledger, &file, ranks)?;
    Ok(next)
}

/// Takes the file up where its run left it.
pub(crate) fn take_up(path: &Path, study: &Study, start: Start, site: &dyn Site) -> anyhow::Result<Ledger> {
    let mut ledger = Ledger::hold(path)?;
    let next = may_go_on(&ledger, path, study, start, site.ranks())?;
    site.must_fit(&ledger)?;
    ledger.take_up(next.as_ref())?;
    Ok(ledger)
}
