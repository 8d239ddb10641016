//! One setting of a PostgreSQL server, by the table.
//!
//! Takes its name and value as written, and the version where the study says one; gives the name and the value made
//! anew. Prevents: a setting that runs a program, loads code or opens a path of the host.

use super::{Rule, Tool};
use crate::error::Findings;
use crate::written::{At, nearest};

/// The setting as it goes into the server's file; `None`: a finding says why it does not.
pub(crate) fn setting(
    name: &At<String>,
    value: &At<String>,
    version: Option<u32>,
    findings: &mut Findings,
) -> Option<(String, String)> {
    let said = &name.value;
    let lower = said.to_ascii_lowercase();
    let rules = Tool::Postgres.rules();
    let Some(rule) = rules.iter().find(|rule| rule.name == lower) else {
        let refused = Tool::Postgres.refused().iter().find(|refused| refused.is_of(&lower));
        let (why, cure) = match refused {
            Some(refused) => (refused.why, refused.cure.to_string()),
            None => ("a study has no such setting", offer(&lower)),
        };
        findings.add(&name.span, format!("the setting {said:?} is refused: {why}"), cure);
        return None;
    };
    let (first, last) = rule.versions;
    if let Some(version) = version.filter(|version| !(first..=last).contains(version)) {
        let message = format!(
            "PostgreSQL {version} has no setting `{}`: it needs version {first}",
            rule.name
        );
        findings.add(&name.span, message, "remove it, or write another `version`");
        return None;
    }
    let Some(typed) = rule.value(&value.value) else {
        let message = format!(
            "the setting `{}` takes {}, found {:?}",
            rule.name,
            rule.range(),
            value.value
        );
        let cure = format!("write {} = \"{}\"", rule.name, rule.example);
        findings.add(&value.span, message, cure);
        return None;
    };
    Some((rule.name.to_string(), rule.value_text(&typed)))
}

fn offer(name: &str) -> String {
    match nearest(name, Tool::Postgres.rules().iter().map(|rule: &Rule| rule.name)) {
        Some(near) => format!("did you mean `{near}`? docs/study.md lists what a study may say"),
        None => "remove it; docs/study.md lists what a study may say".to_string(),
    }
}
