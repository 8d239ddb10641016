//! Result files of several days or hosts beside each other: what differs, and ratios where the base is the same.
//!
//! Takes [`FileTaken`]s, gives [`FilesCompared`] and its forms. Files of separate runs get no verdict: which of them
//! ran when and where was not randomised. Prevents: a new kernel judged by two runs that differ in ten other things.

mod differences;
mod figures;
mod found;
mod ratios;
mod shown;
mod taken;

pub use found::{
    About, EqualFacts, FileDifference, FileHead, FilesCompared, LeftOut, OwnRatio, PhaseOfFiles, RatioChange,
    RatioOfFiles, StackOfFiles, StatesOfOneRun,
};
pub use taken::FileTaken;

use crate::check::Status;
use crate::format::ratio;
use crate::render::{self, Style};
use crate::sections::how_far;
use figures::label;
use schemars::JsonSchema;
use serde::Serialize;

/// Files at most: each has a letter, and more columns than these nobody reads.
const FILES_MAX: usize = 16;

/// Why files cannot be compared. The last line is what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// One file, or none.
    #[error("there is nothing to compare one file with\n  name two result files, or read one with `assay report FILE`")]
    TooFew,
    /// Too many files.
    #[error("{0} files are more than can be read side by side\n  name at most {FILES_MAX}")]
    TooMany(usize),
    /// One file under two names.
    #[error("{0} and {1} hold the same run in the same state\n  name two different result files")]
    Same(String, String),
}

impl FilesCompared {
    /// Sets the files side by side; the first is what the others are held against.
    ///
    /// # Errors
    /// [`CompareError`].
    pub fn of(files: &[FileTaken]) -> Result<FilesCompared, CompareError> {
        match files.len() {
            0 | 1 => return Err(CompareError::TooFew),
            many if many > FILES_MAX => return Err(CompareError::TooMany(many)),
            _ => {}
        }
        for (nth, file) in files.iter().enumerate() {
            let same = |other: &&FileTaken| other.is_of_the_run_of(file) && blocks(other) == blocks(file);
            if let Some(other) = files[..nth].iter().find(same) {
                return Err(CompareError::Same(other.file.clone(), file.file.clone()));
            }
        }
        let mut left_out = empty_files(files);
        let (differences, equal) = differences::differences(files);
        let mut compared = FilesCompared {
            files: files.iter().enumerate().map(head).collect(),
            states_of_one_run: states_of_one_run(files),
            differences,
            equal,
            phases: figures::phases(files, &mut left_out),
            ratios: ratios::ratios(files, &mut left_out),
            left_out,
            no_verdict: None,
            sentence: String::new(),
        };
        compared.no_verdict = no_verdict(&compared);
        compared.sentence = sentence(&compared);
        Ok(compared)
    }
}

/// How far a run is: two states of one run differ in it.
fn blocks(file: &FileTaken) -> (u32, u32, Option<&str>) {
    let head = &file.analysis.study;
    (head.blocks_begun, head.extensions, head.ended.as_deref())
}

fn head((nth, file): (usize, &FileTaken)) -> FileHead {
    let study = &file.analysis.study;
    let checks = |status: Status| {
        let checks = file.analysis.checks.iter();
        checks.filter(|check| check.status == status).count() as u32
    };
    FileHead {
        label: label(nth),
        file: file.file.clone(),
        study: study.name.clone(),
        run_id: study.run_id.clone(),
        tool_version: study.tool_version.clone(),
        host: file.host(),
        created_unix_ns: study.created_unix_ns,
        blocks_begun: study.blocks_begun,
        blocks_valid: study.blocks_valid,
        checks_invalid: checks(Status::Invalid),
        checks_suspect: checks(Status::Suspect),
        state: match study.blocks_planned {
            0 => "nothing was run: all figures are imported".into(),
            _ => how_far(&file.analysis),
        },
    }
}

fn states_of_one_run(files: &[FileTaken]) -> Vec<StatesOfOneRun> {
    let mut found = Vec::new();
    for (nth, file) in files.iter().enumerate() {
        for (other, of) in files
            .iter()
            .enumerate()
            .skip(nth + 1)
            .filter(|(_, of)| of.is_of_the_run_of(file))
        {
            let (earlier, later) = if blocks(file) <= blocks(of) {
                (nth, other)
            } else {
                (other, nth)
            };
            found.push(StatesOfOneRun {
                earlier: label(earlier),
                later: label(later),
            });
        }
    }
    found
}

