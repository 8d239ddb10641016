//! One figure with its doubt: the median over blocks and the range of the blocks.
//!
//! Takes what each block gave, gives a [`Figure`]. Prevents: a bare number, and one wild block hidden in a mean.

use schemars::JsonSchema;
use serde::Serialize;

/// A figure over blocks. The unit stands at the field that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// Median over the blocks.
    pub median: f64,
    /// Lowest block.
    pub low: f64,
    /// Highest block.
    pub high: f64,
    /// Blocks in it.
    pub n: u32,
}

impl Figure {
    /// Of the blocks that have the figure; `None` when none has, or when one is no finite number.
    pub(crate) fn of(values: impl IntoIterator<Item = Option<f64>>) -> Option<Figure> {
        let values: Vec<f64> = values.into_iter().flatten().collect();
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        Some(Figure {
            median: stats::median(&values),
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            n: values.len() as u32,
        })
    }

    /// True when the blocks lie further apart than 10 % of the median on either side.
    pub(crate) fn is_loose(&self) -> bool {
        let slack = self.median.abs() * 0.10;
        self.high - self.median > slack || self.median - self.low > slack
    }
}

/// `above / below`, when both are there and the second is not zero.
pub(crate) fn over(above: Option<f64>, below: Option<f64>) -> Option<f64> {
    match (above, below) {
        (Some(above), Some(below)) if below != 0.0 => Some(above / below),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_doubt_is_the_range() {
        let figure = Figure::of([Some(3.0), None, Some(1.0), Some(2.0)]).unwrap();
        assert_eq!((figure.median, figure.low, figure.high, figure.n), (2.0, 1.0, 3.0, 3));
        assert!(figure.is_loose());
        assert!(!Figure::of([Some(100.0), Some(105.0)]).unwrap().is_loose());
        assert_eq!(Figure::of([None, None]), None);
        assert_eq!(Figure::of([Some(f64::NAN)]), None);
        assert_eq!(over(Some(1.0), Some(0.0)), None);
    }
}
