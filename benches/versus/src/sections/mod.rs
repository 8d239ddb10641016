//! The parts of the comparison: each sets its place up, runs its contenders interleaved, and gives tables and what
//! was owed.

pub(crate) mod group;
pub(crate) mod grows;
pub(crate) mod lab;
pub(crate) mod reads;
pub(crate) mod scan;
pub(crate) mod sessions;
pub(crate) mod updates;

use crate::contender::Contender;
use crate::figures::{Column, Spread, Table};
use crate::instructions::Counters;
use crate::places::Sizes;
use crate::undo::Interrupt;
use std::path::{Path, PathBuf};

/// On a machine that others use a run can come too late for its window; one such run must not cost all the others.
const ATTEMPTS: usize = 3;

/// What every section is told.
pub(crate) struct Bench {
    pub(crate) rounds: usize,
    pub(crate) seconds: f64,
    pub(crate) sizes: Sizes,
    pub(crate) quick: bool,
    /// A directory of this run, on the disk in question.
    pub(crate) scratch: PathBuf,
    pub(crate) t_io_uring: Option<PathBuf>,
    pub(crate) assay: Option<PathBuf>,
    /// An earlier one.
    pub(crate) before: Option<PathBuf>,
    pub(crate) counters: Counters,
    pub(crate) interrupt: Interrupt,
}

impl Bench {
    /// The `assay` binary: the one that was named, or one built of this source.
    pub(crate) fn binary(&self) -> anyhow::Result<PathBuf> {
        self.assay.clone().map_or_else(lab::build, Ok)
    }
}

/// One line of what was owed.
pub(crate) struct Owed {
    pub(crate) what: String,
    pub(crate) owed: String,
    pub(crate) seen: String,
    /// `None`: not measured here.
    pub(crate) met: Option<bool>,
}

/// A figure that was asked for without a bound.
pub(crate) const SHOWN: &str = "shown";

/// What a section found.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) tables: Vec<Table>,
    pub(crate) owed: Vec<Owed>,
}

impl Found {
    /// A line that is met when the median is.
    pub(crate) fn owe(
        &mut self,
        what: &str,
        owed: &str,
        seen: Option<Spread>,
        digits: usize,
        met: impl Fn(f64) -> bool,
    ) {
        self.owed.push(Owed {
            what: what.into(),
            owed: owed.into(),
            seen: seen.map_or("not measured here".into(), |s| s.words(digits)),
            met: seen.map(|s| met(s.median)),
        });
    }

    /// A figure without a bound.
    pub(crate) fn show(&mut self, what: &str, seen: Option<Spread>, digits: usize) {
        self.owe(what, SHOWN, seen, digits, |_| true);
        if let Some(last) = self.owed.last_mut() {
            last.met = None;
        }
    }
}

/// Progress, on stderr.
pub(crate) fn say(text: &str) {
    eprintln!("{text}");
}

/// Runs all contenders in rounds, each round in another order, and fills their table.
pub(crate) fn interleaved(
    bench: &Bench,
    title: &str,
    columns: &'static [Column],
    contenders: &[Contender],
) -> anyhow::Result<Table> {
    let names: Vec<String> = contenders.iter().map(|c| c.name.clone()).collect();
    let mut table = Table::new(title, columns, &names);
    for round in 0..bench.rounds {
        say(&format!("{title}: round {} of {}", round + 1, bench.rounds));
        for nth in 0..contenders.len() {
            // Rotated, and turned round in every second round, so that nobody always follows the same one.
            let place = (nth + round) % contenders.len();
            let place = if round % 2 == 1 {
                contenders.len() - 1 - place
            } else {
                place
            };
            let contender = &contenders[place];
            let row = run_one(bench, contender)?;
            say(&format!("  {:<34} {}", contender.name, words(&row, columns)));
            table.add(&contender.name, row);
        }
    }
    Ok(table)
}

fn run_one(bench: &Bench, contender: &Contender) -> anyhow::Result<crate::contender::Row> {
    let scratch: &Path = &bench.scratch;
    let run = || crate::child::run(contender, bench.seconds, scratch, &bench.counters, &bench.interrupt);
    for _ in 1..ATTEMPTS {
        match run() {
            Ok(row) => return Ok(row),
            Err(error) => {
                bench.interrupt.check()?;
                say(&format!("  again: {error:#}"));
            }
        }
    }
    run()
}

fn words(row: &crate::contender::Row, columns: &[Column]) -> String {
    let each = columns.iter().filter_map(|column| {
        let value = row.get(column.key)?;
        Some(format!(
            "{} {}",
            crate::figures::grouped(*value, column.digits),
            column.head
        ))
    });
    each.collect::<Vec<_>>().join(", ")
}
