//! Room `plan`: reading study files: what was written, then what it means with every default said.

mod schedule;
mod study;
mod units;

pub use schedule::Block;
pub use study::*;
pub use units::{Bytes, Duration, Share};
