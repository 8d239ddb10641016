//! Which tool wrote a text, by what only that tool writes.
//!
//! Takes the text, gives a [`Format`]. Prevents: a guess: a text that looks like none is refused with what was looked
//! for.

use crate::error::ImportError;
use crate::format::Format;
use crate::lines::{lines, tokens};
use crate::number::{Commas, number};

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
