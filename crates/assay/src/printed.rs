//! The one place that prints what people read.
//!
//! Takes text in which words of strangers may stand (of a result file, a study, a device, a server), gives it to
//! stdout or stderr with everything made visible that would act on a terminal. Prevents: an error that quotes a
//! file and thereby sets the terminal's title, moves its cursor or turns a line around. `tests/tidy.rs` holds that
//! nothing else of this crate prints.

use anyhow::Context;
use std::io::{ErrorKind, Write};

/// What may stand in a text as it is, beside letters, line ends and tabs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Nothing.
    Words,
    /// Colours and weights; the text's parts of other origin are escaped already, as those of [`report::terminal`].
    Styles,
}

/// A line (or several) on stderr, formatted as by `eprintln!`.
macro_rules! say {
    ($($words:tt)*) => { $crate::printed::say_text(&format!($($words)*)) };
}
pub(crate) use say;

/// A line (or several) on stderr.
pub(crate) fn say_text(text: &str) {
    let text = report::escaped_lines(text, false);
    anstream::eprintln!("{}", text.strip_suffix('\n').unwrap_or(&text));
}

/// The command's answer, on stdout; it ends with a line end.
pub(crate) fn answer(text: &str, holds: Holds) -> anyhow::Result<()> {
    let mut text = report::escaped_lines(text, holds == Holds::Styles);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    bytes(text.as_bytes())
}

/// The command's answer as JSON, on stdout.
pub(crate) fn answer_json(value: &serde_json::Value) -> anyhow::Result<()> {
    let mut text = report::escaped_json(&serde_json::to_string_pretty(value).context("make JSON")?);
    text.push('\n');
    bytes(text.as_bytes())
}

/// To stdout as it is: what this program made itself. A closed pipe is the reader's choice, not an error.
pub(crate) fn bytes(bytes: &[u8]) -> anyhow::Result<()> {
    match std::io::stdout().lock().write_all(bytes) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("write to stdout"),
    }
}
