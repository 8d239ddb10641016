//! The formats that are read, and what the reader of a text must know beside the text.
//!
//! Prevents: a format whose words differ between command line, result file and error.

/// Formats that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Oracle's AWR report as text, 10g to 19c, whole or cut.
    Awr,
    /// `iostat -x`: Linux (sysstat, old and new columns) and Solaris (`-x`, `-xn`).
    Iostat,
    /// What SLOB and scripts around it print: rates, scans by user, tables of runs, `awr_info` lines.
    Slob,
    /// `fio --output-format=json`.
    Fio,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 4] = [Format::Awr, Format::Iostat, Format::Slob, Format::Fio];

    /// The word on the command line and in a result file.
    pub fn word(self) -> &'static str {
        match self {
            Format::Awr => "awr",
            Format::Iostat => "iostat",
            Format::Slob => "slob",
            Format::Fio => "fio",
        }
    }

    /// The format of that word.
    pub fn from_word(word: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.word() == word)
    }

    /// What makes a text of this format, for who wonders why theirs is not.
    pub fn looked_for(self) -> &'static str {
        match self {
            Format::Awr => {
                "the heading \"Tablespace IO Stats\" with its column titles, or rows \"physical read IO requests\", \
                 \"physical reads\" ... with their totals"
            }
            Format::Iostat => {
                "column titles with \"Device\" first or \"device\" last and r/s, w/s, or rows of ten numbers and a \
                 device (Solaris -xn)"
            }
            Format::Slob => {
                "\"Physical reads per second: N\", scans \"USER7 N MB, Time: N\" or \"Scan rate:\", a table that \
                 begins with \"test reads1\", or \"FILE|SESSIONS|...\""
            }
            Format::Fio => "a JSON object with \"fio version\" and \"jobs\"",
        }
    }
}

/// Most figures that one text may give.
pub const FIGURES_MAX: usize = 200_000;

/// What the reader of a text must know beside the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The format; `None`: found by what the text looks like.
    pub format: Option<Format>,
    /// AWR: the tablespace whose latency counts; `None`: the one with the most I/O.
    pub tablespace: Option<String>,
    /// iostat: the devices that count; empty: all, figures by device only.
    pub devices: Vec<String>,
    /// iostat: the first report is an interval too (it was started with `-y`), not the average since boot.
    pub keep_first: bool,
    /// Tables of runs: only rows whose column (by its title) holds this value.
    pub rows: Vec<(String, String)>,
}
