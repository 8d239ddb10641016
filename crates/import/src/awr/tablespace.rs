//! AWR's "Tablespace IO Stats": a row of figures a tablespace, in the layouts of 10g to 19c.
//!
//! Takes lines one after another; gives figures by tablespace and picks the one whose latency counts. Layouts: name and
//! numbers on one line (12c), or the name on a line of its own above its numbers (10g, 11g, long names); times in
//! milliseconds by the title, or with a unit behind each (19c). Prevents: columns taken by count where a page break or
//! a blank cell has moved them.

use crate::columns::{Columns, is_dashes};
use crate::error::ImportError;
use crate::figure::{Fact, Figure, NAME_BYTES_MAX, Notes, Quantity, excerpt};
use crate::lines::Line;
use crate::number::{Printed, printed};
use std::collections::BTreeSet;

/// Title of the column with the pluggable database.
pub(crate) const PDB: &str = "pdbname";

pub(crate) const HEADING: &str = "Tablespace IO Stats";

/// Most tablespaces of one report.
const SPACES_MAX: usize = 4096;

#[derive(Default)]
pub(crate) struct Tablespaces<'t> {
    inside: bool,
    titles: Vec<&'t str>,
    columns: Option<Columns>,
    /// Names stand on a line of their own.
    apart: bool,
    was_apart: bool,
    name: Option<(&'t str, u32)>,
    spaces: Vec<Space>,
    /// Names of `spaces`.
    seen: BTreeSet<String>,
}

struct Space {
    name: String,
    figures: Vec<Figure>,
}

/// What a column is: its name here, its unit.
pub(super) fn column(title: &str) -> Option<(&'static str, &'static str)> {
    Some(match title {
        "reads" => ("reads", "requests"),
        "avreads/s" | "avrds/s" | "reads/s" | "rds/s" | "readsavg/s" => ("reads_per_s", "requests/s"),
        "avrd(ms)" | "avrd" | "avrd(us)" => ("read_time", "ms"),
        "avblks/rd" | "blks/rd" => ("blocks_per_read", "blocks/request"),
        "1-bkrds/s" => ("single_reads_per_s", "requests/s"),
        "av1-bkrd(ms)" | "av1-bkrd" => ("single_read_time", "ms"),
        "%optreads" => ("optimized_reads", "%"),
        "writes" => ("writes", "requests"),
        "avwrites/s" | "writesavg/s" | "writes/s" => ("writes_per_s", "requests/s"),
        "avwrites(ms)" | "avwrites" => ("write_time", "ms"),
        "bufferwaits" => ("buffer_waits", "waits"),
        "avbufwt(ms)" | "avbufwt" => ("buffer_wait_time", "ms"),
        _ => return None,
    })
}

/// `1.63ms`, `530.00us`, `1.2s`: the number and its unit.
fn with_unit(cell: &str) -> (&str, Option<&'static str>) {
    for (tail, unit) in [("ns", "ns"), ("us", "us"), ("ms", "ms"), ("s", "s")] {
        if let Some(number) = cell.strip_suffix(tail) {
            return (number, Some(unit));
        }
    }
    (cell, None)
}

fn nanoseconds(unit: &str) -> f64 {
    match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        _ => 1e9,
    }
}

impl<'t> Tablespaces<'t> {
    /// The heading, on the first page of the section or on a later one; gives the snapshots it names.
    pub(crate) fn heading(&mut self, line: Line<'t>) -> Option<Fact> {
        let rest = line.text.trim_start().strip_prefix(HEADING)?;
        self.inside = true;
        self.titles.clear();
        self.columns = None;
        self.apart = false;
        self.name = None;
        let value = rest.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = if value.is_empty() { HEADING.into() } else { value };
        Some(Fact {
            name: "section".into(),
            value: said,
            line: line.number,
        })
    }

    pub(crate) fn leave(&mut self) {
        self.inside = false;
        self.name = None;
    }

