//! What the owner of a disk group tells the process of another instance, and its answers: two pipes beside the orders.
//!
//! Notices go down as bytes, numbers of eight bytes come up. The process finds its ends by descriptors of the run's.
//! Neither side waits for the other: the owner's ends never block. Prevents: an owner that stands still because a
//! process that was stopped takes nothing.

use anyhow::Context;
use diskgroup::{Follower, Group, GroupError};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use targets::Port;

/// Bytes of an answer: the number of a notice, little-endian.
const ANSWER: usize = 8;
/// How often a process looks whether its workers have followed a notice.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000,
};

/// The owner's side of one other instance.
pub(crate) struct Carrier {
    follower: Follower,
    notices: PipeWriter,
    answers: PipeReader,
    /// Fetched from the group; the pipe has taken so many bytes of it.
    waiting: Vec<u8>,
    taken: usize,
    /// Bytes of an answer of which the rest has not come.
    part: Vec<u8>,
    /// The process has closed its ends.
    closed: bool,
}

/// The process's ends, kept open until it has opened them itself.
pub(crate) struct Ends {
    notices: PipeReader,
    answers: PipeWriter,
}

/// Where the process finds its ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Places {
    notices: PathBuf,
    answers: PathBuf,
}

impl Ends {
    /// Pipes whose other ends are here: notices go in, answers come out.
    pub(super) fn pair() -> anyhow::Result<(Ends, PipeWriter, PipeReader)> {
        let ((theirs, notices), (answers, to_us)) = (std::io::pipe()?, std::io::pipe()?);
        let ends = Ends {
            notices: theirs,
            answers: to_us,
        };
        Ok((ends, notices, answers))
    }

    /// For whoever hands them on to another host.
    pub(super) fn apart(self) -> (PipeReader, PipeWriter) {
        (self.notices, self.answers)
    }

    pub(crate) fn places(&self) -> Places {
        let place = |end: &dyn AsFd| {
            let fd = end.as_fd().as_raw_fd();
            PathBuf::from(format!("/proc/{}/fd/{fd}", std::process::id()))
        };
        Places {
            notices: place(&self.notices),
            answers: place(&self.answers),
        }
    }
}

impl Carrier {
    /// Of an instance that the group has admitted and whose process is yet to begin.
    pub(crate) fn new(follower: Follower) -> anyhow::Result<(Carrier, Ends)> {
        let (ends, notices, answers) = Ends::pair()?;
        rustix::io::ioctl_fionbio(&notices, true)?;
        rustix::io::ioctl_fionbio(&answers, true)?;
        let carrier = Carrier {
            follower,
            notices,
            answers,
            waiting: Vec::new(),
            taken: 0,
            part: Vec::new(),
            closed: false,
        };
        Ok((carrier, ends))
    }

    /// Hands on what was told and takes what was answered, as far as that goes without waiting. `false`: the process
    /// hears nothing any more.
    ///
    /// # Errors
    /// An answer to what nobody told; too much to be told.
    pub(crate) fn carry(&mut self) -> Result<bool, GroupError> {
        self.hand_on()?;
        self.take()?;
        Ok(!self.closed)
    }

    fn hand_on(&mut self) -> Result<(), GroupError> {
        while !self.closed {
            if self.taken == self.waiting.len() {
                (self.waiting, self.taken) = (self.follower.notices()?, 0);
            }
            if self.waiting.is_empty() {
                break;
            }
            match self.notices.write(&self.waiting[self.taken..]) {
                Ok(taken) => self.taken += taken,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.closed = true,
            }
        }
        Ok(())
    }

    fn take(&mut self) -> Result<(), GroupError> {
        let mut some = [0; 64 * ANSWER];
        // One piece a call: who sends without end does not keep the owner here.
        match self.answers.read(&mut some) {
            Ok(0) => self.closed = true,
            Ok(read) => self.part.extend_from_slice(&some[..read]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.closed = true,
        }
        let whole = self.part.len() / ANSWER * ANSWER;
        let answers: Vec<u8> = self.part.drain(..whole).collect();
        for answer in answers.chunks_exact(ANSWER) {
            let number = answer
                .iter()
                .rev()
                .fold(0, |number, byte| number << 8 | u64::from(*byte));
            self.follower.answered(number)?;
        }
        Ok(())
    }

    /// Whether the instance has followed all that was told.
    pub(crate) fn knows_all(&self) -> bool {
        self.taken == self.waiting.len() && self.follower.knows_all()
    }

    /// Its process has ended, and the kernel has no request of it in flight.
    pub(crate) fn ended(self) {
        self.follower.ended();
    }
}

/// The process's side of the pipes.
pub(crate) struct Followed {
    notices: File,
    answers: File,
}

impl Followed {
    /// Finds its ends, as long as the run holds them open.
    pub(crate) fn open(places: &Places) -> anyhow::Result<Followed> {
        let notices = File::open(&places.notices).context("the pipe of the group's notices")?;
        let answers = OpenOptions::new().write(true).open(&places.answers);
        let answers = answers.context("the pipe of answers to the group's notices")?;
        Ok(Followed { notices, answers })
    }

