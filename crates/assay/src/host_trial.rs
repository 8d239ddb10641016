//! One stack, once, on this host: attached, built, loaded, driven, taken down.
//!
//! Prevents: anything left standing when a step fails (the journal is undone to where the trial began, whatever happens).

use crate::ceiling::Ceiling;
use crate::grouped;
use crate::host::{Devices, Host};
use crate::host_site::{HostSite, undone};
use crate::inject;
use crate::result_file;
use crate::site::{self, Turn};
use crate::sizes::Sizes;
use crate::trial::{self, Around};
use anyhow::Context;
use ledger::{ExtentSummary, Ledger, TrialId};
use pages::{Files, Instance};
use plan::Stack;
use stacks::{Built, Place};
use std::path::{Path, PathBuf};
use targets::{Access, FileId, OpenSpec, Port, PsyncPort, TargetError, UringPort, Way};

/// How I/O is issued, once for all stacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Method {
    #[default]
    Ring,
    Pread,
}

impl Method {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Method::Ring => "ring",
            Method::Pread => "pread",
        }
    }
}

/// What was found before the first trial.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    pub(crate) sizes: Option<Sizes>,
    pub(crate) method: Method,
    /// Budget in bytes, and 0 not enforced, 1 cgroup v1, 2 cgroup v2.
    pub(crate) budget: Option<(u64, u8)>,
    /// What the generator itself can do.
    pub(crate) ceiling: Ceiling,
    /// Facts of the study as a whole.
    pub(crate) facts: Vec<(String, String)>,
}

/// A stack that stands, with where the engine's files go.
struct Standing<'a> {
    stack: &'a Stack,
    built: &'a Built,
    sizes: &'a Sizes,
    turn: &'a Turn<'a>,
    trial: TrialId,
    first: bool,
}

/// Runs one trial.
pub(crate) fn run(site: &mut HostSite<'_>, ledger: &mut Ledger, turn: &Turn<'_>) -> anyhow::Result<()> {
    let study = site.study;
    let stack = &study.stacks[turn.stack];
    let mark = site.journal.mark();
    turn.progress
        .doing(&format!("block {} · {} · building", turn.block.number + 1, stack.name));
    let places = site.places(turn.stack, turn.block.seed, turn.cancel)?;
    site.luns.used();
    let built = stacks::build(stack, &places, &site.work_dir, &mut site.journal)?;
    let first = !std::mem::replace(&mut site.described[turn.stack], true);
    if first {
        ledger.stack(&site::row(turn.stack, stack, &built.layers.join("/"), None))?;
        result_file::facts(ledger, &format!("stack:{}", stack.name), built.facts.clone())?;
    }
    let host = site.host.clone();
    let result = site::recorded(ledger, stack, turn, &host, |ledger, trial| {
        let sizes = site.sizes()?;
        let standing = Standing {
            stack,
            built: &built,
            sizes: &sizes,
            turn,
            trial,
            first,
        };
        let driven = match (site.prepared.method, inject::is_planted(&stack.inject)) {
            (Method::Ring, false) => drive(site, ledger, &standing, UringPort::open),
            (Method::Pread, false) => drive(site, ledger, &standing, PsyncPort::open),
            (Method::Ring, true) => drive(site, ledger, &standing, |specs, memory, depth| {
                Ok(inject::planted(
                    UringPort::open(specs, memory, depth)?,
                    stack.inject,
                    turn.block.seed,
                ))
            }),
            (Method::Pread, true) => drive(site, ledger, &standing, |specs, memory, depth| {
                Ok(inject::planted(
                    PsyncPort::open(specs, memory, depth)?,
                    stack.inject,
                    turn.block.seed,
                ))
            }),
        };
        driven.map_err(|error| site.luns.blame(name_files(error, &built), stack))
    });
    let mut left = stacks::teardown(built, &mut site.journal);
    left.extend(site.journal.undo_to(mark));
    // What the trial says comes first; what could not be undone is found again, and reported, at the end of the run.
    result.and_then(|()| undone(&left))
}

