//! What a transaction asks for in one go: statements with their values, and whether a transaction begins or ends with
//! them.
//!
//! Plain data, filled by a transaction and read by an executor; its memory is kept from use to use. Prevents: logic
//! that knows which database runs it.

use super::statements::Query;

/// How a batch ends its transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// With a commit after the last statement.
    Commit,
    /// With a rollback after the last statement: the user made a mistake.
    Rollback,
}

/// One value of a statement or one cell of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// A number.
    Int(i64),
    /// Text: where it starts in the text of its batch or answer, and its bytes.
    Text {
        /// First byte.
        from: u32,
        /// Bytes.
        bytes: u32,
    },
    /// Nothing.
    Null,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    query: Query,
    /// Its first value; it ends where the next call's begins.
    from: u32,
}

/// Statements to run in order.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    begins: bool,
    end: Option<End>,
    calls: Vec<Call>,
    values: Vec<Value>,
    text: Vec<u8>,
}

impl Batch {
    /// An empty one.
    pub fn new() -> Self {
        Batch::default()
    }

    /// Empties it and keeps its memory.
    pub fn clear(&mut self) {
        self.begins = false;
        self.end = None;
        self.calls.clear();
        self.values.clear();
        self.text.clear();
    }

    /// Is the first of its transaction.
    pub fn begins(&self) -> bool {
        self.begins
    }

    /// Is the last of its transaction, and how.
    pub fn end(&self) -> Option<End> {
        self.end
    }

    /// The statements with their values, in order.
    pub fn calls(&self) -> impl ExactSizeIterator<Item = (Query, &[Value])> {
        self.calls.iter().enumerate().map(|(nth, call)| {
            let to = self
                .calls
                .get(nth + 1)
                .map_or(self.values.len(), |next| next.from as usize);
            (call.query, &self.values[call.from as usize..to])
        })
    }

    /// The bytes of a text value of this batch; empty for any other.
    pub fn text(&self, value: Value) -> &[u8] {
        match value {
            Value::Text { from, bytes } => &self.text[from as usize..][..bytes as usize],
            _ => &[],
        }
    }

    pub(super) fn begin(&mut self) {
        self.begins = true;
    }

    pub(super) fn finish(&mut self, end: End) {
        self.end = Some(end);
    }

    /// Adds a statement; its values follow.
    pub(super) fn call(&mut self, query: Query) -> &mut Self {
        self.calls.push(Call {
            query,
            from: self.values.len() as u32,
        });
        self
    }

    pub(super) fn int(&mut self, value: i64) -> &mut Self {
        self.values.push(Value::Int(value));
        self
    }

    pub(super) fn ints<const N: usize>(&mut self, values: [i64; N]) -> &mut Self {
        self.values.extend(values.map(Value::Int));
        self
    }

    /// Text in pieces, cut after `most` bytes.
    pub(super) fn pieces(&mut self, pieces: &[&[u8]], most: usize) -> &mut Self {
        let from = self.text.len();
        for piece in pieces {
            self.text.extend_from_slice(piece);
        }
        self.text.truncate(from + most);
        self.values.push(Value::Text {
            from: from as u32,
            bytes: (self.text.len() - from) as u32,
        });
        self
    }

    pub(super) fn words(&mut self, text: &[u8]) -> &mut Self {
        self.pieces(&[text], usize::MAX - self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_keep_their_own_values_and_text_is_cut() {
        let mut batch = Batch::new();
        batch.begin();
        batch.call(Query::Item).int(7);
        batch.call(Query::AddHistory).int(1).pieces(&[b"abc", b"defg"], 5);
        let calls: Vec<_> = batch.calls().map(|(q, v)| (q, v.to_vec())).collect();
        assert_eq!(calls[0], (Query::Item, vec![Value::Int(7)]));
        assert_eq!(calls[1].1.len(), 2);
        assert_eq!(batch.text(calls[1].1[1]), b"abcde");
        assert!(batch.begins() && batch.end().is_none());
        batch.clear();
        assert!(!batch.begins() && batch.calls().len() == 0);
    }
}
