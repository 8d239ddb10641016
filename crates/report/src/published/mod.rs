//! What others published, and whether what was measured here agrees with it: printed, never asserted.
//!
//! Takes the figures in `data/published.toml` and the analysis of a study that names one of the publications; gives a
//! [`Published`]. Prevents: a published figure quoted from memory, and agreement claimed where the intervals say that
//! nothing can be told.

mod compare;
mod lines;
mod source;

pub use compare::{Agreement, MeasuredRatio, Published, PublishedFigure, PublishedRatio};
pub use source::{Figures, Phase, PublishedError, Ratio, Setup, Source, check, find, sources};

pub(crate) use compare::{capacity_of, published};
pub(crate) use lines::lines;
