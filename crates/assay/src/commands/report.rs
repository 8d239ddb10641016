//! `assay report`: a result file in words, from the file alone.

use super::{print, print_json};
use crate::cli::{self, Format};
use crate::exit::Failure;
use anyhow::anyhow;
use ledger::Ledger;
use report::{Analysis, Style};
use std::io::IsTerminal;

/// Widest report: longer lines are harder to read than more lines.
const WIDTH_MAX: usize = 120;
const WIDTH_MIN: usize = 60;
const WIDTH_PIPED: usize = 80;

pub(crate) fn report(flags: &cli::Report) -> Result<(), Failure> {
    let ledger = Ledger::open(&flags.file).map_err(|e| Failure::Usage(anyhow!("{e}")))?;
    let analysis = Analysis::of(&ledger).map_err(|e| Failure::Run(anyhow!("{e}")))?;
    show(&analysis, &flags.format)
}

/// Prints an analysis in the form asked for.
pub(crate) fn show(analysis: &Analysis, format: &Format) -> Result<(), Failure> {
    if format.json {
        return print_json(&report::json(analysis));
    }
    if format.markdown {
        return print(&report::markdown(analysis));
    }
    print(&report::terminal(analysis, &style()))
}

fn style() -> Style {
    let terminal = std::io::stdout().is_terminal();
    let width = terminal_size::terminal_size()
        .filter(|_| terminal)
        .map_or(WIDTH_PIPED, |(w, _)| usize::from(w.0));
    let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    Style {
        width: width.clamp(WIDTH_MIN, WIDTH_MAX),
        colour,
    }
}
