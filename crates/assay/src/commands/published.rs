//! `assay published`: the publications whose figures a study can have printed beside its own.

use super::answer::{print, print_json, wrapped};
use crate::cli;
use crate::exit::Failure;
use anyhow::anyhow;
use report::published::{Source, find, sources};
use serde_json::json;

pub(crate) fn published(flags: &cli::Published) -> Result<(), Failure> {
    let chosen: Vec<&Source> = match &flags.id {
        Some(id) => vec![find(id).map_err(|e| Failure::Usage(anyhow!("{e}")))?],
        None => sources().iter().collect(),
    };
    if flags.json {
        let all: Vec<_> = chosen.iter().map(|source| as_json(source)).collect();
        return print_json(&json!({ "schema": 1, "sources": all }));
    }
    let mut text = String::new();
    for source in &chosen {
        text.push_str(&wrapped(
            "",
            0,
            &format!("{}: {} ({})", source.id, source.title, source.year),
        ));
        text.push_str(&wrapped("", 2, &source.about));
        text.push_str("  stacks, the first the base of its ratios:\n");
        for [name, about] in &source.stacks {
            text.push_str(&wrapped("   ", 6, &format!("{name}: {about}")));
        }
        text.push_str("  phases:\n");
        for phase in &source.phases {
            text.push_str(&wrapped("   ", 6, &format!("{}: {}", phase.id, phase.about)));
            for figure in source.figures.iter().filter(|figure| figure.phase == phase.id) {
                let values: Vec<String> = figure.values.iter().map(f64::to_string).collect();
                let line = format!("{}: {} {}", figure.stack, values.join(", "), figure.quantity);
                text.push_str(&wrapped("     ", 8, &line));
            }
            for ratio in source.ratios.iter().filter(|ratio| ratio.phase == phase.id) {
                text.push_str(&wrapped("     ", 8, &format!("{}: {}", ratio.stack, ratio.words)));
            }
        }
        text.push('\n');
    }
    text.push_str(
        "To use one, name it by `published` in [study], and map your stacks and phases\n\
         in [published] (docs/study.md).\n",
    );
    print(&text)
}

fn as_json(source: &Source) -> serde_json::Value {
    json!({
        "id": source.id,
        "title": source.title,
        "year": source.year,
        "about": source.about,
        "stacks": source.stacks.iter().map(|[name, about]| json!({ "name": name, "about": about })).collect::<Vec<_>>(),
        "phases": source.phases.iter().map(|phase| json!({
            "name": phase.id, "about": phase.about, "quantity": phase.quantity, "better": phase.better,
            "against": phase.against, "base_phase": phase.base_phase,
        })).collect::<Vec<_>>(),
        "figures": source.figures.iter().map(|figure| json!({
            "stack": figure.stack, "phase": figure.phase, "quantity": figure.quantity, "values": figure.values,
        })).collect::<Vec<_>>(),
        "ratios": source.ratios.iter().map(|ratio| json!({
            "stack": ratio.stack, "phase": ratio.phase, "low": ratio.low, "high": ratio.high, "words": ratio.words,
        })).collect::<Vec<_>>(),
    })
}
