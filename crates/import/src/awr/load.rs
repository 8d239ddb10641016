//! Units of the load profile and the I/O profile, whose rows name theirs in brackets, and what may be compared of them.
//!
//! Takes a row's name; gives a unit. Prevents: blocks of old versions ("Physical reads:") read as requests.

use super::kind::Kind;
use crate::figure::{Figure, Quantity};

/// Names of rows, in the order in which they are tried, with what their numbers count.
const COUNTED: [(&str, &str); 12] = [
    ("(s)", "s"),
    ("(bytes)", "bytes"),
    ("(blocks)", "blocks"),
    ("(MB)", "MB"),
    ("Redo size", "bytes"),
    ("IO requests", "requests"),
    ("Requests", "requests"),
    ("Logical reads", "blocks"),
    ("Block changes", "blocks"),
    ("Physical reads", "blocks"),
    ("Physical writes", "blocks"),
    ("W/A MB processed", "MB"),
];

macro_rules! per {
    ($($counted:literal),*) => {
        /// `s` per `/s`: `s/s`.
        fn joined(counted: &str, per: &str) -> Option<&'static str> {
            Some(match (counted, per) {
                $(($counted, "/s") => concat!($counted, "/s"),
                ($counted, "/transaction") => concat!($counted, "/transaction"),
                ($counted, "/execution") => concat!($counted, "/execution"),
                ($counted, "/call") => concat!($counted, "/call"),)*
                _ => return None,
            })
        }
    };
}
per!("s", "bytes", "blocks", "MB", "requests");

/// The unit of a row's cell; `per`: by what its column divides.
pub(crate) fn unit(kind: Kind, name: &str, per: &'static str) -> &'static str {
    if !matches!(kind, Kind::Load | Kind::Profile) {
        return per;
    }
    let counted = COUNTED.iter().find(|(mark, _)| name.contains(mark));
    counted.and_then(|(_, counted)| joined(counted, per)).unwrap_or(per)
}

/// The requests of the load profile, with what they may be set beside.
pub(crate) fn compared(figure: Figure) -> Figure {
    match figure.name.as_str() {
        "load.Read IO requests.per_s" => figure.of_quantity(Quantity::ReadsPerS, 1.0),
        "load.Write IO requests.per_s" => figure.of_quantity(Quantity::WritesPerS, 1.0),
        _ => figure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_rows() {
        assert_eq!(unit(Kind::Load, "DB Time(s)", "/s"), "s/s");
        assert_eq!(unit(Kind::Load, "Redo size", "/transaction"), "bytes/transaction");
        assert_eq!(unit(Kind::Load, "Physical reads", "/s"), "blocks/s");
        assert_eq!(unit(Kind::Load, "Read IO requests", "/s"), "requests/s");
        assert_eq!(unit(Kind::Profile, "Total (MB)", "/s"), "MB/s");
        assert_eq!(unit(Kind::Load, "User calls", "/s"), "/s");
        assert_eq!(unit(Kind::Top, "DB CPU", "% of DB time"), "% of DB time");
    }
}
