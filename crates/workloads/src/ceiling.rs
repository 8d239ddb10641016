//! An operation that does nothing: takes a clock, gives the rate at which the loop itself can turn.
//!
//! Prevents: reading the generator's own limit as the limit of the storage. The ceiling is stored with every run.

use crate::operation::{Done, Operation, Started};
use std::convert::Infallible;
use targets::Nanos;

/// The null operation: it ends in the moment it starts. What [`drive`](crate::drive) reaches with it is the most that
/// any operation could reach on this machine, stamps and histograms included.
///
/// It never sleeps: between the due times of an open schedule it returns at once, and the loop spins.
pub struct Ceiling<C> {
    clock: C,
}

impl<C: Fn() -> Nanos> Ceiling<C> {
    /// `clock`: nanoseconds from any origin, never running backwards.
    pub fn new(clock: C) -> Self {
        Ceiling { clock }
    }
}

impl<C: Fn() -> Nanos> Operation for Ceiling<C> {
    type Error = Infallible;

    fn now(&self) -> Nanos {
        (self.clock)()
    }

    fn classes(&self) -> &[&'static str] {
        &["null"]
    }

    fn start(&mut self, session: u32, done: &mut Vec<Done>) -> Result<Started, Infallible> {
        done.push(Done {
            session,
            class: 0,
            at: (self.clock)(),
            units: 1,
        });
        Ok(Started::Running)
    }

    fn advance(&mut self, _until: Option<Nanos>, _done: &mut Vec<Done>) -> Result<(), Infallible> {
        Ok(())
    }
}
