//! A study that has ended is gone on with: as many blocks again, judged with the error that was kept for them.
//!
//! Takes a result file and the study that it is of, gives the [`Extension`] that may be added, or why none may. What
//! the blocks of both parts have in common (study, host, version) is looked at before anything is built. Prevents: a
//! second study until one agrees, and blocks of two machines or two programs judged as one study.

use crate::record::unix_ns;
use crate::result_file::{must_match, of_scope};
use anyhow::{bail, ensure};
use ledger::{Extension, FactName, FactValue, Ledger, Scope};
use plan::Study;
use report::{Analysis, GoOn, StopReason};
use std::path::Path;

/// Facts that tell one host from another.
const OF_THIS_HOST: [FactName; 4] = [FactName::Host, FactName::Cpu, FactName::Cpus, FactName::Machine];

/// The extension that may be added to this file.
///
/// # Errors
/// The study has not ended, has nothing open, or has no extension left; it is another study, of another host or of
/// another version of the tool. The last line is the cure.
pub fn extension(ledger: &Ledger, path: &Path, study: &Study) -> anyhow::Result<Extension> {
    let file = path.display();
    must_be_of_this_version(ledger, &file)?;
    must_match(ledger, path, study)?;
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
    must_be_of_this_host(ledger, &file)?;
    Ok(Extension {
        number: head.extensions + 1,
        blocks: head.blocks_planned,
        after_block: head.blocks_begun,
        began_unix_ns: unix_ns(),
    })
}

/// Takes up the file of a study that has ended, to add blocks to it.
pub(crate) fn take_up(path: &Path, study: &Study) -> anyhow::Result<Ledger> {
    let next = extension(&Ledger::open(path)?, path, study)?;
    Ok(Ledger::extend(path, &next)?)
}

fn must_have_ended(ledger: &Ledger, file: &std::path::Display<'_>) -> anyhow::Result<()> {
    ensure!(
        ledger.ending()?.is_some(),
        "{file}: its run has not ended\n  go on with it by `assay run STUDY --resume --output {file}`, and \
         extend it when it has ended"
    );
    Ok(())
}

fn must_be_of_this_version(ledger: &Ledger, file: &std::path::Display<'_>) -> anyhow::Result<()> {
    let (its, ours) = (ledger.study()?.tool_version, env!("CARGO_PKG_VERSION"));
    ensure!(
        its == ours,
        "{file}: assay {its} ran it, and this is assay {ours}\n  extend it with assay {its}, or start anew with \
         another --output"
    );
    Ok(())
}

fn must_be_of_this_host(ledger: &Ledger, file: &std::path::Display<'_>) -> anyhow::Result<()> {
    let here = crate::result_file::listed(observers::host_facts())?;
    for name in OF_THIS_HOST {
        let now = here
            .iter()
            .find(|(key, _)| key.name == name)
            .map(|(_, value)| value.to_string());
        let then = of_scope(ledger, &Scope::Host, name)?.as_ref().map(FactValue::to_string);
        ensure!(
            now == then,
            "{file}: it ran on another host ({}: {}, here {})\n  extend it there, or start anew with another --output",
            name.as_str(),
            then.unwrap_or_else(|| "not known".into()),
            now.unwrap_or_else(|| "not known".into())
        );
    }
    Ok(())
}
