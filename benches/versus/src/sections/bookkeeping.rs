//! What a run does itself: after each block, when it looks at all that there is, and between two phases, when it
//! records one.
//!
//! Takes studies of models of some sizes, which `assay run` drives in virtual time; gives from each result file when
//! trials and phases began and ended. Prevents: a study of many blocks in which the run judges longer than it measures.

use super::{Bench, Found, by_child, in_turn, say};
use crate::bounds::Due;
use crate::contender::Row;
use crate::figures::{Column, Spread, Table, grouped};
use crate::result::Size;
use anyhow::{Context, ensure};
use ledger::Ledger;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

const COLUMNS: &[Column] = &[
    Column::new("after_ms", "ms after a block", 1),
    Column::new("phase_ms", "ms from a phase to the next", 2),
    Column::new("cpu_s", "CPU s of the run", 2),
    Column::new("run_ms", "CPU ms a phase run", 2),
    Column::new("mib", "MiB at the highest", 0),
];
const BASE: Size = Size {
    stacks: 2,
    phases: 8,
    blocks: 64,
};
const BASE_QUICK: Size = Size {
    stacks: 2,
    phases: 4,
    blocks: 16,
};
/// 10,000 phase runs.
const MANY: Size = Size {
    stacks: 4,
    phases: 50,
    blocks: 50,
};
const MORE: u32 = 4;
/// A figure is the median of so many blocks: up to the one that it is named by.
const WINDOW: u32 = 4;
const NOTE: &str = "`assay run` of studies of models, which take no time of a clock but what it takes to compute them. \
                    After a block: from the end of its last trial to the begin of the next block, in which the run \
                    judges all blocks that there are. From a phase to the next: the phase itself (20 ms of a model, \
                    the same in all), and what is recorded of it. Both are time by the clock, with the writes of the \
                    result file, and the median of four blocks up to the one that is named. A real run also records \
                    what it observed of the host.";

/// A run, and the blocks of it that are looked at.
struct Run {
    size: Size,
    marks: Vec<u32>,
}

fn phase_runs(size: Size, blocks: u32) -> u32 {
    size.stacks * size.phases * blocks
}

impl Run {
    fn name(&self, mark: u32) -> String {
        let Size { stacks, phases, .. } = self.size;
        let runs = grouped(f64::from(phase_runs(self.size, mark)), 0);
        format!("{runs} runs ({stacks} stacks, {phases} phases, block {mark})")
    }

    fn last(&self) -> u32 {
        self.size.blocks
    }

    fn text(&self) -> String {
        let Size { stacks, phases, blocks } = self.size;
        let mut text = format!(
            "[study]\nname = \"bookkeeping\"\nblocks = {blocks}\nstop_early = false\nworkers = 1\n\
             time_limit = \"24h\"\n"
        );
        for stack in 0..stacks {
            text += &format!("\n[[stack]]\nname = \"stack {stack}\"\nkind = \"model\"\nsize = \"64MiB\"\n");
        }
        text += "\n[database]\ncache = \"1MiB\"\nschemas = 4\nscale = \"8MiB\"\nredo_size = \"4MiB\"\n";
        for phase in 0..phases {
            text += &format!("\n[[phase]]\nname = \"phase {phase}\"\nkind = \"random\"\nupdate_pct = 0\n");
            text += "sessions = 4\nwork_unit = 16\ntime = \"20ms\"\n";
        }
        text
    }
}

/// The base at a quarter of its blocks, at half and at all; four times the stacks, and the phases, at that quarter.
fn runs(quick: bool) -> Vec<Run> {
    let base = if quick { BASE_QUICK } else { BASE };
    let quarter = base.blocks / MORE;
    let grown = |stacks, phases| Run {
        size: Size {
            stacks: base.stacks * stacks,
            phases: base.phases * phases,
            blocks: quarter,
        },
        marks: vec![quarter],
    };
    let mut runs = vec![
        Run {
            size: base,
            marks: vec![quarter, 2 * quarter, base.blocks],
        },
        grown(MORE, 1),
        grown(1, MORE),
    ];
    if !quick {
        runs.push(Run {
            size: MANY,
            marks: vec![MANY.blocks],
        });
    }
    runs
}

/// Runs the table.
pub(crate) fn run(bench: &Bench) -> anyhow::Result<Found> {
    let assay = bench.binary()?;
    let runs = runs(bench.quick);
    let every = runs.iter().flat_map(|run| run.marks.iter().map(|mark| run.name(*mark)));
    let names: Vec<String> = every.collect();
    let mut table = Table::new("What a run does between its phases", COLUMNS, &names);
    table.notes.push(NOTE.into());
    for round in 0..bench.rounds {
        say(&format!("bookkeeping: round {} of {}", round + 1, bench.rounds));
        for run in in_turn(runs.iter().collect(), round) {
            bench.interrupt.check()?;
            for (mark, row) in one(bench, &assay, run)? {
                table.add(&run.name(mark), row);
            }
        }
    }
    Ok(owed(table, &runs))
}

