//! How long somebody was not heard, as one sees it who looks now and then.
//!
//! Takes a clock and a counter that grows with every sign of life. Prevents: time in which nobody looked taken for
//! silence, as after a suspended machine.

use std::time::Duration;

/// Between two looks no more than this counts: who stood still himself heard nobody.
const STRIDE: Duration = Duration::from_millis(500);

/// The silence of one.
#[derive(Debug)]
pub(crate) struct Silence {
    signs: u64,
    lasts: Duration,
    looked: Duration,
}

impl Silence {
    /// From this moment on.
    pub(crate) fn new(now: Duration) -> Silence {
        Silence {
            signs: 0,
            lasts: Duration::ZERO,
            looked: now,
        }
    }

    /// How long it lasts, when so many signs of life have come by now.
    pub(crate) fn look(&mut self, now: Duration, signs: u64) -> Duration {
        let passed = now.saturating_sub(self.looked).min(STRIDE);
        self.lasts = if signs == self.signs {
            self.lasts + passed
        } else {
            Duration::ZERO
        };
        (self.signs, self.looked) = (signs, now);
        self.lasts
    }

    /// Whether there was ever a sign.
    pub(crate) fn is_first(&self) -> bool {
        self.signs == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_in_which_somebody_looked_is_silence() {
        let at = Duration::from_millis;
        let mut silence = Silence::new(at(0));
        assert_eq!(silence.look(at(400), 0), at(400));
        assert!(silence.is_first());
        assert_eq!(silence.look(at(600_000), 0), at(900));
        assert_eq!(silence.look(at(600_100), 1), at(0));
        assert_eq!(silence.look(at(600_200), 1), at(100));
        assert!(!silence.is_first());
        // A clock that runs backwards adds nothing.
        assert_eq!(silence.look(at(5), 1), at(100));
    }
}
