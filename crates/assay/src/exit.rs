//! Exit codes, and the one place that turns an error into one.

use crate::printed::say;
use lab::{OrderedError, chain};
use std::process::ExitCode;

/// Why the program ends with something other than 0.
#[derive(Debug)]
pub(crate) enum Failure {
    /// 1: done, and the verdict is one that `--fail-on` names.
    Verdict(String),
    /// 2: the command line or the study is wrong.
    Usage(anyhow::Error),
    /// 3: could not build or run.
    Run(anyhow::Error),
    /// 4: something could not be undone: the host is not as it was.
    Dirty(anyhow::Error),
    /// 4 from the command that undoes: the text says what to do.
    Left(anyhow::Error),
}

impl Failure {
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Verdict(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Run(_) => 3,
            Failure::Dirty(_) | Failure::Left(_) => 4,
        }
    }

    /// Prints what happened to stderr and gives the code.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Failure::Verdict(text) => say!("{text}"),
            Failure::Usage(e) | Failure::Run(e) | Failure::Left(e) => say!("assay: {}", chain(e)),
            Failure::Dirty(e) => say!(
                "assay: {}\nThe host is not as it was before. \
                 `assay clean --dry-run` lists what is left, `assay clean` undoes it.",
                chain(e)
            ),
        }
        ExitCode::from(self.code())
    }
}

impl From<OrderedError> for Failure {
    fn from(error: OrderedError) -> Failure {
        match error {
            OrderedError::NoOrder(error) => Failure::Usage(error),
            OrderedError::Failed(error) => Failure::Run(error),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        Failure::Run(error)
    }
}
