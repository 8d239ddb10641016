//! Validity: what speaks against the numbers, where the bytes came from and went to, and every check.
//!
//! Takes the checks and the cells, gives the section. Prevents: a number believed because nothing was said against it.

use super::source::Source;

use crate::cells::provenance::{Direction, Origin, Provenance};
use crate::check::{Check, Status, wanted};
use crate::document::{Block, Cell, Fold, Forms, Item, Name, Section, Table, column, words};
use crate::format::{bytes, percent};
use crate::grouped::grouped;
use crate::words::doubts::merged;

pub(super) fn section(source: &Source<'_>) -> Option<Section> {
    let checks = &source.analysis.checks;
    let valid = checks.iter().filter(|check| check.status == Status::Valid).count();
    let doubts = merged(source.analysis);
    // Of a file of imports, only what speaks against the file itself is said.
    if source.analysis.study.blocks_planned == 0 && doubts.is_empty() {
        return None;
    }
    let mut title = String::new();
    let mut blocks = Vec::new();
    if !doubts.is_empty() {
        title = format!("Doubts ({valid} other checks are VALID)");
        let item = |doubt: crate::words::doubts::Doubt| Item {
            tag: Some((doubt.status.word().into(), doubt.status.into())),
            text: doubt.words,
            series: Vec::new(),
        };
        blocks.push((Forms::ALL, Block::List(doubts.into_iter().map(item).collect())));
    } else if valid > 0 {
        blocks.push((
            Forms::LONG,
            Block::Text(format!("All {valid} validity checks are VALID.")),
        ));
    }
    let table = provenance(source);
    if !table.rows.is_empty() {
        blocks.push((Forms::PAGE, Block::Table(table)));
        blocks.push((Forms::PAGE, Block::Note(ORIGINS.into())));
    }
    if !checks.is_empty() {
        blocks.push((Forms::PAGE, Block::Table(sheet(checks))));
        blocks.push((Forms::PAGE, every_check(checks, valid)));
    }
    Section::of("validity", "Validity", title, blocks)
}

const ORIGINS: &str = "All blocks together. Device: at least 90 % of the bytes asked met the lowest visible device; \
     cache: at most 10 %; mixed: between. What lies below that device, a host or an array, is unknown.";

/// False where a cache, or nothing that can be seen, stood for the device, and where nothing was asked of one.
fn met_a_device(provenance: &Provenance) -> bool {
    let origins = [provenance.reads, provenance.writes].map(|one| one.origin);
    let plain = |one: &Origin| matches!(one, Origin::Device | Origin::None);
    origins.iter().all(plain) && origins.contains(&Origin::Device) && !provenance.has_unknown_temporary()
}

fn provenance(source: &Source<'_>) -> Table {
    type Of<'a> = (&'a str, &'a str, &'a Provenance);
    let phases = source.analysis.phases.iter();
    let all = phases.flat_map(|phase| {
        phase
            .cells
            .iter()
            .map(|cell| (cell.stack.as_str(), phase.name.as_str(), &cell.provenance))
    });
    // On a lean page only what there is something to tell about.
    let rows: Vec<Of<'_>> = all.filter(|(.., one)| !(source.lean && met_a_device(one))).collect();
    let columns = [
        column("phase", "", |(_, phase, _): &Of<'_>| Cell::text(*phase)).of_words(),
        column("reads", "from", |(.., one): &Of<'_>| origin(one.reads)).of_words(),
        column("reads", "asked", |(.., one): &Of<'_>| {
            Cell::number(one.reads.asked_bytes, bytes)
        }),
        column("reads", "device moved", |(.., one): &Of<'_>| {
            Cell::number(one.reads.low_bytes, bytes)
        }),
        column("writes", "to", |(.., one): &Of<'_>| origin(one.writes)).of_words(),
        column("writes", "asked", |(.., one): &Of<'_>| {
            Cell::number(one.writes.asked_bytes, bytes)
        }),
        column("writes", "device moved", |(.., one): &Of<'_>| {
            Cell::number(one.writes.low_bytes, bytes)
        }),
    ];
    let caption = "Where the bytes came from and went to";
    source.table(caption, &rows, |(stack, ..)| stack, columns)
}

fn origin(direction: Direction) -> Cell {
    let word = direction.words();
    Cell::Text(match direction.share() {
        Some(share) if !matches!(direction.origin, Origin::None | Origin::Unknown | Origin::SeveralHosts) => {
            format!("{word} ({})", percent(share))
        }
        _ => word,
    })
}

/// A row a subject: how many of its checks say what.
fn sheet(checks: &[Check]) -> Table {
    let subjects = grouped(checks.iter().map(|check| (check.subject.as_str(), check)));
    type Of<'a> = (&'a str, Vec<&'a Check>);
    let counted = |status: Status| {
        column(status.word(), "", move |(_, of): &Of<'_>| {
            match of.iter().filter(|check| check.status == status).count() {
                0 => Cell::Nothing,
                count => Cell::Tagged(count.to_string(), status.into()),
            }
        })
    };
    let columns = [
        counted(Status::Valid),
        counted(Status::Note),
        counted(Status::Suspect),
        counted(Status::Invalid),
        column("wanted", "", |(_, of): &Of<'_>| Cell::maybe(wanted(of))).of_words(),
    ];
    Table::of(
        "Validity sheet",
        "check",
        &subjects,
        |(subject, _)| Name::from(*subject),
        columns,
    )
}

/// Rows of checks that are written out; more VALID ones are only counted.
const VALID_ROWS_MAX: usize = 600;

fn every_check(checks: &[Check], valid: usize) -> Block {
    let is_kept = |check: &&Check| valid <= VALID_ROWS_MAX || check.status != Status::Valid;
    let kept: Vec<&Check> = checks.iter().filter(is_kept).collect();
    let words = |head: &str, cell: fn(&Check) -> &str| words(head, move |check: &&Check| cell(check).into());
    let columns = [
        words("stack", |check| check.stack.as_deref().unwrap_or("all")),
        words("phase", |check| check.phase.as_deref().unwrap_or("all")),
        column("outcome", "", |check: &&Check| {
            Cell::Tagged(check.status.word().into(), check.status.into())
        })
        .of_words(),
        words("found", |check| &check.figure),
        words("wanted", Check::threshold_words),
        words("what to do", |check| {
            if check.status == Status::Valid {
                ""
            } else {
                &check.advice
            }
        }),
    ];
    let name = |check: &&Check| Name::from(check.subject.as_str());
    let table = Table::of("Every check with its figure", "check", &kept, name, columns);
    let title = format!("Every check with its figure ({} of {})", kept.len(), checks.len());
    Block::part(title, Fold::Always, vec![(Forms::PAGE, Block::Table(table))])
}
