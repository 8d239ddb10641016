//! `assay run`: checks what it is told, prepares the site, lets the story run, prints the report.

use super::ranks::{self, Joined, Together};
use super::report as reporting;
use super::runs::{is_left, run_id};
use super::study_file::{load, load_recorded, usual_output};
use crate::cli::{self, FailOn, Format};
use crate::exit::Failure;
use crate::printed::say;
use crate::progress::Progress;
use anyhow::{Context, anyhow};
use lab::{Caller, HostSite, ModelSite, Site, Start, signals};
use ledger::{Ledger, Skipped};
use plan::Study;
use report::Analysis;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a study is to be run.
pub(crate) struct Wanted {
    pub(crate) output: PathBuf,
    /// The result file stays.
    pub(crate) kept: bool,
    pub(crate) start: Start,
    pub(crate) yes: bool,
    pub(crate) quiet: bool,
    pub(crate) fail_on: Vec<FailOn>,
}

pub(crate) fn run(flags: &cli::Run) -> Result<(), Failure> {
    match ranks::join()? {
        Joined::Alone => as_asked(flags, None),
        Joined::Served => Ok(()),
        Joined::First(together) => {
            let ran = as_asked(flags, Some(&together));
            together.part(ran)
        }
    }
}

/// `together`: with other hosts.
fn as_asked(flags: &cli::Run, together: Option<&Together>) -> Result<(), Failure> {
    let mut plan = match (&flags.study, &flags.extend) {
        (Some(study), _) => load(study, flags.scale)?,
        (None, Some(file)) => load_recorded(file, flags.scale)?,
        (None, None) => unreachable!("the command line asks for one of them"),
    };
    let named = flags.extend.as_ref().or(flags.output.as_ref());
    let output = named.cloned().unwrap_or_else(|| usual_output(&plan));
    let wanted = Wanted {
        output: output.clone(),
        kept: true,
        start: match (&flags.extend, flags.resume) {
            (Some(_), _) => Start::Extend,
            (None, true) => Start::Resume,
            (None, false) => Start::New,
        },
        yes: flags.yes,
        quiet: flags.quiet,
        fail_on: flags.fail_on.clone(),
    };
    plan.seed = match wanted.start {
        Start::New => flags.seed.or(plan.seed),
        // The file has its seed, wherever that came from.
        Start::Resume | Start::Extend => flags.seed,
    };
    study(plan, &wanted, &flags.format, together)?;
    if !flags.quiet {
        say!("result file: {}", output.display());
    }
    Ok(())
}

/// Runs a study, on this host or together with others, and prints its report.
pub(crate) fn study(
    mut plan: Study,
    wanted: &Wanted,
    format: &Format,
    together: Option<&Together>,
) -> Result<(), Failure> {
    ranks::must_fit(&plan, together).map_err(Failure::Usage)?;
    let recorded = check_output(wanted, &plan, together).map_err(Failure::Usage)?;
    if let (Some(recorded), Some(asked)) = (recorded, plan.seed) {
        refuse_other_seed(recorded, asked).map_err(Failure::Usage)?;
    }
    let seed = recorded
        .or(plan.seed)
        .map_or_else(drawn_seed, Ok)
        .map_err(Failure::Run)?;
    plan.seed = Some(seed);
    let plan = &plan;
    super::page_file::check(format, Some(&wanted.output))?;
    let cancel = match together {
        Some(together) => together.cancel.clone(),
        None => signals::cancel_flag()?,
    };
    let blocks = ::plan::estimate(plan, 500 << 20).blocks(plan);
    let phases_per_block = plan.stacks.len() as u64 * plan.phases.len() as u64;
    let modelled = plan.stacks.iter().any(|s| s.kind.model().is_some());
    let limit = (!modelled).then(|| Duration::from_nanos(plan.time_limit.0));
    let progress = Progress::new((blocks, phases_per_block), wanted.quiet, limit);
    let run_id = together.map_or_else(run_id, |together| together.run_id.clone());
    let caller = Caller {
        progress: &progress,
        cancel: &cancel,
    };
    let ran = if modelled {
        let mut site = ModelSite::new(plan, run_id)?;
        lab::run(plan, &wanted.output, wanted.start, &mut site, caller).map_err(Failure::Run)
    } else {
        on_this_host(plan, wanted, (&run_id, together), caller)
    };
    progress.finish();
    let ran = ran.map_err(|failure| match failure {
        // What was on its way has many names; the user knows who stopped it.
        Failure::Run(_) if signals::is_set(&cancel) => Failure::Run(interrupted(wanted)),
        other => other,
    });
    if !wanted.output.exists() {
        return ran;
    }
    let ledger = Ledger::open(&wanted.output).map_err(|e| Failure::Run(anyhow!("{e}")));
    let analysis = ledger.and_then(|ledger| {
        let analysis = Analysis::of(&ledger).map_err(|e| Failure::Run(anyhow!("{e}")))?;
        Ok((ledger, analysis))
    });
    match (ran, analysis) {
        (Ok(()), Ok((ledger, analysis))) => {
            let analysis = match wanted.kept {
                true => analysis,
                false => analysis.without_file(),
            };
            reporting::show(&ledger, &analysis, format, wanted.kept.then_some(&*wanted.output))?;
            verdict(&analysis, &wanted.fail_on)
        }
        (Ok(()), Err(failure)) => Err(failure),
        (Err(failure), Ok((_, analysis)))
            if wanted.kept && !analysis.phases.is_empty() && !signals::is_set(&cancel) =>
        {
            let file = wanted.output.display();
            say!("finished phases are kept (`--resume` goes on with them): assay report {file}");
            Err(failure)
        }
        (Err(failure), _) => Err(failure),
    }
}

