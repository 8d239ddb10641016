//! Older studies of the same stacks beside a new one: result files in the directory that the new file is made in.
//!
//! Takes the directory and the study, gives names. Of each file only the study and its keys are read, and what cannot
//! be read is none of ours. Prevents: a second study until one agrees that nobody can see in the report.

use crate::progress::Caller;
use crate::result_file;
use ledger::{Disclosed, FactName, FactValue, Ledger, Scope};
use plan::Study;
use rustix::fs::{FileType, OFlags, fstat};
use sandbox::Directory;
use std::collections::BTreeSet;
use std::path::Path;

/// Result files that are looked at: the youngest.
const FILES_MAX: usize = 64;
/// Files that are asked for their age.
const NAMES_MAX: usize = 4096;
/// Names that are said and recorded.
const SAID_MAX: usize = 8;

/// Names of result files beside `output` that hold a study of the same stacks and phases, sorted.
pub(crate) fn beside(output: &Path, study: &Study) -> Vec<String> {
    let dir = output.parent().filter(|dir| !dir.as_os_str().is_empty());
    let Ok(dir) = Directory::open(dir.unwrap_or(Path::new("."))) else {
        return Vec::new();
    };
    let own = output.file_name();
    let mut found: Vec<String> = youngest(&dir)
        .into_iter()
        .filter(|name| own.is_none_or(|own| own.to_str() != Some(name)))
        .filter(|name| is_same(&dir.path().join(name), study).unwrap_or(false))
        .collect();
    found.truncate(SAID_MAX);
    found.sort();
    found
}

/// Says it once, and records it in the new file.
pub(crate) fn disclose(found: &[String], ledger: &mut Ledger, caller: Caller<'_>) -> anyhow::Result<()> {
    let Some(first) = found.first() else {
        return Ok(());
    };
    caller.progress.line(&format!(
        "an older study of the same stacks exists: {}; a verdict of the better of two is not protected\n  to add \
         blocks to a study that has ended: assay run --extend {}",
        found.join(", "),
        ledger.path().with_file_name(first).display()
    ));
    let said: Vec<Disclosed> = vec![FactName::OlderStudies.is(FactValue::Names(found.to_vec()))];
    result_file::facts(ledger, &Scope::Study, said)
}

/// Regular files that are called as result files are, the youngest first.
fn youngest(dir: &Directory) -> Vec<String> {
    let names = dir.names().unwrap_or_default().into_iter();
    // A name with a control character is no name of ours, and would have to be said.
    let ours = |name: &String| name.ends_with(".assay") && !name.chars().any(char::is_control);
    let names = names
        .filter_map(|name| name.into_string().ok())
        .filter(ours)
        .take(NAMES_MAX);
    let mut aged: Vec<(i64, String)> = names
        .filter_map(|name| {
            let file = dir.open_file(&name, OFlags::RDONLY).ok()?;
            let stat = fstat(file).ok()?;
            (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then_some((stat.st_mtime, name))
        })
        .collect();
    aged.sort_by(|a, b| b.cmp(a));
    aged.truncate(FILES_MAX);
    aged.into_iter().map(|(_, name)| name).collect()
}

/// Whether the file holds this study, or another of the same stacks in the same phases.
fn is_same(path: &Path, study: &Study) -> anyhow::Result<bool> {
    let ledger = Ledger::glance(path)?;
    if ledger.study()?.text == study.text {
        return Ok(true);
    }
    let defines = |key: &str| key.starts_with("stack.") || key.starts_with("phase.");
    let theirs: BTreeSet<(String, String)> = ledger
        .settings()?
        .into_iter()
        .filter(|setting| defines(&setting.key))
        .map(|setting| (setting.key, setting.value))
        .collect();
    let ours: BTreeSet<(String, String)> = study
        .resolved
        .iter()
        .filter(|row| defines(&row.key))
        .map(|row| (row.key.clone(), row.value.clone()))
        .collect();
    Ok(!ours.is_empty() && theirs == ours)
}
