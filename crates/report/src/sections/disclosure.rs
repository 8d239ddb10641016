//! Full disclosure: the study file, every setting with its default, every fact, the schedule, the looks, what happened.
//!
//! Takes what was read from the file, gives the last section of a page. Prevents: "you did not disclose the
//! configuration".

use super::from_file::FromFile;
use super::source::Source;

use crate::document::{Block, Column, Fold, Forms, Name, Placed, Section, Table, words};
use crate::format::{date, ratio};
use ledger::{Event, Fact, Look, Setting, Severity, Trial, TrialStatus};

pub(super) fn section(source: &Source<'_>, file: &FromFile) -> Section {
    let book = &file.book;
    let mut blocks = vec![
        part(
            "The study file, as it was read",
            Block::Verbatim(book.study.text.clone()),
        ),
        part("Every setting, defaults included", settings(book.disclosed.settings())),
        part("What it ran on", facts(book.disclosed.facts())),
        part("Stacks", stacks(source)),
        part("Schedule: every trial in its order", trials(&file.trials)),
        part("Looks taken at the data", looks(&source.analysis.looks())),
    ];
    if !file.events.is_empty() {
        blocks.push(part("What happened", events(&file.events)));
    }
    let not = "The page engine does to storage what a database does, and nothing else: it is not Oracle, and its \
         rates are not Oracle's. A disk group here is not Oracle ASM. A verdict is about this machine, these sizes, \
         this time.";
    blocks.push(part("What this is not", Block::Text(not.into())));
    Section::of("disclosure", "Disclosure", "", blocks).expect("there are always parts")
}

fn part(title: &str, block: Block) -> Placed {
    (
        Forms::PAGE,
        Block::part(title, Fold::Always, vec![(Forms::PAGE, block)]),
    )
}

fn table<'a, R>(
    caption: &str,
    names: &'static str,
    rows: &[R],
    name: impl Fn(&R) -> String,
    columns: impl IntoIterator<Item = Column<'a, R>>,
) -> Block {
    Block::Table(Table::of(caption, names, rows, |row| Name::from(&*name(row)), columns))
}

fn settings(all: &[Setting]) -> Block {
    let by = |one: &Setting| if one.written { "the study" } else { "default" }.to_string();
    let columns = [words("value", |one: &Setting| one.value.clone()), words("from", by)];
    table("Settings", "key", all, |one| one.key.clone(), columns)
}

fn facts(all: &[Fact]) -> Block {
    let columns = [
        words("what", |one: &Fact| one.key.to_string()),
        words("value", |one: &Fact| one.value.to_string()),
    ];
    table("Facts", "of", all, |one| one.scope.to_string(), columns)
}

fn stacks(source: &Source<'_>) -> Block {
    type Head = crate::analysis::StackHead;
    let columns = [
        words("kind", |one: &Head| one.kind.clone()),
        words("layers", |one: &Head| one.layers.clone()),
        words("access", |one: &Head| one.access.clone()),
        words("ranked in group", |one: &Head| one.group.clone()),
        words("compared with", |one: &Head| one.base.clone().unwrap_or_default()),
        words("planted disadvantage", |one: &Head| {
            one.injected.clone().unwrap_or("none".into())
        }),
    ];
    table(
        "Stacks of the study",
        "stack",
        &source.analysis.stacks,
        |one| one.name.clone(),
        columns,
    )
}

fn trials(all: &[Trial]) -> Block {
    let status = |trial: &Trial| match &trial.status {
        TrialStatus::Running => "under way, or killed".into(),
        TrialStatus::Done => "done".into(),
        TrialStatus::Failed(reason) => format!("failed: {reason}"),
        TrialStatus::Interrupted => "interrupted".into(),
    };
    let columns = [
        words("place", |one: &Trial| one.position.to_string()),
        words("stack", |one: &Trial| one.stack.clone()),
        words("begun", |one: &Trial| date(one.began_unix_ns)),
        words("seed", |one: &Trial| one.seed.to_string()),
        words("LUN set", |one: &Trial| one.lun_set.clone()),
        words("how it ended", status),
    ];
    table("Trials", "block", all, |one| one.block.to_string(), columns)
}

fn looks(all: &[Look]) -> Block {
    let columns = [
        words("phase", |one: &Look| one.phase.clone()),
        words("stack", |one: &Look| one.stack.clone()),
        words("of", |one: &Look| one.base.clone()),
        words("ratio", |one: &Look| ratio(one.ratio)),
        words("interval", |one: &Look| {
            format!("{} to {}", ratio(one.low), ratio(one.high))
        }),
        words("error spent", |one: &Look| format!("{:.5}", one.alpha)),
        words("verdict", |one: &Look| one.verdict.clone()),
    ];
    table("Looks", "blocks", all, |one| one.n.to_string(), columns)
}

fn events(all: &[Event]) -> Block {
    let severity = |one: &Event| match one.severity {
        Severity::Info => "info".into(),
        Severity::Warning => "warning".into(),
        Severity::Error => "error".into(),
    };
    let columns = [
        words("severity", severity),
        words("what", |one: &Event| one.text.clone()),
    ];
    table("Events", "when", all, |one| date(one.at_unix_ns), columns)
}
