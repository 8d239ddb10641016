//! Tables of figures by contender and round, and ratios between two contenders of the same round.
//!
//! Prevents: a ratio of two medians that were taken minutes apart on a machine that drifts (each ratio is one
//! round's), and a median without its lowest and highest.

use crate::contender::Row;
use std::fmt::Write;

/// A column of a table.
pub(crate) struct Column {
    pub(crate) key: &'static str,
    pub(crate) head: &'static str,
    pub(crate) digits: usize,
}

impl Column {
    /// Of the figure `key` of a row, under `head`, with so many digits behind the point.
    pub(crate) const fn new(key: &'static str, head: &'static str, digits: usize) -> Column {
        Column { key, head, digits }
    }
}

/// Figures of some contenders.
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) notes: Vec<String>,
    pub(crate) columns: &'static [Column],
    pub(crate) lines: Vec<Line>,
    pub(crate) ratios: Vec<Ratio>,
    /// Contenders without which the table stands: name, and why they could not run.
    pub(crate) left_out: Vec<(String, String)>,
}

/// One contender's figures, a row for each round.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) rounds: Vec<Row>,
}

/// Ratios of two contenders, round by round.
pub(crate) struct Ratio {
    pub(crate) what: String,
    pub(crate) spread: Spread,
}

/// Chance that the true median lies outside of what is given for it.
const DOUBT: f64 = 0.1;

/// Median, lowest and highest of some rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Where the true median lies: lowest and highest without those that may stray.
    pub(crate) sure: [f64; 2],
    pub(crate) count: usize,
}

/// How many of so many rounds may stray at each end: nine times of ten the true median lies between the others,
/// whatever their distribution. It is the interval of the sign test (Conover, Practical Nonparametric Statistics,
/// section 3.2). Of fewer than five rounds none may, and the chance is lower.
fn strays(count: usize) -> usize {
    // Chances of so many heads, and of at most so many, of a fair coin.
    let mut exactly = 0.5f64.powi(count as i32);
    let mut at_most = exactly;
    let most = count.saturating_sub(1) / 2;
    for heads in 0..most {
        exactly *= (count - heads) as f64 / (heads + 1) as f64;
        at_most += exactly;
        if 2.0 * at_most > DOUBT {
            return heads;
        }
    }
    most
}

impl Spread {
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (*values.first()?, *values.last()?);
        let half = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[half]
        } else {
            (values[half - 1] + values[half]) / 2.0
        };
        let stray = strays(values.len());
        Some(Spread {
            median,
            low,
            high,
            sure: [values[stray], values[values.len() - 1 - stray]],
            count: values.len(),
        })
    }

    /// What was counted once here more than there.
    pub(crate) fn less(&self, other: &Spread) -> Spread {
        let [median, low, high] = [self.median - other.median, self.low - other.high, self.high - other.low];
        Spread {
            median,
            low,
            high,
            sure: [self.sure[0] - other.sure[1], self.sure[1] - other.sure[0]],
            count: self.count.min(other.count),
        }
    }

    /// "median (low-high)"; the median alone where there is one value.
    pub(crate) fn words(&self, digits: usize) -> String {
        let Spread {
            median,
            low,
            high,
            count,
            ..
        } = *self;
        if count == 1 {
            return grouped(median, digits);
        }
        format!(
            "{} ({}-{})",
            grouped(median, digits),
            grouped(low, digits),
            grouped(high, digits)
        )
    }
}

/// Thousands apart by commas.
pub(crate) fn grouped(value: f64, digits: usize) -> String {
    let plain = format!("{value:.digits$}");
    let (whole, rest) = plain.split_once('.').map_or((plain.as_str(), ""), |(w, r)| (w, r));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |w| ("-", w));
    let mut out = String::from(sign);
    for (nth, digit) in whole.chars().enumerate() {
        if nth > 0 && (whole.len() - nth).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if !rest.is_empty() {
        out.push('.');
        out.push_str(rest);
    }
    out
}

impl Table {
    pub(crate) fn new(title: impl Into<String>, columns: &'static [Column], names: &[String]) -> Table {
        let line = |name: &String| Line {
            name: name.clone(),
            rounds: Vec::new(),
        };
        Table {
            title: title.into(),
            notes: Vec::new(),
            columns,
            lines: names.iter().map(line).collect(),
            ratios: Vec::new(),
            left_out: Vec::new(),
        }
    }

