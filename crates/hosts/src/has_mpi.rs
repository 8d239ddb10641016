//! That a program has MPI, as a type.
//!
//! Whatever only a joined rank has holds a [`HasMpi`]. Without the feature `mpi` that type has no values, so the
//! compiler leaves out what would need one. Prevents: a program without MPI that carries the code of ranks.

use crate::error::HostsError;
use crate::launcher::Launcher;

/// The proof that this program can join ranks: it was built with the feature `mpi`. The tests of this room join ranks
/// in memory, so there it has a value too.
#[derive(Clone, Copy, Debug)]
pub struct HasMpi {
    _by: By,
}

/// By what ranks are joined.
#[derive(Clone, Copy, Debug)]
enum By {
    #[cfg(feature = "mpi")]
    Mpi,
    #[cfg(test)]
    Memory,
}

impl HasMpi {
    /// Of a program that was built with the feature.
    #[cfg(feature = "mpi")]
    pub(crate) fn of(_: Launcher) -> Result<HasMpi, HostsError> {
        Ok(HasMpi { _by: By::Mpi })
    }

    /// Of a program that was built without it.
    #[cfg(not(feature = "mpi"))]
    pub(crate) fn of(launcher: Launcher) -> Result<HasMpi, HostsError> {
        Err(HostsError::NotBuilt(launcher))
    }

    /// Of the tests.
    #[cfg(test)]
    pub(crate) fn in_memory() -> HasMpi {
        HasMpi { _by: By::Memory }
    }
}
