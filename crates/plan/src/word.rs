//! A type whose values are words of a study.
//!
//! Prevents: a word that is read in one spelling and printed in another.

/// A type whose values are words.
pub(crate) trait Word {
    /// All of them.
    const WORDS: &'static [&'static str];

    /// All of them, as a sentence lists them.
    fn listed() -> String {
        let (last, others) = Self::WORDS.split_last().unwrap_or((&"", &[]));
        format!("{} and {last}", others.join(", "))
    }

    /// The word of this value.
    fn word(&self) -> &'static str;
}
