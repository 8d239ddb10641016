//! The wall's clock against the one that measures: whether somebody set it, and whether the host slept.
//!
//! Takes three clocks of the kernel, gives their distances; two readings give what changed. Wall clock and monotonic
//! clock are slewed alike, so their distance changes by steps only; the boot clock goes on while the host sleeps and
//! the monotonic one does not. Prevents: stamps of servers and logs that no longer agree with a phase, and a laptop's
//! nap taken for a stall of the storage.

use rustix::time::{ClockId, clock_gettime};

/// Readings of one moment; the best of these tries is kept, for a thread may lose its processor between two clocks.
const TRIES: usize = 5;

/// Distances of two clocks from the monotonic one, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clocks {
    /// Wall clock less monotonic clock.
    pub wall_ns: i128,
    /// Boot clock less monotonic clock.
    pub boot_ns: i128,
}

/// What happened to the clocks between two readings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockChange {
    /// How far the wall clock was set, forward or back.
    pub stepped_ns: u64,
    /// How long the host slept.
    pub slept_ns: u64,
}

impl Clocks {
    /// Now.
    pub fn read() -> Clocks {
        Clocks::read_from(&mut |clock| {
            let time = clock_gettime(clock);
            i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
        })
    }

    /// From a given clock.
    pub(crate) fn read_from(clock: &mut dyn FnMut(ClockId) -> i128) -> Clocks {
        let mut best: Option<(i128, Clocks)> = None;
        for _ in 0..TRIES {
            let before = clock(ClockId::Monotonic);
            let (wall, boot) = (clock(ClockId::Realtime), clock(ClockId::Boottime));
            let after = clock(ClockId::Monotonic);
            let middle = before + (after - before) / 2;
            let found = Clocks {
                wall_ns: wall - middle,
                boot_ns: boot - middle,
            };
            if best.is_none_or(|(doubt, _)| after - before < doubt) {
                best = Some((after - before, found));
            }
        }
        best.map_or(Clocks { wall_ns: 0, boot_ns: 0 }, |(_, clocks)| clocks)
    }

    /// What changed since an earlier reading.
    pub fn since(&self, earlier: &Clocks) -> ClockChange {
        let (wall, boot) = (self.wall_ns - earlier.wall_ns, self.boot_ns - earlier.boot_ns);
        ClockChange {
            // A sleep moves the wall clock away from the monotonic one too, and is no step.
            stepped_ns: u64::try_from((wall - boot).unsigned_abs()).unwrap_or(u64::MAX),
            slept_ns: u64::try_from(boot.max(0)).unwrap_or(u64::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i128 = 1_000_000_000;

    fn at(monotonic: i128, wall: i128, boot: i128) -> Clocks {
        let mut tick = 0;
        Clocks::read_from(&mut |clock| {
            tick += 20;
            tick + match clock {
                ClockId::Realtime => wall,
                ClockId::Boottime => boot,
                _ => monotonic,
            }
        })
    }

    #[test]
    fn a_step_and_a_sleep_are_told_apart() {
        let before = at(100 * S, 5_000 * S, 150 * S);
        let near = |ns: u64, wanted: i128| (i128::from(ns) - wanted).abs() < 1_000;
        let still = at(110 * S, 5_010 * S, 160 * S).since(&before);
        assert!(near(still.stepped_ns, 0) && near(still.slept_ns, 0), "{still:?}");
        for step in [-30 * S, 2 * S] {
            let set = at(110 * S, 5_010 * S + step, 160 * S).since(&before);
            assert!(near(set.stepped_ns, step.abs()) && near(set.slept_ns, 0), "{set:?}");
        }
        let slept = at(110 * S, 5_040 * S, 190 * S).since(&before);
        assert!(near(slept.stepped_ns, 0) && near(slept.slept_ns, 30 * S), "{slept:?}");
        // Slept for 30 s, and set back by 60 s on waking: the wall clock is as far off as it would be without either
        // sign.
        let both = at(110 * S, 4_980 * S, 190 * S).since(&before);
        assert!(near(both.stepped_ns, 60 * S) && near(both.slept_ns, 30 * S), "{both:?}");
    }

    #[test]
    fn this_hosts_clocks_keep_their_distance_for_a_moment() {
        let change = Clocks::read().since(&Clocks::read());
        assert!(change.slept_ns < 1_000_000, "{change:?}");
    }
}
