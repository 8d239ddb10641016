//! The difference that studies such as this one find, by the scatter that it had.
//!
//! Takes the analysis, gives a ratio for each comparison. Prevents: the width of an interval read as the difference
//! that a study would have found, though half of such studies miss it.

use crate::analysis::{Analysis, GoOn, StopReason};
use crate::ranking::verdicts::Verdict;
use stats::{LookRule, detectable_at};

impl Analysis {
    /// In the order of the comparisons: the smallest ratio that 9 of 10 studies of this design and scatter call better
    /// at the last look that this study came to, or could have come to where every verdict was there earlier. `None`
    /// before the first look of a comparison.
    pub fn detectable(&self) -> Vec<Option<f64>> {
        let rules = self.design.looks();
        let of = |nth: usize| {
            let (last, sd) = self.scatter(nth)?;
            let rule = rules
                .iter()
                .find(|rule| rule.number == self.ends_with(nth, last, &rules))?;
            let ratio = detectable_at(rule, self.design.margin, sd);
            ratio.is_finite().then_some(ratio)
        };
        (0..self.comparisons.len()).map(of).collect()
    }

    /// Number of the last look at a comparison, and how far its block ratios scattered by then.
    fn scatter(&self, nth: usize) -> Option<(u32, f64)> {
        let looks = self.looks.iter().rev();
        let mut of = looks.filter_map(|look| Some((look.number, look.estimates.get(nth).copied()??.sd)));
        of.next()
    }

    /// Number of the look with which such a study ends, of a comparison whose last look is `last`.
    fn ends_with(&self, nth: usize, last: u32, rules: &[LookRule]) -> u32 {
        let is_open = self.comparisons[nth].verdict == Verdict::NotEnoughData;
        match self.go_on {
            GoOn::Stop(StopReason::AllDecided | StopReason::BlocksUsed) => {
                rules.last().map_or(last, |rule| rule.number)
            }
            _ if is_open => last,
            // The clock or dropped blocks ended it: what is decided would have been looked at with the others.
            _ => self.looks.iter().map(|look| look.number).max().unwrap_or(last),
        }
    }
}
