//! The tables of the sheet in docs/validity-sheet.md, and which traps show which line, from the rules.
//!
//! Takes the rules, gives Markdown and names. Prevents: a document that gives another threshold than the program has.

use super::rule::Rule;
use super::{of_phase, of_study};

const HEAD: &str =
    "| line | figure | threshold | status beyond it | why this threshold |\n| --- | --- | --- | --- | --- |\n";

/// The rules of a phase, as a table in Markdown.
pub fn rules_of_phases() -> String {
    table(of_phase::RULES)
}

/// The rules of the study, as a table in Markdown.
pub fn rules_of_study() -> String {
    table(of_study::RULES)
}

fn table(rules: &[Rule]) -> String {
    let rows: String = rules.iter().filter_map(Rule::row).collect();
    format!("{HEAD}{rows}")
}

/// Lines that the document of the sheet tells, each with the names of its traps.
pub fn traps() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let rules = of_phase::RULES.iter().chain(of_study::RULES);
    rules
        .filter(|rule| rule.document.is_some())
        .map(|rule| (rule.subject, rule.traps))
}