fn on_this_host(
    plan: &Study,
    wanted: &Wanted,
    (run_id, together): (&str, Option<&Together>),
    caller: Caller<'_>,
) -> Result<(), Failure> {
    if !wanted.fail_on.is_empty() {
        let skipped = lab::skipped(plan);
        let named = plan.stacks.iter().map(|stack| stack.name.as_str()).zip(&skipped);
        must_be_judged(named).map_err(Failure::Run)?;
    }
    let ranks = together.map(|together| together.ranks.clone());
    let prepared = HostSite::prepare(plan, run_id, wanted.yes, ranks, caller);
    let mut site = prepared.map_err(|error| {
        if is_left(run_id) {
            Failure::Dirty(error)
        } else {
            Failure::Run(error)
        }
    })?;
    for (stack, skipped) in plan.stacks.iter().zip(site.skipped()) {
        if let Some(skipped) = skipped {
            caller.progress.line(&format!(
                "stack `{}` is skipped: {}: {}",
                stack.name, skipped.reason, skipped.cure
            ));
        }
    }
    let story: &mut dyn Site = &mut site;
    let ran = lab::run(plan, &wanted.output, wanted.start, story, caller);
    let left = site.leave().map_err(Failure::Dirty);
    // A host that is not as it was matters more than why.
    match (ran, left) {
        (Err(error), Err(dirty)) => {
            say!("the run failed: {}", lab::chain(&error));
            Err(dirty)
        }
        (Ok(()), Err(dirty)) => Err(dirty),
        (Err(error), Ok(())) => Err(Failure::Run(error)),
        (Ok(()), Ok(())) => Ok(()),
    }
}

/// Refuses a stack that takes no part, where `--fail-on` is to judge all of them: silence would pass for a good result.
fn must_be_judged<'s>(stacks: impl Iterator<Item = (&'s str, &'s Option<Skipped>)>) -> anyhow::Result<()> {
    for (name, skipped) in stacks {
        if let Some(Skipped { reason, cure }) = skipped {
            anyhow::bail!(
                "stack `{name}` would be skipped, and --fail-on cannot judge it: {reason}\n  {cure}; or take the stack \
                 out of the study, or leave out --fail-on"
            );
        }
    }
    Ok(())
}

/// What a signal ended, with the way on.
fn interrupted(wanted: &Wanted) -> anyhow::Error {
    let file = wanted.output.display();
    match wanted.kept && wanted.output.exists() {
        true => anyhow!(
            "interrupted; finished phases are kept: assay report {file}\n  go on with the same command and --resume"
        ),
        false => anyhow!("interrupted; no result is kept\n  run again"),
    }
}

fn refuse_other_seed(recorded: u64, asked: u64) -> anyhow::Result<()> {
    anyhow::ensure!(
        recorded == asked,
        "the result file was begun with seed {recorded}, not {asked}\n  leave out --seed to go on with it"
    );
    Ok(())
}

/// A seed for one run. As a number of JSON it keeps all its digits.
fn drawn_seed() -> anyhow::Result<u64> {
    Ok(sandbox::random_number().context("draw the seed of the run")? >> 11)
}

