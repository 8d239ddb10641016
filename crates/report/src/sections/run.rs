//! The hosts that a study ran on, where there are several.
//!
//! Takes them from the analysis, gives a section; none of a study on one host. Prevents: hosts that are not alike, and
//! a reader who looks for it in vain.

use super::source::Source;
use crate::document::{Block, Cell, Forms, Name, Section, Table, column, words};
use crate::format::whole;
use crate::hosts::HostOfStudy;

/// As many digits of a checksum tell two programs apart.
const DIGITS: usize = 12;

/// How it is to be read.
const READ: &str = "Each host is a rank of MPI; rank 0 is the run's own. Usable: processors that the rank may use. \
    Program: the first digits of the SHA-256 of its file.";

pub(super) fn section(source: &Source<'_>) -> Option<Section> {
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
