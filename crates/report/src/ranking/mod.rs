//! Who is compared with whom, and what may be said of it.
//!
//! Takes the gathered file, gives pairs, verdicts, plain ratios beside them and what is left out; and how far the
//! procedure itself can be trusted on a machine. Prevents: a comparison made by rules that a report does not say.

pub(crate) mod alike;
pub(crate) mod basis;
pub(crate) mod changes;
pub(crate) mod contrasts;
mod detectable;
pub(crate) mod drops;
pub(crate) mod machine_noise;
pub(crate) mod not_tested;
pub(crate) mod own_blocks;
pub(crate) mod pairs;
pub(crate) mod rank;
pub(crate) mod refusals;
pub(crate) mod same_work;
pub(crate) mod temporary;
pub(crate) mod twins;
mod value;
pub(crate) mod verdicts;
