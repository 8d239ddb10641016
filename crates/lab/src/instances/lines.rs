//! Lines between the run and the process of another instance, as they are read.
//!
//! Takes what the other side wrote; gives orders and answers. Prevents: a line without an end that takes all memory of
//! the run, and a line that means nothing taken for the end of a process.

use crate::instances::wire::{AnswerLine, OrderLine};
use serde::de::DeserializeOwned;
use std::io::{self, BufRead, Read};
use thiserror::Error;

/// Longest order in bytes: it names the files of a stack.
const ORDER_MAX: u64 = 1 << 20;
/// Longest answer in bytes: it has a slice for each 250 ms of an ageing, and each scan of each user.
const ANSWER_MAX: u64 = 64 << 20;

/// Why a line was not taken.
#[derive(Debug, Error)]
pub(crate) enum LineError {
    /// Longer than any that is written here.
    #[error("it has {0} bytes and no end")]
    Long(u64),
    /// No JSON, or of another meaning.
    #[error(transparent)]
    Meaning(#[from] serde_json::Error),
    /// It could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The next order; `None`: there are no more.
pub(crate) fn order(from: &mut impl BufRead) -> Result<Option<OrderLine>, LineError> {
    next(from, ORDER_MAX)
}

/// The next answer or sign of life; `None`: there are no more.
pub(crate) fn answer(from: &mut impl BufRead) -> Result<Option<AnswerLine>, LineError> {
    next(from, ANSWER_MAX)
}

fn next<T: DeserializeOwned>(from: &mut impl BufRead, most: u64) -> Result<Option<T>, LineError> {
    let mut line = Vec::new();
    from.take(most).read_until(b'\n', &mut line)?;
    match line.last() {
        Some(b'\n') => Ok(Some(serde_json::from_slice(&line)?)),
        _ if line.len() as u64 == most => Err(LineError::Long(most)),
        // Who wrote it ended before the end of the line: how it ended says more.
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instances::wire::{Answer, Order};

    #[test]
    fn lines_are_read_one_by_one_and_half_a_line_is_none() {
        let mut from = &b"\"Alive\"\n{\"Answered\":[3,\"Opened\"]}\n{\"Answ"[..];
        assert!(matches!(answer(&mut from), Ok(Some(AnswerLine::Alive))));
        let Ok(Some(AnswerLine::Answered(3, opened))) = answer(&mut from) else {
            panic!("an answer");
        };
        assert!(matches!(*opened, Answer::Opened));
        assert!(matches!(answer(&mut from), Ok(None)));
        let mut from = &b"{\"number\":1,\"order\":\"Settle\"}\n"[..];
        let first = order(&mut from).unwrap().unwrap();
        assert!(first.number == 1 && matches!(first.order, Order::Settle));
        assert!(matches!(order(&mut from), Ok(None)));
    }

    #[test]
    fn what_means_nothing_and_what_does_not_end_are_refused() {
        for line in [
            "hello\n",
            "{\"Answered\":[1]}\n",
            "\"Dead\"\n",
            "\n",
            "{\"Answered\":[-1,\"Opened\"]}\n",
        ] {
            assert!(
                matches!(answer(&mut line.as_bytes()), Err(LineError::Meaning(_))),
                "{line}"
            );
        }
        let mut endless = io::BufReader::new(io::repeat(b'['));
        assert!(matches!(order(&mut endless), Err(LineError::Long(ORDER_MAX))));
    }
}
