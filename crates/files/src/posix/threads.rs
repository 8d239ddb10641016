//! The same done with each of many users, on a thread each that begins when all of them are there.
//!
//! Prevents: threads that wait for ever for one that the system did not start.

use crate::client::Client;
use crate::error::FilesError;
use crate::users::Users;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

/// Does the same with each of the users. Where a thread cannot be started, nothing is done with any of them.
pub(super) fn each<C: Client + Send, T: Send>(
    users: &mut [Users<C>],
    act: impl Fn(&mut Users<C>, usize) -> Result<T, FilesError> + Sync,
) -> Result<Vec<T>, FilesError> {
    each_by(|_| Builder::new(), users, act)
}

/// As [`each`]; `builder` says how the thread of a number is made.
fn each_by<U: Send, T: Send>(
    builder: impl Fn(usize) -> Builder,
    users: &mut [U],
    act: impl Fn(&mut U, usize) -> Result<T, FilesError> + Sync,
) -> Result<Vec<T>, FilesError> {
    let (act, gate, wanted) = (&act, &Gate::default(), users.len());
    std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(wanted);
        for (nth, user) in users.iter_mut().enumerate() {
            let begin = move || gate.pass().then(|| act(user, nth));
            match builder(nth).spawn_scoped(scope, begin) {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    gate.set(false);
                    return Err(FilesError::Threads { wanted, source });
                }
            }
        }
        gate.open_for(wanted);
        let done = threads.into_iter().filter_map(|thread| match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        done.collect()
    })
}

/// Where threads wait until all are there, or one of them will never come.
#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    came: Condvar,
    decided: Condvar,
}

#[derive(Default)]
struct State {
    here: usize,
    is_open: Option<bool>,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits; `false`: go home.
    fn pass(&self) -> bool {
        let mut state = self.state();
        state.here += 1;
        self.came.notify_one();
        let waited = self.decided.wait_while(state, |state| state.is_open.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).is_open == Some(true)
    }

    /// Opens it when so many are there.
    fn open_for(&self, all: usize) {
        let waited = self.came.wait_while(self.state(), |state| state.here < all);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        self.set(true);
    }

    fn set(&self, is_open: bool) {
        self.state().is_open = Some(is_open);
        self.decided.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_begin_or_none_does() {
        let mut numbers = [0; 40];
        let done = each_by(
            |_| Builder::new(),
            &mut numbers,
            |number, nth| {
                *number += 1;
                Ok(nth)
            },
        );
        assert_eq!(done.unwrap(), (0..40).collect::<Vec<_>>());
        // No address space has room for such a stack.
        let none_for = |bad: usize| {
            move |nth: usize| match nth == bad {
                true => Builder::new().stack_size(1 << 47),
                false => Builder::new(),
            }
        };
        for bad in [0, 20, 39] {
            let done = each_by(none_for(bad), &mut numbers, |number, _| {
                *number += 1;
                Ok(())
            });
            assert!(matches!(done, Err(FilesError::Threads { wanted: 40, .. })), "{done:?}");
        }
        assert_eq!(numbers, [1; 40], "nothing was done in part");
    }

    #[test]
    fn an_error_of_one_is_that_of_all() {
        let done = each_by(
            |_| Builder::new(),
            &mut [(); 4],
            |(), nth| match nth {
                2 => Err(FilesError::Restarted),
                _ => Ok(()),
            },
        );
        assert!(matches!(done, Err(FilesError::Restarted)), "{done:?}");
    }
}
