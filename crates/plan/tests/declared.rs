//! Defaults and limits of keys: what the tables of the documents say is what holds, and it stands there alone.
//!
//! Prevents: a default or a limit that is read from somewhere else than the row that the documents are made of.

use crate::printed::studies;
use std::path::{Path, PathBuf};

/// A row of a table of the documents.
struct Row {
    /// `[[stack]]`, `[phase]` ... without brackets.
    section: String,
    key: String,
    of_type: String,
    /// What it may be, in words.
    limits: Option<String>,
    default: String,
}

/// All rows.
fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (table, text) in plan::keys_markdown() {
        let section = table.split_whitespace().next().unwrap_or(&table);
        let cells = |line: &str| {
            line.split(" | ")
                .map(|cell| cell.trim_matches(['|', ' ']).to_string())
                .collect()
        };
        let mut lines = text.lines().map(cells);
        let head: Vec<String> = lines.next().expect("a table has a head");
        let at = |name: &str| head.iter().position(|cell| cell == name).expect("a column");
        for line in lines.skip(1) {
            let line: Vec<String> = line;
            let of_type = &line[at("type")];
            let limits = of_type
                .split_once(", ")
                .filter(|(_, limits)| limits.chars().any(|c| c.is_ascii_digit()));
            rows.push(Row {
                section: section.to_string(),
                key: line[0].trim_matches('`').to_string(),
                of_type: limits.map_or(of_type.as_str(), |(of_type, _)| of_type).to_string(),
                limits: limits.map(|(_, limits)| limits.to_string()),
                default: line[at("default")].clone(),
            });
        }
    }
    rows
}

impl Row {
    /// The default, where it is one value whatever else a study holds.
    fn plain_default(&self) -> Option<&str> {
        let inner = self.default.strip_prefix('`')?.strip_suffix('`')?;
        (!inner.contains('`')).then_some(inner)
    }

    /// Whether this is it in a list of keys with their values: `stack.xfs.database.page`.
    fn is(&self, key: &str) -> bool {
        let own = format!("{}.", self.section);
        let end = format!(".{}", self.key);
        let of_stack = self.section == "database" && key.ends_with(&format!(".database{end}"));
        key.starts_with(&own) && key.ends_with(&end) && !key.contains(".database.") || of_stack
    }

    /// Values outside the limits, as a study writes them.
    fn outside(&self) -> Vec<String> {
        let Some(limits) = &self.limits else { return Vec::new() };
        let (least, most) = match (limits.strip_prefix("at least "), limits.strip_prefix("at most ")) {
            (Some(least), _) => (Some(least), None),
            (_, Some(most)) => (None, Some(most)),
            _ => {
                let (least, most) = limits.split_once(" to ").expect("limits");
                (Some(least), Some(most))
            }
        };
        let below = least.and_then(|least| self.beside(least, -1));
        let above = most.and_then(|most| self.beside(most, 1));
        below.into_iter().chain(above).collect()
    }

    /// The next value of the type; `None`: its type has none.
    fn beside(&self, limit: &str, step: i64) -> Option<String> {
        let whole = |value: u64| value.checked_add_signed(step);
        match self.of_type.as_str() {
            "size" => whole(limit.parse::<plan::Bytes>().expect("a size").0).map(|bytes| format!("\"{bytes}B\"")),
            "duration" => whole(limit.parse::<plan::Duration>().expect("a time").0).map(|time| format!("\"{time}ns\"")),
            "share" => {
                let share = limit.parse::<plan::Share>().expect("a share").0 + step as f64 / 100.0;
                (share >= 0.0).then(|| share.to_string())
            }
            _ => match limit.parse::<u64>() {
                Ok(number) => whole(number).map(|number| number.to_string()),
                Err(_) => {
                    let number = limit.parse::<f64>().expect("a number") + step as f64 / 1000.0;
                    (number >= 0.0).then(|| number.to_string())
                }
            },
        }
    }
}

