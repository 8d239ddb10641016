//! What goes wrong between the run and the process of another instance.
//!
//! Prevents: a process that was stopped, one that was ended and one that talks nonsense, told as the same thing.

use crate::instances::lines::LineError;
use thiserror::Error;

/// Why an instance has no part in the trial any more.
#[derive(Debug, Error)]
pub(super) enum InstanceError {
    /// Its process ended without an answer.
    #[error(
        "instance {number} was lost: {ended}; {words}\n  look for what ended the process (dmesg, a limit of memory), \
         and go on with the same command and `--resume`"
    )]
    Lost {
        number: u32,
        /// How it ended.
        ended: String,
        words: String,
    },
    /// Its process is there and does nothing: it is stopped, or gets no processor.
    #[error(
        "instance {number} gave no sign of life for {seconds} s and was ended; {words}\n  look for what stopped the \
         process (a signal, a debugger, a frozen control group, no free processor), and go on with the same command \
         and `--resume`"
    )]
    Silent { number: u32, seconds: u64, words: String },
    /// What it sent is no answer.
    #[error(
        "instance {number} sent a line that is no answer: {what}\n  nothing but `assay` may write to the standard \
         output of its process: look for a library that is loaded into it (ldd, /etc/ld.so.preload)"
    )]
    Garbled { number: u32, what: LineError },
    /// The answer belongs to another order.
    #[error(
        "instance {number} answered order {answered}, and order {asked} was given\n  this is a defect of assay: report \
         it with the study"
    )]
    WrongOrder { number: u32, asked: u64, answered: u64 },
    /// The answer is one of another kind.
    #[error(
        "instance {number} answered something else than it was asked\n  this is a defect of assay: report it with the \
         study"
    )]
    Unexpected { number: u32 },
    /// Its figures are impossible.
    #[error(
        "instance {number} answered with impossible figures: {what}\n  this is a defect of assay: report it with \
         the study"
    )]
    Impossible { number: u32, what: String },
}
