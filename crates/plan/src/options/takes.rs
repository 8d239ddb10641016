//! What an option's value may be: types with ranges, how they are read, and how they are written anew.
//!
//! Takes the text of one value; gives a [`Value`] or nothing. No value keeps the text it was read from,
//! except words that are in the table. Prevents: a value that carries a second option behind a comma,
//! an equals sign or a line break.

use std::fmt;

/// Type and range of a value.
#[derive(Debug, PartialEq)]
pub enum Takes {
    /// No value.
    Nothing,
    /// `0` or `1`.
    Switch,
    /// `on` or `off`, as PostgreSQL has it.
    Boolean,
    /// A whole number.
    Number {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
        /// Which of those between.
        step: Step,
    },
    /// A number, with or without a fraction.
    Real {
        /// The least.
        least: f64,
        /// The most.
        most: f64,
    },
    /// A size as tools take it: bytes, or with `k`, `m`, `g`, `t` (powers of 1024).
    Bytes {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
        /// Which of those between.
        step: Step,
    },
    /// Memory as PostgreSQL takes it: with `B`, `kB`, `MB`, `GB`, `TB` (powers of 1024).
    Memory {
        /// Fewest bytes.
        least: u64,
        /// Most bytes.
        most: u64,
        /// Bytes that a number without a unit counts.
        bare: u64,
    },
    /// Time as PostgreSQL takes it: with `us`, `ms`, `s`, `min`, `h`, `d`.
    Time {
        /// The shortest, microseconds.
        least: u64,
        /// The longest, microseconds.
        most: u64,
        /// Microseconds that a number without a unit counts.
        bare: u64,
    },
    /// One of these words.
    Word(&'static [&'static str]),
    /// Features by name, a `^` before those that are taken away.
    Features(&'static [&'static str]),
}

/// Which numbers of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// All.
    Any,
    /// Powers of two.
    Power,
    /// Multiples of this.
    Of(u64),
}

