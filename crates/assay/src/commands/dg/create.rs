//! `assay dg create`: makes a disk group, when every disk may be taken.

use super::admit::{self, Asked};
use super::disks;
use super::facts::Facts;
use super::opened::{Found, Opened, metadata_port};
use crate::cli::dg::{self, Redundancy};
use crate::commands::answer::answer;
use crate::exit::Failure;
use anyhow::{Context, anyhow};
use diskgroup::{Geometry, Group, GroupSpec};
use serde_json::json;
use std::path::PathBuf;

pub(super) fn redundancy(flag: Redundancy) -> diskgroup::Redundancy {
    match flag {
        Redundancy::External => diskgroup::Redundancy::External,
        Redundancy::Normal => diskgroup::Redundancy::Normal,
        Redundancy::High => diskgroup::Redundancy::High,
    }
}

pub(super) fn create(flags: &dg::Create) -> Result<(), Failure> {
    if flags.name.contains([':', '/']) {
        return Err(Failure::Usage(anyhow!(
            "a group of the name {:?}\n  leave out `:` and `/`: files are named GROUP:FILE",
            flags.name
        )));
    }
    let mut asked = admit::asked(&flags.disks, &flags.failure_group, &flags.consent)?;
    admit::inspect(&mut asked, None, &flags.consent)?;
    make(flags, &asked)?;
    // What is said is what was written.
    let members: Vec<PathBuf> = asked.into_iter().map(|a| a.path).collect();
    let found = Found {
        name: flags.name.clone(),
        members,
        new: Vec::new(),
    };
    let opened = Opened::mount(found, false)?;
    let facts = Facts::of(&opened);
    opened.close(Ok(()))?;
    answer(
        flags.json,
        || json!({ "schema": 1, "created": facts.json() }),
        || format!("{}\n{}", facts.group_words(), facts.disk_words()),
    )
}

fn make(flags: &dg::Create, asked: &[Asked]) -> Result<(), Failure> {
    let paths: Vec<PathBuf> = asked.iter().map(|a| a.path.clone()).collect();
    let spec = GroupSpec {
        geometry: Geometry::new(flags.au),
        ..GroupSpec::new(&flags.name, redundancy(flags.redundancy))
    };
    let specs = admit::specs(&flags.name, asked, 0, 0);
    let claim = disks::claim(&paths)?;
    let group = Group::create(metadata_port(&claim)?, &spec, &specs, fresh_seed()?)
        .map_err(|e| admit::name_paths(&e, &specs, asked))?;
    group.close().map_err(|e| admit::name_paths(&e, &specs, asked))?;
    Ok(())
}

/// A number that was never used before: UUIDs are made of it.
pub(super) fn fresh_seed() -> anyhow::Result<u64> {
    sandbox::random_number().context("draw the number that new UUIDs are made of")
}
