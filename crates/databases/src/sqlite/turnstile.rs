//! Who may write next: SQLite has one writer at a time, and here its users queue in the order in which they came.
//!
//! Takes threads, lets one through, says how long it waited. SQLite's own waiting is a sleep of growing length, which is neither
//! fair nor exact. Prevents: a lock wait that is hidden in the time of a statement.

use std::sync::{Condvar, Mutex, PoisonError};
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
