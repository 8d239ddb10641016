//! Typed quantities: sizes, durations, shares, rates; read from what a study file says and printed so that the printed
//! text reads back as the same value.
//!
//! Takes text such as `8KiB`, `500ms`, `5%`, `200MB/s`; gives whole bytes, whole nanoseconds, shares of one.
//! Prevents: a bare number whose unit the reader has to guess (a duration without a unit is refused), and a size
//! that is silently rounded (`1.5GiB` is exact, `0.3KiB` is refused).

use std::fmt;
use std::str::FromStr;

/// Bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// Nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub u64);

/// A share of one (0.05 is 5 %).
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Share(pub f64);

impl Bytes {
    /// So many KiB.
    pub(crate) const fn kib(count: u64) -> Bytes {
        Bytes(count << 10)
    }

    /// So many MiB.
    pub(crate) const fn mib(count: u64) -> Bytes {
        Bytes(count << 20)
    }
}

impl Duration {
    /// So many microseconds.
    pub(crate) const fn microseconds(count: u64) -> Duration {
        Duration(count * 1_000)
    }

    /// So many milliseconds.
    pub(crate) const fn milliseconds(count: u64) -> Duration {
        Duration(count * 1_000_000)
    }

    /// So many seconds.
    pub(crate) const fn seconds(count: u64) -> Duration {
        Duration(count * 1_000_000_000)
    }

    /// So many minutes.
    pub(crate) const fn minutes(count: u64) -> Duration {
        Duration::seconds(60 * count)
    }
}

/// Operations a second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rate(pub f64);

/// Bytes a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteRate(pub u64);

/// Why a text is not a quantity. Its text says what is wrong and, at the end, how such a quantity is written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {form}")]
pub struct UnitError {
    /// What is wrong with the text.
    pub what: String,
    /// How it should be written.
    pub form: &'static str,
}

const SIZE_FORM: &str = "write a size as \"8KiB\", \"2GiB\" (powers of 1024) or \"1MB\" (powers of 1000)";
const DURATION_FORM: &str = "write a duration as \"100us\", \"500ms\", \"60s\", \"10m\" or \"2h\"";
const SHARE_FORM: &str = "write a share as \"5%\" or 0.05";
const RATE_FORM: &str = "write a rate as \"500/s\" or 500";
const BYTE_RATE_FORM: &str = "write a transfer rate as \"200MB/s\"";

/// Factors to bytes, each family from the largest down.
const BINARY: [(&str, u64); 5] = [
    ("PiB", 1 << 50),
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
];
const DECIMAL: [(&str, u64); 5] = [
    ("PB", 1_000_000_000_000_000),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
];
/// Factors to nanoseconds from the largest down.
const TIMES: [(&str, u64); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Splits `12.5 GiB` into `12.5` and `GiB`.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// `number` times `factor`, exactly, or why not.
fn exact(number: &str, factor: u64) -> Result<u64, &'static str> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || (number.contains('.') && fraction.is_empty()) || fraction.contains('.') {
        return Err("is not a number");
    }
    if fraction.len() > 18 {
        return Err("has too many digits after the point");
    }
    // At most 20 digits fit into 64 bits; more can only overflow, and `u128` has room for all that is left.
    let whole: u128 = whole.parse().map_err(|_| "is too large")?;
    let fraction_value: u128 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().map_err(|_| "is not a number")?
    };
    let ten = 10u128.pow(fraction.len() as u32);
    let parts = fraction_value * u128::from(factor);
    if !parts.is_multiple_of(ten) {
        return Err("is not a whole number of the smallest unit");
    }
    let total = whole
        .checked_mul(u128::from(factor))
        .and_then(|v| v.checked_add(parts / ten))
        .ok_or("is too large")?;
    u64::try_from(total).map_err(|_| "is too large")
}

fn refuse(text: &str, why: &str, form: &'static str) -> UnitError {
    UnitError {
        what: format!("{text:?} {why}"),
        form,
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split(text);
        let factor = match unit {
            "" | "B" => 1,
            "KB" => 1_000,
            _ => match BINARY.iter().chain(&DECIMAL).find(|(name, _)| *name == unit) {
                Some((_, factor)) => *factor,
                None => return Err(refuse(text, &format!("has an unknown unit {unit:?}"), SIZE_FORM)),
            },
        };
        exact(number, factor)
            .map(Bytes)
            .map_err(|why| refuse(text, why, SIZE_FORM))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > 0 {
            // Kilobytes of 1000 are left out on purpose: nobody means them, and `1000B` is plainer.
            for (name, factor) in BINARY.iter().chain(&DECIMAL[..4]) {
                if self.0.is_multiple_of(*factor) {
                    return write!(f, "{}{name}", self.0 / factor);
                }
            }
        }
        write!(f, "{}B", self.0)
    }
}

impl FromStr for Duration {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split(text);
        let factor = match unit {
            "" => return Err(refuse(text, "has no unit", DURATION_FORM)),
            "µs" | "μs" => 1_000,
            "min" => 60_000_000_000,
            _ => match TIMES.iter().find(|(name, _)| *name == unit) {
                Some((_, factor)) => *factor,
                None => return Err(refuse(text, &format!("has an unknown unit {unit:?}"), DURATION_FORM)),
            },
        };
        exact(number, factor)
            .map(Duration)
            .map_err(|why| refuse(text, why, DURATION_FORM))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        for (name, factor) in TIMES {
            if self.0.is_multiple_of(factor) {
                return write!(f, "{}{name}", self.0 / factor);
            }
        }
        unreachable!("every duration is a multiple of 1 ns")
    }
}

/// A finite number that is not negative.
fn plain(number: &str) -> Option<f64> {
    let digits = number
        .bytes()
        .all(|b| b.is_ascii_digit() || b == b'.' || b == b'e' || b == b'-');
    number
        .parse::<f64>()
        .ok()
        .filter(|v| digits && v.is_finite() && *v >= 0.0)
        .map(f64::abs)
}

impl FromStr for Share {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let trimmed = text.trim();
        let value = match trimmed.strip_suffix('%') {
            Some(percent) => plain(percent.trim_end()).map(|v| v / 100.0),
            None => plain(trimmed),
        };
        value
            .map(Share)
            .ok_or_else(|| refuse(text, "is not a share", SHARE_FORM))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Percent where that reads back as the same number, the bare share for the few where dividing by 100 rounds.
        let percent = format!("{}", self.0 * 100.0);
        let tidy = format!("{}", (self.0 * 1e8).round() / 1e6);
        for candidate in [tidy, percent] {
            if plain(&candidate).map(|v| v / 100.0) == Some(self.0) {
                return write!(f, "{candidate}%");
            }
        }
        write!(f, "{}", self.0)
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let trimmed = text.trim();
        let number = trimmed.strip_suffix("/s").unwrap_or(trimmed).trim_end();
        plain(number)
            .map(Rate)
            .ok_or_else(|| refuse(text, "is not a rate", RATE_FORM))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}

impl FromStr for ByteRate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let Some(size) = text.trim().strip_suffix("/s") else {
            return Err(refuse(text, "does not end in \"/s\"", BYTE_RATE_FORM));
        };
        let bytes: Bytes = size.parse().map_err(|e: UnitError| UnitError {
            what: e.what,
            form: BYTE_RATE_FORM,
        })?;
        Ok(ByteRate(bytes.0))
    }
}

impl fmt::Display for ByteRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", Bytes(self.0))
    }
}
