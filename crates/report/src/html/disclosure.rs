//! Full disclosure: the study file, every setting with its default, every fact, the schedule, the looks, what happened.
//!
//! Takes the gathered file, gives the last section. Prevents: "you did not disclose the configuration".

use super::head::date;
use super::markup::Markup;
use super::{Section, Source};
use crate::analysis::ReportError;
use crate::format::ratio;
use ledger::{Severity, TrialStatus};

const LICENCE: &str = include_str!("../../third_party/uplot/LICENSE");

/// Rows of one table; a longer list says how many were left out.
const ROWS_MAX: usize = 1_000;

pub(crate) fn section(source: &Source<'_>) -> Result<Option<Section>, ReportError> {
    let mut body = Markup::new();
    part(&mut body, "The study file, as it was read", |body| {
        body.raw("<pre tabindex=\"0\">");
        body.lines(&source.book.study.text);
        body.raw("</pre>");
    });
    part(&mut body, "Every setting that held, defaults said", |body| {
        settings(body, source)
    });
    part(&mut body, "What it ran on", |body| facts(body, source));
    part(&mut body, "Stacks", |body| stacks(body, source));
    let trials = source.ledger.trials()?;
    part(&mut body, "Schedule: every trial in its order", |body| {
        rows(
            body,
            &["block", "place", "stack", "begun", "seed", "LUN set", "how it ended"],
            trials.iter().map(|trial| {
                vec![
                    trial.block.to_string(),
                    trial.position.to_string(),
                    trial.stack.clone(),
                    date(trial.began_unix_ns),
                    trial.seed.to_string(),
                    trial.lun_set.clone(),
                    match &trial.status {
                        TrialStatus::Running => "under way, or killed".into(),
                        TrialStatus::Done => "done".into(),
                        TrialStatus::Failed(reason) => format!("failed: {reason}"),
                        TrialStatus::Interrupted => "interrupted".into(),
                    },
                ]
            }),
        );
    });
    part(&mut body, "Looks taken at the data", |body| looks(body, source));
    let events = source.ledger.events()?;
    if !events.is_empty() {
        part(&mut body, "What happened", |body| {
            rows(
                body,
                &["when", "", "what"],
                events.iter().map(|event| {
                    let severity = match event.severity {
                        Severity::Info => "info",
                        Severity::Warning => "warning",
                        Severity::Error => "error",
                    };
                    vec![date(event.at_unix_ns), severity.into(), event.text.clone()]
                }),
            );
        });
    }
    part(&mut body, "What this is not", |body| {
        body.raw(
            "<p>The page engine does to storage what a database does, and nothing else: it is not Oracle, and its rates are not \
             Oracle's. A disk group here is not Oracle ASM. A verdict is about this machine, these sizes, this time.</p>",
        );
    });
    part(&mut body, "Licence of the chart library in this page", |body| {
        body.raw("<p>uPlot 1.6.32</p><pre tabindex=\"0\">");
        body.raw(LICENCE);
        body.raw("</pre>");
    });
    Ok(Section::new("disclosure", "Disclosure", body))
}

fn part(body: &mut Markup, title: &'static str, inside: impl FnOnce(&mut Markup)) {
    body.raw("<details class=\"paper\"><summary>");
    body.text(title);
    body.raw("</summary>");
    inside(body);
    body.raw("</details>\n");
}

fn rows(body: &mut Markup, heads: &[&str], rows: impl ExactSizeIterator<Item = Vec<String>>) {
    let left = rows.len().saturating_sub(ROWS_MAX);
    body.raw(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Rows\"><table class=\"facts\"><thead><tr>",
    );
    for head in heads {
        body.element("th", &[("scope", "col")], head);
    }
    body.raw("</tr></thead><tbody>");
    for row in rows.take(ROWS_MAX) {
        body.raw("<tr>");
        for cell in row {
            body.element("td", &[], &cell);
        }
        body.raw("</tr>");
    }
    body.raw("</tbody></table></div>");
    if left > 0 {
        body.element("p", &[], &format!("{left} more are in the result file."));
    }
}

fn settings(body: &mut Markup, source: &Source<'_>) {
    rows(
        body,
        &["key", "value", "said by"],
        source.book.settings.iter().map(|setting| {
            let by = if setting.written { "the study" } else { "default" };
            vec![setting.key.clone(), setting.value.clone(), by.into()]
        }),
    );
}

fn facts(body: &mut Markup, source: &Source<'_>) {
    rows(
        body,
        &["of", "what", "value"],
        source
            .book
            .facts
            .iter()
            .map(|fact| vec![fact.scope.to_string(), fact.key.to_string(), fact.value.to_string()]),
    );
}

fn stacks(body: &mut Markup, source: &Source<'_>) {
    rows(
        body,
        &[
            "stack",
            "kind",
            "layers",
            "access",
            "ranked in group",
            "compared with",
            "planted disadvantage",
        ],
        source.analysis.stacks.iter().map(|stack| {
            vec![
                stack.name.clone(),
                stack.kind.clone(),
                stack.layers.clone(),
                stack.access.clone(),
                stack.group.clone(),
                stack.base.clone().unwrap_or_else(|| "-".into()),
                stack.injected.clone().unwrap_or_else(|| "none".into()),
            ]
        }),
    );
}

fn looks(body: &mut Markup, source: &Source<'_>) {
    let looks = source.analysis.looks();
    rows(
        body,
        &[
            "blocks",
            "phase",
            "stack",
            "of",
            "ratio",
            "interval",
            "error spent",
            "said",
        ],
        looks.iter().map(|look| {
            vec![
                look.n.to_string(),
                look.phase.clone(),
                look.stack.clone(),
                look.base.clone(),
                ratio(look.ratio),
                format!("{} to {}", ratio(look.low), ratio(look.high)),
                format!("{:.5}", look.alpha),
                look.verdict.clone(),
            ]
        }),
    );
}
