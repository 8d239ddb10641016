//! The sections of the report: what is said, declared once for all forms.
//!
//! Takes the analysis, and for a page what it takes from the file; gives the [`Document`]. Each file here makes
//! sections, and a table in them is a list of columns. Prevents: two forms that say two things.

mod bulk;
mod differences;
mod disclosure;
mod elsewhere;
mod from_file;
mod layouts;
mod left_out;
mod moves;
mod opening;
mod orders;
mod phases;
mod storage;
mod times;
mod validity;
mod verdicts;

use crate::analysis::Analysis;
use crate::document::{Block, Document, Forms, Item, Name, Placed, Section, Stands, Tone};
pub(crate) use from_file::FromFile;

/// What sections are made from.
pub(crate) struct Source<'a> {
    analysis: &'a Analysis,
    /// What only a page shows, read from the file.
    file: Option<&'a FromFile>,
    lean: bool,
}

/// More pairs of phase and stack than this make a lean page.
const FULL_MAX: usize = 400;

impl Source<'_> {
    /// The name of a stack, with the mark in which it is drawn everywhere.
    fn stack(&self, stack: &str) -> Name {
        self.named(stack, stack.into())
    }

    /// Something of a stack, with its mark.
    fn named(&self, stack: &str, text: String) -> Name {
        let index = self.analysis.stacks.iter().position(|head| head.name == stack);
        Name {
            text,
            mark: Some(index.unwrap_or(0)),
            forms: Forms::ALL,
        }
    }
}

/// True when there is so much to show that a page leaves out what is secondary.
pub(crate) fn is_lean(analysis: &Analysis) -> bool {
    analysis.phases.iter().map(|phase| phase.cells.len()).sum::<usize>() > FULL_MAX
}

/// The document; without the file it has no series, no distributions and no disclosure, which only a page shows.
pub(crate) fn document(analysis: &Analysis, file: Option<&FromFile>) -> Document {
    let source = Source {
        analysis,
        file,
        lean: is_lean(analysis),
    };
    // In the order of a terminal. A section that has nothing to say is left out.
    let sections = [
        differences::section(&source),
        orders::databases(&source),
        phases::section(&source),
        file.and_then(|file| file.over_time()),
        layouts::section(&source),
        storage::modelled(&source),
        storage::memory(&source),
        verdicts::verdicts(&source),
        verdicts::changes(&source),
        verdicts::not_tested(&source),
        elsewhere::section(&source),
        left_out::section(&source),
        validity::section(&source),
        file.map(|file| disclosure::section(&source, file)),
    ];
    let study = &analysis.study;
    Document {
        study: study.name.clone(),
        question: if study.question.is_empty() {
            &study.name
        } else {
            &study.question
        }
        .clone(),
        answer: analysis.sentence.clone(),
        opening: opening::blocks(&source),
        sections: sections.into_iter().flatten().collect(),
        imprint: format!(
            "Made by assay {} from the result file of run {}; run by assay {}. This page is one file and sends \
                 nothing anywhere.",
            env!("CARGO_PKG_VERSION"),
            study.run_id,
            study.tool_version
        ),
        lean: source.lean,
    }
}

/// A section that follows; `None` without blocks.
fn section(id: &'static str, name: &'static str, title: impl Into<String>, blocks: Vec<Placed>) -> Option<Section> {
    (!blocks.is_empty()).then(|| Section {
        id,
        name,
        title: title.into(),
        stands: Stands::Follows,
        blocks,
    })
}

impl Section {
    fn standing(mut self, stands: Stands) -> Section {
        self.stands = stands;
        self
    }
}

fn list(lines: impl IntoIterator<Item = String>) -> Block {
    Block::List(lines.into_iter().map(Item::from).collect())
}

fn status_tone(status: crate::check::Status) -> Tone {
    match status {
        crate::check::Status::Valid => Tone::Valid,
        crate::check::Status::Note => Tone::Note,
        crate::check::Status::Suspect => Tone::Suspect,
        crate::check::Status::Invalid => Tone::Invalid,
    }
}

/// Values in the order in which each came first.
fn distinct<'a>(values: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}
