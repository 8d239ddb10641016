//! `iostat -x` as text: sysstat's columns of all versions (Linux), Solaris `-x` and `-xn`, with titles or cut without.
//!
//! Takes text; gives figures by device, each the mean over the intervals, and their sum over the devices that were
//! asked for. The first of several reports is the average since boot and is left out, and said to be. Prevents: that
//! average taken for a measurement, and the same bytes counted on a disk and again on what lies on it.

use super::cut_off::leave_out_cut;
use super::devices::{Interval, column, figures};
use super::value;
use crate::error::ImportError;
use crate::figure::{Fact, Imported, Notes, Report, excerpt};
use crate::format::{Format, Options};
use crate::lines::{Line, lines, tokens};
use crate::number::{Commas, Trouble, number};
use std::borrow::Cow;

/// Titles of Solaris `iostat -xn`, for rows that were cut out without them.
const SOLARIS_XN: [&str; 11] = [
    "r/s", "w/s", "kr/s", "kw/s", "wait", "actv", "wsvc_t", "asvc_t", "%w", "%b", "device",
];

#[derive(Default)]
struct Reader<'t> {
    intervals: Vec<Interval<'t>>,
    banner: Option<Line<'t>>,
    cpu: Option<Vec<&'t str>>,
    /// Idle of the interval that begins with the next titles.
    idle: Option<(f64, u32)>,
    name: Option<&'t str>,
    untitled: bool,
    rows: usize,
}

pub(crate) fn read(text: &str, options: &Options) -> Result<Imported, ImportError> {
    let mut reader = Reader::default();
    let mut notes = Notes::default();
    for line in lines(text) {
        reader.take(line, &mut notes)?;
    }
    let mut facts = Vec::new();
    if let Some(banner) = reader.banner {
        facts.push(Fact {
            name: "system".into(),
            value: excerpt(banner.text),
            line: banner.number,
        });
    }
    let layout = reader.layout();
    let used = reader.used(text, options, &mut notes)?;
    let figures = figures(&used, options, &mut notes)?;
    Ok(Imported {
        format: Format::Iostat,
        layout,
        facts,
        reports: vec![Report {
            figures,
            ..Report::default()
        }],
        notes: notes.finish(),
    })
}

impl<'t> Reader<'t> {
    fn take(&mut self, line: Line<'t>, notes: &mut Notes) -> Result<(), ImportError> {
        let words = tokens(line.text);
        let (Some(first), Some(last)) = (words.first(), words.last()) else {
            return Ok(());
        };
        if line.text.starts_with("Linux ") && line.text.contains('(') {
            // Its first report is an average since boot again, in the midst of intervals.
            return match self.banner.replace(line) {
                Some(_) => Err(ImportError::second_run(line.number, "iostat")),
                None => Ok(()),
            };
        }
        if *first == "avg-cpu:" {
            self.cpu = Some(words[1..].to_vec());
            return Ok(());
        }
        if let Some(titles) = self.cpu.take() {
            return self.processors(&titles, &words, line.number);
        }
        let titled = first.trim_end_matches(':').eq_ignore_ascii_case("device") || *last == "device";
        if titled && words.contains(&"tps") && !words.contains(&"r/s") {
            return Err(ImportError::Other {
                line: line.number,
                what: "this is iostat without -x: it does not tell reads from writes by request".into(),
                cure: "take it with `iostat -x`".into(),
            });
        }
        if titled && words.contains(&"r/s") {
            self.begin(words, line.number, notes);
            return Ok(());
        }
        if self.intervals.is_empty() && is_iostat(line.text) {
            self.untitled = true;
            self.begin(SOLARIS_XN.to_vec(), line.number, notes);
        }
        if self.intervals.is_empty() {
            return Ok(());
        }
        self.row(words, line, notes)
    }

    fn begin(&mut self, titles: Vec<&'t str>, line: u32, notes: &mut Notes) {
        let fresh = self.intervals.last().is_none_or(|old| old.titles != titles);
        for title in titles.iter().filter(|_| fresh) {
            if column(title).is_none() && !title.trim_end_matches(':').eq_ignore_ascii_case("device") {
                notes.add(line, format!("column {:?} is not known: left out", excerpt(title)));
            }
        }
        self.name = None;
        self.intervals.push(Interval {
            line,
            titles,
            rows: Vec::new(),
            idle: self.idle.take(),
        });
    }

    fn processors(&mut self, titles: &[&str], words: &[&str], line: u32) -> Result<(), ImportError> {
        let mut idle = 0.0;
        let mut found = false;
        for (title, word) in titles.iter().zip(words) {
            if let Some(value) = value(word, line)?
                && (*title == "%idle" || *title == "%iowait")
            {
                idle += value.value;
                found |= *title == "%idle";
            }
        }
        self.idle = found.then_some((idle, line));
        Ok(())
    }

