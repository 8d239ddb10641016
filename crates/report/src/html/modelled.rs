//! What modelled devices counted, beside the kernel's count, as a table of all phases.
//!
//! Takes the analysis, puts the table on the page. Prevents: a model's word without its witness.

use super::Source;
use super::figure_cells::{Column, Shown, column, framed, stack_name, table};
use super::markup::Markup;
use crate::modelled::{COLUMNS, ModelledDevices, TITLE};

pub(crate) fn part(body: &mut Markup, source: &Source<'_>) {
    let rows = &source.analysis.modelled;
    if rows.is_empty() {
        return;
    }
    body.raw("<h3 id=modelled>Modelled devices<span class=aside>their own count beside the kernel's</span></h3>");
    let words = column("phase", "", |one: &ModelledDevices| Shown::Text(one.phase.clone())).of_words();
    let mut columns: Vec<Column<'_, ModelledDevices>> = vec![words];
    for (title, unit, cell) in COLUMNS {
        columns.push(column(title, unit, move |one: &ModelledDevices| {
            cell(one).map_or(Shown::Nothing, Shown::Text)
        }));
    }
    table(body, &framed(source, TITLE, "Stack"), rows, &columns, |page, one| {
        stack_name(page, &source.mark(&one.stack), &one.stack);
    });
}
