//! What can be wrong with a text to import. Each error says the line where there is one, and its last line is what to
//! do.
//!
//! Prevents: an import that fails without saying what would have been read.

use crate::choice::Choice;
use crate::format::Format;

/// Why a text cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// No known layout.
    #[error("no known layout\n  looked for: {looked_for}\n  {cure}")]
    Unknown {
        /// What would have been recognised, one line a format.
        looked_for: String,
        /// What to do.
        cure: String,
    },
    /// The format is known, and nothing of it is there.
    #[error(
        "nothing to import as {}\n  looked for: {looked_for}\n  give the whole file as the tool wrote it, or another \
         --format",
        format.word()
    )]
    Nothing {
        /// As which it was read.
        format: Format,
        /// What was looked for.
        looked_for: &'static str,
    },
    /// Numbers of another language.
    #[error("line {line}: {token:?} is written with a decimal comma, and 1,234 would then be read wrongly\n  {cure}")]
    DecimalComma {
        /// 1-based.
        line: u32,
        /// As printed.
        token: String,
        /// How to have it printed with points.
        cure: &'static str,
    },
    /// Only the averages since boot.
    #[error(
        "line {line}: the only report of this iostat is the average since the system was started\n  take a count of \
         intervals (`iostat -x 5 13`); if it was started with -y, say --keep-first"
    )]
    SinceBoot {
        /// 1-based.
        line: u32,
    },
    /// Of a kind that has another layout.
    #[error("line {line}: {what}\n  {cure}")]
    Other {
        /// 1-based.
        line: u32,
        /// What was found.
        what: String,
        /// What to do.
        cure: String,
    },
    /// What was said beside the text is not read in its format.
    #[error(
        "{} says nothing of a text of {}\n  leave it out, or give texts of {} in a command of their own",
        choice.flag(),
        format.word(),
        choice.read_by()
    )]
    Unread {
        /// What was said.
        choice: Choice,
        /// Of the text.
        format: Format,
    },
    /// Rows of different loads under one name.
    #[error(
        "rows with {title} = {} and {title} = {} are of different loads, and a median over them is of neither\n  \
         import each under a phase of its own (--where {title}={}), or cut a column that was measured out of the text",
        cells[0],
        cells[1],
        cells[0]
    )]
    Unlike {
        /// Of the column.
        title: String,
        /// What stands in it.
        cells: [String; 2],
    },
    /// What was asked for is not in the text.
    #[error("{what}\n  {cure}")]
    Absent {
        /// What was asked for.
        what: String,
        /// What to do.
        cure: String,
    },
    /// JSON that is none.
    #[error(
        "line {line}: not the JSON of fio: {detail}\n  write it with `fio --output-format=json --output=FILE`, and \
         give the whole file"
    )]
    Json {
        /// 1-based.
        line: u32,
        /// The reader's word.
        detail: String,
    },
    /// More than is read.
    #[error(
        "{bytes} bytes are more than is read at once, or hold too many figures\n  cut the part that belongs to the \
         phase out of it"
    )]
    TooLarge {
        /// Of the text.
        bytes: usize,
    },
}

impl ImportError {
    /// Where another run of the tool begins, in a text of which one is read.
    pub(crate) fn second_run(line: u32, tool: &str) -> ImportError {
        ImportError::Other {
            line,
            what: format!("a second run of {tool} is here"),
            cure: "cut the file between the runs and import each by itself".into(),
        }
    }
}
