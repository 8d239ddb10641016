//! A disk group of any size in memory, and what a mount, a check or a rebalance of it takes.
//!
//! Takes the sizes, makes the group, closes it, and opens it again; gives time, CPU and memory of the one thing that is
//! asked for. Prevents: a cost that grows faster than the group, which nobody sees without disks of that size; and the
//! cost of making the group taken for that of opening it.

use super::hollow::{HollowDisks, HollowPort};
use super::status_kib;
use crate::contender::Row;
use crate::flags::{Deed, Simulated};
use crate::places::{GROUP, group_names};
use crate::sections::grows::cpu_ms;
use anyhow::{Context, ensure};
use diskgroup::{DiskSpec, FileSpec, Geometry, Group, GroupSpec, MountOptions, Redundancy, Step, Stripe};
use nix::sys::resource::{UsageWho, getrusage};
use std::ops::Range;
use std::time::{Duration, Instant};
use targets::FileId;

/// Disks of the group; a rebalance adds one more.
const DISKS: u16 = 10;
const SEED: u64 = 1;
/// Memory and depth of the ports, and I/Os in flight of a rebalance: as those of the commands on disk groups.
const OWNER: (u64, usize) = (8 << 20, 32);
const MOVER: (u64, usize) = (32 << 20, 16);
const POWER: u32 = 16;
const MIB: f64 = 1048576.0;

