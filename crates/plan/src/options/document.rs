//! The tables of docs/study.md, from the declaration.

use super::{Refused, Rule, Tool};
use std::fmt::Write;

/// All tools as Markdown: what a study may say, and what it may not, each with its reason.
pub fn markdown() -> String {
    let mut text = String::new();
    for tool in Tool::ALL {
        let heading = match tool {
            Tool::Postgres => "settings of PostgreSQL",
            tool => tool.name(),
        };
        let _ = write!(
            text,
            "### Options: {heading}\n\n| option | value | |\n| --- | --- | --- |\n"
        );
        for rule in tool.rules() {
            text.push_str(&row(rule));
        }
        text.push('\n');
        // Mounts have one list in common.
        if matches!(tool, Tool::MountExt4 | Tool::MountXfs) {
            continue;
        }
        let what = match tool {
            Tool::MountBtrfs => "Refused of all mounts",
            _ => "Refused",
        };
        let _ = writeln!(text, "{what}, beside what is in no list:\n");
        text.push_str(&reasons(tool));
        text.push('\n');
    }
    text.trim_end().to_string()
}

fn row(rule: &Rule) -> String {
    let title = match rule.long {
        "" => format!("`{}`", rule.title()),
        long => format!("`{}`, `{long}`", rule.title()),
    };
    let since = match rule.versions.0 {
        0 => String::new(),
        first => format!(" (from {first})"),
    };
    format!("| {title} | {} | {}{since} |\n", rule.range(), rule.phrase)
}

/// One line for each reason, with all that it is the reason of.
fn reasons(tool: Tool) -> String {
    let mut all: Vec<(&str, Vec<&Refused>)> = Vec::new();
    for refused in tool.refused() {
        match all.iter_mut().find(|(why, _)| *why == refused.why) {
            Some((_, list)) => list.push(refused),
            None => all.push((refused.why, vec![refused])),
        }
    }
    let line = |(why, list): &(&str, Vec<&Refused>)| {
        let names: Vec<String> = list.iter().map(|refused| format!("`{}`", refused.option)).collect();
        format!("* {}: {why}\n", names.join(" "))
    };
    all.iter().map(line).collect()
}
