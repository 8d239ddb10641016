//! The sections of the report: what is said, declared once for all forms.
//!
//! Takes the analysis, and for a page what it takes from the file; gives the [`Document`]. Each file here makes
//! sections, and a table in them is a list of columns. Prevents: two forms that say two things.

mod answer;
mod changes;
mod cost;
mod databases;
mod differences;
mod disclosure;
mod elsewhere;
mod from_file;
mod layouts;
mod left_out;
mod live;
mod moves;
mod opening;
mod phases;
mod run;
mod serving;
mod source;
mod storage;
mod temporary;
mod times;
mod validity;
mod verdicts;

use crate::analysis::Analysis;
use crate::document::Document;
pub(crate) use from_file::FromFile;
pub(crate) use live::head as live_head;
pub(crate) use opening::how_far;
pub(crate) use phases::primary;
use source::Source;
pub(crate) use verdicts::tone;

/// The document; without the file it has no series, no distributions and no disclosure, which only a page shows.
pub(crate) fn document(analysis: &Analysis, file: Option<&FromFile>) -> Document {
    let source = Source::new(analysis, file);
    // A section that has nothing to say is left out.
    let sections = [
        answer::section(&source),
        differences::section(&source),
        run::hosts(&source),
        databases::orders::databases(&source),
        phases::section(&source),
        file.and_then(|file| file.over_time()),
        storage::kept::section(&source),
        layouts::section(&source),
        storage::capacity::section(&source),
        storage::modelled(&source),
        storage::memory(&source),
        verdicts::verdicts(&source),
        changes::changes(&source),
        temporary::section(&source),
        verdicts::not_tested(&source),
        cost::section(&source),
        elsewhere::section(&source),
        run::time_spent(&source),
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
        rest: String::new(),
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

/// The document of a live page: with how the study came to what it says.
pub(crate) fn live(analysis: &Analysis, file: &FromFile) -> Document {
    let source = Source::new(analysis, Some(file));
    let mut document = document(analysis, Some(file));
    document.sections.splice(0..0, live::section(&source));
    document
}

/// The document as the one screen of a terminal shows it. `kept`: the result file, where it stays.
pub(crate) fn brief(analysis: &Analysis, kept: Option<&str>) -> Document {
    Document {
        rest: answer::rest(kept),
        ..document(analysis, None)
    }
}
