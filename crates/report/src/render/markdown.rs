//! The report as short Markdown: the answer, what was concluded, one table a phase, the doubts.
//!
//! Takes the [`Document`], gives text for an issue or a wiki page. Prevents: names in a study that turn into markup.

use super::{Letters, lettered_columns, rows_of};
use crate::document::{Block, Document, Forms, Placed, Table, shown};
use crate::text::escaped;

const FORM: Forms = Forms::MARKDOWN;
/// More rows of a table than these are left to the JSON form.
const ROWS_MAX: usize = 100;

/// Short Markdown.
pub(crate) fn markdown(document: &Document) -> String {
    let mut out = format!(
        "## {}\n\n**{}**\n\n",
        plain(&document.question),
        plain(&document.answer)
    );
    blocks(&mut out, &document.opening);
    for section in document.read_from_the_top() {
        if section.shown(FORM).next().is_some() && !section.title.is_empty() {
            out.push_str(&format!("### {}\n\n", plain(&section.title)));
        }
        blocks(&mut out, &section.blocks);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn blocks(out: &mut String, blocks: &[Placed]) {
    for block in shown(blocks, FORM) {
        put(out, block);
    }
}

fn put(out: &mut String, block: &Block) {
    match block {
        Block::Text(text) | Block::Warning(text) | Block::Note(text) => out.push_str(&format!("{}\n\n", plain(text))),
        Block::Label(text) => out.push_str(&format!("{}:\n\n", plain(text))),
        Block::List(items) => {
            for item in items {
                let tag = item
                    .tag
                    .as_ref()
                    .map_or(String::new(), |(tag, _)| format!("{} ", plain(tag)));
                out.push_str(&format!("- {tag}{}\n", plain(&item.text)));
            }
            out.push('\n');
        }
        Block::Facts(facts) => {
            for (name, value) in facts {
                out.push_str(&format!("- {name}: {}\n", plain(value)));
            }
            out.push('\n');
        }
        Block::Table(one) => table(out, one),
        Block::Part(part) => {
            out.extend(part.heading().map(|heading| format!("### {}\n\n", plain(&heading))));
            blocks(out, &part.blocks);
        }
        // Neither drawings nor long texts are short.
        Block::Tally(..) | Block::Chart(_) | Block::Verbatim(_) => {}
    }
}

fn table(out: &mut String, table: &Table) {
    let letters = Letters { most: 12, utf8: true };
    let columns = lettered_columns(table, FORM, letters);
    if columns.is_empty() {
        return;
    }
    let row = |out: &mut String, cells: Vec<String>| out.push_str(&format!("| {} |\n", cells.join(" | ")));
    let head = |(head, unit): (&str, &str)| plain(format!("{head} {unit}").trim());
    let heads = columns.iter().map(|one| head((&one.column.head, &one.column.unit)));
    row(out, [table.names.to_string()].into_iter().chain(heads).collect());
    row(out, vec!["---".into(); columns.len() + 1]);
    let rows: Vec<usize> = rows_of(table, FORM).collect();
    for (nth, number) in rows.iter().take(ROWS_MAX).enumerate() {
        let cells = columns
            .iter()
            .map(|one| one.texts[nth].as_deref().map_or("-".into(), plain));
        row(
            out,
            [plain(&table.rows[*number].text)].into_iter().chain(cells).collect(),
        );
    }
    if rows.len() > ROWS_MAX {
        out.push_str(&format!(
            "\n{} more rows are in the JSON form.\n",
            rows.len() - ROWS_MAX
        ));
    }
    out.push('\n');
}

/// Text that stays text in Markdown.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escaped(text).chars() {
        if matches!(c, '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '#' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
