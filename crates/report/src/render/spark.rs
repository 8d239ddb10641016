//! A series in a word's size, for a terminal: one letter a part of the time, from zero to its highest.
//!
//! Takes rates over equal parts of time, gives text of at most so many letters; eight heights of block letters, or of
//! ASCII where the terminal may not have those. Prevents: a mean rate that hides a warm-up or a standstill.

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// By the ink in them.
const ASCII: [char; 8] = ['_', '.', ':', '-', '=', '+', '*', '#'];

/// `None` when there is nothing to draw.
pub(crate) fn spark(rates: &[f64], most_letters: usize, utf8: bool) -> Option<String> {
    let letters = rates.len().min(most_letters);
    if letters < 2 {
        return None;
    }
    let part = |n: usize| n * rates.len() / letters;
    let means: Vec<f64> = (0..letters)
        .map(|n| stats::mean(&rates[part(n)..part(n + 1)]))
        .collect();
    let most = means.iter().copied().fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    Some(means.iter().map(|mean| letter(mean / most, utf8)).collect())
}

/// The letter of a height between 0 and 1.
pub(crate) fn letter(height: f64, utf8: bool) -> char {
    let heights = if utf8 { BLOCKS } else { ASCII };
    heights[((height * 8.0) as usize).min(7)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_follow_the_rate() {
        let rates: Vec<f64> = (0..24).map(f64::from).collect();
        assert_eq!(spark(&rates, 12, true).unwrap(), "▁▁▂▃▄▄▅▆▆▇██");
        assert_eq!(spark(&[8.0, 0.0, 8.0], 12, false).unwrap(), "#_#");
        assert_eq!(spark(&[0.0, 0.0], 12, true), None);
        assert_eq!(spark(&[1.0], 12, true), None);
    }
}
