//! Whether rows of tables are of one load.
//!
//! Takes what rows say of their load; refuses two that differ. Prevents: the median over 32 and 64 sessions, which is
//! the rate of no run.

use crate::error::ImportError;
use std::collections::BTreeMap;

/// Refuses cells of different loads: title and cell of each.
///
/// # Errors
/// [`ImportError::Unlike`] with the first two that differ.
pub fn of_one_load<'f>(cells: impl IntoIterator<Item = (&'f str, &'f str)>) -> Result<(), ImportError> {
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    for (title, cell) in cells {
        match known.insert(title, cell) {
            // `--where` takes either.
            Some(old) if !old.eq_ignore_ascii_case(cell) => {
                return Err(ImportError::Unlike {
                    title: title.into(),
                    cells: [old.into(), cell.into()],
                });
            }
            _ => {}
        }
    }
    Ok(())
}