/// One run, and a row for each of its marks.
fn one(bench: &Bench, assay: &Path, run: &Run) -> anyhow::Result<Vec<(u32, Row)>> {
    let [study, result] = ["toml", "assay"].map(|end| bench.scratch.join(format!("bookkeeping.{end}")));
    std::fs::write(&study, run.text()).context("write a study")?;
    let mut state = OsString::from("ASSAY_STATE_DIR=");
    state.push(bench.scratch.join("state"));
    let mut args: Vec<OsString> = vec!["cost".into(), "env".into(), state, assay.into()];
    args.extend(["run".into(), study.clone().into(), "--quiet".into()]);
    args.extend(["--output".into(), result.clone().into()]);
    let whole = by_child("assay run of models", &args)?;
    let times = Times::of(&result)?;
    std::fs::remove_file(&result).context("remove a result")?;
    std::fs::remove_file(&study).context("remove its study")?;
    let mut rows = Vec::new();
    for &mark in &run.marks {
        let mut row = times.at(mark)?;
        if mark == run.last() {
            let cpu_ms = whole.get("cpu_ms").copied().context("a run took no CPU")?;
            let each = cpu_ms / f64::from(phase_runs(run.size, mark));
            row.extend([("cpu_s".to_string(), cpu_ms / 1e3), ("run_ms".to_string(), each)]);
            row.extend(whole.get("mib").map(|mib| ("mib".to_string(), *mib)));
        }
        rows.push((mark, row));
    }
    Ok(rows)
}

/// When what was, by block: ms.
struct Times {
    /// From the end of a block to what came next.
    after: BTreeMap<u32, f64>,
    /// From the begin of a phase to that of the next one of its trial.
    phase: BTreeMap<u32, Vec<f64>>,
}

fn ms(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 / 1e6
}

impl Times {
    fn of(result: &Path) -> anyhow::Result<Times> {
        let ledger = Ledger::open(result)?;
        let over = ledger.ending()?.context("the run has come to no end")?.at_unix_ns;
        let (mut spans, mut blocks) = (BTreeMap::new(), BTreeMap::new());
        for trial in ledger.trials()? {
            let ended = trial.ended_unix_ns.context("a trial has come to no end")?;
            let span = spans.entry(trial.block).or_insert((trial.began_unix_ns, ended));
            *span = (span.0.min(trial.began_unix_ns), span.1.max(ended));
            blocks.insert(trial.id, trial.block);
        }
        let after = spans.iter().map(|(block, (_, ended))| {
            let next = spans.get(&(block + 1)).map_or(over, |(began, _)| *began);
            (*block, ms(*ended, next))
        });
        let after = after.collect();
        let mut begins: BTreeMap<_, Vec<u64>> = BTreeMap::new();
        for phase in ledger.phases()? {
            begins.entry(phase.run.trial).or_default().push(phase.run.began_unix_ns);
        }
        let mut phase: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (trial, mut began) in begins {
            began.sort_unstable();
            let block = blocks.get(&trial).context("a phase is of no trial")?;
            let each = began.windows(2).map(|two| ms(two[0], two[1]));
            phase.entry(*block).or_default().extend(each);
        }
        Ok(Times { after, phase })
    }

    /// Up to this block, counted from 1.
    fn at(&self, mark: u32) -> anyhow::Result<Row> {
        let window = mark.saturating_sub(WINDOW)..mark;
        ensure!(
            self.after.contains_key(&(window.end - 1)),
            "the run ended before block {mark}: it has {}",
            self.after.len()
        );
        let median = |values: Vec<f64>| Spread::of(values).map(|spread| spread.median);
        let after = median(self.after.range(window.clone()).map(|(_, ms)| *ms).collect());
        let phase = median(self.phase.range(window).flat_map(|(_, all)| all.clone()).collect());
        let mut row = Row::new();
        row.extend(after.map(|ms| ("after_ms".to_string(), ms)));
        row.extend(phase.map(|ms| ("phase_ms".to_string(), ms)));
        Ok(row)
    }
}

/// What was owed, and the table.
fn owed(mut table: Table, runs: &[Run]) -> Found {
    let mut found = Found::default();
    let [base, stacks, phases, ..] = runs else {
        return found;
    };
    let small = base.name(base.marks[0]);
    for (what, large) in [
        ("blocks", base.name(base.last())),
        ("stacks", stacks.name(stacks.last())),
        ("phases", phases.name(phases.last())),
    ] {
        let seen = table.ratio("after a block", &large, &small, "after_ms");
        found.see_of(Due::BookkeepingAfter, what, seen);
        let seen = table.ratio("from a phase to the next", &large, &small, "phase_ms");
        found.see_of(Due::BookkeepingPhase, what, seen);
    }
    if let Some(many) = runs.iter().find(|run| run.size == MANY) {
        let name = many.name(many.last());
        found.see(Due::BookkeepingMany, table.figure(&name, "after_ms"));
        found.see(Due::BookkeepingEach, table.figure(&name, "run_ms"));
    }
    found.tables.push(table);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use ledger::Ending;

    #[test]
    fn a_block_is_followed_by_the_next_and_the_last_by_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result.assay");
        let size = Size {
            stacks: 2,
            phases: 3,
            blocks: 2,
        };
        crate::result::write(&path, size).unwrap();
        let ending = Ending {
            at_unix_ns: 2_007_000_000,
            reason: "all planned blocks were run".into(),
        };
        Ledger::resume(&path).unwrap().finish(&ending).unwrap();
        let times = Times::of(&path).unwrap();
        // All its trials begin at 1 s and end at 2 s.
        assert_eq!(times.after, BTreeMap::from([(0, 0.0), (1, 7.0)]));
        assert_eq!(times.at(2).unwrap()["after_ms"], 3.5);
        assert_eq!(times.phase[&1].len(), 4);
        assert!(times.at(3).is_err());
    }

    #[test]
    fn each_run_has_four_times_as_much_of_one_thing() {
        for quick in [false, true] {
            let runs = runs(quick);
            let least = phase_runs(runs[0].size, runs[0].marks[0]);
            let more = runs[..3].iter().map(|run| phase_runs(run.size, run.last()));
            assert_eq!(more.collect::<Vec<_>>(), [MORE * least; 3]);
            assert!(runs.iter().all(|run| run.last().is_multiple_of(2) && run.last() >= 4));
        }
        assert_eq!(phase_runs(MANY, MANY.blocks), 10_000);
    }
}
