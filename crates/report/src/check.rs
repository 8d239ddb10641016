//! One line of the validity sheet: what was looked at, what was found, and whether a number may be believed.
//!
//! Plain types, below all who make lines and all who print them. Prevents: a status that two forms spell in two ways.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

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
    // None: it should not be there at all.
    #[serde(serialize_with = "threshold_in_words")]
    #[schemars(with = "String")]
    pub threshold: Option<String>,
    /// What to do.
    pub advice: String,
    /// It is of data that were lost.
    #[serde(skip)]
    pub is_loss: bool,
}

impl Check {
    /// What it is held against, as it stands in a report.
    pub fn threshold_words(&self) -> &str {
        self.threshold.as_deref().unwrap_or(NONE)
    }
}

/// How a report says that nothing of the kind should be there.
const NONE: &str = "none";

fn threshold_in_words<S: Serializer>(threshold: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(threshold.as_deref().unwrap_or(NONE))
}

/// What all of these are held against, where it is one and the same.
pub(crate) fn wanted<'a>(checks: &[&'a Check]) -> Option<&'a str> {
    let first = checks.first()?.threshold.as_deref()?;
    let is_same = |check: &&Check| check.threshold.as_deref() == Some(first);
    checks.iter().all(is_same).then_some(first)
}
