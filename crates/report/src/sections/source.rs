//! What sections are made from.
//!
//! Holds the analysis and what a page takes from the file; gives names with their marks. Prevents: a stack drawn in two
//! colours.

use super::from_file::{FromFile, is_lean};
use crate::analysis::Analysis;
use crate::document::{Column, Forms, Name, Table};
use crate::ranking::not_tested::BulkRatio;
use std::collections::BTreeMap;

/// What sections are made from.
pub(crate) struct Source<'a> {
    pub(super) analysis: &'a Analysis,
    /// What only a page shows, read from the file.
    pub(super) file: Option<&'a FromFile>,
    pub(super) lean: bool,
    /// The mark of each stack: its place in the study.
    marks: BTreeMap<&'a str, usize>,
    /// By phase, stack and row count.
    bulk_ratios: BTreeMap<(&'a str, &'a str, u64), &'a BulkRatio>,
}

impl<'a> Source<'a> {
    pub(super) fn new(analysis: &'a Analysis, file: Option<&'a FromFile>) -> Source<'a> {
        let marks = analysis.stacks.iter().enumerate();
        let bulk_ratios = analysis.bulk_ratios.iter();
        Source {
            analysis,
            file,
            lean: is_lean(analysis),
            marks: marks.map(|(nth, head)| (head.name.as_str(), nth)).collect(),
            bulk_ratios: bulk_ratios
                .map(|one| ((one.phase.as_str(), one.stack.as_str(), one.rows), one))
                .collect(),
        }
    }

    pub(super) fn has_bulk_ratios(&self, phase: &str) -> bool {
        let mut from = self.bulk_ratios.range((phase, "", 0)..);
        from.next().is_some_and(|((of, ..), _)| *of == phase)
    }

    pub(super) fn bulk_ratio(&self, phase: &str, stack: &str, rows: u64) -> Option<&'a BulkRatio> {
        self.bulk_ratios.get(&(phase, stack, rows)).copied()
    }

    /// The name of a stack, with the mark in which it is drawn everywhere.
    pub(super) fn stack(&self, stack: &str) -> Name {
        self.named(stack, stack.into())
    }

    /// A table whose rows are of stacks.
    pub(super) fn table<'c, R>(
        &self,
        caption: impl Into<String>,
        rows: &[R],
        stack: impl Fn(&R) -> &str,
        columns: impl IntoIterator<Item = Column<'c, R>>,
    ) -> Table {
        Table::of(caption, "stack", rows, |row| self.stack(stack(row)), columns)
    }

    /// Something of a stack, with its mark.
    pub(super) fn named(&self, stack: &str, text: String) -> Name {
        Name {
            text,
            mark: Some(self.marks.get(stack).copied().unwrap_or(0)),
            forms: Forms::ALL,
        }
    }
}
