//! A type whose values are words of a study.
//!
//! Prevents: a word that is read in one spelling and printed in another.

/// A type whose values are words.
pub(crate) trait Word {
    /// The word of this value.
    fn word(&self) -> &'static str;
}
