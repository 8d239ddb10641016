//! Drawings of the document that are no cells of a table.
//!
//! Plain types: what is drawn, never how. Prevents: a drawing whose numbers only the drawing has.

use super::table::{Form, Name};

/// A drawing of its own.
pub(crate) enum Chart {
    Lines(Lines),
    /// One after the other; those of one name together.
    Scatters(Vec<Scatter>),
    /// Drawn by the page's script.
    OverTime(OverTime),
}

/// Lines over an axis, from zero upwards.
pub(crate) struct Lines {
    pub(crate) title: String,
    /// Decades across are as wide as each other; else from zero.
    pub(crate) logarithmic: bool,
    /// Marks of the axis across.
    pub(crate) marks: Vec<f64>,
    /// What the axis across counts, and how it is written.
    pub(crate) across: (&'static str, Form),
    pub(crate) form: Form,
    /// Heights are bytes: rules stand at round numbers of their binary unit.
    pub(crate) binary: bool,
    /// Points are drawn too: steps that were measured, not a course of time.
    pub(crate) dots: bool,
    pub(crate) series: Vec<LineOf>,
}

/// One line.
pub(crate) struct LineOf {
    pub(crate) name: Name,
    /// Across and up, in ascending order.
    pub(crate) points: Vec<(f64, f64)>,
}

/// Where points of these lines stand, each place once, in ascending order.
pub(crate) fn places_of(lines: &[LineOf]) -> Vec<f64> {
    let mut places: Vec<f64> = lines
        .iter()
        .flat_map(|one| one.points.iter().map(|point| point.0))
        .collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

/// Points across a thing, each as high as its place; a darker band below where neighbours were lost.
pub(crate) struct Scatter {
    pub(crate) name: Name,
    /// The moment.
    pub(crate) after: String,
    /// What is to be said of it.
    pub(crate) about: String,
    /// Bands one over the other.
    pub(crate) bands: u32,
    /// Band, and the height in it from 0 to 1, of evenly spread points.
    pub(crate) points: Vec<Option<(f64, f64)>>,
    /// Share of neighbours lost in equal parts.
    pub(crate) lost: Vec<f64>,
}

/// Series over time, with what chooses among them.
pub(crate) struct OverTime {
    pub(crate) data: serde_json::Value,
    /// Number and name.
    pub(crate) phases: Vec<(usize, String)>,
    pub(crate) blocks: Vec<u32>,
    pub(crate) stacks: Vec<(usize, Name)>,
}
