//! The right word that was probably meant.
//!
//! Takes a word and candidates; gives one of them, or none. Prevents: two errors that judge the same slip differently.

/// The candidate that is the same but for case, or few letters away (optimal string alignment).
pub(crate) fn nearest<'c>(word: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let word: String = word.to_lowercase().chars().take(40).collect();
    let letters = word.chars().count();
    let reach = match letters {
        0..3 => 1,
        _ => (letters / 3).max(1) + usize::from(letters > 4),
    };
    let scored = candidates.map(|c| (strsim::osa_distance(&word, c), c));
    scored
        .filter(|(score, c)| *score <= reach && *score < c.chars().count())
        .min_by_key(|(score, _)| *score)
        .map(|(_, c)| c)
}
