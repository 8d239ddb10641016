//! Keys, and values as TOML writes them.
//!
//! Prevents: a value that breaks out of its quotes.

use crate::written::Word;
use std::fmt::Display;
use std::path::Path;

/// Keys of one section with their values, in order.
pub(super) type Keys = Vec<(&'static str, String)>;

/// A TOML string, escaped, between double quotes whatever stands in it.
pub(super) fn quoted<T: Display>(value: T) -> String {
    use toml_writer::ToTomlValue;
    toml_writer::TomlStringBuilder::new(&value.to_string())
        .as_basic()
        .to_toml_value()
}

pub(super) fn path(path: &Path) -> String {
    quoted(path.display())
}

pub(super) fn word<W: Word>(value: &W) -> String {
    quoted(value.word())
}

/// The value, or the word that stands for its absence.
pub(super) fn or_word<T: Display>(value: &Option<T>, word: &str) -> String {
    value.as_ref().map_or_else(|| quoted(word), quoted)
}

pub(super) fn strings(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.map(quoted).collect::<Vec<_>>().join(", "))
}

/// A TOML float: with a point, so that it is not taken for an integer.
pub(super) fn float(value: f64) -> String {
    format!("{value:?}")
}
