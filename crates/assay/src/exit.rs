//! Exit codes, and the one place that turns an error into one.

use crate::printed::say;
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
}

impl Failure {
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Verdict(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Run(_) => 3,
            Failure::Dirty(_) => 4,
        }
    }

    /// Prints what happened to stderr and gives the code.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Failure::Verdict(text) => say!("{text}"),
            Failure::Usage(e) | Failure::Run(e) => say!("assay: {}", chain(e)),
            Failure::Dirty(e) => say!(
                "assay: {}\nThe host is not as it was before. `assay clean --dry-run` lists what is left, `assay clean` undoes it.",
                chain(e)
            ),
        }
        ExitCode::from(self.code())
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        Failure::Run(error)
    }
}

/// An error and its causes. A cause that its parent already quotes is left out, so that nothing is said twice.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}
