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
        print_json(&json!({
            "schema": 1, "dry_run": flags.dry_run, "runs": runs, "live": live, "unreadable": report.unreadable,
        }))?;
    } else {
        print(&words(&report, flags.dry_run))?;
    }
    if flags.dry_run || report.is_clean() {
        return Ok(());
    }
    Err(Failure::Left(anyhow!(
        "some steps could not be undone; see above\n  end the programs that use these paths or devices, and run `assay \
         clean` again"
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
    for journal in &report.unreadable {
        let _ = writeln!(text, "FAILED {journal}");
    }
    if report.runs.is_empty() && report.unreadable.is_empty() {
        text.push_str("nothing to clean\n");
    }
    text
}
