//! The rows that came back for a batch, call by call.
//!
//! Filled by an executor, read by a transaction; its memory is kept from use to use. Prevents: an allocation per row.

use super::batch::Value;

/// Rows of each call of a batch.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// First row of each call.
    calls: Vec<u32>,
    /// First cell of each row.
    rows: Vec<u32>,
    cells: Vec<Value>,
    text: Vec<u8>,
}

impl Answer {
    /// An empty one.
    pub fn new() -> Self {
        Answer::default()
    }

    /// Empties it and keeps its memory.
    pub fn clear(&mut self) {
        self.calls.clear();
        self.rows.clear();
        self.cells.clear();
        self.text.clear();
    }

    /// The next call begins: also for statements that give no rows.
    pub fn open_call(&mut self) {
        self.calls.push(self.rows.len() as u32);
    }

    /// The next row of the call begins.
    pub fn open_row(&mut self) {
        self.rows.push(self.cells.len() as u32);
    }

    /// A number, the next cell of the row.
    pub fn push_int(&mut self, value: i64) {
        self.cells.push(Value::Int(value));
    }

    /// Text, the next cell of the row.
    pub fn push_text(&mut self, text: &[u8]) {
        self.cells.push(Value::Text {
            from: self.text.len() as u32,
            bytes: text.len() as u32,
        });
        self.text.extend_from_slice(text);
    }

    /// Nothing, the next cell of the row.
    pub fn push_null(&mut self) {
        self.cells.push(Value::Null);
    }

    /// Calls that were opened.
    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    /// Rows of a call; 0 for one that is not there.
    pub fn rows(&self, call: usize) -> usize {
        let Some(&from) = self.calls.get(call) else { return 0 };
        let to = self.calls.get(call + 1).map_or(self.rows.len(), |&next| next as usize);
        to - from as usize
    }

    /// One cell, or nothing where there is none.
    pub fn cell(&self, call: usize, row: usize, column: usize) -> Option<Value> {
        if row >= self.rows(call) {
            return None;
        }
        let nth = self.calls[call] as usize + row;
        let from = self.rows[nth] as usize;
        let to = self.rows.get(nth + 1).map_or(self.cells.len(), |&next| next as usize);
        self.cells[from..to].get(column).copied()
    }

    /// A number; `None` where there is no such cell, or no number in it.
    pub fn int(&self, call: usize, row: usize, column: usize) -> Option<i64> {
        match self.cell(call, row, column) {
            Some(Value::Int(value)) => Some(value),
            _ => None,
        }
    }

    /// Text; `None` where there is no such cell, or no text in it.
    pub fn text(&self, call: usize, row: usize, column: usize) -> Option<&[u8]> {
        match self.cell(call, row, column) {
            Some(Value::Text { from, bytes }) => Some(&self.text[from as usize..][..bytes as usize]),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_and_missing_ones_are_none() {
        let mut answer = Answer::new();
        answer.open_call();
        answer.open_call();
        answer.open_row();
        answer.push_int(3);
        answer.push_null();
        answer.open_row();
        answer.push_text(b"x");
        answer.open_call();
        assert_eq!(
            (answer.rows(0), answer.rows(1), answer.rows(2), answer.rows(9)),
            (0, 2, 0, 0)
        );
        assert_eq!(answer.int(1, 0, 0), Some(3));
        assert_eq!(answer.cell(1, 0, 1), Some(Value::Null));
        assert_eq!(answer.cell(1, 0, 2), None);
        assert_eq!(answer.text(1, 1, 0), Some(&b"x"[..]));
        assert_eq!(answer.int(0, 0, 0), None);
    }
}
