//! What tools of the host print of its devices: iostat, sar, sadf, vmstat, zpool iostat.
//!
//! Takes text; gives figures by device, each the mean over the intervals. Prevents: the average since boot taken for a
//! measurement.

mod cut_off;
mod devices;
pub(crate) mod iostat;
mod partitions;
pub(crate) mod sadf;
pub(crate) mod sar;
pub(crate) mod vmstat;
pub(crate) mod zpool;

use crate::error::ImportError;
use crate::figure::Imported;
use crate::figure::{Fact, Notes, Report};
use crate::format::{Format, Options};
use devices::{Interval, Value};
use std::borrow::Cow;

/// How to have points printed.
const COMMA_CURE: &str = "run the tool with LC_ALL=C, which prints points";

/// A number of a column; `None` for a word; an error for a decimal comma.
fn value<'t>(word: &'t str, line: u32) -> Result<Option<Value<'t>>, ImportError> {
    use crate::number::{Commas, Trouble, number};
    match number(word, Commas::Never) {
        Ok(printed) => Ok(Some(Value {
            value: printed.value,
            text: Cow::Borrowed(printed.text),
            line,
        })),
        Err(Trouble::DecimalComma) => Err(ImportError::DecimalComma {
            line,
            token: word.into(),
            cure: COMMA_CURE,
        }),
        Err(_) => Ok(None),
    }
}

/// Figures of intervals that are all intervals; `notes`: what was said of the text so far.
fn imported(
    (format, layout): (Format, &str),
    facts: Vec<Fact>,
    intervals: &[Interval<'_>],
    options: &Options,
    mut notes: Notes,
) -> Result<Imported, ImportError> {
    if intervals.len() > 1 {
        notes.add(0, format!("means over {} intervals", intervals.len()));
    }
    let figures = devices::figures(intervals, options, &mut notes)?;
    Ok(Imported {
        format,
        layout: layout.into(),
        facts,
        reports: vec![Report {
            figures,
            ..Report::default()
        }],
        notes: notes.finish(),
    })
}