/// Keys that a result shows in another form than the table: a share as a number, a table with more space in it.
const SHOWN_OTHERWISE: [&str; 2] = ["spread", "settings"];

/// Keys that all phases of a kind take from the first that says them.
const OF_THE_FIRST: [&str; 3] = ["warehouses", "company", "scale"];

#[test]
fn the_default_of_a_table_is_the_value_that_holds() {
    let (rows, studies) = (rows(), studies());
    let mut seen = 0;
    for row in rows.iter().filter(|row| !SHOWN_OTHERWISE.contains(&row.key.as_str())) {
        let Some(default) = row.plain_default() else { continue };
        for study in &studies {
            let all = || study.resolved.iter().filter(|one| row.is(&one.key));
            if OF_THE_FIRST.contains(&row.key.as_str()) && all().any(|one| one.written) {
                continue;
            }
            for one in all().filter(|one| !one.written) {
                assert_eq!(one.value, default, "{} is not the default of the table", one.key);
                seen += 1;
            }
        }
    }
    assert!(seen > 1000, "only {seen} defaults were looked at");
}

/// The study with this value in place of the one that the key has, if it has it.
fn with(text: &str, row: &Row, value: &str) -> Option<String> {
    let mut section = "";
    let mut lines: Vec<&str> = text.lines().collect();
    let keys = [format!("{} = ", row.key), format!("database.{} = ", row.key)];
    let nth = lines.iter().position(|line| {
        if let Some(head) = line.strip_prefix('[') {
            section = head.trim_matches(['[', ']']).split('.').next().unwrap_or_default();
        }
        let of_stack = row.section == "database" && section == "stack" && line.starts_with(&keys[1]);
        of_stack || section == row.section && line.starts_with(&keys[0])
    })?;
    let (key, _) = lines[nth].split_once(" = ")?;
    let line = format!("{key} = {value}");
    lines[nth] = &line;
    Some(lines.join("\n"))
}

#[test]
fn what_is_outside_the_limits_of_a_table_is_refused() {
    let texts: Vec<(String, PathBuf)> = studies()
        .iter()
        .map(|study| (study.to_toml(), study.file.clone()))
        .collect();
    let (mut tried, mut taken) = (0, Vec::new());
    for row in rows() {
        for value in row.outside() {
            let changed = texts
                .iter()
                .find_map(|(text, file)| Some((with(text, &row, &value)?, file)));
            let Some((text, file)) = changed else { continue };
            tried += 1;
            if plan::parse(&text, file).is_ok() {
                taken.push(format!("{} = {value} of {}", row.key, row.section));
            }
        }
    }
    assert!(
        taken.is_empty(),
        "outside their limits, and taken: {}",
        taken.join(", ")
    );
    assert!(tried > 80, "only {tried} values were tried");
}

/// Ranges in the room that reads which are no limits of a key by itself, by a part of their line.
const NO_LIMITS: [&str; 10] = [
    // Levels of an algorithm in `compress`.
    "=> 1..=9",
    "=> -15..=15",
    "=> 0..=0",
    // What SLOB refuses of percents.
    "(51..=99)",
    // Rates: of order entry, and of operations.
    "1e-3..=1e6",
    "1e-3..=1e9",
    // As many as the LUN set has, or as a list of this kind of phase may hold.
    "0..=u64::from(count",
    "1..=most",
    "1..=SCAN_USERS_MAX",
    // Pages: each engine has its own.
    "const ",
];

#[test]
fn no_limit_stands_beside_the_rows() {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/meaning")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the source is there") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("source is text");
            let lines = text.lines().filter(|line| line.contains("..=") && !line.contains("//"));
            let others = lines.filter(|line| !NO_LIMITS.iter().any(|part| line.contains(part)));
            found.extend(others.map(|line| format!("{}: {}", path.display(), line.trim())));
        }
    }
    assert!(
        found.is_empty(),
        "limits belong to the rows of `written`:\n{}",
        found.join("\n")
    );
}
