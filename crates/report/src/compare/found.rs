//! What is found of result files beside each other: plain types, which `--json` prints.
//!
//! Prevents: forms that compute on their own.

use crate::cells::metric::Metric;
use crate::figures::Figure;
use crate::ranking::verdicts::Verdict;
use schemars::JsonSchema;
use serde::Serialize;

/// Result files beside each other. Lists with a value for each file have the order of `files`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FilesCompared {
    /// What may be said, in two sentences at most.
    pub sentence: String,
    /// Why no verdict is drawn between the files; `null` where all of them are of one run.
    pub no_verdict: Option<String>,
    /// The files, as they were given.
    pub files: Vec<FileHead>,
    /// Files that share their blocks, because they are of one run.
    pub states_of_one_run: Vec<StatesOfOneRun>,
    /// What is not the same in all files.
    pub differences: Vec<FileDifference>,
    /// What is the same in all files.
    pub equal: Vec<EqualFacts>,
    /// Phases that several files have.
    pub phases: Vec<PhaseOfFiles>,
    /// Ratios to the base of the same file, where several files have the same base, stack and phase.
    pub ratios: Vec<RatioOfFiles>,
    /// What is not set side by side, and why.
    pub left_out: Vec<LeftOut>,
}

/// A file.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FileHead {
    /// Its letter: "A", "B" ...
    pub label: String,
    /// Its name.
    pub file: String,
    /// Short name of the study.
    pub study: String,
    /// Identity of the run.
    pub run_id: String,
    /// Version of the tool that ran it.
    pub tool_version: String,
    /// Name of the host; `null` where it was not recorded.
    pub host: Option<String>,
    /// When the run began, nanoseconds since 1970.
    pub created_unix_ns: u64,
    /// Blocks begun.
    pub blocks_begun: u32,
    /// Blocks that count.
    pub blocks_valid: u32,
    /// Checks that are INVALID.
    pub checks_invalid: u32,
    /// Checks that are SUSPECT.
    pub checks_suspect: u32,
    /// How far it is, in words.
    pub state: String,
}

/// Two files of one run: the later one holds the blocks of the earlier one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StatesOfOneRun {
    /// Label of the file with fewer blocks.
    pub earlier: String,
    /// Label of the file with more.
    pub later: String,
}

/// What a difference is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// The run: when, by which version, how many blocks.
    Run,
    /// The host.
    Host,
    /// What was found before the first block: ceilings, schedule.
    Study,
    /// A key of the study.
    Key,
    /// A stack as it was built.
    Stack,
    /// A set of LUNs.
    Luns,
    /// Devices under a stack.
    Device,
}

impl About {
    /// In a word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            About::Run => "run",
            About::Host => "host",
            About::Study => "study",
            About::Key => "key",
            About::Stack => "stack",
            About::Luns => "LUNs",
            About::Device => "device",
        }
    }
}

/// Something that is not the same in all files.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FileDifference {
    /// What it is of.
    pub about: About,
    /// The stacks or LUN sets that it is of; empty for a run, a host, a study and its keys.
    pub of: Vec<String>,
    /// Its name.
    pub what: String,
    /// Its value in each file; `null` where it was not recorded.
    pub values: Vec<Option<String>>,
}

/// Names of what is the same in all files.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EqualFacts {
    /// What they are of.
    pub about: About,
    /// Their names.
    pub names: Vec<String>,
}

/// A phase that several files have.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PhaseOfFiles {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: String,
    /// The metric of its figures.
    pub metric: Metric,
    /// Keys of the phase that are not the same in all files: then it is not the same work.
    pub keys_that_differ: Vec<String>,
    /// Stacks that several files have figures of.
    pub stacks: Vec<StackOfFiles>,
}

/// A stack in a phase.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StackOfFiles {
    /// The stack.
    pub stack: String,
    /// The metric in its own unit, in each file: median, lowest and highest block.
    pub figures: Vec<Option<Figure>>,
}

/// A stack against its base, in each file: in a phase, or in its change from an earlier one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RatioOfFiles {
    /// The phase.
    pub phase: String,
    /// The earlier phase, where the ratio is that of the changes since then; `null` of the phase itself.
    pub against: Option<String>,
    /// The stack.
    pub stack: String,
    /// Its base, the same in each file.
    pub base: String,
    /// The metric compared.
    pub metric: Metric,
    /// The ratio in each file.
    pub ratios: Vec<Option<OwnRatio>>,
    /// The ratio of each file over that of the first file that has one, over the blocks of both ratios. No verdict:
    /// what is not the same in the two runs is in it.
    pub changes: Vec<Option<RatioChange>>,
}

/// "aged scan / fresh scan", or the phase alone.
pub(super) fn phase_in_words(phase: &str, against: Option<&str>) -> String {
    match against {
        Some(before) => format!("{phase} / {before}"),
        None => phase.to_string(),
    }
}

/// A ratio as its own file has it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OwnRatio {
    /// Oriented so that above 1 is better, and no further out than its interval.
    pub ratio: f64,
    /// Lower end of the interval of its own study; before its first look, of a plain 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Blocks in it.
    pub n: u32,
    /// The verdict of its own study.
    pub verdict: Verdict,
}

/// The ratio of one file over that of another.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RatioChange {
    /// Label of the other file.
    pub against: String,
    /// Above 1: the stack gained on its base. Of the mean log ratios, so it differs from the quotient of the two ratios
    /// where the interval of an earlier look holds one of them.
    pub ratio: f64,
    /// Lower end of a plain 95 % interval (Welch); `null` below two blocks in either file.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// Not set side by side.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// What.
    pub what: String,
    /// Why.
    pub reason: String,
}
