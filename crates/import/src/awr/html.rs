//! The tables of an HTML report, row after row: header titles, cells, the line that each cell begins on.
//!
//! Takes text; hands each row to a caller and keeps only the row under way, so a table of a million cells takes no
//! memory. The tokens are html5gum's. Prevents: a cell of one table read under the titles of another, and memory that
//! nested tables, endless attributes or missing end tags could fill.

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use std::convert::Infallible;

/// Most cells of a row that are kept; no table of a report has as many.
const CELLS_MAX: usize = 64;

/// Most bytes of a cell, a title or a caption that are kept.
const TEXT_MAX: usize = 512;

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    /// Words with one space between them.
    pub(crate) text: String,
    /// 1-based line of its first character.
    pub(crate) line: u32,
    title: bool,
}

/// What the caller is told, in the order of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'r> {
    /// A heading or paragraph outside a table.
    Text { text: &'r str, line: u32 },
    /// A new table begins; `caption`: the text before it.
    Table { caption: &'r str, line: u32 },
    /// A row of titles.
    Titles(&'r [Cell]),
    /// A row of figures. `cut`: it has more cells than are kept.
    Row { cells: &'r [Cell], cut: bool },
}

/// Reads the text; the caller gets each piece once.
pub(crate) fn pieces(text: &str, take: &mut dyn FnMut(Piece<'_>)) {
    let mut rows = Rows {
        lines: Lines::new(text),
        caption: Cell::default(),
        block: Cell::default(),
        cells: Vec::new(),
        cell: None,
        cut: false,
        inside: false,
        take,
    };
    let handle = |event: CallbackEvent<'_>, span: Span<usize>| -> Option<Infallible> {
        rows.event(&event, span);
        None
    };
    let mut emitter = CallbackEmitter::<_, Infallible, usize>::new(handle);
    // Scripts and styles are text to the tokenizer only when it follows the tags.
    emitter.naively_switch_states(true);
    // The caller gets all by its function: the only item is the end of the text.
    let None = Tokenizer::new_with_emitter(text, emitter).next();
}

/// Numbers of lines for places that only grow.
struct Lines<'t> {
    text: &'t [u8],
    at: usize,
    line: u32,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Lines<'t> {
        Lines {
            text: text.as_bytes(),
            at: 0,
            line: 1,
        }
    }

    fn of(&mut self, place: usize) -> u32 {
        let place = place.min(self.text.len());
        if place > self.at {
            let new = self.text[self.at..place].iter().filter(|b| **b == b'\n').count();
            self.line = self.line.saturating_add(u32::try_from(new).unwrap_or(u32::MAX));
            self.at = place;
        }
        self.line
    }
}

struct Rows<'t, 'c> {
    lines: Lines<'t>,
    /// The last block of text before a table.
    caption: Cell,
    /// The block under way.
    block: Cell,
    cells: Vec<Cell>,
    cell: Option<Cell>,
    cut: bool,
    inside: bool,
    take: &'c mut dyn FnMut(Piece<'_>),
}

/// Tags that end a block of text.
fn ends_block(name: &[u8]) -> bool {
    matches!(
        name,
        b"p" | b"h1"
            | b"h2"
            | b"h3"
            | b"h4"
            | b"li"
            | b"ul"
            | b"div"
            | b"pre"
            | b"br"
            | b"hr"
            | b"body"
            | b"style"
            | b"script"
            | b"title"
            | b"head"
    )
}

impl Rows<'_, '_> {
    fn event(&mut self, event: &CallbackEvent<'_>, span: Span<usize>) {
        match event {
            CallbackEvent::OpenStartTag { name } => self.start(name, span.start),
            CallbackEvent::EndTag { name } => self.end(name),
            CallbackEvent::String { value } => self.text(value, span.start),
            _ => {}
        }
    }

    fn start(&mut self, name: &[u8], place: usize) {
        match name {
            b"table" => {
                self.end_row();
                self.end_block();
                self.inside = true;
                let line = self.lines.of(place);
                (self.take)(Piece::Table {
                    caption: &self.caption.text,
                    line,
                });
            }
            b"tr" => self.end_row(),
            b"td" | b"th" if self.inside => {
                self.end_cell();
                self.cell = Some(Cell {
                    line: self.lines.of(place),
                    title: name == b"th",
                    text: String::new(),
                });
            }
            _ if !self.inside && ends_block(name) => self.end_block(),
            b"br" | b"p" => self.space(),
            _ => {}
        }
    }

