//! Notes carried by MPI. The one file that calls it.
//!
//! All calls come from the thread that initialised MPI. None of them waits for another rank but those that start and
//! end MPI, and sends of a note that the other side does not take. Prevents: a rank that spins in MPI while it waits.

use crate::error::HostsError;
use crate::wire::Wire;
use mpi::datatype::Equivalence;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use mpi::{Rank, Tag, Threading};

/// All notes have it: they say themselves what they are.
const TAG: Tag = 1;

/// The world of MPI. Dropping it ends MPI, which waits for all ranks.
pub(crate) struct ByMpi {
    world: SimpleCommunicator,
    _universe: Universe,
}

impl ByMpi {
    /// Initialises MPI. It may not come back: the watchdog knows.
    pub(crate) fn start() -> Result<ByMpi, HostsError> {
        let (universe, _) = mpi::initialize_with_threading(Threading::Funneled).ok_or(HostsError::Initialised)?;
        Ok(ByMpi {
            world: universe.world(),
            _universe: universe,
        })
    }
}

impl Wire for ByMpi {
    fn rank(&self) -> u32 {
        self.world.rank().unsigned_abs()
    }

    fn size(&self) -> u32 {
        self.world.size().unsigned_abs()
    }

    fn name(&self) -> String {
        let version = mpi::environment::library_version().unwrap_or_default();
        let first = version.split([',', '\n']).next().unwrap_or_default();
        let words: Vec<&str> = first.split_whitespace().take(6).collect();
        if words.is_empty() {
            "MPI".to_string()
        } else {
            words.join(" ")
        }
    }

    fn take(&self, most: usize) -> Option<(u32, Vec<u8>)> {
        let status = self.world.any_process().immediate_probe_with_tag(TAG)?;
        let from = status.source_rank();
        let is_short = usize::try_from(status.count(u8::equivalent_datatype())).is_ok_and(|bytes| bytes <= most);
        // What is too long stays where it is: all end for it.
        let bytes = match is_short {
            true => self.world.process_at_rank(from).receive_vec_with_tag(TAG).0,
            false => Vec::new(),
        };
        Some((from.unsigned_abs(), bytes))
    }

    fn send(&self, to: u32, bytes: &[u8], meanwhile: &mut dyn FnMut()) {
        let to = self.world.process_at_rank(to as Rank);
        mpi::request::scope(|scope| {
            let mut sent = to.immediate_send_with_tag(scope, bytes, TAG);
            while let Err(under_way) = sent.test() {
                sent = under_way;
                meanwhile();
            }
        });
    }
}