fn is_grouped(built: &Built) -> bool {
    matches!(built.redo, Place::Grouped(_))
}

/// Opens the files, or makes the disk group that holds them, and drives.
fn drive<P: Port + Send>(
    site: &HostSite<'_>,
    ledger: &mut Ledger,
    standing: &Standing<'_>,
    open: impl Fn(&[OpenSpec], u64, usize) -> Result<P, TargetError>,
) -> anyhow::Result<()> {
    let (sizes, workers) = (standing.sizes, site.study.workers);
    if is_grouped(standing.built) {
        return grouped::with_group(
            standing.stack,
            standing.built,
            sizes,
            workers,
            open,
            |ports, facts, health| {
                let files = Files {
                    data: vec![FileId(0)],
                    redo: FileId(1),
                };
                drive_ports(site, ledger, standing, ports, &files, facts, health)
            },
        );
    }
    let specs = specs(standing);
    let files = Files {
        data: (0..specs.len() as u16 - 1).map(FileId).collect(),
        redo: FileId(specs.len() as u16 - 1),
    };
    let mut ports = Vec::new();
    for _ in 0..workers {
        ports.push(open(&specs, sizes.memory_bytes(), sizes.depth(files.data.len()))?);
    }
    drive_ports(site, ledger, standing, ports, &files, Vec::new(), &|| None)
}

/// Loads and drives with one kind of port.
fn drive_ports<P: Port + Send>(
    site: &HostSite<'_>,
    ledger: &mut Ledger,
    standing: &Standing<'_>,
    ports: Vec<P>,
    files: &Files,
    facts: Vec<(String, String)>,
    health: &grouped::Health<'_>,
) -> anyhow::Result<()> {
    let (sizes, turn, study) = (standing.sizes, standing.turn, site.study);
    turn.progress.doing(&format!(
        "block {} · {} · loading",
        turn.block.number + 1,
        standing.stack.name
    ));
    let mut instance = Instance::create(ports, files, sizes.shape, sizes.settings, &mut |_, _| ())?;
    if standing.first {
        let scope = format!("stack:{}", standing.stack.name);
        result_file::facts(ledger, &scope, granted(standing)?)?;
        result_file::facts(ledger, &scope, facts)?;
    }
    record_extents(&mut instance, files, standing.trial, ledger, "loaded")?;
    let places = places(standing.built);
    let devices = Devices::under(&places)?;
    if standing.first {
        describe_devices(ledger, standing, &devices)?;
    }
    // No stack starts with what loading left in the page cache; an ordinary user can only ask for the own group's.
    if stacks::drop_caches().is_err()
        && let Some(limit) = &site.limit
    {
        limit.reclaim()?;
    }
    let mut host = Host::new(
        devices,
        places,
        standing.built.mounts.clone(),
        site.prepared.budget,
        health,
    );
    let mut fixed = site::fixed(sizes);
    fixed.push((ledger::Measure::GeneratorCeilingIops, site.prepared.ceiling.read));
    fixed.push((ledger::Measure::GeneratorCeilingCached, site.prepared.ceiling.cached));
    let around = Around {
        study,
        sizes,
        trial: standing.trial,
        stack: &standing.stack.name,
        turn,
        fixed,
    };
    trial::phases(&mut instance, &mut host, &around, ledger)?;
    record_extents(&mut instance, files, standing.trial, ledger, "at the end")
}

/// Data files, then the redo log.
fn specs(standing: &Standing<'_>) -> Vec<OpenSpec> {
    let sizes = standing.sizes;
    let access = match standing.stack.access {
        plan::Access::Direct => Access::Direct,
        plan::Access::Buffered => Access::Buffered,
    };
    let spec = |place: &Place, size: u64| match place {
        Place::File(path) => OpenSpec::creating(path, access, size),
        Place::Device(path) => OpenSpec::writing(path, access),
        Place::Grouped(name) => unreachable!("file {name} of a group is opened by the group"),
    };
    let data = pages::data_file_bytes(&sizes.shape, &sizes.settings, standing.built.data.len());
    let mut specs: Vec<OpenSpec> = standing
        .built
        .data
        .iter()
        .zip(data)
        .map(|(p, size)| spec(p, size))
        .collect();
    specs.push(spec(&standing.built.redo, pages::redo_file_bytes(&sizes.settings)));
    specs
}

