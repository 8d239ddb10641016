//! Which forms show a thing, and what a word says by itself.
//!
//! Plain types, below all that a document is made of. Prevents: a thing that a form shows, or paints, by its own rule.

use crate::check::Status;

/// Which forms show a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Forms(u8);

impl Forms {
    pub(crate) const TERMINAL: Forms = Forms(1);
    /// Short: the figures of most tables are left to the other forms.
    pub(crate) const MARKDOWN: Forms = Forms(2);
    /// The page, but not a lean one.
    pub(crate) const FULL_PAGE: Forms = Forms(4);
    /// The page of very many phases, which leaves out what is secondary.
    pub(crate) const LEAN_PAGE: Forms = Forms(8);
    /// The page, lean or not.
    pub(crate) const PAGE: Forms = Forms(4 | 8);
    /// Terminal and Markdown.
    pub(crate) const TEXTS: Forms = Forms(1 | 2);
    /// Terminal and page.
    pub(crate) const LONG: Forms = Forms(1 | 4 | 8);
    /// All but Markdown and a lean page.
    pub(crate) const TERMINAL_AND_FULL_PAGE: Forms = Forms(1 | 4);
    pub(crate) const ALL: Forms = Forms(15);
    /// The one screen of a terminal: only blocks that name it, with the rows and columns of a terminal.
    pub(crate) const BRIEF: Forms = Forms(16);

    /// All, and the one screen too.
    pub(crate) const EVERY: Forms = Forms(31);

    /// Those that are in both.
    #[cfg(test)]
    pub(crate) fn and(self, other: Forms) -> Forms {
        Forms(self.0 & other.0)
    }

    /// The form whose rows and columns a table has in this one.
    pub(crate) fn of_rows(self) -> Forms {
        match self {
            Forms::BRIEF => Forms::TERMINAL,
            other => other,
        }
    }

    /// True when any of these forms is among them.
    pub(crate) fn has(self, form: Forms) -> bool {
        self.0 & form.0 != 0
    }
}

/// What a word says by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Better,
    Worse,
    Equal,
    Open,
    Clear,
    Valid,
    Note,
    Suspect,
    Invalid,
}

impl From<Status> for Tone {
    fn from(status: Status) -> Tone {
        match status {
            Status::Valid => Tone::Valid,
            Status::Note => Tone::Note,
            Status::Suspect => Tone::Suspect,
            Status::Invalid => Tone::Invalid,
        }
    }
}
