//! A study that has ended is gone on with: as many blocks again, judged with the error that was kept for them.
//!
//! Takes a result file, gives the [`Extension`] that may be added, or why none may. Prevents: a second study until one
//! agrees.

use crate::record::unix_ns;
use anyhow::{bail, ensure};
use ledger::{Extension, Ledger};
use report::{Analysis, GoOn, StopReason};
use std::path::Path;

/// The extension that may be added to this file.
///
/// # Errors
/// The study has not ended, has nothing open, or has no extension left. The last line is the cure.
pub(super) fn extension(ledger: &Ledger, path: &Path) -> anyhow::Result<Extension> {
    let file = path.display();
    must_have_ended(ledger, &file)?;
    let analysis = Analysis::of(ledger)?;
    match analysis.go_on {
        GoOn::Stop(StopReason::BlocksUsed) => {}
        GoOn::Continue(_) => bail!(
            "{file}: its planned blocks have not all been run\n  \
             go on with it by `assay run STUDY --resume --output {file}`"
        ),
        GoOn::Stop(StopReason::AllDecided) => {
            bail!(
                "{file}: every comparison has its verdict, and an extension changes none\n  \
                 read it: assay report {file}"
            )
        }
        GoOn::Stop(StopReason::TooManyDropped) => bail!(
            "{file}: too many of its blocks were dropped\n  \
             mend what the report names at the dropped blocks, and start anew with another --output"
        ),
        GoOn::Stop(StopReason::NothingToCompare) => bail!(
            "{file}: nothing in it may be compared, however many blocks it has\n  \
             see what is not ranked: assay report {file}"
        ),
    }
    let head = &analysis.study;
    ensure!(
        head.may_be_extended(),
        "{file}: all {} extensions are used, and no error is left for more\n  report it as it is; only a study with \
         longer phases may tell more",
        head.extensions
    );
    Ok(Extension {
        number: head.extensions + 1,
        blocks: head.blocks_planned,
        after_block: head.blocks_begun,
        began_unix_ns: unix_ns(),
    })
}

fn must_have_ended(ledger: &Ledger, file: &std::path::Display<'_>) -> anyhow::Result<()> {
    ensure!(
        ledger.ending()?.is_some(),
        "{file}: its run has not ended\n  go on with it by `assay run STUDY --resume --output {file}`, and \
         extend it when it has ended"
    );
    Ok(())
}
