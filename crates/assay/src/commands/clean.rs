//! `assay clean`: undoes what killed runs left behind, by their journals.

use super::answer::{print, print_json};
use crate::cli;
use crate::exit::Failure;
use anyhow::anyhow;
use serde_json::json;
use std::fmt::Write;

pub(crate) fn clean(flags: &cli::Clean) -> Result<(), Failure> {
    let report = stacks::state_dir()
        .and_then(|dir| stacks::clean(&dir, flags.dry_run))
        .map_err(|e| Failure::Left(anyhow!("{e}")))?;
    if flags.json {
        let runs: Vec<_> = report
            .runs
            .iter()
            .map(|run| {
                let failed: Vec<_> = run
                    .failed
                    .iter()
                    .map(|f| json!({ "step": f.step, "why": f.why }))
                    .collect();
                json!({ "run": run.run_id, "pid": run.pid, "undone": run.undone, "failed": failed })
            })
            .collect();
        let live: Vec<_> = report
            .live
            .iter()
            .map(|l| json!({ "run": l.run_id, "pid": l.pid }))
            .collect();
        let held =
            |one: &stacks::Orphaned| json!({ "run": one.run.run_id, "pid": one.run.pid, "held_by": one.holders });
        let orphaned: Vec<_> = report.orphaned.iter().map(held).collect();
        print_json(&json!({
            "schema": 1, "dry_run": flags.dry_run, "runs": runs, "live": live, "orphaned": orphaned,
            "unreadable": report.unreadable,
        }))?;
    } else {
        print(&words(&report, flags.dry_run))?;
    }
    if flags.dry_run || report.is_clean() {
        return Ok(());
    }
    let (what, cure) = match report.orphaned.iter().map(|one| one.holders.len()).max() {
        None => (
            "some steps could not be undone",
            "end the programs that use these paths or devices",
        ),
        Some(0) => (
            "somebody holds the journal of a dead run, so nothing of it was undone",
            "it may be another clean-up: wait until it ends",
        ),
        Some(_) => (
            "tools of a dead run still work, so nothing of it was undone",
            "wait until they end (a move of extents may take hours), or end them",
        ),
    };
    Err(Failure::Left(anyhow!(
        "{what}; see above\n  {cure}, and run `assay clean` again"
    )))
}

fn words(report: &stacks::CleanReport, dry_run: bool) -> String {
    let mut text = String::new();
    let verb = if dry_run { "would" } else { "done:" };
    for run in &report.runs {
        let _ = writeln!(text, "run {} (process {}, dead)", run.run_id, run.pid);
        for step in &run.undone {
            let _ = writeln!(text, "  {verb} {step}");
        }
        for failed in &run.failed {
            let _ = writeln!(text, "  FAILED {}: {}", failed.step, failed.why);
        }
    }
    for live in &report.live {
        let _ = writeln!(
            text,
            "run {} (process {}) is at work: left alone",
            live.run_id, live.pid
        );
    }
    for one in &report.orphaned {
        let work = match one.holders.is_empty() {
            true => "a process that can't be seen holds its journal".to_owned(),
            false => format!("its tools still work: {}", one.holders.join(", ")),
        };
        let (run, pid) = (&one.run.run_id, one.run.pid);
        let mark = if dry_run { "" } else { "FAILED " };
        let _ = writeln!(text, "{mark}run {run} (process {pid}, dead): {work}");
    }
    for journal in &report.unreadable {
        let _ = writeln!(text, "FAILED {journal}");
    }
    if report.runs.is_empty() && report.unreadable.is_empty() && report.orphaned.is_empty() {
        text.push_str("nothing to clean\n");
    }
    text
}
