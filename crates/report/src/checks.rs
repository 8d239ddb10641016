//! What must hold before a number is believed, with the figure found, the threshold, and what to do.
//!
//! Takes the gathered file and the cells made of it, gives [`Check`]s: VALID, NOTE, SUSPECT or INVALID; those of single
//! cells are made in `cell_checks`. Prevents: the objections that every published comparison has met in its comments.

use crate::analysis::{Analysis, Verdict, same_look};
use crate::cell_checks::At;
use crate::history::{Book, Seen};
use crate::ran_out::{in_phase, is_full};
use crate::rate_checks::Timing;
use crate::refusals;
use schemars::JsonSchema;
use serde::Serialize;

/// Whether a number may be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nothing speaks against it.
    Valid,
    /// To know when reading it; it still stands.
    Note,
    /// Something speaks against it.
    Suspect,
    /// It does not stand for the stack.
    Invalid,
}

impl Status {
    /// As it stands in a report.
    pub fn word(self) -> &'static str {
        match self {
            Status::Valid => "VALID",
            Status::Note => "NOTE",
            Status::Suspect => "SUSPECT",
            Status::Invalid => "INVALID",
        }
    }
}

/// One thing checked.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Check {
    /// What: "provenance", "steady state", "host CPU" ...
    pub subject: String,
    /// On which stack; `null` for the whole study.
    pub stack: Option<String>,
    /// In which phase; `null` for all.
    pub phase: Option<String>,
    /// The outcome.
    pub status: Status,
    /// What was found, with its unit.
    pub figure: String,
    /// What it is held against.
    pub threshold: String,
    /// What to do.
    pub advice: String,
}

/// A stack on LUNs that behave as another device.
fn on_a_model(stack: &ledger::Stack) -> Option<Check> {
    let device = stack.layers.model()?;
    Some(Check {
        subject: "modelled device".into(),
        stack: Some(stack.name.clone()),
        phase: None,
        status: Status::Note,
        figure: format!("stands on LUNs that behave as {device} by calculation"),
        threshold: "none".into(),
        advice: "take it as a statement about that model; it is never ranked with a stack on real devices".into(),
    })
}

/// A stack on a ZFS that is not today's.
fn on_an_old_zfs(stack: &ledger::Stack) -> Option<Check> {
    let layer = stack.layers.old_zfs()?;
    Some(Check {
        subject: "old ZFS".into(),
        stack: Some(stack.name.clone()),
        phase: None,
        status: Status::Note,
        figure: format!("is {layer}: the ZFS of about 2010, not today's OpenZFS"),
        threshold: "none".into(),
        advice: "take it for what it is; today's is via = \"kernel\", or without files via = \"userspace\"".into(),
    })
}

/// A server that was there before the study: of what it runs on nothing is known, wherever that is.
fn on_a_server(stack: &ledger::Stack) -> Option<Check> {
    let took_part = stack.kind == "server" && stack.skipped.is_none();
    took_part.then(|| Check {
        subject: "server's host".into(),
        stack: Some(stack.name.clone()),
        phase: None,
        status: Status::Note,
        figure: "is a server that was there before the study: processors, memory and devices of its host were not observed".into(),
        threshold: "none".into(),
        advice: "watch that host by other means meanwhile (`vmstat 1`, `iostat -x 1`), or let Assay start a server on a stack of its own".into(),
    })
}

/// All checks, study first, then by phase and stack.
pub(crate) fn checks(book: &Book, analysis: &Analysis) -> Vec<Check> {
    let mut found = of_study(book, analysis);
    for (report, head) in analysis.phases.iter().zip(&book.phases) {
        for cell in &report.cells {
            let runs: Vec<&Seen> = book
                .valid(&cell.stack, &report.name)
                .into_iter()
                .map(|(_, run)| run)
                .collect();
            let at = At {
                report,
                cell,
                kind: head.kind,
                timing: Timing {
                    kind: head.kind,
                    by_count: book.goes_home_by_count(&head.name),
                },
                in_process: crate::way_checks::is_in_a_process(book, &cell.stack),
                between: crate::foreign_checks::Between::of(book, &cell.stack),
                runs,
            };
            found.extend(at.all(book.study.margin));
        }
        found.extend(crate::memory_checks::alike(book, report));
        for stack in &book.stacks {
            // Of runs that failed too, and where no other has made a cell: what was lost before is lost.
            let seen: Vec<&Seen> = book.seen(&stack.name, &report.name).map(|(_, run)| run).collect();
            found.extend(crate::cuts::check(&stack.name, &report.name, head.kind, &seen));
            found.extend(bad_pages(book, &stack.name, &report.name));
            found.extend(invalid_runs(book, &stack.name, &report.name));
        }
    }
    found
}

