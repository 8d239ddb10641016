//! What differs between the stacks, short enough to be read: the lines of a terminal and of Markdown.
//!
//! Takes the analysis, gives lines: first what every stack has and not all have alike, stacks of one value together;
//! then what only some have. Values too long to read are counted, and stand in the JSON form. Prevents: the one
//! difference that matters lost among sixty that do not.

use crate::analysis::{Analysis, Difference};
use crate::grouped::grouped;

/// Longer values are for `--json`.
const VALUE_MAX: usize = 56;

/// Lines, the most important first.
pub(crate) fn contrast(analysis: &Analysis) -> Vec<String> {
    let shown: Vec<&Difference> = analysis
        .differences
        .iter()
        .filter(|one| !is_implied(one, &analysis.differences))
        .collect();
    let mut lines = Vec::new();
    let mut left = 0;
    let mut only: Vec<(Vec<&str>, String)> = Vec::new();
    for difference in shown {
        let groups = by_value(difference);
        if groups.iter().any(|(value, _)| is_long(value)) {
            left += 1;
            continue;
        }
        let everywhere = difference.values.iter().all(|of| of.value.is_some());
        match groups.as_slice() {
            [] => {}
            [(value, stacks)] if !everywhere => {
                only.push((stacks.clone(), format!("{} {value}", label(&difference.fact))));
            }
            _ => {
                let values: Vec<String> = groups
                    .iter()
                    .map(|(value, stacks)| format!("{} = {value}", stacks.join(", ")))
                    .collect();
                lines.push(format!(
                    "{}: {}",
                    title(difference, &analysis.differences),
                    values.join("; ")
                ));
            }
        }
    }
    for (stacks, texts) in grouped(only) {
        lines.push(format!("only of {}: {}", stacks.join(", "), texts.join(", ")));
    }
    if left > 0 {
        let facts = if left == 1 { "fact" } else { "facts" };
        lines.push(format!("{left} more {facts}, too long to print: --json"));
    }
    lines
}

/// The names of what is the same on all, without what says nothing.
pub(crate) fn same(analysis: &Analysis) -> Option<String> {
    let names: Vec<String> = analysis
        .equal
        .iter()
        .filter(|name| !name.starts_with("inject.") && !name.starts_with("note "))
        .map(|name| label(name))
        .collect();
    (!names.is_empty()).then(|| format!("The same on all: {}.", names.join(", ")))
}

/// The values with their stacks, in the order of the stacks; what was not recorded is left out.
fn by_value(difference: &Difference) -> Vec<(&str, Vec<&str>)> {
    let values = difference.values.iter();
    grouped(values.filter_map(|of| Some((unquoted(of.value.as_deref()?), of.stack.as_str()))))
}

fn unquoted(value: &str) -> &str {
    let inner = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    inner.unwrap_or(value)
}

fn is_long(value: &str) -> bool {
    value.chars().count() > VALUE_MAX || value.contains('\n') || value.contains("\\n")
}

/// True for what another line says already, and for what was left empty.
pub(crate) fn is_implied(one: &Difference, all: &[Difference]) -> bool {
    let groups = by_value(one);
    if groups
        .iter()
        .all(|(value, _)| value.is_empty() || *value == "[]" || *value == "false")
    {
        return true;
    }
    if one.fact == "kind" {
        return is_in_layers(one, all);
    }
    let before = all.iter().take_while(|other| other.fact != one.fact);
    let said = |other: &Difference| by_value(other) == groups;
    if twin(one, all).is_some_and(said) {
        return true;
    }
    // One and the same path, under another name.
    if groups.iter().all(|(value, _)| value.starts_with('/')) && before.into_iter().any(said) {
        return true;
    }
    // A key of the study, and the fact that it became.
    all.iter()
        .any(|other| other.fact != one.fact && other.fact.contains(one.fact.as_str()) && said(other))
}

/// The layers begin with the kind of their stack.
fn is_in_layers(kind: &Difference, all: &[Difference]) -> bool {
    let Some(layers) = all.iter().find(|one| one.fact == "layers") else {
        return kind.values.iter().all(|of| of.value.as_deref() == Some(&of.stack));
    };
    let pairs = kind.values.iter().zip(&layers.values);
    pairs
        .into_iter()
        .all(|(kind, layers)| match (&kind.value, &layers.value) {
            (Some(kind), Some(layers)) => layers.split('/').next() == Some(kind),
            _ => false,
        })
}

/// What is said of the data where this is said of the redo log or of temporary files.
fn twin<'a>(other: &Difference, all: &'a [Difference]) -> Option<&'a Difference> {
    let rest = ["redo ", "temp "]
        .iter()
        .find_map(|role| other.fact.strip_prefix(role))?;
    all.iter().find(|one| one.fact.strip_prefix("data ") == Some(rest))
}

/// The name, of data and redo together where both are alike.
pub(crate) fn title(one: &Difference, all: &[Difference]) -> String {
    let redo = one
        .fact
        .strip_prefix("data ")
        .and_then(|rest| all.iter().find(|other| other.fact.strip_prefix("redo ") == Some(rest)));
    match redo {
        Some(redo) if by_value(redo) == by_value(one) => one.fact.replacen("data ", "data and redo ", 1),
        _ => label(&one.fact),
    }
}

/// A fact in words: a key of a table of the study is read without its dot.
fn label(fact: &str) -> String {
    match fact.strip_prefix("database.") {
        Some(key) => format!("database {key}"),
        None => fact.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::FactOfStack;

    fn difference(fact: &str, values: &[(&str, Option<&str>)]) -> Difference {
        let of = |(stack, value): &(&str, Option<&str>)| FactOfStack {
            stack: (*stack).into(),
            value: value.map(str::to_string),
        };
        Difference {
            fact: fact.into(),
            values: values.iter().map(of).collect(),
        }
    }

    #[test]
    fn what_another_line_says_is_left_out() {
        let all = [
            difference("layers", &[("a", Some("ext4/loop")), ("b", Some("btrfs/loop"))]),
            difference("kind", &[("a", Some("ext4")), ("b", Some("btrfs"))]),
            difference("data reads go", &[("a", Some("x")), ("b", Some("y"))]),
            difference("redo reads go", &[("a", Some("x")), ("b", Some("y"))]),
            difference("profile", &[("a", None), ("b", Some("\"single\""))]),
            difference("data profile", &[("a", None), ("b", Some("single"))]),
            difference("mkfs_options", &[("a", Some("[]")), ("b", None)]),
        ];
        let kept: Vec<&str> = all
            .iter()
            .filter(|one| !is_implied(one, &all))
            .map(|one| one.fact.as_str())
            .collect();
        assert_eq!(kept, ["layers", "data reads go", "data profile"]);
        assert_eq!(title(&all[2], &all), "data and redo reads go");
    }
}