    /// The layout met, in words; `None` when there was none.
    pub(crate) fn layout(&self) -> Option<&'static str> {
        (!self.spaces.is_empty()).then_some(if self.was_apart {
            "names on lines of their own"
        } else {
            "one line a tablespace"
        })
    }

    /// True when the line belonged to the section.
    pub(crate) fn take(&mut self, line: Line<'t>, notes: &mut Notes) -> Result<bool, ImportError> {
        if !self.inside {
            return Ok(false);
        }
        let text = line.text;
        if text.trim().is_empty() || text.trim_start().starts_with("->") {
            return Ok(true);
        }
        if is_dashes(text) {
            let columns = Columns::new(text, &self.titles);
            self.titles.clear();
            if columns.count() == 1 && columns.titles[0].starts_with("tablespace") {
                self.apart = true;
            } else {
                self.say_unknown(&columns.titles, line.number, notes);
                self.columns = Some(columns);
            }
            return Ok(true);
        }
        let Some(columns) = self.columns.take() else {
            if self.titles.len() < 4 {
                self.titles.push(text);
            }
            return Ok(true);
        };
        let done = self.row(&columns, line, notes);
        self.columns = Some(columns);
        done.map(|()| true)
    }

    pub(super) fn say_unknown(&self, titles: &[String], line: u32, notes: &mut Notes) {
        for title in titles {
            if column(title).is_none() && !["tablespace", PDB, ""].contains(&title.as_str()) {
                notes.add(line, format!("column {title:?} of {HEADING} is not known: left out"));
            }
        }
    }

    fn row(&mut self, columns: &Columns, line: Line<'t>, notes: &mut Notes) -> Result<(), ImportError> {
        let text = line.text.trim();
        let figures_of;
        let named = !self.apart && columns.titles.first().is_some_and(|title| title == "tablespace");
        let alone = text
            .split_whitespace()
            .all(|word| value(word, line.number).is_ok_and(|v| v.is_none()));
        if alone && !text.starts_with('#') {
            // A name whose figures stand on the next line, in either layout.
            self.name = Some((text, line.number));
            return Ok(());
        }
        let cells;
        let name;
        if let Some((pending, _)) = self.name.take() {
            let words: Vec<Option<&str>> = text.split_whitespace().map(Some).collect();
            let width = columns.count() - usize::from(named);
            figures_of = &columns.titles[usize::from(named)..];
            cells = if words.len() == width {
                Some(words)
            } else if named {
                None
            } else {
                columns.cells(line.text, false)
            };
            name = pending;
            self.was_apart = true;
        } else if named {
            let found = columns.cells(line.text, true);
            let Some(first) = found.as_ref().and_then(|cells| cells[0]) else {
                notes.add(
                    line.number,
                    format!("{:?} does not fit the columns: left out", excerpt(text)),
                );
                return Ok(());
            };
            name = first;
            figures_of = &columns.titles[1..];
            cells = found.map(|cells| cells[1..].to_vec());
        } else {
            notes.add(
                line.number,
                format!("{:?} has no tablespace above it: left out", excerpt(text)),
            );
            return Ok(());
        }
        let Some(cells) = cells else {
            notes.add(
                line.number,
                format!("{:?} does not fit the columns: left out", excerpt(text)),
            );
            return Ok(());
        };
        let cells = figures_of
            .iter()
            .zip(cells)
            .map(|(title, cell)| (title, cell, line.number));
        self.add(name, cells, line.number, notes)
    }

    /// Each cell comes with the title of its column and its line.
    pub(super) fn add<'a>(
        &mut self,
        name: &str,
        cells: impl Iterator<Item = (&'a String, Option<&'a str>, u32)>,
        line: u32,
        notes: &mut Notes,
    ) -> Result<(), ImportError> {
        if self.spaces.len() >= SPACES_MAX {
            notes.add(line, "more tablespaces than a database has: left out");
            return Ok(());
        }
        if name.len() > NAME_BYTES_MAX {
            notes.add(
                line,
                format!("{} is too long for a tablespace: left out", excerpt(name)),
            );
            return Ok(());
        }
        if !self.seen.insert(name.into()) {
            notes.add(
                line,
                format!("tablespace {} stands here again: the first counts", excerpt(name)),
            );
            return Ok(());
        }
        let mut figures = Vec::new();
        for (title, cell, line) in cells {
            let (Some((word, unit)), Some(cell)) = (column(title), cell) else {
                continue;
            };
            let Some((printed, own)) = value(cell, line)? else {
                notes.add(line, format!("{} of {}: {cell:?} is no number", word, excerpt(name)));
                continue;
            };
            let unit = match (own, title.contains("(us)")) {
                (Some(own), _) if unit == "ms" => own,
                (None, true) => "us",
                _ => unit,
            };
            let figure = Figure::new(format!("tablespace.{name}.{word}"), &printed, unit, line);
            figures.push(figure);
        }
        self.spaces.push(Space {
            name: name.into(),
            figures,
        });
        Ok(())
    }

    /// Hands over the figures; those of the tablespace that counts become comparable. `counted`: requests are known
    /// from the statistics already.
    pub(crate) fn finish(
        mut self,
        wanted: Option<&str>,
        counted: bool,
        figures: &mut Vec<Figure>,
        notes: &mut Notes,
    ) -> Result<(), ImportError> {
        let traffic = |space: &Space| {
            let of = |word: &str| {
                let name = format!("tablespace.{}.{word}", space.name);
                space.figures.iter().find(|f| f.name == name).map_or(0.0, |f| f.value)
            };
            of("reads") + of("writes")
        };
        let mut main: Option<usize> = None;
        for (index, space) in self.spaces.iter().enumerate() {
            let better = match wanted {
                Some(name) => space.name == name,
                None => main.is_none_or(|old| traffic(space) > traffic(&self.spaces[old])),
            };
            if better {
                main = Some(index);
            }
        }
        if let (Some(name), None) = (wanted, main) {
            let names: Vec<&str> = self.spaces.iter().map(|space| space.name.as_str()).collect();
            return Err(ImportError::Absent {
                what: format!("no tablespace is named {name:?}"),
                cure: if names.is_empty() {
                    "there is no table of tablespaces in this text: leave --tablespace out".into()
                } else {
                    format!("take one of: {}", names.join(", "))
                },
            });
        }
        if let Some(index) = main {
            let space = &mut self.spaces[index];
            notes.add(0, format!("latency is that of tablespace {}", excerpt(&space.name)));
            let old = std::mem::take(&mut space.figures);
            space.figures = old.into_iter().map(|figure| compared(figure, counted)).collect();
        }
        figures.extend(self.spaces.into_iter().flat_map(|space| space.figures));
        Ok(())
    }
}

fn compared(figure: Figure, counted: bool) -> Figure {
    let word = figure.name.rsplit('.').next().unwrap_or_default().to_string();
    match word.as_str() {
        "read_time" => {
            let factor = nanoseconds(figure.unit);
            figure.of_quantity(Quantity::ReadNs, factor)
        }
        "reads_per_s" if !counted => figure.of_quantity(Quantity::ReadsPerS, 1.0),
        "writes_per_s" if !counted => figure.of_quantity(Quantity::WritesPerS, 1.0),
        _ => figure,
    }
}

/// A cell as a number, and its unit where one stands behind it.
fn value(cell: &str, line: u32) -> Result<Option<(Printed<'_>, Option<&'static str>)>, ImportError> {
    if let Some(plain) = printed(cell, line)? {
        return Ok(Some((plain, None)));
    }
    let (number, unit) = with_unit(cell);
    if unit.is_none() {
        return Ok(None);
    }
    Ok(printed(number, line)?.map(|p| (Printed { text: cell, ..p }, unit)))
}
