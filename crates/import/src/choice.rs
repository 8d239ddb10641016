//! What may be said beside a text, and which formats read it.
//!
//! Takes what was said and the format that was found; gives what that format does not read. Prevents: a choice that
//! changes nothing, and figures of all rows taken for those of the rows that were asked for.

use crate::format::{Format, Options};

/// What may be said beside a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The tablespace that counts.
    Tablespace,
    /// The devices that count.
    Devices,
    /// The first report is an interval too.
    KeepFirst,
    /// The rows that count.
    Rows,
}

impl Choice {
    /// All of them.
    pub const ALL: [Choice; 4] = [Choice::Tablespace, Choice::Devices, Choice::KeepFirst, Choice::Rows];

    /// Its name on the command line.
    pub fn flag(self) -> &'static str {
        match self {
            Choice::Tablespace => "--tablespace",
            Choice::Devices => "--device",
            Choice::KeepFirst => "--keep-first",
            Choice::Rows => "--where",
        }
    }

    /// The formats that read it.
    pub fn formats(self) -> &'static [Format] {
        match self {
            Choice::Tablespace => &[Format::Awr, Format::Statspack],
            Choice::Devices => &[Format::Iostat, Format::Sar, Format::Sadf, Format::Zpool],
            Choice::KeepFirst => &[Format::Iostat, Format::Vmstat, Format::Zpool],
            Choice::Rows => &[Format::Slob],
        }
    }

    /// The same in words.
    pub(crate) fn read_by(self) -> String {
        let words: Vec<&str> = self.formats().iter().map(|format| format.word()).collect();
        words.join(", ")
    }
}

impl Options {
    fn says(&self, choice: Choice) -> bool {
        match choice {
            Choice::Tablespace => self.tablespace.is_some(),
            Choice::Devices => !self.devices.is_empty(),
            Choice::KeepFirst => self.keep_first,
            Choice::Rows => !self.rows.is_empty(),
        }
    }

    /// What was said and this format does not read.
    pub(crate) fn unread(&self, format: Format) -> Option<Choice> {
        let unread = |choice: &Choice| self.says(*choice) && !choice.formats().contains(&format);
        Choice::ALL.into_iter().find(unread)
    }

    /// The same without what this format does not read.
    pub fn fitted(mut self, format: Format) -> Options {
        let drops = |choice: Choice| !choice.formats().contains(&format);
        if drops(Choice::Tablespace) {
            self.tablespace = None;
        }
        if drops(Choice::Devices) {
            self.devices.clear();
        }
        if drops(Choice::Rows) {
            self.rows.clear();
        }
        self.keep_first &= !drops(Choice::KeepFirst);
        self
    }
}
