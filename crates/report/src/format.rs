//! Numbers as people read them: three digits that matter, and a unit.
//!
//! Takes figures in base units (bytes, nanoseconds, per second), gives short text. Prevents: digits that the
//! measurement does not have, and a unit left to be guessed.

/// Three digits that matter, thousands with a comma above that: 0.812, 12.3, 482, 60,231.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "-".into();
    }
    match size {
        _ if size == 0.0 => "0".into(),
        _ if size < 0.0005 => format!("{value:.1e}"),
        _ if size < 9.995 => format!("{value:.2}"),
        _ if size < 99.95 => format!("{value:.1}"),
        _ if size < 1e9 => thousands(value),
        _ => format!("{value:.2e}"),
    }
}

/// A ratio: two digits after the point, more where two would say 0.00.
pub(crate) fn ratio(value: f64) -> String {
    match value {
        _ if !value.is_finite() => "unbounded".into(),
        _ if value < 0.095 => format!("{value:.3}"),
        _ if value < 99.5 => format!("{value:.2}"),
        _ => thousands(value),
    }
}

/// A share as percent: 4 %, 0.5 %.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() >= 9.95 || (percent - percent.round()).abs() < 1e-9 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// Bytes with a binary unit.
pub(crate) fn bytes(value: f64) -> String {
    scaled(value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"])
}

/// Bytes as 10^6 of them, for a column whose unit says so.
pub(crate) fn megabytes(value: f64) -> String {
    number(value / 1e6)
}

/// Bytes as 1,024 of them, for a column whose unit says so.
pub(crate) fn kibibytes(value: f64) -> String {
    number(value / 1024.0)
}

/// A count; half a thing is the median of two blocks.
pub(crate) fn whole(value: f64) -> String {
    number(value).replace(".00", "").replace(".0", "")
}

/// Nanoseconds with a unit.
pub(crate) fn nanoseconds(value: f64) -> String {
    scaled(value, 1000.0, &["ns", "us", "ms", "s"])
}

fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let mut scaled = value;
    let mut unit = 0;
    while scaled.abs() >= step * 0.9995 && unit + 1 < units.len() {
        scaled /= step;
        unit += 1;
    }
    let text = if unit == 0 {
        format!("{scaled:.0}")
    } else {
        number(scaled)
    };
    format!("{text} {}", units[unit])
}

fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

/// Seconds as people say them, rounded up.
pub fn rounded(seconds: u64) -> String {
    match seconds {
        ..90 => format!("{seconds} s"),
        90..5400 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A moment as people write it, UTC.
pub(crate) fn date(unix_ns: u64) -> String {
    // So many nanoseconds end in the year 2554, which it knows.
    let at = jiff::Timestamp::from_second((unix_ns / 1_000_000_000) as i64).expect("a year before 9999");
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// "a", "a and b", "a, b and c".
pub(crate) fn listed(names: &[&str], last: &str) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_string(),
        [rest @ .., end] => format!("{} {last} {end}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!(number(0.0), "0");
        assert_eq!(number(0.8124), "0.81");
        assert_eq!(number(12.34), "12.3");
        assert_eq!(number(99.96), "100");
        assert_eq!(number(60_231.4), "60,231");
        assert_eq!(number(1_234_567.0), "1,234,567");
        assert_eq!(number(-1234.0), "-1,234");
        assert_eq!(number(f64::NAN), "-");
        assert_eq!(number(0.0001), "1.0e-4");
    }

    #[test]
    fn units_follow_the_size() {
        assert_eq!(bytes(8192.0), "8.00 KiB");
        assert_eq!(bytes(1023.9), "1.00 KiB");
        assert_eq!(bytes(10.0), "10 B");
        assert_eq!(nanoseconds(1_640_000.0), "1.64 ms");
        assert_eq!(nanoseconds(950.0), "950 ns");
        assert_eq!(percent(0.05), "5 %");
        assert_eq!(percent(0.005), "0.5 %");
        assert_eq!(percent(0.123), "12 %");
        assert_eq!(ratio(0.8124), "0.81");
        assert_eq!(ratio(0.0123), "0.012");
        assert_eq!(ratio(f64::INFINITY), "unbounded");
    }

    #[test]
    fn seconds_are_said_rounded() {
        assert_eq!(
            [40, 89, 90, 5399, 7300].map(rounded),
            ["40 s", "89 s", "2 min", "90 min", "2 h 1 min"]
        );
    }

    #[test]
    fn dates_are_civil() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(1_700_000_000_000_000_000), "2023-11-14 22:13 UTC");
        assert_eq!(date(951_782_399_000_000_000), "2000-02-28 23:59 UTC");
        assert_eq!(date(951_782_400_000_000_000), "2000-02-29 00:00 UTC");
    }
}
