//! What was read of a report, put together as one.
//!
//! Takes the parts; gives the import. Prevents: a quantity that two sections give, and a head without figures taken for
//! a report.

use super::head::Head;
use super::kind::Kind;
use super::statistics::Statistics;
use super::table::Rows;
use super::tablespace::Tablespaces;
use crate::error::ImportError;
use crate::figure::{Imported, Notes, Report};
use crate::format::{Format, Options};

/// What was read of a report.
#[derive(Default)]
pub(super) struct Parts<'t> {
    pub(super) head: Head,
    pub(super) rows: Rows,
    pub(super) statistics: Statistics,
    pub(super) spaces: Tablespaces<'t>,
    pub(super) notes: Notes,
}

impl Parts<'_> {
    /// The report; what is compared comes from the statistics, else from the load profile.
    pub(super) fn finish(self, name: &str, format: Format, options: &Options) -> Result<Imported, ImportError> {
        let mut notes = self.notes;
        let blocks = self.spaces.layout();
        let (facts, mut figures) = self.head.finish();
        let counted = self.statistics.finish(&mut figures);
        let tables: Vec<&str> = [
            (counted.then_some("statistics")),
            self.rows.has(Kind::Load).then_some("load profile"),
            self.rows.has(Kind::Top).then_some("top events"),
            self.rows.has(Kind::Functions).then_some("I/O by function"),
        ]
        .into_iter()
        .flatten()
        .collect();
        let before = figures.len();
        let profiled = self.rows.finish(counted, &mut figures);
        let read = counted || figures.len() > before || blocks.is_some();
        self.spaces.finish(
            options.tablespace.as_deref(),
            counted || profiled,
            &mut figures,
            &mut notes,
        )?;
        let spaces = blocks.map(|blocks| format!("tablespaces ({blocks})"));
        let mut all: Vec<String> = tables.into_iter().map(String::from).collect();
        all.extend(spaces);
        if !read {
            // A head alone says nothing of storage.
            figures.clear();
        }
        let what = match all.as_slice() {
            [] if read => "parts of it".to_string(),
            [] => "head only".to_string(),
            [one] => one.clone(),
            [first @ .., last] => format!("{} and {last}", first.join(", ")),
        };
        Ok(Imported {
            format,
            layout: format!("{name}, {what}"),
            facts,
            reports: vec![Report {
                figures,
                ..Report::default()
            }],
            notes: notes.finish(),
        })
    }
}
