//! The study that a command is given: read, scaled, held against the publication that it names.
//!
//! Prevents: a check of one study and a run of another.

use super::check::proportions;
use crate::cli;
use crate::exit::Failure;
use anyhow::anyhow;
use lab::zfs_ways;
use plan::Study;
use std::path::{Path, PathBuf};

/// Reads a study; what is wrong with it is exit code 2.
pub(crate) fn load(path: &Path, scale: Option<cli::Scale>) -> Result<Study, Failure> {
    let refused = |e: plan::PlanError| Failure::Usage(anyhow!("{e}"));
    let study = match scale {
        Some(cli::Scale::Factor(factor)) => plan::load_scaled(path, factor),
        Some(cli::Scale::Seed) => {
            let as_written = plan::load(path).map_err(refused)?;
            let factor = proportions::seed_factor(&as_written).map_err(Failure::Usage)?;
            plan::load_scaled(path, factor)
        }
        None => plan::load(path),
    };
    settled(study.map_err(refused)?, path)
}

/// The study that stands in a result file, at the scale that it ran at. Files that it names beside itself are looked
/// for beside the result file.
pub(crate) fn load_recorded(file: &Path, scale: Option<cli::Scale>) -> Result<Study, Failure> {
    let refused = |e: anyhow::Error| Failure::Usage(e);
    if scale.is_some() {
        let said = "--extend takes the scale from the result file\n  leave out --scale";
        return Err(refused(anyhow!("{said}")));
    }
    let ledger = ledger::Ledger::open(file).map_err(|e| refused(e.into()))?;
    let settings = ledger.settings().map_err(|e| refused(e.into()))?;
    let scale = settings.iter().find(|setting| setting.key == "run.scale");
    let factor = scale.map_or(Ok(1.0), |setting| setting.value.parse());
    let factor = factor.map_err(|_| refused(anyhow!("{}: its scale is no number", file.display())))?;
    let text = ledger.study().map_err(|e| refused(e.into()))?.text;
    let study = plan::parse_scaled(&text, file, factor).map_err(|e| refused(anyhow!("{e}")))?;
    settled(study, file)
}

fn settled(mut study: Study, path: &Path) -> Result<Study, Failure> {
    zfs_ways::settle(&mut study);
    if let Some(id) = &study.published {
        let theirs = |pairs: &[(String, String)]| pairs.iter().map(|(_, theirs)| theirs.clone()).collect::<Vec<_>>();
        let (stacks, phases) = (theirs(&study.stands_for.stacks), theirs(&study.stands_for.phases));
        report::published::check(id, &stacks, &phases)
            .map_err(|e| Failure::Usage(anyhow!("{}: {e}", path.display())))?;
    }
    Ok(study)
}

/// The result file of a study where nobody names one.
pub(super) fn usual_output(plan: &Study) -> PathBuf {
    PathBuf::from(format!("{}.assay", file_name(&plan.name)))
}

/// A study's name as a file name.
fn file_name(name: &str) -> String {
    name.chars()
        .map(|c| {
            if c.is_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '-'
            }
        })
        .collect()
}
