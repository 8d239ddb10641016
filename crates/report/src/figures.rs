//! One figure with its doubt: the median over blocks and the range of the blocks.
//!
//! Takes what each block gave, gives a [`Figure`]. Prevents: a bare number, and one wild block hidden in a mean.

use ledger::{LedgerError, decode_histogram};
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

    /// Of blocks that all have it.
    pub(crate) fn of_all(values: Vec<f64>) -> Option<Figure> {
        Figure::of(values.into_iter().map(Some))
    }

    /// The median divided by this, in text. Next to nothing is 0.
    pub(crate) fn written(&self, per: f64, form: fn(f64) -> String) -> String {
        zeroed(form(self.median / per))
    }

    /// As [`written`](Figure::written), with `~` in front where the blocks lie far apart.
    pub(crate) fn marked(&self, per: f64, form: fn(f64) -> String) -> String {
        let text = self.written(per, form);
        if text != "0" && self.is_loose() && self.median != 0.0 {
            format!("~{text}")
        } else {
            text
        }
    }

    /// True when the blocks lie further apart than 10 % of the median on either side.
    pub(crate) fn is_loose(&self) -> bool {
        let slack = self.median.abs() * 0.10;
        self.high - self.median > slack || self.median - self.low > slack
    }
}

/// Next to nothing is 0.
pub(crate) fn zeroed(text: String) -> String {
    if text.parse::<f64>().is_ok_and(|value| value.abs() < 0.005) {
        "0".into()
    } else {
        text
    }
}

/// Quantiles of each block's distribution, one list for each of `quantiles`; blocks in which nothing was counted have
/// none.
pub(crate) fn quantiles<'a, const N: usize>(
    blobs: impl IntoIterator<Item = &'a Vec<u8>>,
    quantiles: [f64; N],
) -> Result<[Vec<f64>; N], LedgerError> {
    let mut found = [const { Vec::new() }; N];
    for blob in blobs {
        let histogram = decode_histogram(blob)?;
        if histogram.is_empty() {
            continue;
        }
        for (values, q) in found.iter_mut().zip(quantiles) {
            values.push(histogram.value_at_quantile(q) as f64);
        }
    }
    Ok(found)
}

/// `above / below`, when both are there and the second is not zero.
pub(crate) fn over(above: Option<f64>, below: Option<f64>) -> Option<f64> {
    match (above, below) {
        (Some(above), Some(below)) if below != 0.0 => Some(above / below),
        _ => None,
    }
}

/// An interval of two blocks at a tiny alpha can end beyond what a number holds; JSON has no word for that.
pub(crate) fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

/// Sum of counts, which a file may say to be as large as it likes.
pub(crate) fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_doubt_is_the_range() {
        let figure = Figure::of([Some(3.0), None, Some(1.0), Some(2.0)]).unwrap();
        assert_eq!((figure.median, figure.low, figure.high, figure.n), (2.0, 1.0, 3.0, 3));
        assert!(figure.is_loose());
        let text = |value: f64| format!("{value:.2}");
        assert_eq!(figure.marked(1.0, text), "~2.00");
        assert_eq!(figure.marked(0.5, text), "~4.00");
        assert_eq!(Figure::of([Some(0.001), Some(0.004)]).unwrap().marked(1.0, text), "0");
        assert!(!Figure::of([Some(100.0), Some(105.0)]).unwrap().is_loose());
        assert_eq!(Figure::of([None, None]), None);
        assert_eq!(Figure::of([Some(f64::NAN)]), None);
        assert_eq!(over(Some(1.0), Some(0.0)), None);
    }
}
