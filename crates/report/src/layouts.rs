//! How the data files lie on what is below them: extents after the load and at the end of a trial.
//!
//! Takes the gathered file, gives a [`Layout`] a stack and file. Prevents: a fresh layout praised for what an aged one
//! would do.

use crate::figures::Figure;
use crate::history::Book;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Extents of one data file on one stack, over blocks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Layout {
    /// The stack.
    pub stack: String,
    /// The file by its role: "data 0".
    pub file: String,
    /// Extents after the load.
    pub extents_loaded: Option<Figure>,
    /// Extents after the last phase.
    pub extents_at_the_end: Option<Figure>,
}

const LOADED: &str = " loaded";
const AT_THE_END: &str = " at the end";

/// By stack in the study's order, then by file.
pub(crate) fn layouts(book: &Book) -> Vec<Layout> {
    let mut found = Vec::new();
    for stack in &book.stacks {
        let trials: Vec<_> = book
            .ran
            .iter()
            .filter(|((_, name), _)| *name == stack.name)
            .map(|(_, ran)| ran.trial.id)
            .collect();
        let mut files: BTreeMap<&str, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
        for row in book.extents.iter().filter(|row| trials.contains(&row.trial)) {
            let count = row.summary.extents as f64;
            if let Some(file) = row.summary.file.strip_suffix(LOADED) {
                files.entry(file).or_default().0.push(count);
            } else if let Some(file) = row.summary.file.strip_suffix(AT_THE_END) {
                files.entry(file).or_default().1.push(count);
            }
        }
        found.extend(files.into_iter().map(|(file, (loaded, ended))| Layout {
            stack: stack.name.clone(),
            file: file.into(),
            extents_loaded: Figure::of(loaded.into_iter().map(Some)),
            extents_at_the_end: Figure::of(ended.into_iter().map(Some)),
        }));
    }
    found
}