    fn row(&mut self, words: Vec<&'t str>, line: Line<'t>, notes: &mut Notes) -> Result<(), ImportError> {
        let Some(interval) = self.intervals.last_mut() else {
            return Ok(());
        };
        let wide = interval.titles.len();
        let last = interval.titles.last() == Some(&"device");
        let numeric = |words: &[&str]| {
            words
                .iter()
                .all(|word| !matches!(number(word, Commas::Never), Err(Trouble::NoNumber)))
        };
        let (name, numbers) = if words.len() == wide && last && numeric(&words[..wide - 1]) {
            (words[wide - 1], words[..wide - 1].to_vec())
        } else if words.len() == wide && !last && numeric(&words[1..]) {
            (words[0], words[1..].to_vec())
        } else if words.len() == wide - 1 && numeric(&words) && self.name.is_some() {
            // A name too long for its column stands on a line of its own above its numbers.
            (self.name.take().unwrap_or_default(), words)
        } else if words.len() == 1 && !numeric(&words) {
            self.name = Some(words[0]);
            return Ok(());
        } else {
            self.name = None;
            if !is_furniture(line.text) {
                notes.add(
                    line.number,
                    format!("{:?} is no row of these columns: left out", excerpt(line.text)),
                );
            }
            return Ok(());
        };
        self.name = None;
        let mut values = Vec::new();
        for word in numbers {
            let value = value(word, line.number)?;
            // Counters that ran over make such rates.
            let below = value.as_ref().is_some_and(|value| value.value < 0.0);
            let above = value.filter(|_| !below);
            if below {
                notes.add(
                    line.number,
                    format!("{}: {word} is below zero: left out", excerpt(name)),
                );
            }
            values.push(above);
        }
        if last {
            values.push(None);
        } else {
            values.insert(0, None);
        }
        self.rows += 1;
        if self.rows > crate::format::FIGURES_MAX * 4 {
            return Err(ImportError::TooLarge { bytes: self.rows });
        }
        interval.rows.push((Cow::Borrowed(name), values));
        Ok(())
    }

    fn layout(&self) -> String {
        let Some(first) = self.intervals.first() else {
            return "iostat".into();
        };
        let solaris = first.titles.contains(&"kr/s") || first.titles.contains(&"Mr/s");
        match (solaris, self.untitled, first.titles.last() == Some(&"device")) {
            (true, true, _) => "iostat -xn of Solaris, titles cut off: taken by its ten numbers and a device".into(),
            (true, _, true) => "iostat -xn of Solaris".into(),
            (true, ..) => "iostat -x of Solaris".into(),
            _ if first.titles.contains(&"aqu-sz") => "iostat -x of Linux (sysstat 12)".into(),
            _ => "iostat -x of Linux (sysstat before 12)".into(),
        }
    }

    /// The intervals that count. One without rows between others was idle (`-z`); at the ends the text was cut there.
    fn used(self, text: &str, options: &Options, notes: &mut Notes) -> Result<Vec<Interval<'t>>, ImportError> {
        let all = self.intervals.into_iter();
        let mut intervals: Vec<Interval<'_>> = all.skip_while(|interval| interval.rows.is_empty()).collect();
        let all = intervals.len();
        while intervals.pop_if(|last| last.rows.is_empty()).is_some() {}
        // Behind an interval whose successor has begun, nothing is missing.
        if intervals.len() == all {
            let since_boot = usize::from(!options.keep_first);
            leave_out_cut(&mut intervals, since_boot, text, notes);
        }
        if options.keep_first || intervals.is_empty() {
            return Ok(intervals);
        }
        if intervals.len() > 1 {
            let first = intervals.remove(0);
            notes.add(
                first.line,
                "the first report is the average since boot: left out".to_string(),
            );
            notes.add(0, format!("means over {} intervals", intervals.len()));
        } else if self.banner.is_some() {
            return Err(ImportError::SinceBoot {
                line: intervals[0].line,
            });
        } else {
            notes.add(
                intervals[0].line,
                "one report cut out of its log: whether it is an interval or the average since boot cannot be told",
            );
        }
        Ok(intervals)
    }
}

/// Lines that stand between rows and say nothing.
fn is_furniture(text: &str) -> bool {
    text.contains("extended device statistics") || text.contains(':')
}

/// True for titles, or a row of Solaris without them.
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
            .all(|w| !matches!(number(w, Commas::Never), Err(Trouble::NoNumber)))
        && last.starts_with(|c: char| c.is_ascii_alphabetic())
}