fn of_study(book: &Book, analysis: &Analysis) -> Vec<Check> {
    let whole = |subject: &str, stack: Option<&str>, status, figure: String, advice: &str| Check {
        subject: subject.into(),
        stack: stack.map(str::to_string),
        phase: None,
        status,
        figure,
        threshold: "none".into(),
        advice: advice.into(),
    };
    let mut found = Vec::new();
    if book.study.modelled {
        found.push(whole(
            "modelled device",
            None,
            Status::Suspect,
            "a device of this study is simulated in virtual time".into(),
            "take it as a statement about the model, not about any hardware",
        ));
    }
    for stack in &book.stacks {
        found.extend(on_a_model(stack));
        found.extend(on_an_old_zfs(stack));
        found.extend(on_a_server(stack));
        if let Some(injected) = &stack.injected {
            found.push(whole(
                "planted disadvantage",
                Some(&stack.name),
                Status::Suspect,
                injected.clone(),
                "take `inject` out of the study for a real comparison",
            ));
        }
    }
    if !analysis.dropped.is_empty() {
        let status = if analysis.study.blocks_valid == 0 {
            Status::Invalid
        } else {
            Status::Suspect
        };
        let figure = format!(
            "{} of {} blocks were dropped",
            analysis.dropped.len(),
            analysis.study.blocks_begun
        );
        found.push(whole(
            "dropped blocks",
            None,
            status,
            figure,
            "see the reasons at the dropped blocks",
        ));
    }
    let changed = changed_looks(book, analysis);
    if changed > 0 {
        found.push(whole(
            "recorded looks",
            None,
            Status::Suspect,
            format!("{changed} verdicts recorded by the run are not what the file says now"),
            "a stack that left the ranking since brought blocks back that it had dropped, another version of assay ran the study, or the file was edited: see what is not ranked, and compare the tool versions",
        ));
    }
    found.extend(crate::place_checks::found(book));
    found
}

/// Verdicts that the run recorded and that the same look gives otherwise now.
fn changed_looks(book: &Book, analysis: &Analysis) -> usize {
    let everything = Analysis {
        recorded_looks: Vec::new(),
        ..analysis.clone()
    }
    .unrecorded_looks();
    let differs = |old: &&ledger::Look| {
        everything
            .iter()
            .any(|now| same_look(old, now) && old.verdict != now.verdict)
    };
    book.looks.iter().filter(differs).count()
}

/// Of every run: one that met a bad page did not come through, and is in no figure.
fn bad_pages(book: &Book, stack: &str, phase: &str) -> Option<Check> {
    let bad = crate::figures::Figure::of(book.seen(stack, phase).map(|(_, seen)| refusals::bad_pages(seen)))?;
    // Where the engine's own cache served all, nothing was read back.
    let nothing_read = |seen: &Seen| seen.get(ledger::Measure::EnginePagesVerified) == Some(0.0);
    if bad.high == 0.0 && book.seen(stack, phase).all(|(_, seen)| nothing_read(seen)) {
        return None;
    }
    Some(Check {
        subject: "data loss".into(),
        stack: Some(stack.into()),
        phase: Some(phase.into()),
        status: if bad.high > 0.0 { Status::Invalid } else { Status::Valid },
        figure: format!("{} pages read back wrong", crate::layouts::whole(bad.high)),
        threshold: "0".into(),
        advice: "this stack lost data: do not use it; look into the kernel's log".into(),
    })
}

fn invalid_runs(book: &Book, stack: &str, phase: &str) -> Vec<Check> {
    let reason = |seen: &Seen| match &seen.run.status {
        ledger::PhaseStatus::Valid => None,
        ledger::PhaseStatus::Invalid(reason) => Some(format!("invalid: {reason}")),
        ledger::PhaseStatus::Failed(reason) => Some(format!("failed: {reason}")),
    };
    let full = in_phase(book, stack, phase).map(|ran_out| Check {
        subject: "space".into(),
        stack: Some(stack.into()),
        phase: Some(phase.into()),
        status: Status::Note,
        figure: ran_out.words,
        threshold: "enough".into(),
        advice: "a result of this stack at this size: it is ranked only in what came before".into(),
    });
    let one = |(block, reason): (u32, String)| Check {
        subject: "phase status".into(),
        stack: Some(stack.into()),
        phase: Some(phase.into()),
        status: Status::Invalid,
        figure: format!("block {block} {reason}"),
        threshold: "every run valid".into(),
        advice: "remove the cause and run the study again; this run is in no figure".into(),
    };
    book.seen(stack, phase)
        .filter(|(_, seen)| !is_full(seen))
        .filter_map(|(block, seen)| Some((block, reason(seen)?)))
        .map(one)
        .chain(full)
        .collect()
}

impl Analysis {
    /// Checks that are not VALID, worst first.
    pub fn doubts(&self) -> Vec<&Check> {
        let mut doubts: Vec<&Check> = self
            .checks
            .iter()
            .filter(|check| check.status != Status::Valid)
            .collect();
        doubts.sort_by_key(|check| std::cmp::Reverse(check.status));
        doubts
    }

    /// True when a comparison says *worse*, for `--fail-on worse`.
    pub fn is_worse(&self) -> bool {
        self.comparisons
            .iter()
            .any(|comparison| comparison.verdict == Verdict::Worse)
    }

    /// True when a check says INVALID, for `--fail-on invalid`.
    pub fn is_invalid(&self) -> bool {
        self.checks.iter().any(|check| check.status == Status::Invalid)
    }
}
