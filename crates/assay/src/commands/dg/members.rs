//! `assay dg add` and `assay dg drop`: disks that come and go, with the rebalance that follows.

use super::admit;
use super::create::fresh_seed;
use super::disks::identity;
use super::facts::Facts;
use super::opened::{self, Opened, find, run_error};
use super::rebalance::{Moved, work};
use crate::cli::dg;
use crate::commands::answer::answer;
use crate::exit::Failure;
use crate::printed::say;
use anyhow::anyhow;
use serde_json::json;

pub(super) fn add(flags: &dg::Add) -> Result<(), Failure> {
    let mut asked = admit::asked(&flags.new, &flags.failure_group, &flags.consent)?;
    let mut found = find(&flags.place, &[], None)?;
    admit::inspect(&mut asked, Some(&found.name), &flags.consent)?;
    found.new = asked.iter().map(|a| a.path.clone()).collect();
    if let Some(both) = found
        .new
        .iter()
        .find(|n| found.members.iter().any(|m| identity(m) == identity(n)))
    {
        return Err(Failure::Usage(anyhow!(
            "{} is in the group already\n  name a disk that is not",
            both.display()
        )));
    }
    let (moved, facts) = opened::with(&flags.place, found, |opened| {
        take(opened, &asked)?;
        let moved = work(opened, &flags.pace)?;
        Ok((moved, Facts::of(opened)))
    })?;
    said(flags.place.json, "added", &moved, &facts)
}

/// Takes disks that were found fit into an open group.
pub(super) fn take(opened: &Opened, asked: &[admit::Asked]) -> Result<(), Failure> {
    let first = opened.paths.len() - asked.len();
    let specs = admit::specs(&opened.name, asked, first, next_number(opened));
    opened
        .group
        .add_disks(&specs, fresh_seed()?)
        .map_err(|e| admit::name_paths(&e, &specs, asked))
}

/// The number that the name of the next disk carries: one after the highest in use.
fn next_number(opened: &Opened) -> usize {
    let disks = opened.group.disks();
    let prefix = format!("{}_", opened.name);
    let used = disks.iter().filter_map(|d| d.name.strip_prefix(&prefix)?.parse().ok());
    used.max().map_or(0, |n: usize| n.saturating_add(1))
}

pub(super) fn drop(flags: &dg::Drop) -> Result<(), Failure> {
    let found = find(&flags.place, &[], None)?;
    let (moved, facts) = opened::with(&flags.place, found, |opened| {
        let mut names = Vec::new();
        for given in &flags.names {
            names.push(opened.disk_named(given)?);
        }
        names.sort();
        names.dedup();
        for (nth, name) in names.iter().enumerate() {
            opened.group.drop_disk(name).map_err(|error| {
                if nth > 0 {
                    say!(
                        "{} will be dropped at the next `assay dg rebalance`",
                        names[..nth].join(", ")
                    );
                }
                run_error(error)
            })?;
        }
        let moved = work(opened, &flags.pace)?;
        Ok((moved, Facts::of(opened)))
    })?;
    said(flags.place.json, "dropped", &moved, &facts)
}

fn said(json: bool, act: &str, moved: &Moved, facts: &Facts) -> Result<(), Failure> {
    answer(
        json,
        || json!({ "schema": 1, "act": act, "rebalance": moved.json(), "group": facts.json() }),
        || format!("{}\n{}\n{}", moved.words(), facts.group_words(), facts.disk_words()),
    )
}
