//! Hostile inputs for every reader of what others wrote: files, disks, messages.
//!
//! [`READERS`] is the list: a reader has a name, makes its inputs (a corpus that our own writers made, then damage
//! that keeps lengths and checksums right) and reads them. [`run`] tries many of one reader in this process and
//! counts; [`supervise`] does so in a process of its own, so that an abort, an endless loop and memory without bound
//! are found too.
//!
//! Prevents: a stranger's file that stops the program, takes all memory or all time, or writes to the terminal.

mod damage;
mod dice;
mod readers;
mod run;
mod supervise;

pub use dice::Dice;
pub use readers::{READERS, Reader, Trial, Verdict};
pub use run::{Limits, Run, replay, run};
pub use supervise::{Report, supervise};
