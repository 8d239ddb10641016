//! How a command ends: its answer on stdout, or why there is none.
//!
//! Takes text and errors in which words of result files may stand, shows them with everything made visible that a
//! terminal would act on. Prevents: a script that takes an answer that misses what is owed for a good one.

use serde_json::Value;
use std::process::ExitCode;

/// Why the program ends with something other than 0.
#[derive(Debug)]
pub(crate) enum Failure {
    /// 2: the flags or a file are wrong.
    Usage(anyhow::Error),
    /// 3: the answer was printed and misses what is owed, or there is none.
    Missed(anyhow::Error),
}

impl Failure {
    /// An error for a file or a flag that is none.
    pub(crate) fn usage(why: impl std::fmt::Display) -> Failure {
        Failure::Usage(anyhow::anyhow!("{why}"))
    }

    /// Prints it, gives the code.
    pub(crate) fn report(&self) -> ExitCode {
        let (error, code) = match self {
            Failure::Usage(error) => (error, 2),
            Failure::Missed(error) => (error, 3),
        };
        let text = report::escaped_lines(&format!("laboratory: {error:#}"), false);
        eprintln!("{}", text.trim_end_matches('\n'));
        ExitCode::from(code)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        Failure::Missed(error)
    }
}

/// The answer as text.
pub(crate) fn print(text: &str) {
    println!("{}", report::escaped_lines(text, false).trim_end_matches('\n'));
}

/// The answer as JSON.
pub(crate) fn print_json(value: &Value) {
    println!("{}", report::escaped_json(&format!("{value:#}")));
}