/// Files that have no figure at all.
fn empty_files(files: &[FileTaken]) -> Vec<LeftOut> {
    let empty = |file: &FileTaken| file.analysis.phases.iter().all(|phase| phase.cells.is_empty());
    let files = files.iter().enumerate().filter(|(_, file)| empty(file));
    let left = files.map(|(nth, file)| LeftOut {
        what: label(nth),
        reason: format!(
            "it has no valid run of any phase; read why: assay report {} --full",
            file.file
        ),
    });
    left.collect()
}

/// Whether all files are states of one run.
fn is_one_run(compared: &FilesCompared) -> bool {
    let first = &compared.files[0].run_id;
    compared.files.iter().all(|file| file.run_id == *first)
}

fn no_verdict(compared: &FilesCompared) -> Option<String> {
    (!is_one_run(compared)).then(|| {
        "No verdict between the files: they are separate runs. Which run came when and where was not randomised, so \
         every difference listed here, and any that nobody recorded, may be the cause of a change."
            .into()
    })
}

fn sentence(compared: &FilesCompared) -> String {
    // Of several states the last one holds the blocks of all others.
    let states = &compared.states_of_one_run;
    let is_last = |label: &str| states.iter().all(|state| state.earlier != label);
    if let Some(one) = states.iter().find(|state| is_last(&state.later))
        && is_one_run(compared)
    {
        let later = compared.files.iter().find(|file| file.label == one.later);
        return format!(
            "{} is a later state of the same run as {}, and holds its blocks: its verdicts are those of the study. \
             Read them: assay report {}",
            one.later,
            one.earlier,
            later.map_or("FILE", |file| &file.file)
        );
    }
    let changes = || {
        compared
            .ratios
            .iter()
            .flat_map(|one| &one.changes)
            .flatten()
            .map(|one| one.ratio)
    };
    let said = if changes().next().is_some() {
        let (low, high) = changes().fold((f64::INFINITY, 0.0f64), |(low, high), of| (low.min(of), high.max(of)));
        let against = &compared.files[0].label;
        match compared.files.len() {
            2 => format!(
                "The ratios of B are {} to {} times those of {against}.",
                ratio(low),
                ratio(high)
            ),
            _ => format!(
                "The ratios are {} to {} times those of the first file that has them.",
                ratio(low),
                ratio(high)
            ),
        }
    } else if compared.phases.iter().all(|phase| phase.stacks.is_empty()) {
        "No phase on a stack has figures in two files, so only what differs is shown.".into()
    } else {
        "No ratio to the same base is in two files, so figures are shown without ratios.".into()
    };
    format!("No verdict between separate runs. {said}")
}

/// For a terminal, on one screen. Ends with a newline.
pub fn compare_brief(compared: &FilesCompared, style: &Style) -> String {
    render::brief(&shown::document(compared), style)
}

/// Whole, for a terminal. Ends with a newline.
pub fn compare_terminal(compared: &FilesCompared, style: &Style) -> String {
    render::terminal(&shown::document(compared), style)
}

/// As Markdown.
pub fn compare_markdown(compared: &FilesCompared) -> String {
    render::markdown(&shown::document(compared))
}

/// As one HTML file.
pub fn compare_html(compared: &FilesCompared) -> String {
    render::html(&shown::document(compared))
}

/// Result files beside each other.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "Assay comparison of result files", deny_unknown_fields)]
struct Document<'a> {
    /// Version of this form.
    schema: u32,
    /// What was found.
    comparison: &'a FilesCompared,
}

/// As JSON. What was not recorded is `null`; ratios are oriented so that above 1 is better.
pub fn compare_json(compared: &FilesCompared) -> serde_json::Value {
    let document = Document {
        schema: render::SCHEMA_VERSION,
        comparison: compared,
    };
    serde_json::to_value(&document).expect("plain structs with text keys always become JSON")
}

/// The JSON schema of [`compare_json`]'s form.
pub fn compare_schema() -> serde_json::Value {
    schemars::schema_for!(Document<'_>).to_value()
}
