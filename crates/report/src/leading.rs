//! The comparison that a run shows while it goes on: its interval, drawn in letters.
//!
//! Takes the analysis by which a run goes on; gives a line of fixed width, and words. Prevents: a progress line that
//! says something else than the verdict.

use crate::analysis::Analysis;
use crate::format::ratio;
use crate::ranking::verdicts::Verdict;

/// One ratio with its interval, of a stack to its base in a phase or in its change from an earlier one.
#[derive(Clone, Debug, PartialEq)]
pub struct Leading<'a> {
    /// What is compared: stack, base, phase.
    pub of: [&'a str; 3],
    /// The earlier phase, where changes from it are compared.
    pub since: Option<&'a str>,
    /// The ratio; above 1 is better.
    pub ratio: f64,
    /// Lower end; zero where it has none.
    pub low: f64,
    /// Upper end; infinite where it has none.
    pub high: f64,
    /// Differences inside this share count as equal.
    pub margin: f64,
    /// What may be said.
    pub verdict: Verdict,
}

/// Widest distances from 1 that a drawing shows, as factors; the first that holds the ratio is taken.
const SCALES: [f64; 7] = [1.12, 1.25, 1.5, 2.0, 4.0, 16.0, 256.0];
/// Margins to each side of 1 at least.
const MARGINS: f64 = 2.0;
/// So far towards the edge the ratio may lie: an end of its interval has room beside it.
const WITHIN: f64 = 0.8;

impl Analysis {
    /// The next to be decided: of those that are not, the one with the narrowest interval. When all are decided, the
    /// one furthest from 1. `None` before the first look.
    pub fn leading(&self) -> Option<Leading<'_>> {
        let margin = self.study.margin;
        let of_stacks = self.comparisons.iter().filter_map(|one| {
            let of = [&*one.stack, &*one.base, &*one.phase];
            Leading::of(of, (one.ratio?, one.low, one.high), margin, one.verdict)
        });
        let of_changes = self.contrasts.iter().filter_map(|one| {
            let of = [&*one.stack, &*one.base, &*one.phase];
            let leading = Leading::of(of, (one.ratio?, one.low, one.high), margin, one.verdict)?;
            Some(Leading {
                since: Some(&one.against),
                ..leading
            })
        });
        let rank = |one: &Leading<'_>| match one.verdict {
            Verdict::NotEnoughData => (0, one.width()),
            _ => (1, -one.ratio.ln().abs()),
        };
        of_stacks
            .chain(of_changes)
            .min_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal))
    }

    /// Comparisons that have a verdict, and all of them.
    pub fn decided(&self) -> (usize, usize) {
        let of_stacks = self.comparisons.iter().map(|one| one.verdict);
        let verdicts: Vec<Verdict> = of_stacks.chain(self.contrasts.iter().map(|one| one.verdict)).collect();
        let decided = verdicts.iter().filter(|one| **one != Verdict::NotEnoughData).count();
        (decided, verdicts.len())
    }
}

impl<'a> Leading<'a> {
    fn of(
        of: [&'a str; 3],
        (ratio, low, high): (f64, Option<f64>, Option<f64>),
        margin: f64,
        verdict: Verdict,
    ) -> Option<Leading<'a>> {
        (ratio > 0.0 && ratio.is_finite()).then_some(Leading {
            of,
            since: None,
            ratio,
            low: low.unwrap_or(0.0),
            high: high.unwrap_or(f64::INFINITY),
            margin,
            verdict,
        })
    }

    fn width(&self) -> f64 {
        (self.high / self.low).abs()
    }

    /// "btrfs against ext4 in scan", "btrfs against ext4 in scan since fresh scan".
    pub fn name(&self) -> String {
        let [one, other, place] = self.of;
        let since = self.since.map(|phase| format!(" since {phase}")).unwrap_or_default();
        format!("{one} against {other} in {place}{since}")
    }

    /// "0.80 (0.70 to 0.91) not enough data".
    pub fn words(&self) -> String {
        let ends = [self.low, self.high].map(ratio);
        format!(
            "{} ({} to {}) {}",
            ratio(self.ratio),
            ends[0],
            ends[1],
            self.verdict.words()
        )
    }

    /// `[--|==o==|--]` in this many columns (an odd number, 7 or more): 1 in the middle, `|` the margin, `=` the
    /// interval, `o` the ratio. Factors are as wide below 1 as above; `<` and `>` mark an interval that goes on.
    pub fn drawn(&self, columns: usize) -> String {
        let half = columns.saturating_sub(3) / 2;
        let within = (1.0 + self.margin).powf(MARGINS);
        let holds = |scale: &&f64| **scale >= within && self.ratio.ln().abs() <= WITHIN * scale.ln();
        let scale = SCALES.iter().find(holds).unwrap_or(&SCALES[SCALES.len() - 1]).ln();
        let far = half as f64;
        // A cast saturates: an end that is unbounded lies at the edge.
        let place = |ratio: f64| (ratio.ln() / scale * far).round().clamp(-far, far) as i64;
        let [low, high, at] = [self.low, self.high, self.ratio].map(place);
        let margins = [place(1.0 / (1.0 + self.margin)), place(1.0 + self.margin)];
        let letter = |column: i64| match column {
            _ if column == at => 'o',
            _ if column == low && self.low.ln() < -scale => '<',
            _ if column == high && self.high.ln() > scale => '>',
            _ if margins.contains(&column) => '|',
            _ if (low..=high).contains(&column) => '=',
            _ => '-',
        };
        let half = half as i64;
        let inside: String = (-half..=half).map(letter).collect();
        format!("[{inside}]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(ratio: f64, low: f64, high: f64, margin: f64) -> String {
        let of = ["a", "b", "c"];
        Leading::of(of, (ratio, Some(low), Some(high)), margin, Verdict::Equivalent)
            .unwrap()
            .drawn(23)
    }

    #[test]
    fn the_margin_is_around_one_and_the_interval_narrows() {
        assert_eq!(drawn(1.0, 0.96, 1.04, 0.05), "[------|===o===|------]");
        assert_eq!(drawn(1.0, 0.8, 1.25, 0.05), "[<=====|===o===|=====>]");
        assert_eq!(drawn(0.8, 0.79, 0.81, 0.05), "[----o=---|-|---------]");
    }

    #[test]
    fn whatever_the_numbers_it_is_as_wide_as_asked() {
        for ratio in [1e-300, 0.01, 1.0, 3.0, 1e300] {
            for margin in [0.0, 0.05, 0.9, 50.0] {
                for [low, high] in [[0.0, f64::INFINITY], [ratio, ratio], [0.5, 2.0]] {
                    let line = drawn(ratio, low, high, margin);
                    assert_eq!(line.len(), 23, "{line}");
                    assert_eq!(line.matches('o').count(), 1, "{line}");
                }
            }
        }
    }
}
