//! When operations are due and when a phase ends: plain data, given to [`crate::drive`].
//!
//! Prevents: a closed loop sold as an open one (the arrival is part of the type), and a phase whose workers each get
//! the whole rate ([`Pacing::split`] divides it).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The pacing of one worker.
#[derive(Clone, Debug)]
pub struct Pacing {
    /// Sessions of this worker, numbered from 0.
    pub sessions: u32,
    /// When operations are due.
    pub arrival: Arrival,
    /// When the phase ends.
    pub stop: Stop,
    /// Width of the time slices in which completions are counted, ns; 0: none are kept.
    pub slice_ns: u64,
    /// Set by another thread to end the phase early. What is under way is still waited for.
    pub cancel: Option<Arc<AtomicBool>>,
}

/// When operations are due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrival {
    /// A session's next operation is due when its last has ended, or a pause later.
    Closed {
        /// Pauses, if any.
        think: Option<Think>,
    },
    /// Operations are due on a schedule, whatever the storage does; they wait in order of arrival for a free session.
    Open {
        /// Operations a second of this worker.
        rate_per_s: f64,
        /// The gaps between them.
        schedule: Schedule,
    },
}

/// The gaps of an open schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// Exponential gaps: independent users.
    Poisson,
    /// Equal gaps.
    Fixed {
        /// When the first operation is due, ns from the beginning (workers of one phase take different ones).
        first_ns: u64,
    },
}

/// SLOB's think time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Think {
    /// A session pauses after every so many operations; 0: never.
    pub frequency: u32,
    /// Shortest pause, ns.
    pub min_ns: u64,
    /// Longest pause, ns; pauses are uniform between the two.
    pub max_ns: u64,
}

/// When a phase ends. With neither field set it ends when every session is exhausted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stop {
    /// No operation starts later than this many ns after the beginning.
    pub time_ns: Option<u64>,
    /// A session is retired after this many operations.
    pub operations_per_session: Option<u64>,
}

/// A pacing that can't be followed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PacingError {
    /// The rate is not a positive number.
    #[error("open arrival at {rate_per_s} operations/s has no schedule\ngive a rate above 0 and at most 1e9")]
    Rate {
        /// As given.
        rate_per_s: f64,
    },
    /// The shortest pause is longer than the longest.
    #[error("think time from {min_ns} ns to {max_ns} ns is empty\ngive a minimum that is not above the maximum")]
    Think {
        /// As given.
        min_ns: u64,
        /// As given.
        max_ns: u64,
    },
}

impl Pacing {
    /// Closed arrival without think time, for `time_ns`, no slices.
    pub fn closed(sessions: u32, time_ns: u64) -> Self {
        Pacing {
            sessions,
            arrival: Arrival::Closed { think: None },
            stop: Stop {
                time_ns: Some(time_ns),
                operations_per_session: None,
            },
            slice_ns: 0,
            cancel: None,
        }
    }

    /// Can this be followed? [`crate::drive`] panics on one that can't.
    pub fn check(&self) -> Result<(), PacingError> {
        match self.arrival {
            Arrival::Open { rate_per_s, .. } if !(rate_per_s > 0.0 && rate_per_s <= 1e9) => {
                Err(PacingError::Rate { rate_per_s })
            }
            Arrival::Closed {
                think: Some(Think { min_ns, max_ns, .. }),
            } if min_ns > max_ns => Err(PacingError::Think { min_ns, max_ns }),
            _ => Ok(()),
        }
    }

    /// Divides the pacing of a phase among workers: sessions differ by at most one, the rate is divided equally among
    /// the workers that have sessions, and fixed schedules interleave. Workers without a session are left out, so the
    /// result has `min(workers, sessions)` entries.
    pub fn split(&self, workers: u32) -> Vec<Pacing> {
        let parts = workers.min(self.sessions).max(1);
        (0..parts).map(|part| self.part(part, parts)).collect()
    }

    fn part(&self, part: u32, parts: u32) -> Pacing {
        let sessions = self.sessions / parts + u32::from(part < self.sessions % parts);
        let arrival = match self.arrival {
            Arrival::Open { rate_per_s, schedule } => {
                let schedule = match schedule {
                    Schedule::Fixed { first_ns } => {
                        let later_ns = f64::from(part) * 1e9 / rate_per_s;
                        Schedule::Fixed {
                            first_ns: first_ns + later_ns as u64,
                        }
                    }
                    Schedule::Poisson => Schedule::Poisson,
                };
                Arrival::Open {
                    rate_per_s: rate_per_s / f64::from(parts),
                    schedule,
                }
            }
            closed @ Arrival::Closed { .. } => closed,
        };
        Pacing {
            sessions,
            arrival,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_keeps_sessions_and_rate_whole() {
        let whole = Pacing {
            arrival: Arrival::Open {
                rate_per_s: 300.0,
                schedule: Schedule::Fixed { first_ns: 0 },
            },
            ..Pacing::closed(8, 1)
        };
        let parts = whole.split(3);
        assert_eq!(parts.iter().map(|part| part.sessions).collect::<Vec<_>>(), [3, 3, 2]);
        let mut firsts = Vec::new();
        for part in &parts {
            let Arrival::Open {
                rate_per_s,
                schedule: Schedule::Fixed { first_ns },
            } = part.arrival
            else {
                panic!("the arrival changed its kind")
            };
            assert!((rate_per_s - 100.0).abs() < 1e-9);
            firsts.push(first_ns);
        }
        assert_eq!(firsts, [0, 3_333_333, 6_666_666]);
        assert_eq!(whole.split(100).len(), 8, "no worker without a session");
    }

    #[test]
    fn pacings_that_cannot_be_followed_are_refused() {
        for rate_per_s in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let arrival = Arrival::Open {
                rate_per_s,
                schedule: Schedule::Poisson,
            };
            assert!(
                Pacing {
                    arrival,
                    ..Pacing::closed(1, 1)
                }
                .check()
                .is_err()
            );
        }
        let think = Some(Think {
            frequency: 1,
            min_ns: 2,
            max_ns: 1,
        });
        assert!(
            Pacing {
                arrival: Arrival::Closed { think },
                ..Pacing::closed(1, 1)
            }
            .check()
            .is_err()
        );
        assert!(Pacing::closed(1, 1).check().is_ok());
    }
}
