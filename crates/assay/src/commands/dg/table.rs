//! Plain text answers in 80 columns: aligned columns, sizes with units.
//!
//! Prevents: a table that needs a wide terminal. What is too long for its line (names are the user's) goes on a line of
//! its own.

use crate::commands::answer::WIDTH;

/// Rows under a heading. The last column is free text, the others are aligned: to the right where all of a column but
/// its head begins with a digit.
pub(super) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let last = head.len() - 1;
    let mut widths: Vec<usize> = head[..last].iter().map(|h| h.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let is_number = |cell: &String| cell.starts_with(|c: char| c.is_ascii_digit());
    let numbers: Vec<bool> = (0..last)
        .map(|c| !rows.is_empty() && rows.iter().all(|r| is_number(&r[c])))
        .collect();
    let head: Vec<String> = head.iter().map(|h| (*h).to_string()).collect();
    let mut text = String::new();
    for row in std::iter::once(&head).chain(rows) {
        let mut line = String::new();
        for (nth, cell) in row[..last].iter().enumerate() {
            let pad = " ".repeat(widths[nth] - cell.chars().count());
            let (before, after) = if numbers[nth] {
                (pad, String::new())
            } else {
                (String::new(), pad)
            };
            line.push_str(&format!("{before}{cell}{after}  "));
        }
        let room = WIDTH.saturating_sub(line.chars().count());
        if row[last].chars().count() > room {
            text.push_str(line.trim_end());
            text.push_str("\n    ");
            line.clear();
        }
        line.push_str(&row[last]);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Bytes for reading: three digits and a unit.
pub(super) fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut unit = 0;
    while unit + 1 < units.len() && bytes >> (10 * (unit + 1)) > 0 {
        unit += 1;
    }
    let value = bytes as f64 / (1u64 << (10 * unit)) as f64;
    if unit == 0 || value >= 100.0 || value.fract() == 0.0 {
        format!("{value:.0} {}", units[unit])
    } else if value >= 10.0 {
        format!("{value:.1} {}", units[unit])
    } else {
        format!("{value:.2} {}", units[unit])
    }
}

/// Bytes a second from a count and a time.
pub(super) fn rate(bytes: u64, seconds: f64) -> String {
    format!("{}/s", size((bytes as f64 / seconds.max(1e-9)) as u64))
}

/// A duration to read.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{:.0} ms", s * 1000.0),
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits_and_a_unit() {
        let all = [
            0,
            1,
            1023,
            1024,
            1536,
            20 << 20,
            (10 << 20) + (1 << 19),
            999 << 30,
            u64::MAX,
        ];
        let said = [
            "0 B", "1 B", "1023 B", "1 KiB", "1.50 KiB", "20 MiB", "10.5 MiB", "999 GiB", "16 EiB",
        ];
        assert_eq!(all.map(size), said);
    }

    #[test]
    fn numbers_go_right_words_left_and_long_ends_below() {
        let rows = [
            vec!["a".into(), "5 B".into(), "x".into()],
            vec!["bcd".into(), "15 B".into(), "y".repeat(75)],
        ];
        let text = table(&["name", "size", "path"], &rows);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "name  size  path");
        assert_eq!(lines[1], "a      5 B  x");
        assert_eq!(lines[2], "bcd   15 B");
        assert!(lines[3].starts_with("    yyy") && lines[3].len() == 79);
    }
}
