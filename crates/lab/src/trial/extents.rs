//! In how many extents the data files lie, as a row of the result file.

use crate::ports::PageEngine;
use anyhow::Context;
use ledger::{ExtentSummary, Ledger, TrialId};
use pages::Files;
use targets::Port;

/// How the data files lie on what is below them.
pub(crate) fn record_extents(
    instance: &mut PageEngine,
    files: &Files,
    trial: TrialId,
    ledger: &mut Ledger,
    when: &str,
) -> anyhow::Result<()> {
    let Some(port) = instance.ports_mut().next() else {
        return Ok(());
    };
    for (number, file) in files.data.iter().enumerate() {
        let extents = port.extents(*file).context("where the data lies")?;
        if extents.is_empty() {
            continue;
        }
        let bytes = extents.iter().map(|e| e.length).sum();
        let summary = ExtentSummary {
            file: format!("data {number} {when}"),
            extents: extents.len() as u64,
            bytes,
        };
        ledger.extents_of(trial, &summary)?;
    }
    Ok(())
}
