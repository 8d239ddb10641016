//! What a live page has above the report.
//!
//! Plain types. Prevents: a form that has to know how a study runs.

use super::forms::Tone;
use super::table::Table;

/// How far a study is.
pub(crate) struct LiveHead {
    /// What it is doing, in a word.
    pub(crate) state: (&'static str, Tone),
    pub(crate) said: String,
    /// Done of all that is planned, from 0 to 1; `None` where nothing is under way.
    pub(crate) share: Option<f64>,
    pub(crate) facts: Vec<(&'static str, String)>,
    /// What each stack does.
    pub(crate) stacks: Option<Table>,
    /// Nothing changes any more.
    pub(crate) is_over: bool,
}
