//! What came back, in a form that is the same whatever engine gave it, and its digest.
//!
//! Takes cells as an engine has them; gives rows as text and a digest over them, whatever their order: where the order
//! is not decided by the question, engines differ in it and are right. Prevents: two answers that differ by a zero at
//! the end of a number.

use super::question::{Gives, Question};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// A cell as an engine gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// Text; of a number its digits.
    Text(String),
    /// A whole number of the smallest unit.
    Whole(i64),
    /// A quotient.
    Real(f64),
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Rows in the order that they came, cells as text.
    pub rows: Vec<Vec<String>>,
}

/// What no answer to the question can be.
#[derive(Debug, Error)]
#[error("question {question} was answered {what}\n  the database's answer is not one: look at its log")]
pub struct AnswerError {
    question: u8,
    what: String,
}

impl Answer {
    /// The answer to a question, of rows that came.
    ///
    /// # Errors
    /// Too many columns, too few, or a number that is none.
    pub fn new(question: Question, rows: Vec<Vec<Cell>>) -> Result<Answer, AnswerError> {
        let fail = |what| AnswerError {
            question: question.number(),
            what,
        };
        let gives = question.gives();
        let mut all = Vec::with_capacity(rows.len());
        for row in rows {
            if row.len() != gives.len() {
                return Err(fail(format!("with {} columns instead of {}", row.len(), gives.len())));
            }
            let cells = row.iter().zip(gives).map(|(cell, gives)| {
                written(cell, *gives).ok_or_else(|| fail("with a number that is none".to_owned()))
            });
            all.push(cells.collect::<Result<Vec<String>, _>>()?);
        }
        Ok(Answer { rows: all })
    }

    /// Sixteen bytes, in hexadecimal, that no other answer has.
    pub fn digest(&self) -> String {
        let mut rows: Vec<String> = self.rows.iter().map(|row| row.join("\u{1f}")).collect();
        rows.sort_unstable();
        let mut hash = Sha256::new();
        for row in rows {
            hash.update(row.as_bytes());
            hash.update(b"\x1e");
        }
        hash.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn written(cell: &Cell, gives: Gives) -> Option<String> {
    match (cell, gives) {
        (Cell::Null, _) => Some("-".to_owned()),
        // Of a fixed width, the end is filled with blanks.
        (Cell::Text(text), Gives::Text) => Some(text.trim_end_matches(' ').to_owned()),
        (Cell::Text(text), Gives::Whole) => text.parse::<i64>().ok().map(|number| number.to_string()),
        (Cell::Whole(number), Gives::Whole) => Some(number.to_string()),
        (Cell::Text(text), Gives::Exact(places)) => exact(text, places.into()),
        (Cell::Whole(number), Gives::Exact(places)) => Some(of_smallest(*number, places.into())),
        (Cell::Text(text), Gives::Ratio) => text.parse::<f64>().ok().and_then(quotient),
        (Cell::Real(number), Gives::Ratio) => quotient(*number),
        (Cell::Whole(number), Gives::Ratio) => quotient(*number as f64),
        (Cell::Whole(_) | Cell::Real(_), Gives::Text) | (Cell::Real(_), _) => None,
    }
}

/// Digits with exactly so many places; `None` where more of them mean something.
fn exact(text: &str, places: usize) -> Option<String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = whole.strip_prefix('-').unwrap_or(whole);
    let kept = fraction.trim_end_matches('0');
    if unsigned.is_empty() || !digits(unsigned) || !digits(fraction) || kept.len() > places {
        return None;
    }
    Some(format!("{whole}.{kept:0<places$}"))
}

fn of_smallest(number: i64, places: usize) -> String {
    let sign = if number < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", number.unsigned_abs(), width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    format!("{sign}{whole}.{fraction}")
}

fn quotient(number: f64) -> Option<String> {
    if !number.is_finite() {
        return None;
    }
    let text = format!("{number:.6}");
    Some(if text == "-0.000000" {
        "0.000000".to_owned()
    } else {
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }

    #[test]
    fn both_engines_ways_of_a_number_are_one() {
        let same = [
            (text("12.3400"), Cell::Whole(123_400), Gives::Exact(4)),
            (text("-0.50"), Cell::Whole(-50), Gives::Exact(2)),
            (text("7"), Cell::Whole(700), Gives::Exact(2)),
            (
                text("25.522005853257337"),
                Cell::Real(25.522_005_853_257_34),
                Gives::Ratio,
            ),
            (text("3"), Cell::Whole(3), Gives::Whole),
            (text("ab   "), text("ab"), Gives::Text),
        ];
        for (one, other, gives) in same {
            assert_eq!(written(&one, gives), written(&other, gives), "{one:?} {other:?}");
            assert!(written(&one, gives).is_some());
        }
        let none = [
            (text("12.345"), Gives::Exact(2)),
            (text("12e4"), Gives::Exact(2)),
            (text(""), Gives::Exact(2)),
            (text("NaN"), Gives::Ratio),
            (text("x"), Gives::Whole),
            (Cell::Real(1.0), Gives::Whole),
        ];
        for (cell, gives) in none {
            assert_eq!(written(&cell, gives), None, "{cell:?}");
        }
    }

    #[test]
    fn a_digest_minds_rows_and_not_their_order() {
        let question = Question::new(4).unwrap();
        let answer = |rows: &[(&str, i64)]| {
            let row = |(name, many): &(&str, i64)| vec![text(name), Cell::Whole(*many)];
            Answer::new(question, rows.iter().map(row).collect()).unwrap().digest()
        };
        let one = answer(&[("a", 1), ("b", 2)]);
        assert_eq!(one, answer(&[("b", 2), ("a", 1)]));
        for other in [
            answer(&[("a", 1)]),
            answer(&[("a", 1), ("b", 3)]),
            answer(&[("a", 1), ("b", 2), ("b", 2)]),
        ] {
            assert_ne!(one, other);
        }
        assert_eq!(one.len(), 32);
        let short = Answer::new(question, vec![vec![text("a")]]).unwrap_err();
        assert!(short.to_string().contains("1 columns instead of 2"), "{short}");
    }
}
