//! Tables that fit: a table too wide for the terminal becomes several, each with the names of its rows.
//!
//! Takes rows of cells, gives lines. Prevents: a table that the terminal folds until nobody can read it.

use crate::text::{clipped, escaped, width};

/// A column: its title above, its unit below it, and a cell a row.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub title: &'static str,
    pub unit: &'static str,
    pub cells: Vec<String>,
}

impl Column {
    /// `None` when no row has anything to say.
    pub(crate) fn new(title: &'static str, unit: &'static str, cells: Vec<Option<String>>) -> Option<Column> {
        if cells.iter().all(Option::is_none) {
            return None;
        }
        let cells = cells
            .into_iter()
            .map(|cell| cell.map_or_else(|| "-".into(), |cell| escaped(&cell)))
            .collect();
        Some(Column { title, unit, cells })
    }

    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| width(cell));
        cells.chain([width(self.title), width(self.unit)]).max().unwrap_or(0)
    }
}

const INDENT: usize = 2;
const GAP: usize = 2;
const NAME_MAX: usize = 20;

/// Lines of the table, split into as many as the width asks for.
pub(crate) fn table(names: &[String], columns: &[Column], limit: usize) -> Vec<String> {
    let names: Vec<String> = names.iter().map(|name| escaped(name)).collect();
    let name_width = names
        .iter()
        .map(|name| width(name))
        .max()
        .unwrap_or(0)
        .min(NAME_MAX)
        .min(limit / 3);
    let names: Vec<String> = names.iter().map(|name| clipped(name, name_width)).collect();
    let mut lines = Vec::new();
    let mut rest = columns;
    while !rest.is_empty() {
        let mut used = INDENT + name_width;
        let mut fit = 0;
        while fit < rest.len() && used + GAP + rest[fit].width() <= limit {
            used += GAP + rest[fit].width();
            fit += 1;
        }
        let (now, later) = rest.split_at(fit.max(1));
        lines.extend(part(&names, name_width, now, limit));
        rest = later;
    }
    lines
}

fn part(names: &[String], name_width: usize, columns: &[Column], limit: usize) -> Vec<String> {
    let row = |name: &str, cell: &dyn Fn(&Column) -> String| {
        let mut line = format!("{}{name}{}", " ".repeat(INDENT), " ".repeat(name_width - width(name)));
        for column in columns {
            let text = cell(column);
            line.push_str(&" ".repeat(GAP + column.width().saturating_sub(width(&text))));
            line.push_str(&text);
        }
        clipped(line.trim_end(), limit)
    };
    let mut lines = vec![
        row("", &|column| column.title.into()),
        row("", &|column| column.unit.into()),
    ];
    for (index, name) in names.iter().enumerate() {
        lines.push(row(name, &|column| column.cells[index].clone()));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_table_is_split() {
        let names = vec!["ext4".to_string(), "a-very-long-name-of-a-stack".to_string()];
        let columns: Vec<Column> = (0..12)
            .filter_map(|i| Column::new("rate", "op/s", vec![Some(format!("{i},000,000")), None]))
            .collect();
        for limit in [24, 40, 60, 80] {
            let lines = table(&names, &columns, limit);
            assert!(lines.iter().all(|line| width(line) <= limit), "{limit}: {lines:#?}");
            let text = lines.join("\n");
            assert!((0..12).all(|i| text.contains(&format!("{i},000,000"))), "{text}");
        }
        assert!(Column::new("x", "", vec![None, None]).is_none());
    }
}
