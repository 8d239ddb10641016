//! Lines of a terminal, as they are filled: wrapped, escaped, coloured.
//!
//! Takes text of any origin and a width, gives lines no wider than it. Prevents: colour that says what no word says:
//! only single words and headings are painted.

use crate::document::{Forms, Tone};
use crate::text::escaped;
use anstyle::{AnsiColor, Style as Paint};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns before a table.
pub(super) const INDENT: usize = 2;
/// Columns between two of its columns.
pub(super) const GAP: usize = 2;
/// Columns of the names of its rows at most.
pub(super) const NAME_MAX: usize = 20;
/// Columns of a cell at most.
pub(super) const CELL_MAX: usize = 32;

pub(crate) struct Page {
    /// Whose blocks are shown.
    pub form: Forms,
    pub lines: Vec<String>,
    pub width: usize,
    pub colour: bool,
    pub utf8: bool,
}

impl Page {
    pub(crate) fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    pub(crate) fn title(&mut self, text: &str) {
        self.blank();
        self.say(text, 0, paint_bold());
    }

    /// Wraps, escapes and colours.
    pub(crate) fn say(&mut self, text: &str, indent: usize, paint: Paint) {
        for line in wrapped(&escaped(text), self.width, indent) {
            self.put(line, paint);
        }
    }

    pub(crate) fn put(&mut self, line: String, paint: Paint) {
        // The net under all that makes lines: escaped already, it stays as it is.
        let line = escaped(line.trim_end());
        if self.colour && paint != Paint::new() && !line.is_empty() {
            self.lines
                .push(format!("{}{line}{}", paint.render(), paint.render_reset()));
        } else {
            self.lines.push(line);
        }
    }

    /// As [`say`](Page::say), with only this word of the first line painted.
    pub(crate) fn say_marked(&mut self, text: &str, indent: usize, word: &str, paint: Paint) {
        for (index, line) in wrapped(&escaped(text), self.width, indent).into_iter().enumerate() {
            match line.find(word).filter(|_| index == 0) {
                Some(at) => self.mark(&line, at, word.len(), paint),
                None => self.put(line, plain()),
            }
        }
    }

    /// As [`put`](Page::put), with the word painted that the line ends with.
    pub(crate) fn put_ending(&mut self, line: &str, word: &str, paint: Paint) {
        let line = &escaped(line.trim_end());
        if line.ends_with(word) {
            self.mark(line, line.len() - word.len(), word.len(), paint);
        } else {
            self.put(line.into(), plain());
        }
    }

    /// A line of parts, each in its paint; they are escaped already.
    pub(crate) fn put_parts(&mut self, parts: &[(String, Paint)]) {
        let last = parts.iter().rposition(|(text, _)| !text.trim_end().is_empty());
        let mut line = String::new();
        for (nth, (text, paint)) in parts.iter().enumerate().take(last.map_or(0, |last| last + 1)) {
            let text = if Some(nth) == last { text.trim_end() } else { text };
            if self.colour && *paint != Paint::new() && !text.is_empty() {
                line.push_str(&format!("{}{text}{}", paint.render(), paint.render_reset()));
            } else {
                line.push_str(text);
            }
        }
        self.lines.push(line);
    }

    fn mark(&mut self, line: &str, at: usize, length: usize, paint: Paint) {
        let line = line.trim_end();
        if !self.colour || paint == Paint::new() {
            self.lines.push(line.into());
            return;
        }
        let (before, rest) = line.split_at(at);
        let (word, after) = rest.split_at(length);
        self.lines.push(format!(
            "{before}{}{word}{}{after}",
            paint.render(),
            paint.render_reset()
        ));
    }
}

pub(crate) fn paint_bold() -> Paint {
    Paint::new().bold()
}

pub(crate) fn plain() -> Paint {
    Paint::new()
}

pub(crate) fn paint(colour: AnsiColor) -> Paint {
    Paint::new().fg_color(Some(colour.into()))
}

pub(super) fn tone_paint(tone: Tone) -> Paint {
    match tone {
        Tone::Better => paint(AnsiColor::Green),
        Tone::Worse | Tone::Invalid => paint(AnsiColor::Red),
        Tone::Equal => paint(AnsiColor::Cyan),
        Tone::Suspect => paint(AnsiColor::Yellow),
        Tone::Open | Tone::Clear | Tone::Valid | Tone::Note => plain(),
    }
}

/// Columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// At most `limit` columns; what is cut is marked.
pub(crate) fn clipped(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_string();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let columns = c.width().unwrap_or(0);
        if used + columns + 1 > limit {
            break;
        }
        used += columns;
        out.push(c);
    }
    if limit > 0 {
        out.push('~');
    }
    out
}

/// Wraps at spaces; lines after the first are indented by `indent` columns. Words longer than a line are cut in pieces.
pub(crate) fn wrapped(text: &str, limit: usize, indent: usize) -> Vec<String> {
    let indent = " ".repeat(if indent + 8 > limit { 0 } else { indent });
    let options = Options::new(limit)
        .subsequent_indent(&indent)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(&glued(text, limit), options)
        .iter()
        .map(|line| line.replace('\u{a0}', " "))
        .collect()
}

/// A percent sign stays with its number, and what stands in backticks on one line: a user copies it.
fn glued(text: &str, limit: usize) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let last = parts.len() - 1;
    let is_command = |nth: usize, part: &str| nth % 2 == 1 && nth < last && width(part) + 8 <= limit;
    let glued = parts.iter().enumerate().map(|(nth, part)| match is_command(nth, part) {
        true => part.replace(' ', "\u{a0}"),
        false => part.replace(" %", "\u{a0}%"),
    });
    glued.collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_not_folded() {
        let lines = wrapped("let the study go on (`assay run --resume`).", 34, 2);
        assert_eq!(lines, ["let the study go on", "  (`assay run --resume`)."]);
        let lines = wrapped("an odd ` and many words after it", 16, 0);
        assert_eq!(lines, ["an odd ` and", "many words after", "it"]);
    }

    #[test]
    fn lines_keep_to_their_width() {
        let text = "  one two three-and-a-word-that-is-far-too-long-for-a-line four";
        for limit in 10..40 {
            let lines = wrapped(text, limit, 4);
            assert!(lines.iter().all(|line| width(line) <= limit), "{limit}: {lines:?}");
            let joined: String = lines.concat().replace(' ', "");
            assert_eq!(joined, text.replace(' ', ""), "nothing is lost");
        }
        assert_eq!(wrapped("", 10, 0), [""]);
        assert_eq!(wrapped("about 12 % of it", 9, 0), ["about", "12 % of", "it"]);
    }

    #[test]
    fn clipping_is_marked() {
        assert_eq!(clipped("btrfs-compressed", 8), "btrfs-c~");
        assert_eq!(clipped("ext4", 8), "ext4");
        assert_eq!(width(&clipped("漢字漢字漢字", 5)), 5);
    }
}
