//! A rule of the validity sheet: its subject, what it is held against, what to do, why, and the traps that show it.
//!
//! Takes what a function found, gives a line. A rule is a row of one of two tables: of a phase ([`super::of_phase`])
//! and of the study ([`super::of_study`]); the document has its tables from them. Prevents: a line without a bound, a
//! reason or a trap, and a document that says another threshold than the program has.

use super::at::At;
use crate::analysis::Analysis;
use crate::cells::PhaseReport;
use crate::check::{Check, Status};
use crate::format::percent;
use crate::history::{Book, PhaseHead};
use ledger::Stack;

/// One rule.
pub(crate) struct Rule {
    /// What is looked at; the first word of the line.
    pub subject: &'static str,
    /// What the figure is held against.
    pub bound: Bound,
    /// What is said when it does not hold.
    pub beyond: Status,
    /// What to do.
    pub advice: &'static str,
    /// Where the figure comes from.
    pub take: Take,
    /// The row of the document; `None` where another document tells it, or another row of the same subject does.
    pub document: Option<Document>,
    /// Traps in which the line must appear, by the names that the tests give them.
    pub traps: &'static [&'static str],
}

/// What a figure is held against.
pub(crate) enum Bound {
    /// A share that it must not be above.
    Most(f64),
    /// A share that it must not be below.
    Least(f64),
    /// What holds or does not, in words.
    Words(&'static str),
    /// Nothing: what the line names should not be there at all.
    None,
    /// Something that only the study or the runs tell: it comes with the figure.
    WithFigure,
}

/// What the document says of a rule; where the bound or the status say it all, nothing stands here.
pub(crate) struct Document {
    /// What is looked at.
    pub figure: &'static str,
    /// From where on it is wrong.
    pub threshold: &'static str,
    /// What is said then.
    pub beyond: &'static str,
    /// Why there.
    pub why: &'static str,
}

/// From what a figure is taken, and how often.
pub(crate) enum Take {
    /// Once for the study.
    Study(fn(&Book, &Analysis) -> Option<Taken>),
    /// For each LUN set, LUN or what else the study has several of.
    Each(fn(&Book) -> Vec<Taken>),
    /// For each stack.
    Stack(fn(&Book, &Stack) -> Option<Taken>),
    /// For each stack that takes part.
    TakingPart(fn(&Book, &Stack) -> Option<Taken>),
    /// For each stack in each phase that it came through.
    Cell(fn(&At<'_>) -> Option<Taken>),
    /// For each phase.
    Phase(fn(&Book, &PhaseReport) -> Option<Taken>),
    /// For each stack in each phase, from all of its runs, also those that failed.
    Runs(fn(&Book, &str, &PhaseHead) -> Vec<Taken>),
    /// The same, of data that were lost: whoever lost some may not be recommended without a word of it.
    Losses(fn(&Book, &str, &PhaseHead) -> Vec<Taken>),
}

/// How a figure stands to the bound of its rule.
enum Stands {
    /// A share, to be compared.
    Share(f64),
    /// It holds or does not.
    Holds(bool),
    /// Judged where it was taken, by more than one thing.
    Judged(Status),
}

/// What was found.
pub(crate) struct Taken {
    stands: Stands,
    figure: String,
    bound: Option<String>,
    advice: Option<&'static str>,
}

impl Taken {
    fn new(stands: Stands, figure: impl Into<String>) -> Taken {
        Taken {
            stands,
            figure: figure.into(),
            bound: None,
            advice: None,
        }
    }

    /// A share to be held against the rule's.
    pub(crate) fn share(share: f64, figure: impl Into<String>) -> Taken {
        Taken::new(Stands::Share(share), figure)
    }

    /// Something that holds, or does not.
    pub(crate) fn holds(holds: bool, figure: impl Into<String>) -> Taken {
        Taken::new(Stands::Holds(holds), figure)
    }

    /// Something that is there and should not be.
    pub(crate) fn broken(figure: impl Into<String>) -> Taken {
        Taken::holds(false, figure)
    }

    /// Something with a status of its own.
    pub(crate) fn judged(status: Status, figure: impl Into<String>) -> Taken {
        Taken::new(Stands::Judged(status), figure)
    }

    /// Held against something that only the file tells.
    pub(crate) fn against(self, bound: impl Into<String>) -> Taken {
        Taken {
            bound: Some(bound.into()),
            ..self
        }
    }

    /// With other advice than the rule's.
    pub(crate) fn advising(self, advice: &'static str) -> Taken {
        Taken {
            advice: Some(advice),
            ..self
        }
    }
}

impl Rule {
    /// The row of the document, with the traps.
    pub(crate) fn row(&self) -> Option<String> {
        let document = self.document.as_ref()?;
        let threshold = match self.bound {
            Bound::Most(share) | Bound::Least(share) if document.threshold.is_empty() => percent(share),
            _ => document.threshold.into(),
        };
        let beyond = match document.beyond {
            "" => self.beyond.word(),
            beyond => beyond,
        };
        let cells = [self.subject, document.figure, &threshold, beyond, document.why];
        Some(format!("| {} |\n", cells.join(" | ")))
    }

    fn status(&self, stands: &Stands) -> Status {
        let holds = match (stands, &self.bound) {
            (Stands::Judged(status), _) => return *status,
            (Stands::Holds(holds), _) => *holds,
            (Stands::Share(share), Bound::Most(most)) => share <= most,
            (Stands::Share(share), Bound::Least(least)) => share >= least,
            (Stands::Share(_), Bound::Words(_) | Bound::None | Bound::WithFigure) => {
                unreachable!("{}: a share without a bound", self.subject)
            }
        };
        if holds { Status::Valid } else { self.beyond }
    }

    /// What the figure is held against, in words.
    fn wanted(&self) -> Option<String> {
        match self.bound {
            Bound::Most(share) => Some(format!("at most {}", percent(share))),
            Bound::Least(share) => Some(format!("at least {}", percent(share))),
            Bound::Words(words) => Some(words.into()),
            Bound::None => None,
            Bound::WithFigure => unreachable!("{}: a figure without its bound", self.subject),
        }
    }

    /// The line.
    pub(crate) fn line(&self, stack: Option<&str>, phase: Option<&str>, taken: Taken) -> Check {
        Check {
            subject: self.subject.into(),
            stack: stack.map(str::to_string),
            phase: phase.map(str::to_string),
            status: self.status(&taken.stands),
            figure: taken.figure,
            threshold: taken.bound.or_else(|| self.wanted()),
            advice: taken.advice.unwrap_or(self.advice).into(),
            is_loss: matches!(self.take, Take::Losses(_)),
        }
    }
}