/// Makes the group, does what is asked, and prints what it took: the hidden command `simulated`.
pub(crate) fn run(what: &Simulated) -> anyhow::Result<()> {
    // As the program does whose commands these are.
    targets::keep_little_freed_memory();
    let each = what.bytes / u64::from(DISKS);
    let disks = HollowDisks::new(vec![each; usize::from(DISKS) + 1]);
    let making = Instant::now();
    make(what, &disks).context("make the group")?;
    let made = making.elapsed();
    let mut row = match what.deed {
        Deed::Mount => mount(what, &disks),
        Deed::Check => check(&disks),
        Deed::Rebalance => rebalance(what, &disks),
    }?;
    row.insert("made_ms".into(), ms(made));
    println!("{}", serde_json::to_string(&row)?);
    Ok(())
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn specs(numbers: Range<u16>) -> Vec<DiskSpec> {
    let names = group_names(usize::from(numbers.end));
    let of = |number: u16| DiskSpec::new(FileId(number), &names[usize::from(number)]);
    numbers.map(of).collect()
}

fn make(what: &Simulated, disks: &HollowDisks) -> anyhow::Result<()> {
    let spec = GroupSpec {
        geometry: Geometry::new(what.unit),
        ..GroupSpec::new(GROUP, Redundancy::Normal)
    };
    let group = Group::create(disks.port(OWNER.0, OWNER.1)?, &spec, &specs(0..DISKS), SEED)?;
    for nth in 0..what.files {
        group.create_file(&FileSpec {
            name: format!("file{nth}"),
            size: what.file_bytes,
            redundancy: None,
            stripe: Stripe::Coarse,
        })?;
    }
    group.close()?;
    Ok(())
}

fn open(disks: &HollowDisks) -> anyhow::Result<Group<HollowPort>> {
    let options = MountOptions {
        group: Some(GROUP.into()),
        names: group_names(usize::from(DISKS)),
        ..MountOptions::default()
    };
    let (group, _) = Group::mount(disks.port(OWNER.0, OWNER.1)?, &options)?;
    Ok(group)
}

/// CPU time of this process so far.
fn own_cpu_ms() -> anyhow::Result<f64> {
    let used = getrusage(UsageWho::RUSAGE_SELF).context("ask what this process took")?;
    Ok(cpu_ms(&used))
}

/// What is taken from a moment on.
struct Meter {
    began: Instant,
    cpu_ms: f64,
    /// The kernel has forgotten how much memory the making took.
    forgot: bool,
}

impl Meter {
    fn begin() -> anyhow::Result<Meter> {
        targets::give_back_freed_memory();
        // proc(5): 5 makes the highest resident size what it is now.
        let forgot = std::fs::write("/proc/self/clear_refs", "5").is_ok();
        Ok(Meter {
            cpu_ms: own_cpu_ms()?,
            began: Instant::now(),
            forgot,
        })
    }

    fn cpu_ms(&self) -> anyhow::Result<f64> {
        Ok(own_cpu_ms()? - self.cpu_ms)
    }

    /// Memory is that of the whole process, without what the simulated disks hold.
    fn row(&self, disks: &HollowDisks) -> anyhow::Result<Row> {
        let took = self.began.elapsed();
        let mut row = Row::from([("ms".to_string(), ms(took)), ("cpu_ms".to_string(), self.cpu_ms()?)]);
        if self.forgot {
            let highest = status_kib("VmHWM:")? * 1024.0;
            row.insert("mib".into(), (highest - disks.held_bytes() as f64) / MIB);
        }
        Ok(row)
    }
}

fn mount(what: &Simulated, disks: &HollowDisks) -> anyhow::Result<Row> {
    let meter = Meter::begin()?;
    let group = open(disks)?;
    let row = meter.row(disks)?;
    let found = group.files().len();
    ensure!(found == what.files as usize, "{found} files of {}", what.files);
    group.close()?;
    Ok(row)
}

/// As the command does it: a mount comes first.
fn check(disks: &HollowDisks) -> anyhow::Result<Row> {
    let meter = Meter::begin()?;
    let group = open(disks)?;
    // Until the first extent was compared.
    let mut before: Option<anyhow::Result<f64>> = None;
    let report = group.check_watched(false, &mut |_, _| {
        if before.is_none() {
            before = Some(meter.cpu_ms());
        }
    })?;
    let mut row = meter.row(disks)?;
    if let Some(before) = before.transpose()? {
        let compared_mib = report.compared_bytes as f64 / MIB;
        let all = row.get("cpu_ms").map(|all| (all - before) * 1e3 / compared_mib);
        row.extend(all.map(|each| ("compared_us".to_string(), each)));
        row.insert("before_ms".into(), before);
    }
    ensure!(report.is_clean(), "a group just made: {:?}", report.findings.first());
    group.close()?;
    Ok(row)
}

/// A disk more, until the disks are equally full. As the command does it: after each step it asks how far it is.
fn rebalance(what: &Simulated, disks: &HollowDisks) -> anyhow::Result<Row> {
    let group = open(disks)?;
    group.add_disks(&specs(DISKS..DISKS + 1), SEED + 1)?;
    let meter = Meter::begin()?;
    let mut upkeep = group.upkeep(disks.port(MOVER.0, MOVER.1)?);
    upkeep.set_power(POWER);
    let (mut before, mut asked) = (None, Duration::ZERO);
    let ended = loop {
        let step = upkeep.step(true)?;
        if before.is_none() {
            // The first step plans all moves.
            before = Some(meter.cpu_ms()?);
        }
        if step != Step::Working {
            break step;
        }
        let asking = Instant::now();
        std::hint::black_box(upkeep.progress());
        asked += asking.elapsed();
    };
    let mut row = meter.row(disks)?;
    ensure!(ended == Step::Idle, "the rebalance ended as {ended:?}");
    let moved = (upkeep.progress().moved_bytes / u64::from(what.unit)) as f64;
    ensure!(moved > 0.0, "nothing was moved");
    let moved_us = row.get("cpu_ms").map_or(f64::NAN, |cpu| cpu * 1e3 / moved);
    let more = [("moved", moved), ("moved_us", moved_us), ("asked_ms", ms(asked))];
    row.extend(more.map(|(key, figure)| (key.to_string(), figure)));
    row.extend(before.map(|before| ("before_ms".to_string(), before)));
    drop(upkeep);
    group.close()?;
    Ok(row)
}