    fn end(&mut self, name: &[u8]) {
        match name {
            b"table" => {
                self.end_row();
                self.inside = false;
                self.caption = Cell::default();
            }
            b"tr" => self.end_row(),
            b"td" | b"th" => self.end_cell(),
            // What a style or script holds is no text of the report.
            b"style" | b"script" => self.block = Cell::default(),
            _ if !self.inside && ends_block(name) => self.end_block(),
            _ => {}
        }
    }

    fn text(&mut self, value: &[u8], place: usize) {
        let Ok(value) = std::str::from_utf8(value) else { return };
        let blank = value.len() - value.trim_start().len();
        if blank == value.len() {
            self.space();
            return;
        }
        // Entities change the length of a text, never its lines.
        let skipped = value.as_bytes()[..blank].iter().filter(|b| **b == b'\n').count();
        let line = self.lines.of(place).saturating_add(u32::try_from(skipped).unwrap_or(0));
        let target = match (&mut self.cell, self.inside) {
            (Some(cell), _) => cell,
            (None, false) => &mut self.block,
            (None, true) => return,
        };
        if target.text.trim().is_empty() {
            target.line = line;
        }
        if value.starts_with(char::is_whitespace) {
            space(&mut target.text);
        }
        for word in value.split_whitespace() {
            if target.text.len() + word.len() > TEXT_MAX {
                break;
            }
            target.text.push_str(word);
            target.text.push(' ');
        }
        if !value.ends_with(char::is_whitespace) && target.text.ends_with(' ') {
            target.text.pop();
        }
    }

    fn space(&mut self) {
        match &mut self.cell {
            Some(cell) => space(&mut cell.text),
            None => space(&mut self.block.text),
        }
    }

    fn end_cell(&mut self) {
        let Some(mut cell) = self.cell.take() else { return };
        if self.cells.len() == CELLS_MAX {
            self.cut = true;
            return;
        }
        cell.text.truncate(cell.text.trim_end().len());
        self.cells.push(cell);
    }

    fn end_row(&mut self) {
        self.end_cell();
        let (cells, cut) = (std::mem::take(&mut self.cells), std::mem::take(&mut self.cut));
        if cells.is_empty() {
            return;
        }
        if cells.iter().all(|cell| cell.title) {
            (self.take)(Piece::Titles(&cells));
        } else {
            (self.take)(Piece::Row { cells: &cells, cut });
        }
    }

    fn end_block(&mut self) {
        let mut block = std::mem::take(&mut self.block);
        block.text.truncate(block.text.trim_end().len());
        if block.text.is_empty() {
            return;
        }
        (self.take)(Piece::Text {
            text: &block.text,
            line: block.line,
        });
        self.caption = block;
    }
}

fn space(text: &mut String) {
    if !text.is_empty() && !text.ends_with(' ') {
        text.push(' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        pieces(text, &mut |piece| {
            all.push(match piece {
                Piece::Text { text, line } => format!("{line} text {text}"),
                Piece::Table { caption, line } => format!("{line} table {caption}"),
                Piece::Titles(cells) | Piece::Row { cells, .. } => {
                    let cells: Vec<String> = cells.iter().map(|c| format!("{}:{}", c.line, c.text)).collect();
                    cells.join("|")
                }
            });
        });
        all
    }

    #[test]
    fn rows_with_their_lines() {
        let text = "<title>x</title><style>td {a}</style>\n<p />Load\nProfile<p />\n<ul></ul><table border=0>\n\
                    <tr><th></th><th>Per&nbsp;Second</th></tr>\n<tr><td>\nA &lt; B</td><td>&#160;</td><td>\n\n \
                    1,0<b>2</b></td></tr></table>";
        let told = told(text);
        assert_eq!(
            told,
            [
                "1 text x",
                "2 text Load Profile",
                "4 table Load Profile",
                "5:|5:Per Second",
                "7:A < B|7:|9:1,02"
            ]
        );
    }

    #[test]
    fn what_is_broken_takes_no_memory() {
        let deep = "<table><tr><td>".repeat(20_000);
        // Each table, and each row that another one ends; the last row was cut off.
        assert_eq!(told(&deep).len(), 39_999);
        let wide = format!("<table><tr>{}</tr></table>", "<td>7</td>".repeat(1_000_000));
        let mut seen = 0;
        pieces(&wide, &mut |piece| {
            if let Piece::Row { cells, cut } = piece {
                assert!(cut && cells.len() == CELLS_MAX);
                seen += 1;
            }
        });
        assert_eq!(seen, 1);
        let long = format!(
            "<td a='{}'><table x={}><td>{}</table>",
            "y".repeat(1 << 20),
            "z".repeat(1 << 20),
            "9 ".repeat(9000)
        );
        assert!(told(&long).iter().all(|piece| piece.len() < 2 * TEXT_MAX));
    }
}
