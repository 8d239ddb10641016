//! The parts of the comparison: each sets its place up, runs its contenders interleaved, and gives tables and what
//! was owed.

pub(crate) mod bookkeeping;
pub(crate) mod engineer;
pub(crate) mod floor;
pub(crate) mod group;
pub(crate) mod group_sizes;
pub(crate) mod grows;
pub(crate) mod lab;
pub(crate) mod mirror;
pub(crate) mod mixed;
pub(crate) mod processors;
pub(crate) mod reads;
pub(crate) mod redo;
pub(crate) mod scan;
pub(crate) mod sessions;
pub(crate) mod sqlite;
pub(crate) mod updates;

use crate::bounds::{Due, Seen};
use crate::contender::{Contender, Row, Tool};
use crate::figures::{Column, Spread, Table};
use crate::flags::Section;
use crate::instructions::Counters;
use crate::places::Sizes;
use crate::undo::Interrupt;
use anyhow::{Context, ensure};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
    pub(crate) pg_test_fsync: Option<PathBuf>,
    /// The binary, or why there is none.
    pub(crate) assay: Result<PathBuf, String>,
    /// An earlier one.
    pub(crate) before: Option<PathBuf>,
    pub(crate) counters: Counters,
    pub(crate) interrupt: Interrupt,
}

impl Bench {
    /// The `assay` binary.
    pub(crate) fn binary(&self) -> anyhow::Result<PathBuf> {
        self.assay.clone().map_err(anyhow::Error::msg)
    }
}

/// What sections found.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) tables: Vec<Table>,
    pub(crate) seen: Vec<Seen>,
    /// Sections that were to run.
    pub(crate) asked: Vec<Section>,
    /// Of them those that could not, or could not in all, and why.
    pub(crate) absent: Vec<(Section, String)>,
}

impl Found {
    /// What was seen of a line; nothing where it was not measured.
    pub(crate) fn see(&mut self, due: Due, seen: Option<Spread>) {
        self.see_of(due, "", seen);
    }

    /// The same of one of several that the line stands for.
    pub(crate) fn see_of(&mut self, due: Due, of: &str, seen: Option<Spread>) {
        self.seen.extend(seen.map(|spread| Seen::new(due, of, spread)));
    }
}

/// Progress, on stderr.
pub(crate) fn say(text: &str) {
    eprintln!("{text}");
}

/// In another order each round: rotated, and turned round in every second one, so that nobody always follows the same.
pub(crate) fn in_turn<T>(mut all: Vec<T>, round: usize) -> Vec<T> {
    let shift = round % all.len().max(1);
    all.rotate_left(shift);
    if round % 2 == 1 {
        all.reverse();
    }
    all
}

/// Runs this program with a hidden command, and gives the figures that it prints. `what`: for the message if it fails.
pub(crate) fn by_child(what: &str, args: &[impl AsRef<OsStr>]) -> anyhow::Result<Row> {
    let own = std::env::current_exe().context("find this program")?;
    let output = Command::new(own)
        .args(args)
        .stderr(Stdio::inherit())
        .output()
        .context("start this program")?;
    ensure!(output.status.success(), "{what}: {}", output.status);
    serde_json::from_slice(&output.stdout).with_context(|| format!("{what}: read what it took"))
}

/// Runs all contenders in rounds, each round in another order, and fills their table. An optional one that fails is
/// left out of it, with its reason.
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
            if table.line(&contender.name).is_none() {
                continue;
            }
            match run_one(bench, contender) {
                Ok(row) => {
                    say(&format!("  {:<34} {}", contender.name, words(&row, columns)));
                    table.add(&contender.name, row);
                }
                Err(error) => {
                    bench.interrupt.check()?;
                    if !contender.optional {
                        return Err(error);
                    }
                    say(&format!("  {} is left out: {error:#}", contender.name));
                    table.leave_out(&contender.name, format!("{error:#}"));
                }
            }
        }
    }
    Ok(table)
}

/// One run of one contender, and again where it came too late.
fn run_one(bench: &Bench, contender: &Contender) -> anyhow::Result<Row> {
    let scratch: &Path = &bench.scratch;
    let run = || match contender.tool {
        Tool::PgTestFsync(_) => crate::child::flush_rate(contender, bench.seconds, scratch, &bench.interrupt),
        _ => crate::child::run(contender, bench.seconds, scratch, &bench.counters, &bench.interrupt),
    };
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

fn words(row: &Row, columns: &[Column]) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn bench(scratch: &Path) -> Bench {
        Bench {
            rounds: 2,
            seconds: 1.5,
            sizes: Sizes::of(true),
            quick: true,
            scratch: scratch.to_owned(),
            t_io_uring: None,
            pg_test_fsync: None,
            assay: Err("none".into()),
            before: None,
            counters: Counters::None,
            interrupt: crate::undo::Interrupt::default(),
        }
    }

    #[test]
    fn an_optional_tool_that_fails_is_left_out_alone() {
        const COLUMNS: &[Column] = &[Column::new("iops", "IOPS", 0)];
        let scratch = tempfile::tempdir().unwrap();
        let bench = bench(scratch.path());
        let missing = || Tool::PgTestFsync("/no/such/pg_test_fsync".into());
        let optional = Contender::optional("flushes", missing());
        let table = interleaved(&bench, "t", COLUMNS, std::slice::from_ref(&optional)).unwrap();
        assert_eq!((table.lines.len(), table.left_out.len()), (0, 1), "left out once");
        let words = table.markdown();
        assert!(words.contains("flushes, not measured: "), "{words}");
        assert!(words.contains("/no/such/pg_test_fsync"), "{words}");
        let needed = Contender {
            optional: false,
            ..optional
        };
        assert!(interleaved(&bench, "t", COLUMNS, &[needed]).is_err());
    }
}
