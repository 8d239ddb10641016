//! What sections are made from.
//!
//! Holds the analysis and what a page takes from the file; gives names with their marks. Prevents: a stack drawn in two
//! colours.

use super::from_file::FromFile;
use crate::analysis::Analysis;
use crate::document::{Column, Forms, Name, Table};

/// What sections are made from.
pub(crate) struct Source<'a> {
    pub(super) analysis: &'a Analysis,
    /// What only a page shows, read from the file.
    pub(super) file: Option<&'a FromFile>,
    pub(super) lean: bool,
}

impl Source<'_> {
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
        let index = self.analysis.stacks.iter().position(|head| head.name == stack);
        Name {
            text,
            mark: Some(index.unwrap_or(0)),
            forms: Forms::ALL,
        }
    }
}
