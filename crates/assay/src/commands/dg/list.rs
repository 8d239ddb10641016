//! `assay dg ls` and `assay dg du`: what is there, and what it takes.

use super::disks;
use super::disks::{group_names, named, of_group, survey};
use super::facts::Facts;
use super::opened::{Found, Opened, find};
use super::table::{size, table};
use crate::cli::dg;
use crate::commands::answer::answer;
use crate::exit::Failure;
use crate::printed::say;
use diskgroup::Inspected;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;

pub(super) fn ls(flags: &dg::Ls) -> Result<(), Failure> {
    let paths = named(&flags.place, &flags.disks)?;
    let seen = survey(&paths)?;
    let mut groups = Vec::new();
    for found in wanted(flags, &paths, &seen)? {
        groups.push(look(found, flags.place.force)?);
    }
    if !flags.long && !flags.place.json && groups.iter().all(|g| g.files.is_empty()) {
        say!("no files");
        return Ok(());
    }
    answer(
        flags.place.json,
        || {
            let groups: Vec<Value> = groups.iter().map(Facts::json).collect();
            json!({ "schema": 1, "groups": groups, "disks": disks_json(&paths, &seen) })
        },
        || {
            if flags.long {
                long(&groups, &paths, &seen)
            } else {
                short(&groups)
            }
        },
    )
}

/// The groups to list: all that are there, or the one that was asked for.
fn wanted(flags: &dg::Ls, paths: &[PathBuf], seen: &[Inspected]) -> Result<Vec<Found>, Failure> {
    disks::refuse_newer(paths, seen)?;
    let names = group_names(seen);
    if flags.place.group.is_some() || names.is_empty() {
        let (name, members) = disks::members(paths, seen, flags.place.group.as_deref())?;
        let new = Vec::new();
        return Ok(vec![Found { name, members, new }]);
    }
    let found = |name: String| Found {
        members: of_group(paths, seen, &name),
        name,
        new: Vec::new(),
    };
    Ok(names.into_iter().map(found).collect())
}

fn look(found: Found, force: bool) -> Result<Facts, Failure> {
    let opened = Opened::mount(found, force)?;
    opened.say_mounted();
    let facts = Facts::of(&opened);
    opened.close(Ok(facts))
}

fn short(groups: &[Facts]) -> String {
    let mut text = String::new();
    for group in groups {
        for file in &group.files {
            let _ = writeln!(text, "{}:{}", group.group.name, file.name);
        }
    }
    text
}

fn long(groups: &[Facts], paths: &[PathBuf], seen: &[Inspected]) -> String {
    let mut text = String::new();
    for group in groups {
        let _ = write!(
            text,
            "{}\n{}\n{}",
            group.group_words(),
            group.disk_words(),
            group.file_words()
        );
        text.push('\n');
    }
    let others: Vec<Vec<String>> = paths
        .iter()
        .zip(seen)
        .filter(|(_, s)| !matches!(s, Inspected::Disk { member: true, .. }))
        .map(|(p, s)| vec![what(s), p.display().to_string()])
        .collect();
    if !others.is_empty() {
        text.push_str(&table(&["no member of a group", "path"], &others));
    }
    text.trim_end().to_string()
}

fn what(seen: &Inspected) -> String {
    match seen {
        Inspected::Foreign => "no header".to_string(),
        Inspected::Damaged => "header damaged".to_string(),
        Inspected::Newer(version) => format!("format version {version}"),
        Inspected::Disk {
            group, disk, member, ..
        } if !member => format!("was {disk} of {group}"),
        Inspected::Disk { group, disk, .. } => format!("{disk} of {group}"),
    }
}

fn disks_json(paths: &[PathBuf], seen: &[Inspected]) -> Vec<Value> {
    let one = |(path, seen): (&PathBuf, &Inspected)| {
        let path = path.display().to_string();
        match seen {
            Inspected::Foreign => json!({ "path": path, "header": "none" }),
            Inspected::Damaged => json!({ "path": path, "header": "damaged" }),
            Inspected::Newer(version) => json!({ "path": path, "header": "newer", "version": version }),
            Inspected::Disk {
                group,
                disk,
                failure_group,
                member,
                whole,
            } => {
                let header = match (member, whole) {
                    (false, _) => "former member",
                    (true, true) => "member",
                    (true, false) => "member, one header damaged",
                };
                json!({ "path": path, "header": header, "group": group, "disk": disk, "failure_group": failure_group })
            }
        }
    };
    paths.iter().zip(seen).map(one).collect()
}

pub(super) fn du(flags: &dg::Du) -> Result<(), Failure> {
    let facts = look(find(&flags.place, &flags.disks, None)?, flags.place.force)?;
    answer(
        flags.place.json,
        || json!({ "schema": 1, "group": facts.json() }),
        || {
            let sum: u64 = facts.files.iter().map(|f| f.size).sum();
            let allocated: u64 = facts.files.iter().map(|f| f.allocated_bytes).sum();
            format!(
                "{}\n{}\n{}\n{} in files, {} on disks with all copies; metadata {}\n",
                facts.group_words(),
                facts.disk_words(),
                facts.file_words(),
                size(sum),
                size(allocated),
                size(facts.group.metadata_bytes)
            )
        },
    )
}
