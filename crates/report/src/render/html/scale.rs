//! Scales of charts: from a value to a place across a chart, and the marks of its axis.
//!
//! Takes a range of values, gives places in percent of the width. Prevents: charts of one family that are drawn to
//! different scales.

use super::Words;
use maud::{Markup, html};

/// A logarithmic scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LogScale {
    low: f64,
    high: f64,
}

impl LogScale {
    /// Over all positive values, with some air at both ends; `None` without any.
    pub(super) fn over(values: impl IntoIterator<Item = f64>) -> Option<LogScale> {
        let mut low = f64::INFINITY;
        let mut high = 0.0_f64;
        for value in values.into_iter().filter(|value| value.is_finite() && *value > 0.0) {
            low = low.min(value);
            high = high.max(value);
        }
        (low <= high).then(|| {
            let air = (high / low).powf(0.04).max(1.02);
            LogScale {
                low: low / air,
                high: high * air,
            }
        })
    }

    /// Between these two.
    pub(super) fn between(low: f64, high: f64) -> LogScale {
        LogScale { low, high }
    }

    pub(super) fn low(&self) -> f64 {
        self.low
    }

    pub(super) fn high(&self) -> f64 {
        self.high
    }

    /// 0 at the left end, 1 at the right one; beyond both for what lies outside.
    pub(super) fn place(&self, value: f64) -> f64 {
        (value / self.low).ln() / (self.high / self.low).ln()
    }

    /// The same as percent text inside the chart.
    pub(super) fn percent(&self, value: f64) -> String {
        percent(self.place(value))
    }

    /// Marks: those of `candidates` that lie inside, at least `gap` of the width apart; earlier candidates win.
    pub(super) fn marks(&self, candidates: impl IntoIterator<Item = f64>, gap: f64) -> Vec<f64> {
        let mut chosen: Vec<f64> = Vec::new();
        for value in candidates {
            let place = self.place(value);
            let is_free = chosen.iter().all(|other| (self.place(*other) - place).abs() >= gap);
            if (0.01..=0.99).contains(&place) && is_free {
                chosen.push(value);
            }
        }
        chosen.sort_by(f64::total_cmp);
        chosen
    }

    /// [`marks`](LogScale::marks), each with the class that says whether a narrow chart has room for it too.
    pub(super) fn classed_marks(&self, candidates: &[f64], gap: f64) -> Vec<(f64, &'static str)> {
        let wide = self.marks(candidates.iter().copied(), gap);
        let narrow = self.marks(candidates.iter().copied(), gap.max(0.3));
        let class = |mark: f64| if narrow.contains(&mark) { "tick" } else { "tick minor" };
        wide.into_iter().map(|mark| (mark, class(mark))).collect()
    }

    /// Powers of ten, then twice and five times them.
    pub(super) fn decades(&self) -> Vec<f64> {
        let powers = (self.low.log10().floor() as i32)..=(self.high.log10().ceil() as i32);
        let scaled = [1.0, 2.0, 5.0].into_iter();
        scaled
            .flat_map(|factor| powers.clone().map(move |power| factor * 10f64.powi(power)))
            .collect()
    }
}

/// The axis over a column of charts.
pub(super) fn axis(scale: &LogScale, candidates: &[f64], gap: f64, form: impl Fn(f64) -> String) -> Markup {
    html! {
        svg class="axis" aria-hidden="true" {
            @for (mark, class) in scale.classed_marks(candidates, gap) {
                (tick(&scale.percent(mark), class, &form(mark)))
            }
        }
    }
}

/// A mark of an axis with its words.
pub(super) fn tick(x: &str, class: &str, words: &str) -> Markup {
    html! {
        line class=(class) x1=(x) x2=(x) y1="80%" y2="100%" {}
        text class=(class) x=(x) y="65%" { (Words(words)) }
    }
}

/// A straight line between two places of a drawing.
pub(super) fn line(class: &str, [x1, y1]: [&str; 2], [x2, y2]: [&str; 2]) -> Markup {
    html! { line class=(class) x1=(x1) y1=(y1) x2=(x2) y2=(y2) {} }
}

/// A share of the width as percent text, kept inside the chart.
pub(super) fn percent(place: f64) -> String {
    let percent = (place.clamp(0.0, 1.0) * 1000.0).round() / 10.0;
    format!("{percent}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_equal_for_equal_ratios() {
        let scale = LogScale::between(0.5, 2.0);
        assert_eq!(scale.percent(1.0), "50%");
        assert_eq!(scale.percent(0.1), "0%");
        assert!((scale.place(std::f64::consts::SQRT_2) - 0.75).abs() < 1e-6);
        assert_eq!(LogScale::over([0.0, f64::NAN]), None);
        let scale = LogScale::over([100.0]).unwrap();
        assert!(scale.low() < 100.0 && scale.high() > 100.0);
    }

    #[test]
    fn marks_keep_apart() {
        let scale = LogScale::between(900.0, 110_000.0);
        assert_eq!(scale.marks(scale.decades(), 0.2), [1_000.0, 10_000.0, 100_000.0]);
        let many = scale.marks(scale.decades(), 0.05);
        assert!(many.contains(&2_000.0) && many.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
