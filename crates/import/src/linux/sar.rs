//! `sar -d` as text: sysstat's columns of all versions, times of 12 or 24 hours, its own averages.
//!
//! Takes text; gives figures by device: sar's averages where it printed them once, else means over its intervals.
//! Prevents: rows of another section of `sar -A` read as devices.

use super::devices::{Interval, Value, column};
use super::value;
use crate::error::ImportError;
use crate::figure::{Fact, Imported, excerpt};
use crate::format::{FIGURES_MAX, Format, Options};
use crate::lines::{Line, lines, tokens};
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
    let (intervals, layout) = match reader.averages.len() {
        1 => (reader.averages, "sar -d, its averages"),
        0 => (reader.intervals, "sar -d, means of its intervals"),
        _ => (reader.intervals, "sar -d over restarts, means of its intervals"),
    };
    let facts = reader.banner.map(|banner| Fact {
        name: "system".into(),
        value: excerpt(banner.text),
        line: banner.number,
    });
    let (mut imported, mut notes) = super::imported(
        Format::Sar,
        layout.into(),
        facts.into_iter().collect(),
        &intervals,
        options,
    )?;
    for (line, title) in reader.unknown {
        notes.add(line, format!("column {:?} is not known: left out", excerpt(title)));
    }
    imported.notes = notes.finish();
    Ok(imported)
}

impl<'t> Reader<'t> {
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
            values.push(value(word, line.number)?.filter(|value| value.value >= 0.0));
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
