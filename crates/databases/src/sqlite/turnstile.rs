//! Who may write next: SQLite has one writer at a time, and here its users queue in the order in which they came.
//!
//! Takes threads, lets one through, says how long it waited. SQLite's own waiting is a sleep of growing length, which
//! is neither fair nor exact. Behind the turnstile is one connection for all of them ([`SharedWriter`]): SQLite throws
//! a connection's whole page cache away when another connection has committed, so that writers with connections of
//! their own would read everything anew each time. Prevents: a lock wait that is hidden in the time of a statement, and
//! a database that works without a cache.

use super::counts::CacheCounts;
use super::place::Session;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use targets::{Nanos, monotonic_ns};

#[derive(Default)]
struct Queue {
    /// The number of who comes next.
    tail: u64,
    /// The number of who is let through.
    head: u64,
}

/// A fair lock that says how long it was waited for.
#[derive(Default)]
pub struct Turnstile {
    queue: Mutex<Queue>,
    moved: Condvar,
}

/// The right to write, until dropped.
pub struct Turn<'a> {
    turnstile: &'a Turnstile,
    /// How long was waited for it, ns.
    pub waited_ns: Nanos,
}

impl Turnstile {
    /// Waits for the turn.
    pub fn enter(&self) -> Turn<'_> {
        let came = monotonic_ns();
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = queue.tail;
        queue.tail += 1;
        while queue.head != mine {
            queue = self.moved.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        Turn {
            turnstile: self,
            waited_ns: monotonic_ns() - came,
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut queue = self.turnstile.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.head += 1;
        drop(queue);
        self.turnstile.moved.notify_all();
    }
}

/// The connection by which all users write, one after the other.
pub struct SharedWriter {
    turnstile: Turnstile,
    session: Mutex<Session>,
}

/// The writer's connection, until dropped.
pub struct WriterTurn<'a> {
    /// Before the turn: it is given back first.
    session: MutexGuard<'a, Session>,
    turn: Turn<'a>,
}

impl SharedWriter {
    /// `session` should have the larger part of the cache: it sees most of the work.
    pub fn new(session: Session) -> SharedWriter {
        SharedWriter {
            turnstile: Turnstile::default(),
            session: Mutex::new(session),
        }
    }

    /// Waits for the turn to write.
    pub fn enter(&self) -> WriterTurn<'_> {
        let turn = self.turnstile.enter();
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        WriterTurn { session, turn }
    }
}

impl WriterTurn<'_> {
    /// The connection.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// How long was waited for it, ns.
    pub fn waited_ns(&self) -> Nanos {
        self.turn.waited_ns
    }
}

/// The connections of one thread: it writes by the shared one, and reads by one of its own where others write too.
pub struct Connections {
    reader: Option<Session>,
    writer: Arc<SharedWriter>,
}

impl Connections {
    /// Of the only thread: it reads by the connection that it writes by. A second one would throw its page cache away
    /// at each commit of the first, and nothing would be gained.
    pub fn alone(writer: Arc<SharedWriter>) -> Connections {
        Connections { reader: None, writer }
    }

    /// Of one thread among others.
    pub fn among_others(reader: Session, writer: Arc<SharedWriter>) -> Connections {
        Connections {
            reader: Some(reader),
            writer,
        }
    }

    /// Pages so far by its own connection; none where it has none. Whoever has the shared one asks that
    /// ([`CacheCounts::of`]).
    pub fn cache_counts(&self) -> CacheCounts {
        self.reader.as_ref().map(CacheCounts::of).unwrap_or_default()
    }

    /// Reads by its own connection, else by the shared one in its turn.
    pub(super) fn read<T>(&self, act: impl FnOnce(&Session) -> T) -> T {
        match &self.reader {
            Some(own) => act(own),
            None => act(self.writer.enter().session()),
        }
    }

    /// Waits for the turn to write.
    pub(super) fn enter(&self) -> WriterTurn<'_> {
        self.writer.enter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn one_at_a_time() {
        let (turnstile, inside, most) = (Turnstile::default(), AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let turn = turnstile.enter();
                        let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                        most.fetch_max(now, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(turn);
                    }
                });
            }
        });
        assert_eq!(most.load(Ordering::SeqCst), 1);
    }
}
