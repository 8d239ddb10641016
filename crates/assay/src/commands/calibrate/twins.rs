//! `assay calibrate --twins`: how often the verdict procedure errs on this machine's own noise, and what it can tell
//! apart.
//!
//! Takes a result file of two stacks that are alike, prints what [`report::MachineNoise`] makes of it. Prevents: trust
//! in verdicts on a machine on which nobody ever asked for them where the truth is known.

use crate::cli;
use crate::commands::answer::answer;
use crate::exit::Failure;
use anyhow::anyhow;
use ledger::Ledger;
use report::MachineNoise;
use std::path::Path;

pub(crate) fn twins(file: &Path, flags: &cli::Calibrate) -> Result<(), Failure> {
    let refused = |error: report::TwinsError| Failure::Usage(anyhow!("{}: {error}", file.display()));
    let ledger = Ledger::open(file).map_err(|e| Failure::Usage(anyhow!("{e}")))?;
    let twins = report::twins(&ledger, &[]).map_err(refused)?;
    let noise = MachineNoise::of(twins, flags.studies, flags.seed).map_err(refused)?;
    answer(flags.json, || noise.json(), || noise.text())?;
    match noise.objections() {
        all if all.is_empty() => Ok(()),
        all => Err(Failure::Run(anyhow!("{}", all.join("\n")))),
    }
}
