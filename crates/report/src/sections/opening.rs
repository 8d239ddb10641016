//! What has to be known before the sections: how far the study is, how it was done, and how sure it is.
//!
//! Takes the head of the study and the checks, gives blocks. Prevents: an answer read without its doubts.

use super::source::Source;
use super::verdicts::equal_within;

use crate::analysis::{Analysis, GoOn};
use crate::check::Status;
use crate::document::{Block, Forms, Placed};
use crate::format::{date, percent};

pub(super) fn blocks(source: &Source<'_>) -> Vec<Placed> {
    let study = &source.analysis.study;
    let mut blocks = Vec::new();
    if study.blocks_planned == 0 {
        let nothing = "nothing was run: all figures of this file are imported";
        blocks.push((Forms::LONG, Block::Text(nothing.into())));
        return blocks;
    }
    blocks.push((Forms::PAGE, checked(source)));
    blocks.push((Forms::LONG, Block::Text(progress(source))));
    blocks.extend(study.turns().map(|turns| (Forms::LONG, Block::Text(turns))));
    if let Some(slowed) = study.slowed() {
        let words = format!("In slow motion: {slowed}. Ratios of stacks that wait for their devices are the same.");
        blocks.push((Forms::ALL, Block::Text(words)));
    }
    if study.modelled {
        let words = "A device here is a model in virtual time: nothing was measured on it.";
        blocks.push((Forms::LONG, Block::Warning(words.into())));
    }
    if study.phases_uncounted > 0 {
        let words = format!(
            "{} phases of trials that did not end are kept in the file. They are in no rate; what they lost is lost.",
            study.phases_uncounted
        );
        blocks.push((Forms::LONG, Block::Text(words)));
    }
    blocks.push((Forms::PAGE, facts(source)));
    blocks
}

fn progress(source: &Source<'_>) -> String {
    let study = &source.analysis.study;
    format!(
        "study {}, {}; I/O by {}, seed {}",
        study.name,
        how_far(source.analysis),
        study.io_method,
        study.seed
    )
}

/// Blocks run, and why no more.
pub(crate) fn how_far(analysis: &Analysis) -> String {
    let study = &analysis.study;
    let state = match (&study.ended, analysis.go_on) {
        (Some(reason), _) => format!("ended: {reason}"),
        (None, GoOn::Continue(next)) => format!("not finished, the next look is at {next} blocks"),
        (None, _) => "not finished".into(),
    };
    let dropped = match crate::ranking::drops::blocks(&analysis.dropped) {
        0 => String::new(),
        count => format!(" ({count} dropped)"),
    };
    let extended = match study.extensions {
        0 => String::new(),
        1 => format!(", extended once by {} blocks", study.blocks_planned),
        times => format!(", extended {times} times by {} blocks each", study.blocks_planned),
    };
    format!(
        "{} of {} blocks run{dropped}{extended}, {state}",
        study.blocks_begun,
        study.blocks_in_all()
    )
}

/// Checks by what they say.
fn checked(source: &Source<'_>) -> Block {
    let checks = &source.analysis.checks;
    let counted = |status: Status| {
        let many = checks.iter().filter(|check| check.status == status).count();
        (many > 0).then(|| (format!("{many} {}", status.word()), status.into()))
    };
    let found = [Status::Invalid, Status::Suspect, Status::Note]
        .into_iter()
        .filter_map(counted);
    let found: Vec<_> = found.collect();
    match found.is_empty() {
        true => Block::Tally(found, format!("All {} validity checks are VALID.", checks.len()), None),
        false => Block::Tally(
            found,
            format!("of {} checks;", checks.len()),
            Some(("validity", "what speaks against it")),
        ),
    }
}

fn facts(source: &Source<'_>) -> Block {
    let study = &source.analysis.study;
    let mut facts = vec![("Begun", date(study.created_unix_ns))];
    let host = source.file.map(|file| file.host()).unwrap_or_default();
    if !host.is_empty() {
        facts.push(("Host", host.join(", ")));
    }
    facts.push((
        "Verdicts",
        format!(
            "{} confidence for all together, on the condition below them; {}",
            percent(1.0 - study.alpha),
            equal_within(study.margin)
        ),
    ));
    Block::Facts(facts)
}
