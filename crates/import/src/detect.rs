//! Which tool wrote a text, by what only that tool writes.
//!
//! Takes the text, gives a [`Format`]. Prevents: a guess: a text that looks like none is refused with what was looked
//! for.

use crate::benches::{hammerdb, pgbench, sysbench};
use crate::error::ImportError;
use crate::format::Format;
use crate::lines::lines;
use crate::linux::{iostat, sadf, sar, vmstat, zpool};
use crate::number::{Commas, number};

/// Lines that tell a format by themselves, in the order in which they are asked.
type Mark = (Format, fn(&str) -> bool);

const MARKS: [Mark; 9] = [
    (Format::Statspack, is_statspack),
    (Format::Awr, is_awr),
    (Format::Sar, sar::is_sar),
    (Format::Iostat, iostat::is_iostat),
    (Format::Vmstat, vmstat::is_vmstat),
    (Format::Zpool, zpool::is_zpool),
    (Format::Pgbench, pgbench::is_pgbench),
    (Format::Hammerdb, hammerdb::is_hammerdb),
    (Format::Sysbench, sysbench::is_sysbench),
];

/// Finds the format.
///
/// # Errors
/// [`ImportError::Unknown`] with what was looked for.
pub fn detect(text: &str) -> Result<Format, ImportError> {
    if text.contains(crate::fio::VERSION) {
        return Ok(Format::Fio);
    }
    if sadf::is_sadf(text) {
        return Ok(Format::Sadf);
    }
    if crate::awr::is_html(text) {
        return if crate::awr::is_report(text) {
            Ok(Format::Awr)
        } else {
            Err(unknown(text))
        };
    }
    let mut slob = false;
    for line in lines(text) {
        let trimmed = line.text.trim_start();
        if let Some((format, _)) = MARKS.iter().find(|(_, is)| is(trimmed)) {
            return Ok(*format);
        }
        slob |= is_slob(trimmed);
    }
    if slob {
        return Ok(Format::Slob);
    }
    Err(unknown(text))
}

fn is_statspack(line: &str) -> bool {
    line.starts_with("STATSPACK report for")
}

fn is_awr(line: &str) -> bool {
    line.starts_with("Tablespace IO Stats")
        || line.starts_with("WORKLOAD REPOSITORY")
        || line.starts_with("Instance Activity Stats")
        || line.starts_with("Load Profile")
        || line.starts_with("IOStat by F")
        || (line.starts_with("physical read") || line.starts_with("physical write")) && ends_with_number(line)
}

fn ends_with_number(line: &str) -> bool {
    let last = line.split_whitespace().next_back().unwrap_or_default();
    !line.contains(':') && !matches!(number(last, Commas::Thousands), Err(crate::number::Trouble::NoNumber))
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
    let cure = if crate::awr::is_html(text) {
        "this is HTML without a table of an AWR report: give the file that awrrpt.sql wrote"
    } else if start.starts_with('{') || start.starts_with('[') {
        "this is JSON of another tool: only that of fio and of sadf is read"
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
