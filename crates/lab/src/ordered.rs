//! How a process ends that this program starts for itself and that takes its orders on standard input.

use thiserror::Error;

/// Why it ended.
#[derive(Debug, Error)]
pub enum OrderedError {
    /// Its first line was no order: a person started it.
    #[error("{0}")]
    NoOrder(anyhow::Error),
    /// It could not do what it was ordered.
    #[error(transparent)]
    Failed(#[from] anyhow::Error),
}