/// A typed value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// None.
    Nothing,
    /// `0`, `1`, `off`, `on`.
    Switch(bool),
    /// Of the table.
    Word(&'static str),
    /// A count.
    Number(u64),
    /// With a fraction.
    Real(f64),
    /// A size or memory.
    Bytes(u64),
    /// A time in microseconds.
    Micros(u64),
    /// Features, and whether each is there.
    Features(Vec<(&'static str, bool)>),
}

/// Units of sizes as tools take them.
const SIZES: [(&str, u64); 5] = [("", 1), ("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30), ("t", 1 << 40)];
/// Units of memory as PostgreSQL takes them, which tells capitals apart.
const MEMORY: [(&str, u64); 5] = [
    ("B", 1),
    ("kB", 1 << 10),
    ("MB", 1 << 20),
    ("GB", 1 << 30),
    ("TB", 1 << 40),
];
/// Units of time, in microseconds.
const TIMES: [(&str, u64); 6] = [
    ("us", 1),
    ("ms", 1_000),
    ("s", 1_000_000),
    ("min", 60_000_000),
    ("h", 3_600_000_000),
    ("d", 86_400_000_000),
];

impl Takes {
    /// The value of a text; `None`: it is of another type, or out of range.
    pub(super) fn value(&self, text: &str) -> Option<Value> {
        match self {
            Takes::Nothing => text.is_empty().then_some(Value::Nothing),
            Takes::Switch => match text {
                "0" => Some(Value::Switch(false)),
                "1" => Some(Value::Switch(true)),
                _ => None,
            },
            Takes::Boolean => match text.to_ascii_lowercase().as_str() {
                "on" | "true" | "yes" | "1" => Some(Value::Switch(true)),
                "off" | "false" | "no" | "0" => Some(Value::Switch(false)),
                _ => None,
            },
            Takes::Number { least, most, step } => {
                let number = whole(text)?;
                ((*least..=*most).contains(&number) && step.has(number)).then_some(Value::Number(number))
            }
            Takes::Real { least, most } => {
                let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.');
                let number: f64 = text.parse().ok().filter(|_| plain)?;
                (*least..=*most).contains(&number).then_some(Value::Real(number))
            }
            Takes::Bytes { least, most, step } => {
                let (number, unit) = split(text)?;
                let unit = unit.to_ascii_lowercase();
                let unit = unit.strip_suffix("ib").unwrap_or(&unit);
                let (_, factor) = SIZES.iter().find(|(name, _)| *name == unit)?;
                let bytes = number.checked_mul(*factor)?;
                ((*least..=*most).contains(&bytes) && step.has(bytes)).then_some(Value::Bytes(bytes))
            }
            Takes::Memory { least, most, bare } => {
                let bytes = with_unit(text, *bare, &MEMORY)?;
                (*least..=*most).contains(&bytes).then_some(Value::Bytes(bytes))
            }
            Takes::Time { least, most, bare } => {
                let micros = with_unit(text, *bare, &TIMES)?;
                (*least..=*most).contains(&micros).then_some(Value::Micros(micros))
            }
            Takes::Word(words) => {
                let word = words.iter().find(|word| **word == text)?;
                Some(Value::Word(word))
            }
            Takes::Features(all) => {
                let one = |part: &str| {
                    let name = part.strip_prefix('^').unwrap_or(part);
                    let known = all.iter().find(|known| **known == name)?;
                    Some((*known, !part.starts_with('^')))
                };
                let features = text.split(',').map(one).collect::<Option<Vec<_>>>()?;
                let twice = |(nth, feature): (usize, &(&str, bool))| {
                    features[..nth].iter().any(|earlier| earlier.0 == feature.0)
                };
                (!features.iter().enumerate().any(twice)).then(|| Value::Features(features.clone()))
            }
        }
    }

    /// A value as the tool takes it.
    pub(super) fn text(&self, value: &Value) -> String {
        match (self, value) {
            (_, Value::Nothing) => String::new(),
            (_, Value::Word(word)) => (*word).to_string(),
            (Takes::Boolean, Value::Switch(on)) => if *on { "on" } else { "off" }.to_string(),
            (_, Value::Switch(on)) => u8::from(*on).to_string(),
            (_, Value::Number(number)) => number.to_string(),
            (_, Value::Real(number)) => number.to_string(),
            (Takes::Memory { .. }, Value::Bytes(bytes)) => largest(*bytes, &MEMORY),
            (_, Value::Bytes(bytes)) => bytes.to_string(),
            (_, Value::Micros(micros)) => largest(*micros, &TIMES),
            (_, Value::Features(all)) => {
                let sign = |there: bool| if there { "" } else { "^" };
                let all: Vec<String> = all
                    .iter()
                    .map(|(name, there)| format!("{}{name}", sign(*there)))
                    .collect();
                all.join(",")
            }
        }
    }
}

impl Step {
    fn has(self, number: u64) -> bool {
        match self {
            Step::Any => true,
            Step::Power => number.is_power_of_two(),
            Step::Of(unit) => number.is_multiple_of(unit),
        }
    }
}

/// Digits only: no sign, no space, no other alphabet's digits.
fn whole(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

/// A number and what follows it.
fn split(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((whole(&text[..end])?, &text[end..]))
}

fn with_unit(text: &str, bare: u64, units: &[(&str, u64)]) -> Option<u64> {
    let (number, unit) = split(text)?;
    let unit = unit.strip_prefix(' ').unwrap_or(unit);
    let factor = match units.iter().find(|(name, _)| *name == unit) {
        Some((_, factor)) => *factor,
        None if unit.is_empty() => bare,
        None => return None,
    };
    number.checked_mul(factor)
}

/// In the largest unit that keeps it whole.
fn largest(amount: u64, units: &[(&str, u64)]) -> String {
    let fitting = units
        .iter()
        .rev()
        .find(|(_, factor)| amount.is_multiple_of(*factor) && amount > 0);
    match fitting {
        Some((name, factor)) => format!("{}{name}", amount / factor),
        None => "0".to_string(),
    }
}

/// For documents and messages.
impl fmt::Display for Takes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |bytes: &u64| crate::units::Bytes(*bytes).to_string();
        let step = |step: &Step| match step {
            Step::Any => String::new(),
            Step::Power => ", a power of two".to_string(),
            Step::Of(unit) => format!(", a multiple of {unit}"),
        };
        match self {
            Takes::Nothing => f.write_str("no value"),
            Takes::Switch => f.write_str("0 or 1"),
            Takes::Boolean => f.write_str("on or off"),
            Takes::Number { least, most, step: of } => write!(f, "a number from {least} to {most}{}", step(of)),
            Takes::Real { least, most } => write!(f, "a number from {least} to {most}, also with a fraction"),
            Takes::Bytes { least, most, step: of } => {
                write!(f, "a size from {} to {}{}", size(least), size(most), step(of))
            }
            Takes::Memory { least, most, .. } => {
                write!(
                    f,
                    "a size from {} to {}",
                    largest(*least, &MEMORY),
                    largest(*most, &MEMORY)
                )
            }
            Takes::Time { least, most, .. } => {
                write!(
                    f,
                    "a time from {} to {}",
                    largest(*least, &TIMES),
                    largest(*most, &TIMES)
                )
            }
            Takes::Word(words) => write!(f, "one of {}", words.join(", ")),
            Takes::Features(all) => write!(f, "features, without one by a `^` before it: {}", all.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_whole_or_not_at_all() {
        let size = Takes::Bytes {
            least: 512,
            most: 1 << 40,
            step: Step::Power,
        };
        assert_eq!(size.value("64k"), Some(Value::Bytes(65_536)));
        assert_eq!(size.value("64KiB"), Some(Value::Bytes(65_536)));
        for broken in [
            "",
            "64k,x",
            "64 k",
            "+64k",
            "-64k",
            "64k\n",
            "0x40",
            "96k",
            "64kb",
            "99999999999999999999",
        ] {
            assert_eq!(size.value(broken), None, "{broken:?}");
        }
        let real = Takes::Real { least: 0.0, most: 9.0 };
        assert_eq!(real.value("1.5"), Some(Value::Real(1.5)));
        for broken in ["inf", "nan", "1e0", "-1", "1.5.2", "", "9.1", " 1"] {
            assert_eq!(real.value(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn a_value_written_anew_reads_back_as_itself() {
        let memory = Takes::Memory {
            least: 0,
            most: 1 << 50,
            bare: 8192,
        };
        for (text, anew) in [
            ("4GB", "4GB"),
            ("2", "16kB"),
            ("1500 kB", "1500kB"),
            ("0", "0"),
            ("7B", "7B"),
        ] {
            let value = memory.value(text).expect("a size");
            assert_eq!(memory.text(&value), anew);
            assert_eq!(memory.value(anew), Some(value));
        }
        let time = Takes::Time {
            least: 0,
            most: u64::MAX,
            bare: 1_000,
        };
        assert_eq!(time.text(&time.value("90s").expect("a time")), "90s");
        assert_eq!(time.text(&time.value("1500").expect("a time")), "1500ms");
        assert_eq!(time.text(&time.value("15min").expect("a time")), "15min");
        let features = Takes::Features(&["a", "b"]);
        assert_eq!(features.text(&features.value("a,^b").expect("features")), "a,^b");
        assert_eq!(features.value("a,^a"), None);
        assert_eq!(features.value("a,,b"), None);
    }
}
