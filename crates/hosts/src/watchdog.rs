//! The watchdog: a thread that needs no MPI, and ends the process when the ranks cannot go on.
//!
//! Takes signs of life; ends the process after the caller's last act, without `MPI_Finalize`. Prevents: ranks that wait
//! for ever in a call of MPI when a host, its network or its process is gone.

use crate::board::{Board, Stage};
use crate::error::{Cause, EXIT_FAILED, EXIT_NOT_UNDONE};
use crate::silence::Silence;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// How often it looks.
const LOOK: Duration = Duration::from_millis(100);
/// The others are told that all end; a network that does not take it is not waited for.
const TELL: Duration = Duration::from_secs(1);
/// A launcher that ends this rank tells the others itself, and kills after a second.
const TELL_ASKED: Duration = Duration::from_millis(200);
/// MPI is still called stuck when a peer could be silent for the same reason: the peer is the better word.
const MORE: Duration = Duration::from_secs(1);

/// What became of a last act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undone {
    /// This host is as it was.
    All,
    /// Something is left: `assay clean` says what to do.
    NotAll,
}

/// Says why the process ends, and undoes what this host has built.
///
/// It runs in a thread of its own while all others of the process still run.
pub type LastAct = Box<dyn FnOnce(&Cause) -> Undone + Send>;

/// For how long the others are waited for. In the worst case two silences and an undo pass: below 15 s.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// From the start until each rank is heard for the first time.
    pub joining: Duration,
    /// Without a sign of life, which comes twice a second.
    pub silence: Duration,
    /// For the last act.
    pub undo: Duration,
    /// From when rank 0 is done until all others are: what they started may take its time to end.
    pub done: Duration,
    /// For `MPI_Finalize`.
    pub parting: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            joining: Duration::from_secs(10),
            silence: Duration::from_secs(5),
            undo: Duration::from_secs(4),
            done: Duration::from_secs(14),
            parting: Duration::from_secs(10),
        }
    }
}

/// What the watchdog knows.
struct Watch {
    patience: Patience,
    own: Silence,
    peers: Vec<Silence>,
    /// It began to leave MPI.
    parting: Option<Silence>,
}

impl Watch {
    fn new(board: &Board, patience: Patience, now: Duration) -> Watch {
        Watch {
            patience,
            own: Silence::new(now),
            peers: board.peers().map(|_| Silence::new(now)).collect(),
            parting: None,
        }
    }

    /// Why all must end, if they must.
    fn look(&mut self, board: &Board, now: Duration) -> Option<Cause> {
        if let Some(cause) = board.ending() {
            return Some(cause);
        }
        let Patience {
            joining,
            silence,
            parting,
            ..
        } = self.patience;
        let rank = board.rank;
        let stuck = |lasts: Duration| Cause::Stuck {
            rank,
            seconds: lasts.as_secs() as u32,
        };
        if board.stage() != Stage::Working {
            // Nothing is heard while MPI is left.
            let since = self.parting.get_or_insert_with(|| Silence::new(now));
            let lasts = since.look(now, 0);
            return (board.stage() == Stage::Parting && lasts >= parting).then(|| stuck(lasts));
        }
        let own = self.own.look(now, board.turns());
        let peers = board.signs().zip(&mut self.peers).map(|((peer, signs), known)| {
            let lasts = known.look(now, signs);
            (lasts, peer, known.is_first())
        });
        // Who is silent for longest is the reason why others are not heard.
        let longest: Option<(Duration, u32, bool)> = peers.max_by_key(|(lasts, ..)| *lasts);
        if let Some((lasts, peer, is_first)) = longest {
            let seconds = lasts.as_secs() as u32;
            match is_first {
                true if lasts >= joining => return Some(Cause::NotJoined { seconds }),
                false if lasts >= silence => return Some(Cause::Silent { rank: peer, seconds }),
                _ => {}
            }
        }
        match self.own.is_first() {
            true if own >= joining => Some(Cause::NotJoined {
                seconds: own.as_secs() as u32,
            }),
            false if own >= silence + MORE => Some(stuck(own)),
            _ => None,
        }
    }
}

/// Watches until the rank has left, or ends the process.
pub(crate) fn watch(board: Arc<Board>, patience: Patience, asked: Option<Arc<AtomicBool>>, last: LastAct) {
    let began = Instant::now();
    let mut watch = Watch::new(&board, patience, began.elapsed());
    std::thread::spawn(move || {
        while board.stage() != Stage::Over {
            if asked.as_ref().is_some_and(|asked| asked.load(Ordering::Relaxed)) {
                board.end(Cause::Asked { rank: board.rank });
            }
            if let Some(cause) = watch.look(&board, began.elapsed())
                && let Some(cause) = board.end(cause)
            {
                end(&board, cause, patience.undo, last);
            }
            std::thread::sleep(LOOK);
        }
    });
}

