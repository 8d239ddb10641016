//! What is wrong with a study, said as a compiler says it: file, line, column, the line itself, and the cure.
//!
//! Takes findings (a span, a message, a cure) and the text; gives [`PlanError`]. Prevents: an error that names a key
//! without saying where, and one that says where without saying what to do.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bytes of the study text, from and to.
pub(crate) type Span = Range<usize>;

/// Why a study cannot be used. The last line of each message is what to do.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The file could not be read.
    #[error("cannot read the study {}: {source}\ncure: check the path and that you may read it", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The text is not a study; all that was found, first things first.
    #[error("{}", Listed(problems))]
    Broken {
        /// By position in the file; never empty.
        problems: Vec<Problem>,
    },
    /// `--scale` is not a number that sizes can be multiplied with.
    #[error("cannot scale a study by {factor}\ncure: give a number above 0, up to 1000000, such as 4 or 0.5")]
    Scale {
        /// As given.
        factor: f64,
    },
}

impl PlanError {
    /// The problems found in the text; empty when it was not the text.
    pub fn problems(&self) -> &[Problem] {
        match self {
            PlanError::Broken { problems } => problems,
            PlanError::Read { .. } | PlanError::Scale { .. } => &[],
        }
    }
}

/// One thing wrong with the text of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file as the user named it.
    pub file: PathBuf,
    /// 1-based.
    pub line: usize,
    /// 1-based, in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub cure: String,
    /// The line of the file, control characters made visible as `?`, cut to what fits a terminal.
    pub excerpt: String,
    /// Characters of `excerpt` before the marked ones, and how many are marked (at least 1).
    pub mark: (usize, usize),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        writeln!(
            f,
            "{}:{}:{}: {}",
            self.file.display(),
            self.line,
            self.column,
            self.message
        )?;
        writeln!(f, " {number} | {}", self.excerpt)?;
        writeln!(f, " {margin} | {}{}", " ".repeat(self.mark.0), "^".repeat(self.mark.1))?;
        write!(f, "cure: {}", self.cure)
    }
}

/// Problems one after another, an empty line between.
struct Listed<'a>(&'a [Problem]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

/// What was found, not yet placed in lines and columns.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<(Span, String, String)>);

impl Findings {
    /// Notes a problem at `span` with its cure.
    pub(crate) fn add(&mut self, span: &Span, message: impl Into<String>, cure: impl Into<String>) {
        self.0.push((span.clone(), message.into(), cure.into()));
    }

    /// The first, as message and cure.
    pub(crate) fn first(&self) -> Option<(&str, &str)> {
        self.0
            .first()
            .map(|(_, message, cure)| (message.as_str(), cure.as_str()))
    }

    /// How many were noted.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Nothing found.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All found, placed in `text` and in order of position.
    pub(crate) fn into_error(mut self, text: &str, file: &Path) -> PlanError {
        self.0.sort_by_key(|(span, _, _)| (span.start, span.end));
        self.0.dedup();
        let problems = self
            .0
            .into_iter()
            .take(PROBLEMS_MAX)
            .map(|(span, message, cure)| place(text, file, &span, message, cure))
            .collect();
        PlanError::Broken { problems }
    }
}

/// Most problems that are shown: whoever mends those is told of the next.
const PROBLEMS_MAX: usize = 100;
/// Most characters of a line that are shown.
const SHOWN: usize = 96;

fn place(text: &str, file: &Path, span: &Span, message: String, cure: String) -> Problem {
    let mut start = span.start.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let line: Vec<char> = text[line_start..line_end].trim_end_matches('\r').chars().collect();
    let before = text[line_start..start].chars().count().min(line.len());
    let mut end = span.end.clamp(start, line_end);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let marked = text[start..end].trim_end().chars().count();
    // A long line is shown from a little before the mark.
    let cut = if line.len() > SHOWN && before > SHOWN / 2 {
        before - SHOWN / 2
    } else {
        0
    };
    let shown: Vec<char> = line
        .iter()
        .skip(cut)
        .take(SHOWN)
        .map(|c| if crate::plain::shows(*c) { *c } else { visible(*c) })
        .collect();
    let offset = before - cut;
    Problem {
        file: file.to_path_buf(),
        line: text[..line_start].matches('\n').count() + 1,
        column: before + 1,
        message,
        cure,
        mark: (offset, marked.clamp(1, shown.len().saturating_sub(offset).max(1))),
        excerpt: shown.into_iter().collect(),
    }
}

/// Such a character may move the cursor, recolour the terminal or turn the line around; it is shown as
/// something that cannot.
fn visible(c: char) -> char {
    if c == '\t' { ' ' } else { '?' }
}
