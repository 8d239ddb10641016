//! How much more one stack changes from an earlier phase to a later one than its base does.
//!
//! Takes the figures of both phases on both stacks in one block, gives one log ratio. What slows each trial down as it
//! goes on is in both changes and leaves their ratio. Prevents: a slowdown within each trial that reads as ageing.

use crate::summary::{Orientation, log_ratio};

/// An earlier and a later phase of one trial, as figures of one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phases {
    /// Figure of the earlier phase.
    pub earlier: f64,
    /// Figure of the later phase.
    pub later: f64,
}

impl Phases {
    /// ln(later / earlier), positive is better; `None` where a figure is not positive.
    pub fn change(self, orientation: Orientation) -> Option<f64> {
        log_ratio(self.later, self.earlier, orientation)
    }
}

/// The change of a stack less the change of its base: ln((later / earlier) / (later / earlier of the base)), positive
/// where the stack comes off better. `None` where a figure is not positive.
pub fn contrast(stack: Phases, base: Phases, orientation: Orientation) -> Option<f64> {
    Some(stack.change(orientation)? - base.change(orientation)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases(earlier: f64, later: f64) -> Phases {
        Phases { earlier, later }
    }

    #[test]
    fn what_slows_both_alike_leaves_the_contrast() {
        let rates = contrast(phases(100.0, 50.0), phases(400.0, 200.0), Orientation::HigherIsBetter);
        assert!(rates.expect("positive").abs() < 1e-12);
        let aged = contrast(phases(100.0, 40.0), phases(400.0, 200.0), Orientation::HigherIsBetter);
        assert!((aged.expect("positive") - 0.8f64.ln()).abs() < 1e-12);
        let times = contrast(phases(1.0, 4.0), phases(1.0, 2.0), Orientation::LowerIsBetter);
        assert!((times.expect("positive") - 0.5f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn a_figure_that_is_not_positive_gives_none() {
        let good = phases(1.0, 2.0);
        assert_eq!(contrast(phases(0.0, 2.0), good, Orientation::HigherIsBetter), None);
        assert_eq!(contrast(good, phases(1.0, f64::NAN), Orientation::HigherIsBetter), None);
    }
}
