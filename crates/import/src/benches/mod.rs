//! What load generators print: pgbench, HammerDB, sysbench.
//!
//! Takes text; gives the figures in the generator's own words. Prevents: a rate of transactions compared with requests.

pub(crate) mod hammerdb;
pub(crate) mod pgbench;
pub(crate) mod sysbench;

use crate::error::ImportError;
use crate::figure::Figure;
use crate::number::{Commas, Printed, Trouble, number};

/// How to have points printed.
const CURE: &str = "run the tool with LC_ALL=C, which prints points";

/// Reads a number that never has commas; `None` for what is none.
fn plain(token: &str, line: u32) -> Result<Option<Printed<'_>>, ImportError> {
    match number(token, Commas::Never) {
        Ok(printed) => Ok(Some(printed)),
        Err(Trouble::DecimalComma) => Err(ImportError::DecimalComma {
            line,
            token: token.into(),
            cure: CURE,
        }),
        Err(Trouble::NoNumber | Trouble::Overflow) => Ok(None),
    }
}

/// A figure of a token; the line is refused when the token is no number or below zero.
fn figure(name: String, token: &str, unit: &'static str, line: u32) -> Result<Figure, ImportError> {
    match plain(token, line)?.filter(|printed| printed.value >= 0.0) {
        Some(printed) => Ok(Figure::new(name, &printed, unit, line)),
        None => Err(ImportError::Other {
            line,
            what: format!(
                "{:?} is no number where {} is expected",
                crate::figure::excerpt(token),
                crate::figure::excerpt(&name)
            ),
            cure: "give the output as the tool printed it".into(),
        }),
    }
}
