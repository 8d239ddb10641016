//! `assay compare`: result files of several days or hosts beside each other, from the files alone.

use super::answer::{print, print_json};
use super::page_file;
use super::report::style;
use crate::cli;
use crate::exit::Failure;
use crate::printed::{self, Holds, say};
use anyhow::anyhow;
use ledger::Ledger;
use report::{FileTaken, FilesCompared};
use std::path::PathBuf;

pub(crate) fn compare(flags: &cli::Compare) -> Result<(), Failure> {
    page_file::check(&flags.format, None)?;
    let files = flags.files.iter().map(taken).collect::<Result<Vec<_>, Failure>>()?;
    let compared = FilesCompared::of(&files).map_err(|e| Failure::Usage(anyhow!("{e}")))?;
    if let Some(path) = &flags.format.html {
        page_file::write(path, &report::compare_html(&compared))?;
        say!("HTML report: {}", path.display());
    }
    if flags.format.json {
        return print_json(&report::compare_json(&compared));
    }
    if flags.format.markdown {
        return print(&report::compare_markdown(&compared));
    }
    let text = match flags.format.full {
        true => report::compare_terminal(&compared, &style()),
        false => report::compare_brief(&compared, &style()),
    };
    Ok(printed::answer(&text, Holds::Styles)?)
}

/// One file at a time: it is closed before the next is opened.
fn taken(path: &PathBuf) -> Result<FileTaken, Failure> {
    let ledger = Ledger::open(path).map_err(|e| Failure::Usage(anyhow!("{e}")))?;
    FileTaken::of(path.display().to_string(), &ledger).map_err(|e| Failure::Run(anyhow!("{e}")))
}
