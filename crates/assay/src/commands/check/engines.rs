//! Databases in SQL and kills in `assay check`: every setting that would hold, stack by stack and phase by phase.
//!
//! Takes a study, gives rows of text. Prevents: a default that the user learns of from the result.

use super::stacks_made::killed;
use crate::commands::answer::size;
use plan::{Duration, End, Engine, Serving, Stack, Study, TemporarySpace};

/// A row for each stack with such a database, and for each phase of its own kinds: name, text.
pub(super) fn rows(study: &Study) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    for stack in study.stacks.iter().filter(|stack| stack.engine.is_sql()) {
        let said = settings(study, &format!("stack.{}.database.", stack.name));
        let found = match &stack.engine {
            Engine::Postgres(asked) if stack.kind.server().is_none() => databases::postgres::choose(asked.version)
                .map(|install| format!("; {} would be used ({})", install.version, install.bin.display()))
                .unwrap_or_default(),
            _ => String::new(),
        };
        rows.push(("database", format!("{}: {said}{found}", stack.name)));
    }
    for phase in &study.phases {
        let ended = phase.kind.cut().and_then(|cut| cut.work.serving());
        if ended.is_some() || matches!(phase.kind.engines(), plan::Engines::Sql | plan::Engines::Files) {
            let said = settings(study, &format!("phase.{}.", phase.name));
            rows.push(("phase", format!("{}: {said}", phase.name)));
        }
        if let Some(serving) = phase.kind.serving() {
            rows.push(("", format!("{}: {}", phase.name, tree(serving, phase.time))));
        }
    }
    rows.extend(study.stacks.iter().filter_map(|stack| temporary(study, stack)));
    rows.extend(kills(study));
    rows
}

/// The LUN set of temporary files, where it may be too small or its size is not known. It is no refusal: the estimate
/// is an upper bound, and a set that runs out is a result.
fn temporary(study: &Study, stack: &Stack) -> Option<(&'static str, String)> {
    let space = TemporarySpace::of(study, stack)?;
    let (set, needed) = (&space.set, size(space.needed));
    let beside = match space.room {
        Some(room) if space.is_short() => format!(
            "The LUN set \"{set}\" has room for {}. The stack may run out of space there: make these LUNs larger, or \
             lower `scale` or the number of users",
            size(room)
        ),
        Some(_) => return None,
        None => format!("Assay does not know the size of the LUN set \"{set}\": see that it has room for them"),
    };
    let said = format!(
        "{}: temporary files may take {needed} at the same time. {beside}",
        stack.name
    );
    Some(("temporary", said))
}

/// The tree at the highest load, and the time of the ramp.
fn tree(serving: &Serving, time: Option<Duration>) -> String {
    let files = serving.data_bytes_most() as f64 / serving.sizes.mean_bytes().max(1.0);
    let directories = (files / f64::from(serving.files_per_directory)).ceil();
    format!(
        "about {files:.0} files in {directories:.0} directories at the highest load, the ramp at most {}",
        serving.ramp_time(time.unwrap_or(Duration(0)))
    )
}

/// What the kills of a study take with them, stack by stack.
fn kills(study: &Study) -> Vec<(&'static str, String)> {
    if !study.phases.iter().any(|phase| phase.kind.is_ended_by(End::Kill)) {
        return Vec::new();
    }
    let said = |stack: &Stack| ("kill", format!("{}: {}", stack.name, killed(stack)));
    let mut rows: Vec<_> = study.stacks.iter().map(said).collect();
    rows.push(("", report::KILL_IS_WEAKER.to_string()));
    rows
}

fn settings(study: &Study, prefix: &str) -> String {
    let known = study.resolved.iter().filter_map(|row| {
        let key = row.key.strip_prefix(prefix)?;
        (key != "name").then(|| format!("{key} = {}", row.value))
    });
    known.collect::<Vec<_>>().join(", ")
}