/// Refuses a result file that cannot be written; gives the seed of one that is to be gone on with.
fn check_output(wanted: &Wanted, plan: &Study, together: Option<&Together>) -> anyhow::Result<Option<u64>> {
    let there = wanted.output.exists();
    anyhow::ensure!(
        wanted.start != Start::New || !there,
        "{} exists already\n  go on with it by --resume, add blocks by --extend, or name another file by --output",
        wanted.output.display()
    );
    anyhow::ensure!(
        wanted.start != Start::Extend || there,
        "{} does not exist: nothing to extend\n  name the result file of a study that has ended",
        wanted.output.display()
    );
    anyhow::ensure!(
        wanted.start == Start::New || there,
        "{} does not exist: nothing to resume\n  leave out --resume, or name the file by --output",
        wanted.output.display()
    );
    let dir = wanted
        .output
        .parent()
        .filter(|d| !d.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    anyhow::ensure!(
        dir.is_dir(),
        "{}: no such directory\n  make it, or name another --output",
        dir.display()
    );
    sandbox::Directory::open_closed(dir).context("the result file")?;
    if wanted.start == Start::New {
        return Ok(None);
    }
    // Before anything is built: a refusal must not cost the writing of all LUNs.
    let ledger = Ledger::open(&wanted.output)?;
    ledger.must_be_whole()?;
    let ranks = together.map(|together| &together.ranks);
    lab::may_go_on(&ledger, &wanted.output, plan, wanted.start, ranks)?;
    if !wanted.fail_on.is_empty() {
        // What the first run skipped stays so.
        let stacks = ledger.stacks()?;
        must_be_judged(stacks.iter().map(|stack| (stack.name.as_str(), &stack.skipped)))?;
    }
    Ok(Some(ledger.study()?.seed))
}

/// Exit code 1 where `--fail-on` asks for it.
fn verdict(analysis: &Analysis, fail_on: &[FailOn]) -> Result<(), Failure> {
    for what in fail_on {
        let hit = match what {
            FailOn::Worse => analysis.is_worse(),
            FailOn::Invalid => analysis.is_invalid(),
        };
        if hit {
            let why = match what {
                FailOn::Worse => {
                    "(--fail-on worse): a ranked stack is worse than the base, in a phase or in its change from an \
                     earlier one"
                }
                FailOn::Invalid => {
                    "(--fail-on invalid): a line of the validity sheet says INVALID; `assay report FILE \
                     --full` names it"
                }
            };
            return Err(Failure::Verdict(format!("exit code 1 {why}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ledger::{Measure, NewTrial, PhaseKind, PhaseRecord, PhaseRun, PhaseStatus, Stack, TrialStatus};

    /// Two stacks, one block, one phase; `set` changes the record of the second stack.
    fn analysis(ranked: bool, set: fn(&mut PhaseRecord)) -> Analysis {
        let dir = tempfile::tempdir().expect("a directory");
        let study = ledger::Study {
            name: "two".into(),
            seed: 1,
            margin: 0.05,
            blocks_planned: 4,
            comparisons: 1,
            alpha: 0.05,
            alpha_reserved: 0.01,
            io_method: "ring".into(),
            ..ledger::Study::default()
        };
        let mut file = Ledger::create(dir.path().join("two.assay"), &study).expect("made");
        for (ordinal, name) in ["base", "other"].into_iter().enumerate() {
            let stack = Stack {
                ordinal: ordinal as u32,
                name: name.into(),
                kind: "ext4".into(),
                layers: ledger::Layers::plain(["ext4", "loop", "file"]),
                database: None,
                data_lun_set: None,
                redo_lun_set: None,
                access: ledger::Access::Direct,
                injected: None,
                skipped: None,
            };
            file.stack(&stack).expect("told");
            let trial = NewTrial {
                block: 0,
                position: 0,
                stack: name.into(),
                seed: 7,
                host: "h".into(),
                instance: "1".into(),
                lun_set: String::new(),
                began_unix_ns: 0,
            };
            let trial = file.begin_trial(&trial).expect("told");
            let mut record = PhaseRecord::new(PhaseRun {
                trial,
                ordinal: 0,
                name: "work".into(),
                kind: PhaseKind::Random,
                ranked,
                began_unix_ns: 0,
                elapsed_ns: 1_000_000_000,
                drain_ns: 0,
                status: PhaseStatus::Valid,
            });
            record.measures = vec![(Measure::EngineOperations, 1000.0)];
            if name == "other" {
                set(&mut record);
            }
            file.record_phase(&record).expect("told");
            file.end_trial(trial, 1, &TrialStatus::Done).expect("told");
        }
        Analysis::of(&file).expect("analysed")
    }

    #[test]
    fn a_stack_that_is_skipped_cannot_be_judged() {
        let skipped = Some(Skipped {
            reason: "mkfs.btrfs not found".into(),
            cure: "install btrfs-progs".into(),
        });
        assert!(must_be_judged([("base", &None), ("cow", &None)].into_iter()).is_ok());
        let error = must_be_judged([("base", &None), ("cow", &skipped)].into_iter()).expect_err("no verdict on it");
        let error = error.to_string();
        assert!(error.starts_with("stack `cow` would be skipped"), "{error}");
        assert!(error.contains("mkfs.btrfs not found\n  install btrfs-progs"), "{error}");
    }

    #[test]
    fn what_fails_on_invalid_is_a_line_that_says_so_and_nothing_else() {
        let lost = analysis(false, |record| record.measures.push((Measure::EnginePagesBad, 1.0)));
        assert!(
            lost.unranked.is_empty() && lost.dropped.is_empty(),
            "{:?}",
            lost.unranked
        );
        assert!(verdict(&lost, &[FailOn::Invalid]).is_err());
        assert!(verdict(&lost, &[FailOn::Worse]).is_ok());
        let full = analysis(true, |record| {
            record.run.status = PhaseStatus::Failed("ran out of space".into());
            record.measures.push((Measure::OutOfSpace, 1.0));
        });
        assert!(!full.unranked.is_empty(), "it has no rank");
        assert!(full.checks.iter().any(|check| check.subject == "space"));
        assert!(
            verdict(&full, &[FailOn::Invalid]).is_ok(),
            "a NOTE is a result: {:?}",
            full.doubts()
        );
    }
}
