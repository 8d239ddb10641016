//! File serving as a whole: a tree of files at a place, the users that work on it, and what is found of it afterwards.
//!
//! Takes a [`Config`] and a [`Place`]; gives [`Filled`], [`Point`] and [`Audit`]. Prevents: three kinds of client that
//! the caller has to tell apart.

mod audit;
mod dial;
mod places;
mod point;
mod whole;

pub(crate) use audit::EXAMPLES_MAX;
pub use audit::{After, Audit};
pub use places::{Dial, LocalDirectory, NfsServer, Place};
pub use point::{Counts, Filled, Point, TreeSize, WrongAnswers};
pub use whole::{Serving, reach};
