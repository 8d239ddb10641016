//! What a command says on stdout, its answer: words in 80 columns, or JSON.
//!
//! Prevents: two commands that fold their lines in two ways.

use crate::exit::Failure;
use crate::printed::{self, Holds};

/// Columns of a terminal that nobody has widened.
pub(super) const WIDTH: usize = 80;

pub(super) fn print(text: &str) -> Result<(), Failure> {
    Ok(printed::answer(text, Holds::Words)?)
}

pub(super) fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    Ok(printed::answer_json(value)?)
}

/// The answer of a command, as asked for.
pub(super) fn answer(
    json: bool,
    value: impl FnOnce() -> serde_json::Value,
    words: impl FnOnce() -> String,
) -> Result<(), Failure> {
    if json { print_json(&value()) } else { print(&words()) }
}

/// Text in 80 columns behind a name; its other lines begin at `indent`.
pub(super) fn wrapped(name: &str, indent: usize, text: &str) -> String {
    format!("{name:<indent$}{}", folded(text, indent))
}

/// Text in lines of at most 80 columns where words allow, beside a mark of `indent` columns. A command in backticks is
/// one word: a user copies it.
pub(super) fn folded(text: &str, indent: usize) -> String {
    let mut lines = String::new();
    let mut column = indent;
    for word in words(text) {
        let length = word.chars().count();
        if column > indent && column + 1 + length > WIDTH {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            column = indent;
        } else if column > indent {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(&word);
        column += length;
    }
    lines.push('\n');
    lines
}

/// Words of a text, what stands in backticks together with what touches it, and a percent sign with its number.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let is_paired = text.matches('`').count().is_multiple_of(2);
    let mut is_inside = false;
    for word in text.split_whitespace() {
        match words.last_mut().filter(|_| is_inside || word.starts_with('%')) {
            Some(last) => *last += &format!(" {word}"),
            None => words.push(word.to_string()),
        }
        is_inside ^= is_paired && !word.matches('`').count().is_multiple_of(2);
    }
    words
}

/// Bytes rounded for reading.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        b if b >= 10 << 30 => format!("{:.0} GiB", b as f64 / (1u64 << 30) as f64),
        b if b >= 1 << 30 => format!("{:.1} GiB", b as f64 / (1u64 << 30) as f64),
        b => format!("{} MiB", b >> 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_wrap() {
        let text = folded(&"word ".repeat(40), 2);
        assert!(
            text.lines().all(|l| l.len() <= 80) && text.lines().count() == 3,
            "{text}"
        );
    }

    #[test]
    fn a_percent_sign_stays_with_its_number() {
        let text = folded(&format!("{} 17 % (read)", "word ".repeat(15)), 2);
        assert!(text.contains("\n  17 % (read)\n"), "{text}");
    }

    #[test]
    fn a_command_is_not_folded() {
        let text = folded(&format!("{} (`assay run --extend FILE`).", "word ".repeat(12)), 2);
        assert!(text.contains("\n  (`assay run --extend FILE`).\n"), "{text}");
    }
}
