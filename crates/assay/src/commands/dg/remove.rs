//! `assay dg rm`: deletes files of a group.

use super::copy::in_group;
use super::opened::{self, find, run_error};
use super::table::size;
use crate::cli::dg;
use crate::commands::answer::answer;
use crate::exit::Failure;
use anyhow::anyhow;
use diskgroup::GroupError;
use serde_json::json;

pub(super) fn rm(flags: &dg::Rm) -> Result<(), Failure> {
    let mut files: Vec<(&str, &str)> = Vec::new();
    for file in &flags.files {
        let Some(pair) = in_group(file) else {
            return Err(Failure::Usage(anyhow!(
                "{file} names no file of a group\n  write GROUP:FILE, as `assay dg ls` does"
            )));
        };
        files.push(pair);
    }
    let group = files[0].0;
    if let Some(other) = files.iter().find(|f| f.0 != group) {
        return Err(Failure::Usage(anyhow!(
            "files of two groups: {group} and {}\n  delete in one group at a time",
            other.0
        )));
    }
    let found = find(&flags.place, &[], Some(group))?;
    let freed = opened::with(&flags.place, found, |opened| {
        let all = opened.group.files();
        // All or none: a name that is not there stops the command before it has deleted anything.
        for (_, name) in &files {
            if !all.iter().any(|f| f.name == *name) {
                let name = (*name).to_string();
                return Err(run_error(GroupError::NoFile { name }));
            }
        }
        let mut names: Vec<&str> = files.iter().map(|f| f.1).collect();
        names.sort_unstable();
        names.dedup();
        let mut freed = 0;
        for name in names {
            let bytes = all.iter().find(|f| f.name == name).map_or(0, |f| f.allocated_bytes);
            opened.group.delete_file(name).map_err(run_error)?;
            freed += bytes;
        }
        Ok(freed)
    })?;
    answer(
        flags.place.json,
        || json!({ "schema": 1, "deleted": flags.files, "freed_bytes": freed }),
        || {
            let lines: Vec<String> = flags.files.iter().map(|f| format!("deleted {f}\n")).collect();
            format!("{}{} freed\n", lines.concat(), size(freed))
        },
    )
}
