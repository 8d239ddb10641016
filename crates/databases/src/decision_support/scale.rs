//! How large the company is: a scale factor of the published description, 1 being about a gigabyte of text.
//!
//! Prevents: a scale so small that one supplier has the same part twice (its key would not be unique), and a question
//! whose share depends on rounding.

use thiserror::Error;

/// A scale factor, in ten-thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scale(u32);

/// Not a scale.
#[derive(Debug, Error)]
#[error("{0} is no scale\n  write a number from 0.01 to 100 with at most two places")]
pub struct ScaleError(f64);

impl Scale {
    /// The scale of this factor.
    ///
    /// # Errors
    /// [`ScaleError`]: below 0.01, above 100, or with more than two places.
    pub fn new(factor: f64) -> Result<Scale, ScaleError> {
        let parts = (factor * 10_000.0).round();
        let whole = (parts - factor * 10_000.0).abs() < 1e-6 && parts % 100.0 == 0.0;
        if !(100.0..=1_000_000.0).contains(&parts) || !whole {
            return Err(ScaleError(factor));
        }
        Ok(Scale(parts as u32))
    }

    /// The factor.
    pub fn factor(self) -> f64 {
        f64::from(self.0) / 10_000.0
    }

    /// In ten-thousandths: the share of question 11 is one in so many.
    pub(crate) fn ten_thousandths(self) -> u32 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_have_bounds_and_few_places() {
        for factor in [0.01, 0.02, 0.3, 1.0, 100.0] {
            assert!((Scale::new(factor).unwrap().factor() - factor).abs() < 1e-12);
        }
        for factor in [0.0, -1.0, 0.001, 0.015, 100.01, f64::NAN, f64::INFINITY] {
            assert!(Scale::new(factor).is_err(), "{factor}");
        }
    }
}
