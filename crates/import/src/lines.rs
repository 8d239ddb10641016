//! A text as numbered lines, as editors number them, whatever ends them.
//!
//! Takes text with LF, CRLF, form feeds, tabs or a byte order mark; gives lines. Prevents: a page break that hides the
//! heading after it, and line numbers that nobody finds again.

/// A line and its number, 1-based.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'t> {
    pub(crate) number: u32,
    pub(crate) text: &'t str,
}

/// Characters around a line that say nothing.
const EDGES: [char; 4] = ['\r', '\u{c}', '\u{feff}', '\u{1a}'];

/// All lines; carriage returns, form feeds and marks at their edges are taken off.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.split('\n').enumerate().map(|(index, line)| Line {
        number: u32::try_from(index + 1).unwrap_or(u32::MAX),
        text: line.trim_matches(EDGES).trim_end(),
    })
}

/// Tokens of a line, at most so many as any layout has.
pub(crate) fn tokens(line: &str) -> Vec<&str> {
    line.split_whitespace().take(TOKENS_MAX).collect()
}

/// More columns than any layout has.
const TOKENS_MAX: usize = 64;