    pub(crate) fn line(&self, name: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.name == name)
    }

    pub(crate) fn add(&mut self, name: &str, row: Row) {
        if let Some(line) = self.lines.iter_mut().find(|line| line.name == name) {
            line.rounds.push(row);
        }
    }

    /// Takes a contender out: what it did before it failed is of no use.
    pub(crate) fn leave_out(&mut self, name: &str, why: String) {
        self.lines.retain(|line| line.name != name);
        self.left_out.push((name.into(), why));
    }

    /// A figure that was taken once, apart from the rounds.
    pub(crate) fn put(&mut self, name: &str, key: &str, value: f64) {
        if let Some(line) = self.lines.iter_mut().find(|line| line.name == name)
            && let Some(first) = line.rounds.first_mut()
        {
            first.insert(key.to_string(), value);
        }
    }

    pub(crate) fn figure(&self, name: &str, key: &str) -> Option<Spread> {
        Spread::of(self.line(name)?.rounds.iter().filter_map(|row| row.get(key).copied()))
    }

    /// `ours` over `theirs` in `key`, each round for itself.
    pub(crate) fn over(&self, ours: &str, theirs: &str, key: &str) -> Option<Spread> {
        let (a, b) = (self.line(ours)?, self.line(theirs)?);
        let each = a.rounds.iter().zip(&b.rounds);
        Spread::of(each.filter_map(|(a, b)| Some(a.get(key)? / b.get(key)?)))
    }

    /// The same, kept for printing under `head`.
    pub(crate) fn ratio(&mut self, head: &str, ours: &str, theirs: &str, key: &str) -> Option<Spread> {
        let spread = self.over(ours, theirs, key)?;
        self.ratios.push(Ratio {
            what: format!("{head}: {ours} / {theirs}"),
            spread,
        });
        Some(spread)
    }

    /// As Markdown, which a terminal shows well enough.
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!("## {}\n\n", self.title);
        for note in &self.notes {
            let _ = writeln!(text, "{note}\n");
        }
        for (name, why) in &self.left_out {
            let _ = writeln!(text, "{name}, not measured: {why}\n");
        }
        let mut rows = vec![vec![String::new()]];
        rows[0].extend(self.columns.iter().map(|c| c.head.to_string()));
        for line in &self.lines {
            let mut cells = vec![line.name.clone()];
            cells.extend(self.columns.iter().map(|column| {
                self.figure(&line.name, column.key)
                    .map_or("-".to_string(), |spread| spread.words(column.digits))
            }));
            rows.push(cells);
        }
        text.push_str(&aligned(&rows));
        if !self.ratios.is_empty() {
            let mut rows = vec![
                ["ratio", "median", "lowest", "highest", "rounds"]
                    .map(String::from)
                    .to_vec(),
            ];
            for Ratio { what, spread } in &self.ratios {
                let figures = [spread.median, spread.low, spread.high].map(|v| format!("{v:.3}"));
                let mut cells = vec![what.clone()];
                cells.extend(figures);
                cells.push(spread.count.to_string());
                rows.push(cells);
            }
            text.push('\n');
            text.push_str(&aligned(&rows));
        }
        text.push('\n');
        text
    }
}

/// A Markdown table with its columns one under another; the first row is the head.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = String::new();
    for (nth, row) in rows.iter().enumerate() {
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(text, "| {cell:<width$} ");
        }
        text.push_str("|\n");
        if nth == 0 {
            for width in &widths {
                let _ = write!(text, "| {} ", "-".repeat((*width).max(3)));
            }
            text.push_str("|\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_of_the_same_round() {
        const COLUMNS: &[Column] = &[Column::new("iops", "IOPS", 0)];
        let mut table = Table::new("t", COLUMNS, &["a".into(), "b".into()]);
        for (a, b) in [(100.0, 50.0), (1000.0, 1000.0), (30.0, 10.0)] {
            table.add("a", Row::from([("iops".into(), a)]));
            table.add("b", Row::from([("iops".into(), b)]));
        }
        let spread = table.ratio("rate", "a", "b", "iops").unwrap();
        assert_eq!(
            (spread.median, spread.low, spread.high, spread.count),
            (2.0, 1.0, 3.0, 3)
        );
        assert!(table.markdown().contains("100 (30-1,000)"), "{}", table.markdown());
    }

    #[test]
    fn a_contender_that_is_left_out_has_no_row_and_no_ratio() {
        const COLUMNS: &[Column] = &[Column::new("iops", "IOPS", 0)];
        let mut table = Table::new("t", COLUMNS, &["a".into(), "b".into()]);
        for name in ["a", "b"] {
            table.add(name, Row::from([("iops".into(), 1.0)]));
        }
        table.leave_out("b", "it ended early".into());
        assert_eq!(table.ratio("rate", "a", "b", "iops"), None);
        let words = table.markdown();
        assert!(
            words.contains("b, not measured: it ended early") && !words.contains("| b"),
            "{words}"
        );
    }

    #[test]
    fn of_many_rounds_the_outermost_may_stray() {
        assert_eq!([1, 2, 3, 5, 7, 8, 20].map(strays), [0, 0, 0, 0, 0, 1, 5]);
        let spread = Spread::of([9.0, 1.0, 3.0, 2.0, 4.0, 5.0, 7.0, 6.0]).unwrap();
        assert_eq!((spread.low, spread.high, spread.sure), (1.0, 9.0, [2.0, 7.0]));
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(grouped(1234567.0, 0), "1,234,567");
        assert_eq!(grouped(-999.25, 1), "-999.2");
        assert_eq!(grouped(1000.0, 2), "1,000.00");
    }
}
