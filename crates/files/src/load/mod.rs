//! What the users do: classes of calls, mixes of them, works of steps in a row, sizes of files.
//!
//! Gives plain data to room code above and below. Prevents: percentages from memory. Each table names its source.

mod class;
mod config;
mod mix;
mod sizes;
mod steps;

pub use class::{CLASS_COUNT, Class};
pub use config::{Config, Work};
pub use mix::Mix;
pub use sizes::Sizes;
pub use steps::Steps;
pub(crate) use steps::{Row, Step, Which};
