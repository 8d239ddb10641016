//! Which tool wrote a text, by what only that tool writes.
//!
//! Takes the text, gives a [`Format`]. Prevents: a guess: a text that looks like none is refused with what was looked
//! for.

use crate::error::ImportError;
use crate::lines::{lines, tokens};
use crate::number::{Commas, number};

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

/// Finds the format.
///
/// # Errors
/// [`ImportError::Unknown`] with what was looked for.
pub fn detect(text: &str) -> Result<Format, ImportError> {
    if text.contains("\"fio version\"") {
        return Ok(Format::Fio);
    }
    let mut slob = false;
    for line in lines(text) {
        let trimmed = line.text.trim_start();
        if is_awr(trimmed) {
            return Ok(Format::Awr);
        }
        if is_iostat(trimmed) {
            return Ok(Format::Iostat);
        }
        slob |= is_slob(trimmed);
    }
    if slob {
        return Ok(Format::Slob);
    }
    Err(unknown(text))
}

fn is_awr(line: &str) -> bool {
    line.starts_with("Tablespace IO Stats")
        || line.starts_with("WORKLOAD REPOSITORY")
        || line.starts_with("Instance Activity Stats")
        || (line.starts_with("physical read") || line.starts_with("physical write")) && ends_with_number(line)
}

fn ends_with_number(line: &str) -> bool {
    let last = line.split_whitespace().next_back().unwrap_or_default();
    !line.contains(':') && !matches!(number(last, Commas::Thousands), Err(crate::number::Trouble::NoNumber))
}

pub(crate) fn is_iostat(line: &str) -> bool {
    let words = tokens(line);
    let has = |word: &str| words.contains(&word);
    let (Some(first), Some(last)) = (words.first(), words.last()) else {
        return false;
    };
    if (has("r/s") || has("tps")) && (first.trim_end_matches(':').eq_ignore_ascii_case("device") || *last == "device") {
        return true;
    }
    // Solaris -xn without its titles: ten numbers and a device. Commas belong here, so that they can be refused.
    words.len() == 11
        && words[..10]
            .iter()
            .all(|w| !matches!(number(w, Commas::Never), Err(crate::number::Trouble::NoNumber)))
        && last.starts_with(|c: char| c.is_ascii_alphabetic())
}

fn is_slob(line: &str) -> bool {
    let lower = line.get(..32.min(line.len())).unwrap_or_default().to_ascii_lowercase();
    [
        "physical read bytes/s =",
        "physical reads per second",
        "physical writes per second",
        "scan rate:",
        "cpu idle average",
        "file|sessions|",
        "test reads1",
    ]
    .iter()
    .any(|start| lower.starts_with(start))
        || line.contains(" MB, Time:")
        || line.contains("datafile copy complete, elapsed time:")
        || crate::slob_tables::is_title(line)
}

fn unknown(text: &str) -> ImportError {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let html = start
        .get(..512.min(start.len()))
        .is_some_and(|s| s.to_ascii_lowercase().contains("<html"))
        || start.starts_with("<!DOCTYPE");
    let cure = if html {
        "this is HTML: have the report made as text (awrrpt.sql asks for the type, answer `text`)"
    } else if start.starts_with('{') || start.starts_with('[') {
        "this is JSON of another tool: only that of fio is read"
    } else if start.is_empty() {
        "the text is empty: give the file that the tool wrote"
    } else {
        "give the file as the tool wrote it, or say --format if it is one of these and cut short"
    };
    let list: Vec<String> = Format::ALL
        .iter()
        .map(|format| format!("{}: {}", format.word(), format.looked_for()))
        .collect();
    ImportError::Unknown {
        looked_for: list.join("\n    "),
        cure: cure.into(),
    }
}
