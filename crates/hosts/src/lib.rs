//! Room `hosts`: several hosts as load generators, by MPI.
//!
//! Owns MPI: who started this process ([`Launcher`]), the other ranks ([`Host`]), their clocks ([`Reading`]) and a
//! watchdog that ends all ranks when one is lost. Without the feature `mpi` all of it compiles but the calls of MPI.
//! [`Host::must_have_mpi`] refuses then, and no program carries what only joined ranks need ([`HasMpi`]). Prevents:
//! hosts that work at different times and are added up, ranks that hang for ever on a network that is gone, and single
//! programs that take themselves for a cluster.
//!
//! # Threads of a rank
//!
//! * One thread alone calls MPI. It looks at the network every 4 ms and sleeps between. It stamps clocks, takes
//!   messages, and gives a sign of life twice a second, whatever the main thread waits for.
//! * The watchdog calls no MPI. It looks at signs of life every 100 ms by its own clock. When a rank is silent, when
//!   MPI hangs, or when another rank says that all end, it runs the caller's [`LastAct`] and ends the process: exit
//!   code 3, or 4 where something is left. It does not call `MPI_Finalize`, which would wait for the lost rank.
//! * A [`Keeper`] is a process that undoes when the rank was killed.
//!
//! # A phase
//!
//! 1. Rank 0 reads all clocks ([`Host::read_clocks`]).
//! 2. It names a moment of its own clock, and tells each rank that moment on the rank's clock ([`Offset::theirs`]).
//! 3. All work. Each answers with its window, on its own clock.
//! 4. Rank 0 reads all clocks again. [`Reading::over_phase`] gives the offset of the phase with its bound, and
//!    [`Window::ours`] brings a window to rank 0's clock. [`overlap`] says for how long all worked.
//!
//! # Orders and answers
//!
//! A [`Link`] is two streams of bytes, as the pipes to a process are. The run tells a process of another instance its
//! orders as lines on standard input, and reads its answers from standard output (`lab/src/instances/member.rs`). It
//! can tell a rank the same lines: `to` stands for standard input, `from` for standard output. Dropping `to` ends the
//! orders, as closing standard input does. The other side serves from its own link instead of its standard streams
//! (`lab/src/instances/process.rs`). So orders, answers and their checks stay the same. What differs: a rank cannot be
//! lost alone. The watchdog ends all ranks, so nobody waits for an answer that does not come.

mod board;
#[cfg(feature = "mpi")]
mod by_mpi;
mod error;
mod facts;
mod has_mpi;
mod host;
mod keeper;
mod launcher;
mod link;
mod note;
mod offset;
mod post;
mod silence;
#[cfg(test)]
mod together;
mod watchdog;
mod window;
mod wire;

pub use error::{Cause, EXIT_FAILED, EXIT_NOT_UNDONE, HostsError};
pub use facts::{Difference, FACTS_MAX, FactsError, HostFacts, differences, on_one_host};
pub use has_mpi::HasMpi;
pub use host::{Host, Joining};
pub use keeper::{Keeper, keep};
pub use launcher::{Launcher, LauncherError, LauncherKind, RANKS_MAX};
pub use link::{Incoming, Link, Outgoing};
pub use note::{Assembly, MESSAGE_MAX, NOTE_MAX, Note, NoteError, Piece};
pub use offset::{Exchange, Offset, OverPhase, Reading};
pub use watchdog::{LastAct, Patience, Undone};
pub use window::{Window, overlap};
