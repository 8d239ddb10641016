//! One line of the validity sheet: what was looked at, what was found, and whether a number may be believed.
//!
//! Plain types, below all who make lines and all who print them. Prevents: a status that two forms spell in two ways.

use schemars::JsonSchema;
use serde::Serialize;

/// Whether a number may be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nothing speaks against it.
    Valid,
    /// To know when reading it; it still stands.
    Note,
    /// Something speaks against it.
    Suspect,
    /// It does not stand for the stack.
    Invalid,
}

impl Status {
    /// As it stands in a report.
    pub fn word(self) -> &'static str {
        match self {
            Status::Valid => "VALID",
            Status::Note => "NOTE",
            Status::Suspect => "SUSPECT",
            Status::Invalid => "INVALID",
        }
    }
}

/// One thing checked.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Check {
    /// What: "provenance", "steady state", "host CPU" ...
    pub subject: String,
    /// On which stack; `null` for the whole study.
    pub stack: Option<String>,
    /// In which phase; `null` for all.
    pub phase: Option<String>,
    /// The outcome.
    pub status: Status,
    /// What was found, with its unit.
    pub figure: String,
    /// What it is held against.
    pub threshold: String,
    /// What to do.
    pub advice: String,
}

/// What all of these are held against, where it is one and the same.
pub(crate) fn wanted<'a>(checks: &[&'a Check]) -> Option<&'a str> {
    let first = checks.first()?.threshold.as_str();
    (first != "none" && checks.iter().all(|check| check.threshold == first)).then_some(first)
}
