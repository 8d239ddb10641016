//! `assay report`: a result file in words, from the file alone.

use super::answer::{print, print_json};
use super::page_file;
use crate::cli::{self, Format};
use crate::exit::Failure;
use crate::printed::{self, Holds, say};
use anyhow::anyhow;
use ledger::Ledger;
use report::{Analysis, Style};
use std::io::IsTerminal;
use std::path::Path;

/// Widest report: longer lines are harder to read than more lines.
const WIDTH_MAX: usize = 120;
const WIDTH_MIN: usize = 60;
const WIDTH_PIPED: usize = 80;

pub(crate) fn report(flags: &cli::Report) -> Result<(), Failure> {
    page_file::check(&flags.format, Some(&flags.file))?;
    let ledger = Ledger::open(&flags.file).map_err(|e| Failure::Usage(anyhow!("{e}")))?;
    let analysis = Analysis::of_in_parallel(&ledger).map_err(|e| Failure::Run(anyhow!("{e}")))?;
    show(&ledger, &analysis, &flags.format, Some(&flags.file))
}

/// Prints an analysis in the form asked for, and writes its page where one is asked for. `kept`: the result file, where
/// it stays.
pub(crate) fn show(ledger: &Ledger, analysis: &Analysis, format: &Format, kept: Option<&Path>) -> Result<(), Failure> {
    if let Some(path) = &format.html {
        let page = report::html(ledger, analysis).map_err(|e| Failure::Run(anyhow!("{e}")))?;
        page_file::write(path, &page)?;
        say!("HTML report: {}", path.display());
    }
    if format.json {
        return print_json(&report::json(analysis));
    }
    if format.markdown {
        return print(&report::markdown(analysis));
    }
    let kept = kept.map(|path| path.display().to_string());
    let text = match format.full {
        true => report::terminal(analysis, &style()),
        false => report::brief(analysis, &style(), kept.as_deref()),
    };
    Ok(printed::answer(&text, Holds::Styles)?)
}

/// Whether the user's locale has letters beyond ASCII: the first of its variables that says anything decides.
fn is_utf8() -> bool {
    let mut said = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(std::env::var_os)
        .filter(|value| !value.is_empty());
    said.next().is_some_and(|value| {
        let value = value.to_string_lossy().to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}

pub(crate) fn style() -> Style {
    let terminal = std::io::stdout().is_terminal();
    let width = terminal_size::terminal_size()
        .filter(|_| terminal)
        .map_or(WIDTH_PIPED, |(w, _)| usize::from(w.0));
    let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    Style {
        width: width.clamp(WIDTH_MIN, WIDTH_MAX),
        colour,
        utf8: is_utf8(),
    }
}