fn path_of(place: &Place) -> &Path {
    match place {
        Place::File(path) | Place::Device(path) => path,
        Place::Grouped(name) => Path::new(name),
    }
}

/// Every place of the stack: files (which exist by now) and devices.
fn places(built: &Built) -> Vec<PathBuf> {
    if is_grouped(built) {
        return built.devices.clone();
    }
    built
        .data
        .iter()
        .chain([&built.redo])
        .map(|place| path_of(place).to_path_buf())
        .collect()
}

/// What the kernel really gave on the data and the redo log.
fn granted(standing: &Standing<'_>) -> anyhow::Result<Vec<(String, String)>> {
    let access = match standing.stack.access {
        plan::Access::Direct => Access::Direct,
        plan::Access::Buffered => Access::Buffered,
    };
    let word = |way: Way| match way {
        Way::Direct => "around the page cache",
        Way::Cached => "through the page cache",
        Way::Unknown => "unknown",
    };
    let mut facts = Vec::new();
    let of = |place: &Place| match place {
        Place::Grouped(_) => standing.built.devices[0].clone(),
        place => path_of(place).to_path_buf(),
    };
    for (role, place) in [("data", &standing.built.data[0]), ("redo", &standing.built.redo)] {
        let granted = targets::observe(&of(place), access)?;
        facts.push((format!("{role} reads go"), word(granted.reads).to_string()));
        facts.push((format!("{role} writes go"), word(granted.writes).to_string()));
        if let Some(bytes) = granted.alignment {
            facts.push((format!("{role} direct I/O alignment"), bytes.to_string()));
        }
    }
    Ok(facts)
}

fn describe_devices(ledger: &mut Ledger, standing: &Standing<'_>, devices: &Devices) -> anyhow::Result<()> {
    let scope = format!("stack:{}", standing.stack.name);
    let mut facts = vec![
        ("nearest devices".to_string(), devices.near.join(", ")),
        ("lowest visible devices".to_string(), devices.low.join(", ")),
    ];
    facts.extend(
        devices
            .notes
            .iter()
            .enumerate()
            .map(|(i, note)| (format!("note {}", i + 1), note.clone())),
    );
    result_file::facts(ledger, &scope, facts)?;
    for device in devices.near.iter().chain(&devices.low) {
        result_file::facts(ledger, &format!("device:{device}"), observers::device_facts(device))?;
    }
    Ok(())
}

/// How the data files lie on what is below them.
fn record_extents<P: Port>(
    instance: &mut Instance<P>,
    files: &Files,
    trial: TrialId,
    ledger: &mut Ledger,
    when: &str,
) -> anyhow::Result<()> {
    let Some(port) = instance.ports_mut().next() else {
        return Ok(());
    };
    for (number, file) in files.data.iter().enumerate() {
        let extents = port.extents(*file).context("where the data lies")?;
        if extents.is_empty() {
            continue;
        }
        let bytes = extents.iter().map(|e| e.length).sum();
        let summary = ExtentSummary {
            file: format!("data {number} {when}"),
            extents: extents.len() as u64,
            bytes,
        };
        ledger.extents_of(trial, &summary)?;
    }
    Ok(())
}

/// The engine names files by number; the user knows them by path.
fn name_files(error: anyhow::Error, built: &Built) -> anyhow::Error {
    let names: Vec<String> = built
        .data
        .iter()
        .chain([&built.redo])
        .enumerate()
        .map(|(number, place)| format!("file {number} is {}", path_of(place).display()))
        .collect();
    if error
        .chain()
        .any(|cause| matches!(cause.downcast_ref(), Some(pages::PagesError::Settings { .. })))
    {
        return error;
    }
    error.context(names.join(", "))
}
