//! The run itself: its hosts, where there are several, and what its time was spent on.
//!
//! Takes both from the analysis and gives a section each. A study on one host has no section of hosts. Prevents: hosts
//! that differ and nobody sees it, and a study that is made longer in a part that does not measure.

use super::source::Source;
use crate::document::{Block, Cell, Forms, Name, Section, Table, column, words};
use crate::format::{number, percent, rounded, whole};
use crate::hosts::HostOfStudy;
use crate::spent::timeline::TimePart;
use crate::spent::{TimeOfPart, TimeSpent};

/// As many digits of a checksum tell two programs apart.
const DIGITS: usize = 12;

/// How it is to be read.
const READ: &str = "Each host is a rank of MPI; rank 0 is the run's own. Usable: processors that the rank may use. \
    Program: the first digits of the SHA-256 of its file.";

pub(super) fn hosts(source: &Source<'_>) -> Option<Section> {
    let rows = &source.analysis.hosts;
    if rows.is_empty() {
        return None;
    }
    let of = |unit: &str, pick: fn(&HostOfStudy) -> u32| {
        column("processors", unit, move |one: &HostOfStudy| {
            Cell::number(f64::from(pick(one)), whole)
        })
    };
    let columns = [
        words("host", |one: &HostOfStudy| one.host.clone()),
        words("kernel", |one: &HostOfStudy| one.kernel.clone()),
        of("online", |one| one.processors),
        of("usable", |one| one.processors_usable),
        words("program", |one: &HostOfStudy| {
            one.program_sha256.chars().take(DIGITS).collect()
        }),
    ];
    let name = |one: &HostOfStudy| Name::from(&*one.rank.to_string());
    let table = Table::of("Hosts", "rank", rows, name, columns);
    let blocks = vec![
        (Forms::ALL, Block::Table(table)),
        (Forms::ALL, Block::Note(READ.into())),
    ];
    Section::of("hosts", "Hosts", "Hosts of the study", blocks)
}

/// What is in the whole, and what is not.
const FROM: &str = "The time runs from when the result file was made until the end of the study, or of its last trial \
    so far. What a run does before, such as the first writing of LUN files, is not in it.";

/// What is left out of a study that went on in another run.
const PAUSED: &str = "The study went on in another run. The time between its runs is left out, as far as the file \
    shows it.";

pub(super) fn time_spent(source: &Source<'_>) -> Option<Section> {
    let spent = source.analysis.time_spent.as_ref()?;
    let columns = [
        column("time", "s", |one: &TimeOfPart| Cell::number(one.seconds, number)),
        column("share", "", |one: &TimeOfPart| Cell::number(one.share, percent)),
        words("what it is", |one: &TimeOfPart| words_of(one.part).1.into()),
    ];
    let name = |one: &TimeOfPart| Name::from(words_of(one.part).0);
    let table = Table::of("Time of the study", "part", &spent.parts, name, columns);
    let mut blocks = vec![
        (Forms::ALL, Block::Text(measured(spent))),
        (Forms::ALL, Block::Table(table)),
        (Forms::LONG, Block::Note(FROM.into())),
    ];
    if spent.paused {
        blocks.push((Forms::ALL, Block::Note(PAUSED.into())));
    }
    Section::of("time-spent", "Time spent", "Where the time went", blocks)
}

/// How much of it was measuring, and the largest part of the rest.
fn measured(spent: &TimeSpent) -> String {
    let is_work = |part: TimePart| matches!(part, TimePart::RankedWork | TimePart::OtherWork);
    let others = spent.parts.iter().filter(|one| !is_work(one.part));
    let most = others.max_by(|one, other| one.seconds.total_cmp(&other.seconds));
    let most = most.map(|one| {
        format!(
            " The largest other part was {}: {}.",
            words_of(one.part).0,
            percent(one.share)
        )
    });
    format!(
        "Measuring took {} of the {} that the study ran.{}",
        percent(spent.measured_share),
        rounded(spent.total_s.round() as u64),
        most.unwrap_or_default()
    )
}

/// The name of a part, and what it is.
fn words_of(part: TimePart) -> (&'static str, &'static str) {
    match part {
        TimePart::RankedWork => ("ranked work", "phases compared between stacks"),
        TimePart::OtherWork => ("other work", "phases that are not compared"),
        TimePart::WorkNotCounted => ("work not counted", "invalid, dropped, or run again"),
        TimePart::Drain => ("drain", "data come home, devices rest"),
        TimePart::WarmUp => ("warm-up", "before each point of a ramp"),
        TimePart::MakingFiles => ("making files", "before each point of a ramp"),
        TimePart::Loading => ("loading", "a trial until its first phase"),
        TimePart::BetweenPhases => ("between phases", "rests, checks, reading back"),
        TimePart::BetweenTrials => ("between trials", "building, LUN files, undo"),
    }
}
