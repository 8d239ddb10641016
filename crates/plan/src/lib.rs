//! Room `plan`: reading study files: what was written, then what it means with every default said.
//!
//! Takes a TOML file (docs/study.md is its reference); gives a [`Study`] that holds no text left to interpret, the
//! [`schedule`](block) of its blocks, and an [`Estimate`] of what it takes. Owns no side effect but reading that
//! one file. Prevents: two readers of a study who understand it differently.

#[macro_use]
mod key;
#[macro_use]
mod shown;
#[macro_use]
mod word;

mod document;
mod entries;
mod error;
mod estimate;
mod meaning;
mod nearest;
mod options;
mod passes;
mod plain;
mod rotation;
mod schedule;
mod slob_conf;
mod slob_take;
mod space;
mod stranger;
mod study;
mod timed;
mod turns;
mod units;
mod written;

pub use document::keys_markdown;
pub use error::{PlanError, Problem};
pub use estimate::{Estimate, LOADING_WAL_BYTES, blocks_that_fill, estimate};
pub use options::{
    Given, Refused, Rule, Step, Takes, Tool, Value, arguments, mount_words, options, options_markdown, split_flag,
};
pub use schedule::{Block, block, round};
pub use space::{TemporarySpace, over_budget as zfs_over_budget, zfs_room};
pub use stranger::read_file;
pub use study::*;
pub use turns::{Obstacle, Stints, Turns};
pub use units::{ByteRate, Bytes, Duration, Rate, Share, UnitError};

use error::Findings;
use std::path::Path;

/// Largest study that is read, in bytes: those of this project have at most ten thousand.
pub const STUDY_BYTES_MAX: u64 = 1 << 20;

/// Most stacks of a study.
pub const STACKS_MAX: usize = 64;

/// Most phases of a study, each pass counted.
pub const PHASES_MAX: usize = 512;

/// Reads the study at `path`.
///
/// # Errors
/// [`PlanError::Read`] when the file cannot be read, [`PlanError::Broken`] with all that is wrong in it.
pub fn load(path: &Path) -> Result<Study, PlanError> {
    load_scaled(path, 1.0)
}

/// Reads the study at `path` and multiplies its sizes by `factor`, as [`parse_scaled`] does.
///
/// # Errors
/// As [`load`], and [`PlanError::Scale`].
pub fn load_scaled(path: &Path, factor: f64) -> Result<Study, PlanError> {
    let bytes = read_file(path, STUDY_BYTES_MAX).map_err(|source| PlanError::Read {
        path: path.to_path_buf(),
        source,
    })?;
    // What is not UTF-8 becomes U+FFFD; where that stands outside a comment the reader refuses it with its place.
    parse_scaled(&String::from_utf8_lossy(&bytes), path, factor)
}

/// Reads a study from its text; `file` is what messages call it.
///
/// # Errors
/// [`PlanError::Broken`] with all that is wrong in it.
pub fn parse(text: &str, file: &Path) -> Result<Study, PlanError> {
    parse_scaled(text, file, 1.0)
}

/// Reads a study and multiplies by `factor` what grows with the data: LUN sizes, sizes of models, data in bytes, hot
/// spots, cache, redo log and memory budget, written or not; upwards also the time limit. Shares, counts and the
/// times of phases stay. [`Study::resolved`] tells each changed value beside the one it had.
///
/// # Errors
/// As [`parse`]; [`PlanError::Scale`] when `factor` is not above 0 and at most 1,000,000.
pub fn parse_scaled(text: &str, file: &Path, factor: f64) -> Result<Study, PlanError> {
    if !(factor > 0.0 && factor <= 1e6) {
        return Err(PlanError::Scale { factor });
    }
    let mut findings = Findings::default();
    let written = written::read(text, &mut findings);
    // The meaning of a file that was misread is guesswork, and its contradictions would be noise.
    let Some(mut written) = written.filter(|_| findings.is_empty()) else {
        return Err(findings.into_error(text, file));
    };
    bounded(&written, &mut findings);
    if !findings.is_empty() {
        return Err(findings.into_error(text, file));
    }
    passes::expand(&mut written, &mut findings);
    let slob = slob_take::take(&mut written, file.parent().unwrap_or(Path::new("")), &mut findings);
    let mut study = meaning::resolve(&written, text, factor, &mut findings);
    if !findings.is_empty() {
        return Err(findings.into_error(text, file));
    }
    study.slob = slob_take::settled(slob, &study);
    // The file is not part of the study's text, so its values go with the result.
    let disclosed = study.slob.iter().map(|row| Resolved {
        key: format!("phase.{}.slob_conf.{}", row.phase, row.key),
        value: row.seed.clone(),
        written: true,
        unscaled: None,
    });
    study.resolved.extend(disclosed.collect::<Vec<_>>());
    study.file = file.to_path_buf();
    if factor != 1.0 {
        let plain = meaning::resolve(&written, text, 1.0, &mut Findings::default());
        for row in &mut study.resolved {
            let before = plain.resolved.iter().find(|old| old.key == row.key);
            row.unscaled = before.filter(|old| old.value != row.value).map(|old| old.value.clone());
        }
    }
    Ok(study)
}

/// Refuses more stacks or phases than a result file is read with, before anything is made of them.
fn bounded(written: &written::WrittenStudy, findings: &mut error::Findings) {
    let cure = "make several studies of it";
    if let Some(first) = written.stacks.get(STACKS_MAX) {
        let message = format!("the study has {} stacks, at most {STACKS_MAX}", written.stacks.len());
        findings.add(&first.span, message, cure);
    }
    let mut phases = 0;
    for (nth, phase) in written.phases.iter().enumerate() {
        phases += passes::controls_added(&written.phases, nth);
        // Those that follow in its group are repeated as often.
        let group = 1 + phase.after_each.as_ref().map_or(0, |names| names.value.len());
        let passes = phase.passes();
        let passes = passes.limits.nearest(passes.value());
        phases += 1 + (passes as usize - 1).saturating_mul(group);
        if phases > PHASES_MAX {
            let message = format!("the study has more than {PHASES_MAX} phases, each pass counted");
            findings.add(&phase.span, message, cure);
            return;
        }
    }
}

impl Study {
    /// This study with its sizes multiplied by `factor`, counted from the file, not from an earlier scale.
    ///
    /// # Errors
    /// As [`parse_scaled`]: what fits at one scale may not fit at another.
    pub fn scaled(&self, factor: f64) -> Result<Study, PlanError> {
        parse_scaled(&self.text, &self.file, factor)
    }

    /// The seed that all random numbers of a run come from; 1 where none is drawn yet, as for an estimate.
    pub fn root_seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// The study as a file that says every key; it reads back as the same study.
    pub fn to_toml(&self) -> String {
        entries::to_toml(self)
    }

    /// Bytes of the data in whole pages of whole schemas, the same on every stack; `None` where `scale` is a share of
    /// devices or of a mounted place, whose room only the machine knows.
    pub fn data_bytes(&self) -> Option<u64> {
        space::data_bytes(self)
    }
}
