//! What goes wrong between hosts, and why all of them end.
//!
//! Prevents: a lost host, a wrong launcher and a program without MPI told as the same thing.

use crate::facts::FactsError;
use crate::launcher::{Launcher, LauncherError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The study could not be run.
pub const EXIT_FAILED: u8 = 3;
/// Something was not undone.
pub const EXIT_NOT_UNDONE: u8 = 4;

/// Why hosts do not work together.
#[derive(Debug, Error)]
pub enum HostsError {
    /// What the launcher says means nothing.
    #[error(transparent)]
    Launcher(#[from] LauncherError),
    /// There is a launcher, and no MPI in this program.
    #[error(
        "{} started {} ranks, and this program was built without MPI\n  build it with `--features mpi`, or start it \
         without the launcher",
        .0.kind,
        .0.size
    )]
    NotBuilt(Launcher),
    /// MPI sees another world than the launcher: they belong to two implementations.
    #[error(
        "{} says: rank {} of {}; {library} says: rank {rank} of {size}: the launcher is of another MPI\n  {}",
        .launcher.kind,
        .launcher.rank,
        .launcher.size,
        .launcher.cure()
    )]
    WrongWorld {
        /// What the launcher says.
        launcher: Launcher,
        /// The MPI of this program.
        library: String,
        /// The rank that MPI gave.
        rank: u32,
        /// How many ranks MPI sees.
        size: u32,
    },
    /// MPI can be initialised once.
    #[error("MPI is initialised already\n  this is a defect of assay: report it with the study")]
    Initialised,
    /// The program itself cannot be described.
    #[error("read what this host is: {0}\n  look whether /proc is mounted")]
    Host(std::io::Error),
    /// What a rank says of its host means nothing.
    #[error("rank {rank}: {what}\n  use one build of assay on all hosts")]
    Facts {
        /// Whose facts.
        rank: u32,
        /// What is wrong with them.
        what: FactsError,
    },
    /// A clock cannot be compared.
    #[error("the clock of rank {0} gives impossible times\n  look at the host's clock source (dmesg)")]
    Clock(u32),
    /// A clock is not told.
    #[error("rank {0} does not answer when it is asked for its clock\n  look at its host (dmesg, its load)")]
    NoClock(u32),
    /// The thread that speaks MPI has ended.
    #[error("the ranks have parted\n  this is a defect of assay: report it with the study")]
    Parted,
    /// The process that undoes could not be started.
    #[error("start the process that undoes what this host leaves: {0}\n  look for a limit of processes (ulimit -u)")]
    Keeper(std::io::Error),
}

impl HostsError {
    /// The program's exit code.
    pub fn exit_code(&self) -> u8 {
        EXIT_FAILED
    }
}

/// Why all ranks end. It travels between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum Cause {
    /// Not all were there in time.
    #[error(
        "not all ranks have joined after {seconds} s\n  look whether all hosts reach each other, and whether the \
         launcher is that of this program's MPI (`mpirun --version`, `ldd`)"
    )]
    NotJoined {
        /// How long was waited.
        seconds: u32,
    },
    /// A rank was not heard.
    #[error(
        "rank {rank} was not heard for {seconds} s\n  look at its host and at the network between the hosts, and go \
         on with the same command and `--resume`"
    )]
    Silent {
        /// Which one.
        rank: u32,
        /// For how long.
        seconds: u32,
    },
    /// A call of MPI does not come back.
    #[error(
        "MPI did not answer rank {rank} for {seconds} s\n  look at the network between the hosts, and go on with \
         the same command and `--resume`"
    )]
    Stuck {
        /// Whose call.
        rank: u32,
        /// For how long.
        seconds: u32,
    },
    /// All was done, and a rank still waits for what it started.
    #[error(
        "rank {rank} is not done {seconds} s after rank 0\n  look on its host for a process of an instance that a \
         device keeps (`ps` shows state D; dmesg); the result file is complete"
    )]
    NotDone {
        /// Which one.
        rank: u32,
        /// For how long.
        seconds: u32,
    },
    /// The process was told to end, as a launcher does when it lost another rank.
    #[error("rank {rank} was told to end\n  look for what ended the other ranks, or who pressed a key")]
    Asked {
        /// Which one.
        rank: u32,
    },
    /// A rank sent what means nothing.
    #[error("rank {rank} sent what is no message\n  use one build of assay on all hosts")]
    Garbled {
        /// Which one.
        rank: u32,
    },
    /// A rank could not go on, and said why itself.
    #[error("rank {rank} could not go on\n  its own last words say why")]
    Failed {
        /// Which one.
        rank: u32,
    },
}
