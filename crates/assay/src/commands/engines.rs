//! Databases in SQL in `assay check`: every setting that would hold, stack by stack and phase by phase.
//!
//! Takes a study, gives rows of text. Prevents: a default that the user learns of from the result.

use plan::{Engine, PhaseKind, Study};

/// A row for each stack with such a database, and for each phase of its own kinds: name, text.
pub(super) fn rows(study: &Study) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    for stack in study.stacks.iter().filter(|stack| stack.engine.is_sql()) {
        let said = settings(study, &format!("stack.{}.database.", stack.name));
        let found = match &stack.engine {
            Engine::Postgres(asked) if !matches!(stack.kind, plan::StackKind::Server { .. }) => {
                databases::postgres::choose(asked.version)
                    .map(|install| format!("; {} would be used ({})", install.version, install.bin.display()))
                    .unwrap_or_default()
            }
            _ => String::new(),
        };
        rows.push(("database", format!("{}: {said}{found}", stack.name)));
    }
    for phase in &study.phases {
        if let PhaseKind::Tpcc(_) | PhaseKind::Bulk(_) = phase.kind {
            let said = settings(study, &format!("phase.{}.", phase.name));
            rows.push(("phase", format!("{}: {said}", phase.name)));
        }
    }
    rows
}

fn settings(study: &Study, prefix: &str) -> String {
    let known = study.resolved.iter().filter_map(|row| {
        let key = row.key.strip_prefix(prefix)?;
        (key != "name").then(|| format!("{key} = {}", row.value))
    });
    known.collect::<Vec<_>>().join(", ")
}
