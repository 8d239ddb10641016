//! Figures and findings as people read them, for every form.
//!
//! Takes numbers and the analysis, gives text without a place. Prevents: one finding said in two ways.

mod advice;
pub(crate) mod changed;
pub(crate) mod claims;
pub(crate) mod contrast;
pub(crate) mod cuts;
pub(crate) mod doubts;
pub(crate) mod moves;
pub(crate) mod not_told;
pub(crate) mod order_words;
pub(crate) mod promise;
pub(crate) mod sentence;
pub(crate) mod serving_words;
pub(crate) mod slow_motion;
