//! Lines of a terminal, as they are filled: wrapped, escaped, coloured.
//!
//! Takes text of any origin and a width, gives lines no wider than it. Prevents: colour that says what no word says: only
//! single words and headings are painted.

use crate::text::{escaped, wrapped};
use anstyle::{AnsiColor, Style as Paint};

pub(crate) struct Page {
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
