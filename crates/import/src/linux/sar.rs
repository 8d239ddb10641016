//! `sar -d` as text: sysstat's columns of all versions, times of 12 or 24 hours, its own averages.
//!
//! Takes text; gives figures by device: sar's averages where it printed them once, else means over its intervals.
//! Prevents: rows of another section of `sar -A` read as devices.

use super::cut_off::{self, leave_out_cut};
use super::devices::{Interval, Value, column};
use super::value;
use crate::error::ImportError;
use crate::figure::{Fact, Imported, Notes, excerpt};
use crate::format::{FIGURES_MAX, Format, Options};
use crate::lines::{Line, lines, tokens};
use crate::number::{Commas, number};
use std::borrow::Cow;

/// True for the titles of a section of devices.
pub(crate) fn is_sar(line: &str) -> bool {
    titles(&tokens(line)).is_some()
}

/// Where the columns are: the words of the time of day, then the device and the figures, or (`-p` of new versions) the
/// figures and the device.
#[derive(Clone)]
struct Titles<'t> {
    /// How many words the time takes.
    time: usize,
    figures: Vec<&'t str>,
    device_last: bool,
}

fn titles<'t>(words: &[&'t str]) -> Option<Titles<'t>> {
    let tps = words.iter().take(4).position(|word| *word == "tps")?;
    let device_last = words.last() == Some(&"DEV");
    let time = if device_last { tps } else { tps.checked_sub(1)? };
    let figures = if device_last {
        words[tps..words.len() - 1].to_vec()
    } else {
        words[tps..].to_vec()
    };
    let known = time > 0 && (device_last || words[time] == "DEV");
    known.then_some(Titles {
        time,
        figures,
        device_last,
    })
}

#[derive(Default)]
struct Reader<'t> {
    titles: Option<Titles<'t>>,
    time: Vec<&'t str>,
    intervals: Vec<Interval<'t>>,
    averages: Vec<Interval<'t>>,
    banner: Option<Line<'t>>,
    unknown: Vec<(u32, &'t str)>,
    rows: usize,
}

pub(crate) fn read(text: &str, options: &Options) -> Result<Imported, ImportError> {
    let mut reader = Reader::default();
    for line in lines(text) {
        reader.take(line)?;
    }
    let mut notes = Notes::default();
    for (line, title) in std::mem::take(&mut reader.unknown) {
        notes.add(line, format!("column {:?} is not known: left out", excerpt(title)));
    }
    let (intervals, layout) = reader.used(text, &mut notes);
    let facts = reader.banner.map(|banner| Fact {
        name: "system".into(),
        value: excerpt(banner.text),
        line: banner.number,
    });
    super::imported(
        (Format::Sar, layout),
        facts.into_iter().collect(),
        &intervals,
        options,
        notes,
    )
}

impl<'t> Reader<'t> {
    /// What the means are taken over, in words too: sar's own averages where they are whole.
    fn used(&mut self, text: &str, notes: &mut Notes) -> (Vec<Interval<'t>>, &'static str) {
        let mut intervals = std::mem::take(&mut self.intervals);
        match self.averages.as_slice() {
            [averages] if !intervals.is_empty() && cut_off::is_cut(averages, &intervals, text) => {
                notes.add(
                    averages.line,
                    "the averages are cut off: means of the intervals are taken",
                );
                (intervals, "sar -d, means of its intervals")
            }
            [_] => (std::mem::take(&mut self.averages), "sar -d, its averages"),
            [] => {
                leave_out_cut(&mut intervals, 0, text, notes);
                (intervals, "sar -d, means of its intervals")
            }
            [.., averages] => {
                if intervals.last().is_some_and(|last| last.line > averages.line) {
                    leave_out_cut(&mut intervals, 0, text, notes);
                }
                (intervals, "sar -d over restarts, means of its intervals")
            }
        }
    }

    fn take(&mut self, line: Line<'t>) -> Result<(), ImportError> {
        let words = tokens(line.text);
        if words.is_empty() {
            self.titles = None;
            return Ok(());
        }
        if line.text.starts_with("Linux ") && line.text.contains('(') {
            self.banner = self.banner.or(Some(line));
            return Ok(());
        }
        if let Some(titles) = titles(&words) {
            for title in &titles.figures {
                let said = self.unknown.iter().any(|(_, old)| old == title);
                if column(title).is_none() && !said && self.unknown.len() < 64 {
                    self.unknown.push((line.number, title));
                }
            }
            self.titles = Some(titles);
            // The rows of the next titles are another interval, whatever their time.
            self.time.clear();
            return Ok(());
        }
        self.row(&words, line)
    }

    fn row(&mut self, words: &[&'t str], line: Line<'t>) -> Result<(), ImportError> {
        let Some(titles) = &self.titles else {
            return Ok(());
        };
        if words.len() != titles.time + 1 + titles.figures.len() {
            return Ok(());
        }
        let (device, figures) = if titles.device_last {
            (words[words.len() - 1], &words[titles.time..words.len() - 1])
        } else {
            (words[titles.time], &words[titles.time + 1..])
        };
        let mut values: Vec<Option<Value<'t>>> = Vec::new();
        for word in figures {
            let found = value(word, line.number)?;
            if found.is_none() && has_unit(word) {
                return Err(ImportError::Other {
                    line: line.number,
                    what: format!("{} has a unit: this was made with -h or --human", excerpt(word)),
                    cure: "make it without: `LC_ALL=C sar -d`".into(),
                });
            }
            values.push(found.filter(|value| value.value >= 0.0));
        }
        if values.iter().all(Option::is_none) {
            return Ok(());
        }
        self.rows += 1;
        if self.rows > FIGURES_MAX * 4 {
            return Err(ImportError::TooLarge { bytes: self.rows });
        }
        // In every language the word for the average is no time of day.
        let averaged = !words[0].starts_with(|c: char| c.is_ascii_digit());
        let all = if averaged {
            &mut self.averages
        } else {
            &mut self.intervals
        };
        if self.time != words[..titles.time] || all.is_empty() {
            self.time = words[..titles.time].to_vec();
            all.push(Interval {
                line: line.number,
                titles: titles.figures.clone(),
                ..Interval::default()
            });
        }
        if let Some(interval) = all.last_mut() {
            interval.rows.push((Cow::Borrowed(device), values));
        }
        Ok(())
    }
}

/// `7.8k`, `40.0%`: a number that is rounded, and one letter or sign behind it.
fn has_unit(word: &str) -> bool {
    let digits = word.strip_suffix(|c: char| c == '%' || c.is_ascii_alphabetic());
    digits.is_some_and(|digits| number(digits, Commas::Never).is_ok())
}