    /// Takes over what the group's owner tells, and answers when all workers of this process have followed, until the
    /// owner closes its ends.
    ///
    /// # Errors
    /// What no owner of this group tells: the maps may be old then, and the process must end.
    pub(crate) fn follow<P: Port>(mut self, group: &Group<P>) -> anyhow::Result<()> {
        let mut piece = vec![0; 16 << 10];
        loop {
            let patience = group.owes_answer().then_some(LOOK);
            if self.is_readable(patience.as_ref())? {
                let read = self.notices.read(&mut piece).context("what the group's owner tells")?;
                if read == 0 {
                    return Ok(());
                }
                group.hear(&piece[..read])?;
            }
            if let Some(number) = group.answer()
                && let Err(error) = self.answers.write_all(&number.to_le_bytes())
            {
                return match error.kind() {
                    // Nobody is there any more who moves anything.
                    ErrorKind::BrokenPipe => Ok(()),
                    _ => Err(error).context("answer the group's owner"),
                };
            }
        }
    }

    fn is_readable(&self, patience: Option<&Timespec>) -> anyhow::Result<bool> {
        let mut polled = [PollFd::new(&self.notices, PollFlags::IN)];
        match rustix::event::poll(&mut polled, patience) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error).context("wait for what the group's owner tells"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diskgroup::{DiskSpec, FileSpec, GroupSpec, MountOptions, Redundancy, Step, Stripe};
    use targets::{Access, FileId, OpenSpec, PsyncPort};

    const LUN_BYTES: u64 = 64 << 20;

    fn port(luns: &[OpenSpec]) -> PsyncPort {
        PsyncPort::open(luns, 4 << 20, 16).unwrap()
    }

    fn disk(nth: u16) -> DiskSpec {
        DiskSpec::new(FileId(nth), &format!("d{nth}"))
    }

    /// A group of one file on two of three LUNs, and the same opened frozen by who was admitted.
    fn two(place: &std::path::Path) -> (Vec<OpenSpec>, Group<PsyncPort>, Carrier, Ends, Group<PsyncPort>) {
        let luns: Vec<OpenSpec> = (0..3)
            .map(|nth| {
                let path = place.join(format!("d{nth}"));
                std::fs::write(&path, vec![0; LUN_BYTES as usize]).unwrap();
                OpenSpec::writing(&path, Access::Buffered)
            })
            .collect();
        let spec = GroupSpec::new("data", Redundancy::External);
        let owner = Group::create(port(&luns), &spec, &[disk(0), disk(1)], 7).unwrap();
        let file = FileSpec {
            name: "data".into(),
            size: 24 << 20,
            redundancy: None,
            stripe: Stripe::Coarse,
        };
        owner.create_file(&file).unwrap();
        let (carrier, ends) = Carrier::new(owner.admit().unwrap()).unwrap();
        let options = MountOptions {
            names: (0..3).map(|nth| format!("d{nth}")).collect(),
            ..MountOptions::default()
        };
        let other = Group::mount_frozen(port(&luns), &options).unwrap();
        (luns, owner, carrier, ends, other)
    }

    #[test]
    fn a_rebalance_ends_with_the_answers_that_come_through_the_pipes() {
        let place = tempfile::tempdir().unwrap();
        let (luns, owner, mut carrier, ends, other) = two(place.path());
        let followed = Followed::open(&ends.places()).unwrap();
        drop(ends);
        let following = {
            let other = other.clone();
            std::thread::spawn(move || followed.follow(&other))
        };
        owner.add_disks(&[disk(2)], 9).unwrap();
        let mut upkeep = owner.upkeep(port(&luns));
        while upkeep.step(true).unwrap() == Step::Working {
            assert!(carrier.carry().unwrap());
        }
        drop(upkeep);
        while !carrier.knows_all() {
            assert!(carrier.carry().unwrap());
        }
        let on = |group: &Group<PsyncPort>| group.files()[0].bytes_on.clone();
        assert!(on(&other).iter().any(|(disk, bytes)| disk == "d2" && *bytes > 0));
        assert_eq!(on(&other), on(&owner));
        carrier.ended();
        following.join().unwrap().unwrap();
        drop(other);
        assert!(owner.check(false).unwrap().is_clean());
    }

    #[test]
    fn who_takes_nothing_does_not_hold_the_owner_up_and_nothing_moves() {
        let place = tempfile::tempdir().unwrap();
        let (luns, owner, mut carrier, ends, _other) = two(place.path());
        owner.add_disks(&[disk(2)], 9).unwrap();
        let mut upkeep = owner.upkeep(port(&luns));
        for _ in 0..500 {
            upkeep.step(true).unwrap();
            assert!(carrier.carry().unwrap());
        }
        assert_eq!(upkeep.progress().moved_bytes, 0);
        drop(ends);
        assert!(!carrier.carry().unwrap(), "its ends are closed");
        assert!(!carrier.knows_all());
    }

    #[test]
    fn an_answer_to_what_nobody_told_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let (_luns, _owner, mut carrier, mut ends, other) = two(place.path());
        ends.answers.write_all(&[9; ANSWER - 1]).unwrap();
        assert!(carrier.carry().unwrap(), "a part says nothing yet");
        ends.answers.write_all(&[9]).unwrap();
        assert!(carrier.carry().is_err());
        // And so are notices that no owner tells.
        let followed = Followed::open(&ends.places()).unwrap();
        carrier.notices.write_all(&[0x41; 64]).unwrap();
        let error = followed.follow(&other).expect_err("no notice");
        assert!(
            format!("{error:#}").contains("no notice of the group's owner"),
            "{error:#}"
        );
    }
}
