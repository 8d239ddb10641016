//! How much of a JSON text is read, before it is: a small text can make a tree that is a hundred times as large.
//!
//! Takes the text; refuses what has too many values. Prevents: a file of a few megabytes that takes all memory.

use crate::error::ImportError;

/// Most objects, lists and further values of a text. fio 3 writes about 250 a job, sadf 11 a device and interval: room
/// for 2,000 jobs, or for a day of 300 devices every ten minutes. An object takes 632 bytes in memory: 320 MB at most.
const MARKS_MAX: usize = 500_000;

/// Counts `{`, `[` and `,`, also in strings: each value but the first of an object or list has one before it.
pub(crate) fn bounded(text: &str) -> Result<(), ImportError> {
    let marks = text.bytes().filter(|byte| matches!(byte, b'{' | b'[' | b',')).count();
    if marks > MARKS_MAX {
        return Err(ImportError::TooLarge { bytes: text.len() });
    }
    Ok(())
}