/// Undoes, tells the others meanwhile, and ends the process as it stands: its other threads may hang in MPI.
fn end(board: &Board, cause: Cause, patience: Duration, last: LastAct) -> ! {
    let began = Instant::now();
    let (to, done) = channel();
    // Without a thread nothing is undone, and the exit code says so.
    let _ = std::thread::Builder::new().spawn(move || to.send(last(&cause)));
    let undone = done.recv_timeout(patience).unwrap_or(Undone::NotAll);
    let tell = if matches!(cause, Cause::Asked { .. }) {
        TELL_ASKED
    } else {
        TELL
    };
    while !board.is_told() && began.elapsed() < tell {
        std::thread::sleep(LOOK / 10);
    }
    let code = match undone {
        Undone::All => EXIT_FAILED,
        Undone::NotAll => EXIT_NOT_UNDONE,
    };
    signal_hook::low_level::exit(code.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks at the board every 100 ms until it says why all end; for how many milliseconds.
    fn until(watch: &mut Watch, board: &Board, from_ms: u64, mut each: impl FnMut(&Board, u64)) -> (u64, Cause) {
        for at in (from_ms..from_ms + 60_000).step_by(100) {
            each(board, at);
            if let Some(cause) = watch.look(board, Duration::from_millis(at)) {
                return (at - from_ms, cause);
            }
        }
        panic!("it never ends");
    }

    fn new(rank: u32, size: u32) -> (Board, Watch) {
        let board = Board::new(rank, size);
        let watch = Watch::new(&board, Patience::default(), Duration::ZERO);
        (board, watch)
    }

    #[test]
    fn who_never_joins_ends_all_of_them() {
        let (board, mut watch) = new(0, 3);
        let (after, cause) = until(&mut watch, &board, 0, |board, _| {
            board.turn();
            board.hear(1);
        });
        assert_eq!((after, cause), (10_000, Cause::NotJoined { seconds: 10 }));
    }

    #[test]
    fn mpi_that_does_not_start_ends_them_too() {
        let (board, mut watch) = new(1, 2);
        let (after, cause) = until(&mut watch, &board, 0, |_, _| {});
        assert_eq!((after, cause), (10_000, Cause::NotJoined { seconds: 10 }));
        // Of one rank there is nobody else to be heard.
        let (board, mut watch) = new(0, 1);
        assert_eq!(until(&mut watch, &board, 0, |_, _| {}).0, 10_000);
    }

    #[test]
    fn the_rank_that_is_silent_for_longest_is_named() {
        let (board, mut watch) = new(0, 4);
        let (after, cause) = until(&mut watch, &board, 0, |board, at| {
            board.turn();
            board.hear(1);
            if at < 3000 {
                board.hear(2);
            }
            if at < 4000 {
                board.hear(3);
            }
        });
        assert_eq!(cause, Cause::Silent { rank: 2, seconds: 5 });
        assert_eq!(after, 7_900);
    }

    #[test]
    fn a_call_of_mpi_that_hangs_is_noticed_without_mpi() {
        let (board, mut watch) = new(1, 2);
        let (after, cause) = until(&mut watch, &board, 0, |board, at| {
            board.hear(0);
            if at < 1000 {
                board.turn();
            }
        });
        assert_eq!((after, cause), (6_900, Cause::Stuck { rank: 1, seconds: 6 }));
    }

    #[test]
    fn parting_has_an_end_too_and_who_has_left_is_not_watched() {
        let (board, mut watch) = new(1, 2);
        board.turn();
        board.set_stage(Stage::Parting);
        let (after, cause) = until(&mut watch, &board, 0, |_, _| {});
        assert_eq!((after, cause), (10_000, Cause::Stuck { rank: 1, seconds: 10 }));
        board.set_stage(Stage::Over);
        assert_eq!(watch.look(&board, Duration::from_secs(900)), None);
    }

    #[test]
    fn the_first_reason_counts() {
        let (board, mut watch) = new(1, 2);
        board.end(Cause::Garbled { rank: 0 });
        board.end(Cause::Asked { rank: 1 });
        assert_eq!(watch.look(&board, Duration::ZERO), Some(Cause::Garbled { rank: 0 }));
    }

    /// Rank 0 alone looks for that, and knows who it is: the watchdog ends the process.
    #[test]
    fn a_rank_that_is_never_done_ends_all_of_them_by_name() {
        let (board, mut watch) = new(0, 2);
        let late = Cause::NotDone { rank: 1, seconds: 14 };
        board.end(late);
        assert_eq!(watch.look(&board, Duration::ZERO), Some(late));
        assert!(
            late.to_string().starts_with("rank 1 is not done 14 s after rank 0"),
            "{late}"
        );
    }

    #[test]
    fn the_worst_case_is_below_fifteen_seconds() {
        let patience = Patience::default();
        // A rank that only rank 0 could tell notices that rank 0 is gone.
        assert!(2 * patience.silence + patience.undo + 2 * LOOK < Duration::from_secs(15));
        assert!(patience.joining + patience.undo + LOOK < Duration::from_secs(15));
        assert!(patience.silence + MORE + patience.undo + LOOK < Duration::from_secs(15));
    }
}
