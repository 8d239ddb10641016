//! Oracle's AWR report as text or HTML, and statspack's text: head, load profile, statistics, events, I/O by function,
//! tablespace and file. Whole reports of 9i to 19c, and pieces cut out of one by a script.
//!
//! Takes text, gives one report. Which figure may be compared: requests and bytes from the statistics, else requests
//! from the load profile; latency from the tablespace with the most I/O (or the one named). Prevents: blocks taken for
//! requests, the latency of the undo tablespace taken for that of the data, and a report of a cluster read as if it
//! were of one instance.

mod head;
mod html;
mod kind;
mod load;
mod page;
mod parts;
mod sections;
mod statistics;
mod table;
mod tablespace;
mod text;

use crate::error::ImportError;
use crate::figure::Imported;
use crate::format::{Format, Options};

/// Reads a report; `format` is [`Format::Awr`] or [`Format::Statspack`], which differ in name and in few titles.
pub(crate) fn read(text: &str, format: Format, options: &Options) -> Result<Imported, ImportError> {
    if is_html(text) {
        let parts = page::read(text)?;
        return parts.finish("AWR HTML", format, options);
    }
    let name = match format {
        Format::Statspack => "statspack text",
        _ => "AWR text",
    };
    text::read(text)?.finish(name, format, options)
}

/// True for a page, whole or cut.
pub(crate) fn is_html(text: &str) -> bool {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let lower: String = start.chars().take(4096).collect::<String>().to_ascii_lowercase();
    lower.starts_with("<html")
        || lower.starts_with("<!doctype html")
        || ["<table", "<tr", "<h1", "<h2", "<h3", "<p"]
            .iter()
            .any(|tag| lower.starts_with(tag))
        || lower.contains("<html")
}

/// True for a page that has a table read here.
pub(crate) fn is_report(text: &str) -> bool {
    let mut found = false;
    html::pieces(text, &mut |piece| found |= page::is_known(&piece));
    found
}
