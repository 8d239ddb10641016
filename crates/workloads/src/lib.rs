//! Room `workloads`: the hot loop. Sessions, pacing, stamps and histograms over a generic [`Operation`].

mod operation;

pub use operation::{Done, Operation, Started};
