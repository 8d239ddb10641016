//! How the process of an instance is ended, on the host of the run and on any other.
//!
//! Takes a process whose orders have ended; gives how it ended, in bounded time. Prevents: a run, or its host, that
//! waits for ever for a process which a device keeps.

use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// How often whoever waits looks whether it should.
pub(super) const LOOK: Duration = Duration::from_millis(20);
/// A process whose orders have ended has so long to end by itself.
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// One that was killed goes when its last request to a device has ended; longer is not waited for.
pub(super) const KILLED: Duration = Duration::from_secs(10);

/// What ends by itself, or is killed.
pub(super) trait Mortal {
    /// How it ended, if it has.
    fn ended(&mut self) -> Option<ExitStatus>;
    fn kill(&mut self);
}

impl Mortal for Child {
    fn ended(&mut self) -> Option<ExitStatus> {
        self.try_wait().ok().flatten()
    }

    fn kill(&mut self) {
        // It may have ended a moment ago.
        let _ = Child::kill(self);
    }
}

/// How it ended: by itself where it does so within `grace`, else killed. `None`: not even then within `killed`.
pub(super) fn end(process: &mut impl Mortal, grace: Duration, killed: Duration) -> Option<ExitStatus> {
    if let Some(ended) = within(process, grace) {
        return Some(ended);
    }
    process.kill();
    within(process, killed)
}

fn within(process: &mut impl Mortal, patience: Duration) -> Option<ExitStatus> {
    let began = Instant::now();
    loop {
        if let Some(ended) = process.ended() {
            return Some(ended);
        }
        if began.elapsed() >= patience {
            return None;
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    /// A process: whether it was killed, and whether a device keeps it then.
    pub(in crate::instances) struct Played {
        pub(in crate::instances) is_killed: bool,
        pub(in crate::instances) is_kept: bool,
    }

    impl Mortal for Played {
        fn ended(&mut self) -> Option<ExitStatus> {
            (self.is_killed && !self.is_kept).then(|| ExitStatus::from_raw(9))
        }

        fn kill(&mut self) {
            self.is_killed = true;
        }
    }

    #[test]
    fn who_does_not_end_is_killed_and_not_waited_for_beyond_that() {
        let mut played = [false, true].map(|is_kept| Played {
            is_killed: false,
            is_kept,
        });
        let ends = played.each_mut().map(|one| end(one, Duration::ZERO, 2 * LOOK));
        assert_eq!(ends, [Some(ExitStatus::from_raw(9)), None]);
        assert!(played.iter().all(|one| one.is_killed));
    }
}
