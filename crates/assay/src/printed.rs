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
    say_to(anstream::stderr(), text);
}

/// What people are told must not end the run that it is about: whoever cannot hear it, does not.
fn say_to(mut out: impl Write, text: &str) {
    let text = report::escaped_lines(text, false);
    let _ = writeln!(out, "{}", text.strip_suffix('\n').unwrap_or(&text));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that is full, or a terminal that is gone.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Err(ErrorKind::StorageFull.into())
        }
    }

    #[test]
    fn what_cannot_be_said_is_no_panic() {
        say_to(Full, "block 1 of 4\n");
        let mut said = Vec::new();
        say_to(&mut said, "block 1 of 4\n");
        say_to(&mut said, "\u{1b}]0;title");
        let said = String::from_utf8(said).expect("text");
        assert!(
            said.starts_with("block 1 of 4\n") && !said.contains('\u{1b}'),
            "{said:?}"
        );
    }
}
