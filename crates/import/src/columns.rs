//! Tables whose columns are drawn by dashes, with titles on one or more lines above: how Oracle prints.
//!
//! Takes the dashes and the titles; gives cells of a row by count where the count fits, else by place. Prevents: a
//! blank cell that shifts all cells behind it by one.

use crate::figure::cut;

/// Where the columns are, and what they are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    /// First and one-past-last character.
    spans: Vec<(usize, usize)>,
    /// Words above the dashes, joined without spaces, in lower case: `avrd(ms)`.
    pub(crate) titles: Vec<String>,
}

/// Most columns of a table.
const COLUMNS_MAX: usize = 64;

/// True for a line of nothing but groups of dashes.
pub(crate) fn is_dashes(line: &str) -> bool {
    let text = line.trim();
    text.contains("---") && text.bytes().all(|b| b == b'-' || b == b' ' || b == b'~')
}

/// True for the line with which Oracle ends a section: one long group of dashes in the middle.
pub(crate) fn is_end(line: &str) -> bool {
    let text = line.trim();
    line.starts_with("     ") && text.len() >= 40 && text.bytes().all(|b| b == b'-')
}

/// Words with the characters they take, first and one past last.
fn words(line: &str) -> Vec<(usize, usize, &str)> {
    let mut found = Vec::new();
    let mut start: Option<(usize, usize)> = None;
    let mut column = 0;
    for (at, c) in line.char_indices() {
        match (c.is_whitespace(), start) {
            (true, Some((from, byte))) => {
                found.push((from, column, &line[byte..at]));
                start = None;
            }
            (false, None) => start = Some((column, at)),
            _ => {}
        }
        column += 1;
        if found.len() > COLUMNS_MAX {
            return found;
        }
    }
    if let Some((from, byte)) = start {
        found.push((from, column, &line[byte..]));
    }
    found
}

impl Columns {
    /// From the dashes and the lines of titles above them, topmost first.
    pub(crate) fn new(dashes: &str, above: &[&str]) -> Columns {
        let mut spans: Vec<(usize, usize)> = words(dashes).into_iter().map(|(from, to, _)| (from, to)).collect();
        spans.truncate(COLUMNS_MAX);
        let mut columns = Columns {
            titles: vec![String::new(); spans.len()],
            spans,
        };
        for line in above {
            for (from, to, word) in words(line) {
                if let Some(index) = columns.nearest(from, to) {
                    let title = &mut columns.titles[index];
                    title.push_str(&word.to_lowercase());
                    title.truncate(cut(title).len());
                }
            }
        }
        columns
    }

    pub(crate) fn count(&self) -> usize {
        self.spans.len()
    }

    /// The column that a word shares most characters with, else the nearest.
    fn nearest(&self, from: usize, to: usize) -> Option<usize> {
        let away = |span: &(usize, usize)| {
            let shared = to.min(span.1) as i64 - from.max(span.0) as i64;
            -shared
        };
        let of = self.spans.iter().enumerate().min_by_key(|(_, span)| away(span));
        of.map(|(index, _)| index)
    }

    /// The cells of a row; `None` for a blank one. `named`: the first column is a name, which may hold spaces. `None`
    /// when it cannot be said which cell is which.
    pub(crate) fn cells<'l>(&self, line: &'l str, named: bool) -> Option<Vec<Option<&'l str>>> {
        let found = words(line);
        if found.is_empty() || self.spans.is_empty() {
            return None;
        }
        if found.len() == self.spans.len() {
            return Some(found.into_iter().map(|(_, _, word)| Some(word)).collect());
        }
        if found.len() > self.spans.len() {
            if !named {
                return None;
            }
            let extra = found.len() - self.spans.len();
            let rest = &found[extra + 1..];
            let second = rest.first()?.2;
            let end = second.as_ptr() as usize - line.as_ptr() as usize;
            let name = line[..end].trim();
            if name.contains("  ") {
                // A word too many at the end: what seems the name holds a figure.
                return None;
            }
            let mut cells = vec![Some(name)];
            cells.extend(rest.iter().map(|(_, _, word)| Some(*word)));
            return Some(cells);
        }
        let mut cells = vec![None; self.spans.len()];
        for (from, to, word) in found {
            let index = self.nearest(from, to)?;
            if cells[index].replace(word).is_some() {
                return None;
            }
        }
        Some(cells)
    }

    /// The cells that the dashes draw, each within its span; `None` where a figure lies across a border, or where tabs
    /// hide the places and words do not fit by count.
    pub(crate) fn drawn<'l>(&self, line: &'l str) -> Option<Vec<Option<&'l str>>> {
        let places: Vec<usize> = line.char_indices().map(|(at, _)| at).collect();
        let at = |column: usize| places.get(column).copied().unwrap_or(line.len());
        let blank = |from: usize, to: usize| line[at(from)..at(to)].trim().is_empty();
        let mut end = 0;
        let drawn = self.spans.iter().all(|(from, to)| {
            let apart = blank(end, *from);
            end = *to;
            apart
        });
        if line.contains('\t') || !drawn || !blank(end, usize::MAX) {
            return self.cells(line, true);
        }
        let cell = |(from, to): &(usize, usize)| Some(line[at(*from)..at(*to)].trim()).filter(|cell| !cell.is_empty());
        Some(self.spans.iter().map(cell).collect())
    }

    /// The text below a column, from its first character to the next column: for cells that hold spaces.
    pub(crate) fn below<'l>(&self, line: &'l str, index: usize) -> Option<&'l str> {
        let from = self.spans.get(index)?.0;
        let to = self.spans.get(index + 1).map_or(usize::MAX, |span| span.0);
        let place = |column: usize| line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
        let text = line.get(place(from)..if to == usize::MAX { line.len() } else { place(to) })?;
        Some(text.trim()).filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DASHES: &str = "---------- ---------- ------ ------";
    const TITLES: [&str; 2] = [
        "                          Av    Av",
        "Tablespace      Reads  Rds/s Rd(ms)",
    ];

    #[test]
    fn titles_stand_above_their_columns() {
        let columns = Columns::new(DASHES, &TITLES);
        assert_eq!(columns.titles, ["tablespace", "reads", "avrds/s", "avrd(ms)"]);
        assert!(is_dashes(DASHES) && !is_dashes("-> ordered by") && !is_dashes("--"));
        assert!(is_end(
            "          -------------------------------------------------------------"
        ));
        assert!(!is_end("------------------------------"));
    }

    #[test]
    fn a_blank_cell_shifts_nothing() {
        let columns = Columns::new(DASHES, &TITLES);
        let whole = columns.cells("USERS             162      1    2.6", true).unwrap();
        assert_eq!(whole, [Some("USERS"), Some("162"), Some("1"), Some("2.6")]);
        let blank = columns.cells("USERS               0           2.6", true).unwrap();
        assert_eq!(blank, [Some("USERS"), Some("0"), None, Some("2.6")]);
        let spaced = columns.cells("MY SPACE          162      1    2.6", true).unwrap();
        assert_eq!(spaced, [Some("MY SPACE"), Some("162"), Some("1"), Some("2.6")]);
        assert_eq!(columns.cells("", true), None);
        assert_eq!(columns.below("a b        x y    7", 0), Some("a b"));
    }
}
