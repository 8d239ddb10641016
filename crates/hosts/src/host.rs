//! This rank: joined to the others, or refused with the reason.
//!
//! Takes the launcher and a last act; gives links to other ranks, facts of their hosts and readings of their clocks.
//! Prevents: work that begins before all are there, and a rank that ends without a word to the others.

use crate::board::{Board, Stage};
use crate::error::{Cause, HostsError};
use crate::facts::HostFacts;
use crate::has_mpi::HasMpi;
use crate::launcher::Launcher;
use crate::link::{Incoming, Link, Outgoing};
use crate::offset::Reading;
use crate::post::{Command, Parted, Post};
use crate::watchdog::{self, LastAct, Patience};
use crate::wire::Wire;
use std::io::{Cursor, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// A rank that leaves has so long to say so.
const WORD: Duration = Duration::from_secs(1);

/// What a rank brings along.
pub struct Joining {
    /// Who started it.
    pub launcher: Launcher,
    /// That this program can join ([`Host::must_have_mpi`]).
    pub has_mpi: HasMpi,
    /// For how long others are waited for.
    pub patience: Patience,
    /// Set by the caller's handler of SIGTERM, if a launcher's order to end shall run the last act.
    pub asked: Option<Arc<AtomicBool>>,
    /// Runs before the watchdog ends this process.
    pub last: LastAct,
}

/// One rank among others, from when all have joined until all part.
///
/// Dropped without [`Host::part`], it tells the others that it cannot go on, and they end.
#[derive(Debug)]
pub struct Host {
    rank: u32,
    size: u32,
    library: String,
    facts: Vec<HostFacts>,
    links: Vec<Link>,
    post: Sender<Command>,
    parted: Receiver<()>,
    board: Arc<Board>,
    has_mpi: HasMpi,
    is_parted: bool,
}

impl Host {
    /// Whether this program can join ranks at all: before it has started anything.
    ///
    /// # Errors
    /// It was built without the feature `mpi`.
    pub fn must_have_mpi(launcher: Launcher) -> Result<HasMpi, HostsError> {
        HasMpi::of(launcher)
    }

    /// Joins the other ranks by MPI.
    ///
    /// # Errors
    /// This program has no MPI, or that of another launcher.
    #[cfg(not(feature = "mpi"))]
    pub fn join(joining: Joining) -> Result<Host, HostsError> {
        Err(HostsError::NotBuilt(joining.launcher))
    }

    /// Joins the other ranks by MPI. It comes back within the patience, or the watchdog ends the process.
    ///
    /// # Errors
    /// The launcher is that of another MPI.
    #[cfg(feature = "mpi")]
    pub fn join(joining: Joining) -> Result<Host, HostsError> {
        Host::join_by(joining, crate::by_mpi::ByMpi::start)
    }

    /// Joins the other ranks by whatever `connect` gives. It runs in the thread that will use the wire.
    ///
    /// # Errors
    /// No wire; a world that is not the launcher's; a host that says nonsense of itself.
    #[cfg_attr(
        not(any(test, feature = "mpi")),
        expect(dead_code, reason = "without MPI nobody joins, and all of it compiles")
    )]
    pub(crate) fn join_by<W: Wire>(
        joining: Joining,
        connect: impl FnOnce() -> Result<W, HostsError> + Send + 'static,
    ) -> Result<Host, HostsError> {
        let Joining {
            launcher,
            has_mpi,
            patience,
            asked,
            last,
        } = joining;
        let own = HostFacts::here().map_err(HostsError::Host)?;
        let board = Arc::new(Board::new(launcher.rank, launcher.size));
        watchdog::watch(board.clone(), patience, asked, last);
        let (post, commands) = channel();
        let (mut links, mut readers) = (Vec::new(), Vec::new());
        for rank in board.peers() {
            let (reader, messages) = channel();
            let unread = Arc::new(AtomicU64::new(0));
            readers.push((rank, reader, unread.clone()));
            links.push(link(rank, post.clone(), (messages, unread), has_mpi));
        }
        let (to_joined, joined) = channel();
        let (to_parted, parted) = channel();
        let of_thread = board.clone();
        std::thread::spawn(move || {
            let wire = connect().and_then(|wire| check(wire, launcher));
            match wire {
                Ok(wire) => {
                    let _ = to_joined.send(Ok(wire.name()));
                    let (wire, how) = Post::new(wire, (of_thread.clone(), patience.done), commands, readers).run();
                    match how {
                        Parted::InOrder => {
                            of_thread.set_stage(Stage::Parting);
                            drop(wire);
                        }
                        // To end MPI here would wait for ranks that are told to end otherwise.
                        Parted::Left => std::mem::forget(wire),
                    }
                }
                Err(error) => {
                    let _ = to_joined.send(Err(error));
                }
            }
            of_thread.set_stage(Stage::Over);
            let _ = to_parted.send(());
        });
        let library = joined.recv().unwrap_or(Err(HostsError::Parted));
        let library = library.inspect_err(|_| board.set_stage(Stage::Over))?;
        let mut host = Host {
            rank: launcher.rank,
            size: launcher.size,
            library,
            facts: Vec::new(),
            links,
            post,
            parted,
            board,
            has_mpi,
            is_parted: false,
        };
        host.exchange_facts(own, patience)?;
        Ok(host)
    }

    /// Rank 0 hears from all others what their hosts are.
    fn exchange_facts(&mut self, own: HostFacts, patience: Patience) -> Result<(), HostsError> {
        if self.rank > 0 {
            for link in &mut self.links {
                let sent = link.to.write_all(&own.bytes()).and_then(|()| link.to.flush());
                sent.map_err(|_| HostsError::Parted)?;
            }
            self.facts = vec![own];
            return Ok(());
        }
        self.facts.push(own);
        for link in &mut self.links {
            let rank = link.rank;
            let Ok(said) = link.from.message_within(patience.joining) else {
                let seconds = patience.joining.as_secs() as u32;
                self.board.end(Cause::NotJoined { seconds });
                return Err(HostsError::Parted);
            };
            let facts = HostFacts::read(&said).map_err(|what| HostsError::Facts { rank, what })?;
            self.facts.push(facts);
        }
        Ok(())
    }

    /// Its number, from 0.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// How many ranks there are.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Name and version of the MPI.
    pub fn library(&self) -> &str {
        &self.library
    }

    /// Facts of the hosts, by rank: of all on rank 0, of its own on any other.
    pub fn facts(&self) -> &[HostFacts] {
        &self.facts
    }

    /// That this program has MPI, for what holds a part of this rank.
    pub fn has_mpi(&self) -> HasMpi {
        self.has_mpi
    }

    /// Links to the other ranks, once: rank 0 has one to each, by rank; any other has one to rank 0.
    pub fn links(&mut self) -> Vec<Link> {
        std::mem::take(&mut self.links)
    }

    /// The clock of each other rank, from 1 on; on rank 0.
    ///
    /// It takes some milliseconds for each, and both processors: read clocks before and after a phase.
    ///
    /// # Errors
    /// A clock that gives impossible times; the ranks have parted.
    pub fn read_clocks(&self) -> Result<Vec<Reading>, HostsError> {
        let (to, readings) = channel();
        let parted = || HostsError::Parted;
        self.post.send(Command::ReadClocks(to)).map_err(|_| parted())?;
        readings.recv().map_err(|_| parted())?
    }

    /// Waits until all ranks are done, and ends MPI in order. Rank 0 waits no longer than its patience: then all end.
    pub fn part(mut self) {
        self.is_parted = true;
        // Drops its ends, and so says that no more comes.
        self.links.clear();
        let _ = self.post.send(Command::Part);
        // Where all end meanwhile, the watchdog ends the process before this comes.
        let _ = self.parted.recv();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if self.is_parted {
            return;
        }
        // The watchdog's last act is not cut short by the end of the main thread.
        while self.board.leave().is_err() {
            std::thread::sleep(WORD);
        }
        let _ = self.post.send(Command::Leave);
        let _ = self.parted.recv_timeout(WORD);
    }
}

/// What a rank has said and nobody has read: the messages, and the count of their bytes.
type Unread = (Receiver<Vec<u8>>, Arc<AtomicU64>);

fn link(rank: u32, post: Sender<Command>, (messages, unread): Unread, has_mpi: HasMpi) -> Link {
    Link {
        rank,
        to: Outgoing {
            rank,
            open: Vec::new(),
            post,
        },
        from: Incoming {
            messages,
            unread,
            rest: Cursor::new(Vec::new()),
            _has_mpi: has_mpi,
        },
    }
}

/// Two implementations of MPI do not see each other: each rank is alone then.
fn check<W: Wire>(wire: W, launcher: Launcher) -> Result<W, HostsError> {
    let (rank, size, library) = (wire.rank(), wire.size(), wire.name());
    match (rank, size) == (launcher.rank, launcher.size) {
        true => Ok(wire),
        false => Err(HostsError::WrongWorld {
            launcher,
            library,
            rank,
            size,
        }),
    }
}
