//! A resolved study as keys and values: the list that goes with every result, and the study printed whole.
//!
//! Takes a [`Study`]; gives [`Resolved`] rows in a stable order, and TOML that reads back as the same study.
//! Prevents: a default that is used but not shown: rows and print come from the one list made here.

mod engines;
mod keys;

use crate::options::{arguments, mount_words};
use crate::study::{
    CopyTarget, Database, Device, DeviceFault, DiskGroup, End, FaultKind, FileSystem, FileSystemKind, LunSource, Model,
    Phase, PhaseKind, PowerCut, Random, Resolved, Scale, Stack, StackKind, Study,
};
use crate::units::{ByteRate, Duration, Rate, Share};
use keys::{Keys, float, or_word, path, quoted, strings, word};
use std::collections::BTreeSet;

/// One section of the file with its keys.
struct Part {
    /// `[study]`, `[luns."data"]`, `[[phase]]`.
    header: String,
    /// `study`, `luns.data`, `phase.fresh read`.
    name: String,
    keys: Keys,
}

/// The rows of a study. `said` holds what stands in the file, as (section, key).
pub(crate) fn resolved(study: &Study, said: &BTreeSet<(String, String)>) -> Vec<Resolved> {
    let mut rows = Vec::new();
    if study.scaled != 1.0 {
        let value = study.scaled.to_string();
        rows.push(Resolved {
            key: "run.scale".to_string(),
            value,
            written: true,
            unscaled: None,
        });
    }
    for part in parts(study) {
        for (key, value) in part.keys {
            // `files = "x"` is refused, `files.size` is what counts; a table said as a whole says its keys apart.
            let of_all = |key: &str| {
                part.name.starts_with("stack.") && said.contains(&("database".to_string(), key.to_string()))
            };
            let written = said.contains(&(part.name.clone(), key.to_string()))
                || key.strip_prefix("database.").is_some_and(of_all);
            rows.push(Resolved {
                key: format!("{}.{key}", part.name),
                value,
                written,
                unscaled: None,
            });
        }
    }
    rows
}

/// The study as a file that says everything.
pub(crate) fn to_toml(study: &Study) -> String {
    let mut text = String::new();
    for part in parts(study) {
        if part.keys.is_empty() {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&part.header);
        text.push('\n');
        for (key, value) in part.keys {
            text.push_str(&format!("{key} = {value}\n"));
        }
    }
    text
}

fn parts(study: &Study) -> Vec<Part> {
    let mut parts = vec![Part {
        header: "[study]".to_string(),
        name: "study".to_string(),
        keys: header(study),
    }];
    for set in &study.luns {
        let keys = match &set.source {
            LunSource::Files { count, size, dir } => {
                vec![
                    ("files.count", count.to_string()),
                    ("files.size", quoted(size)),
                    ("files.dir", path(dir)),
                ]
            }
            LunSource::Devices { paths, overwrite } => {
                let list = |paths: &[std::path::PathBuf]| strings(paths.iter().map(|p| p.display().to_string()));
                vec![("devices", list(paths)), ("overwrite", list(overwrite))]
            }
        };
        let keys = [keys, set.device.as_ref().map(device_keys).unwrap_or_default()].concat();
        let header = format!("[luns.{}]", quoted(&set.name));
        parts.push(Part {
            header,
            name: format!("luns.{}", set.name),
            keys,
        });
    }
    let memory = vec![
        ("budget", or_word(&study.memory_budget, "none")),
        ("rank_cached", study.rank_cached.to_string()),
    ];
    parts.push(Part {
        header: "[memory]".to_string(),
        name: "memory".to_string(),
        keys: memory,
    });
    for stack in &study.stacks {
        let name = format!("stack.{}", stack.name);
        parts.push(Part {
            header: "[[stack]]".to_string(),
            name,
            keys: stack_keys(stack),
        });
    }
    let keys = engines::database(study, database(&study.database));
    parts.push(Part {
        header: "[database]".to_string(),
        name: "database".to_string(),
        keys,
    });
    for phase in &study.phases {
        let name = format!("phase.{}", phase.name);
        parts.push(Part {
            header: "[[phase]]".to_string(),
            name,
            keys: phase_keys(phase),
        });
    }
    let keys = stands_for(study);
    if !keys.is_empty() {
        parts.push(Part {
            header: "[published]".to_string(),
            name: "published".to_string(),
            keys,
        });
    }
    parts
}

/// What stands for what of a publication, as far as it was said.
fn stands_for(study: &Study) -> Keys {
    let pairs = |pairs: &[(String, String)]| {
        let all: Vec<String> = pairs
            .iter()
            .map(|(ours, theirs)| format!("{} = {}", quoted(ours), quoted(theirs)))
            .collect();
        format!("{{ {} }}", all.join(", "))
    };
    let both = [
        ("stacks", &study.stands_for.stacks),
        ("phases", &study.stands_for.phases),
    ];
    both.into_iter()
        .filter(|(_, all)| !all.is_empty())
        .map(|(key, all)| (key, pairs(all)))
        .collect()
}

fn header(study: &Study) -> Keys {
    vec![
        ("name", quoted(&study.name)),
        ("question", quoted(&study.question)),
        ("published", or_word(&study.published, "none")),
        ("margin", quoted(study.margin)),
        ("time_limit", quoted(study.time_limit)),
        (
            "blocks",
            study.blocks.map_or_else(|| quoted("auto"), |blocks| blocks.to_string()),
        ),
        ("stop_early", study.stop_early.to_string()),
        ("fill_time", study.fill_time.to_string()),
        (
            "seed",
            study.seed.map_or_else(|| quoted("auto"), |seed| seed.to_string()),
        ),
        ("io", word(&study.io)),
        ("workers", study.workers.to_string()),
        ("schedule", word(&study.schedule)),
        ("stint", quoted(study.stint)),
        (
            "slow_motion",
            study
                .slow_motion
                .map_or_else(|| quoted("auto"), |times| times.to_string()),
        ),
    ]
}

fn stack_keys(stack: &Stack) -> Keys {
    let mut keys = vec![("name", quoted(&stack.name)), ("kind", quoted(stack.kind.word()))];
    if let Some(place) = stack.kind.directory() {
        keys.push(("path", path(place)));
    }
    if let Some(data) = &stack.data {
        keys.push(("data", quoted(data)));
        keys.push(("redo", or_word(&stack.redo, "none")));
    }
    if let Some(url) = stack.kind.server() {
        keys.push(("url", quoted(url)));
    }
    match &stack.kind {
        StackKind::Directory { .. } | StackKind::Raw => keys.push(("access", word(&stack.access))),
        StackKind::FileSystem(made) => {
            keys.push(("access", word(&stack.access)));
            keys.extend(file_system_keys(made));
        }
        StackKind::Model(model) => keys.extend(model_keys(model)),
        StackKind::Diskgroup(group) => keys.extend(group_keys(group)),
        StackKind::Zfs(zfs) => keys.extend(zfs_keys(zfs, stack.redo.is_some())),
        StackKind::Server { .. } => {}
    }
    keys.push(("inject.late", quoted(Share(stack.inject.late))));
    let error_at = stack.inject.error_at;
    let error_at = error_at.map_or_else(|| quoted("none"), |nth| nth.to_string());
    keys.push(("inject.error_at", error_at));
    keys.extend(engines::of_stack(&stack.engine));
    if stack.inject.flush_lost {
        keys.push(("inject.flush_lost", "true".to_string()));
    }
    keys.extend(rare_faults(&stack.inject));
    keys
}

/// Only where they are said: few studies have them.
fn rare_faults(inject: &crate::study::Inject) -> Keys {
    let mut keys = Vec::new();
    if inject.late_from > 0 {
        keys.push(("inject.late_from", inject.late_from.to_string()));
    }
    keys.extend(inject.short_at.map(|nth| ("inject.short_at", nth.to_string())));
    if let Some(nth) = inject.stall_at {
        keys.push(("inject.stall_at", nth.to_string()));
        keys.push(("inject.stall", quoted(inject.stall)));
    }
    keys
}

fn file_system_keys(made: &FileSystem) -> Keys {
    let mut keys = Keys::new();
    if let FileSystemKind::Btrfs(btrfs) = &made.kind {
        keys.push(("profile", word(&btrfs.profile)));
        keys.push(("compress", or_word(&btrfs.compress, "none")));
        keys.push(("nodatacow", btrfs.nodatacow.to_string()));
    }
    let (mount, mkfs) = (mount_words(&made.mount_options), arguments(&made.mkfs_options));
    keys.push(("mount_options", strings(mount.into_iter())));
    keys.push(("mkfs_options", strings(mkfs.into_iter())));
    keys
}

fn group_keys(group: &DiskGroup) -> Keys {
    let mut keys = vec![
        ("redundancy", word(&group.redundancy)),
        ("au", quoted(group.au)),
        ("stripe", word(&group.stripe)),
    ];
    keys.extend(
        group
            .failure_groups
            .map(|groups| ("failure_groups", groups.to_string())),
    );
    keys.push(("reserve", group.reserve.to_string()));
    keys
}

fn device_keys(device: &Device) -> Keys {
    let mut keys = vec![("model", quoted(device.model.word()))];
    if !device.preset.is_empty() {
        keys.push(("preset", quoted(device.preset)));
    }
    let file = device
        .histogram
        .as_ref()
        .map(|file| ("parameters.histogram", path(file)));
    keys.extend(file);
    keys.extend(device.parameters.iter().map(|p| (p.spec.key, p.to_string())));
    keys.push(("volatile", quoted(device.volatile)));
    keys
}

/// A fault as an inline table.
fn fault(fault: &DeviceFault) -> String {
    let mut keys = vec![
        ("kind", quoted(fault.kind.word())),
        ("luns", quoted(&fault.luns)),
        ("lun", fault.lun.to_string()),
        ("after", quoted(fault.after)),
    ];
    keys.extend(fault.time.map(|time| ("time", quoted(time))));
    match fault.kind {
        FaultKind::Error { offset, length } | FaultKind::Corrupt { offset, length } => {
            keys.extend([("offset", quoted(offset)), ("length", quoted(length))]);
        }
        FaultKind::Slow { by } => keys.push(("by", quoted(by))),
        FaultKind::Vanish => {}
    }
    let all: Vec<String> = keys
        .into_iter()
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    format!("{{ {} }}", all.join(", "))
}

fn zfs_keys(zfs: &crate::study::Zfs, has_redo: bool) -> Keys {
    let mut keys: Keys = zfs.via.iter().map(|via| ("via", word(via))).collect();
    keys.extend([
        ("preset", word(&zfs.preset)),
        ("vdevs", word(&zfs.vdevs)),
        ("ashift", zfs.ashift.to_string()),
        ("recordsize", quoted(zfs.recordsize)),
        ("compression", quoted(&zfs.compression)),
        ("checksum", quoted(&zfs.checksum)),
        ("primarycache", quoted(&zfs.primarycache)),
        ("logbias", quoted(&zfs.logbias)),
        ("sync", quoted(&zfs.sync)),
        ("prefetch", zfs.prefetch.to_string()),
        ("arc_max", quoted(zfs.arc_max)),
    ]);
    let atime = |on| quoted(if on { "on" } else { "off" });
    keys.extend(zfs.atime.map(|on| ("atime", atime(on))));
    let distance = zfs.prefetch_distance;
    keys.extend(distance.map(|bytes| ("prefetch_distance", quoted(bytes))));
    keys.extend(zfs.arc_min.map(|bytes| ("arc_min", quoted(bytes))));
    keys.extend(has_redo.then(|| ("redo_as", word(&zfs.redo_as))));
    keys
}

fn model_keys(model: &Model) -> Keys {
    vec![
        ("size", quoted(model.size)),
        ("service", quoted(model.service)),
        ("spread", float(model.spread)),
        ("parallel", model.parallel.to_string()),
        ("flush", quoted(model.flush)),
        ("transfer", quoted(ByteRate(model.transfer.0))),
        ("cached", quoted(model.cached)),
        ("drift", quoted(model.drift)),
    ]
}

fn database(database: &Database) -> Keys {
    let scale = match database.scale {
        Scale::Share(share) if share.to_string().ends_with('%') => quoted(share),
        Scale::Share(share) => float(share.0),
        Scale::Bytes(bytes) => quoted(bytes),
    };
    vec![
        ("page", quoted(database.page)),
        ("cache", quoted(database.cache)),
        ("multiblock_read", database.multiblock_read.to_string()),
        ("schemas", database.schemas.to_string()),
        ("scale", scale),
        ("redo_size", quoted(database.redo_size)),
        ("compressibility", float(database.compressibility)),
        ("duplication", quoted(database.duplication)),
        ("torn_pages", word(&database.torn_pages)),
        ("checkpoint", quoted(database.checkpoint)),
        ("writers", database.writers.to_string()),
    ]
}

fn phase_word(kind: &PhaseKind) -> &'static str {
    match kind {
        PhaseKind::Random(_) => "random",
        PhaseKind::Scan(_) => "scan",
        PhaseKind::Age(_) => "age",
        PhaseKind::Copy(_) => "copy",
        PhaseKind::Rebalance(_) => "rebalance",
        PhaseKind::Tpcc(_) => "tpcc",
        PhaseKind::Tpch(_) => "tpch",
        PhaseKind::Bulk(_) => "bulk",
        PhaseKind::PowerCut(cut) => cut.end.word(),
    }
}

fn phase_keys(phase: &Phase) -> Keys {
    let mut keys = vec![("name", quoted(&phase.name)), ("kind", quoted(phase_word(&phase.kind)))];
    if matches!(
        phase.kind,
        PhaseKind::Random(_) | PhaseKind::Scan(_) | PhaseKind::Tpcc(_)
    ) {
        keys.push(("time", or_word(&phase.time, "none")));
    }
    keys.push(("ranked", phase.ranked.to_string()));
    keys.extend(phase.against.as_ref().map(|name| ("against", quoted(name))));
    if !phase.faults.is_empty() {
        let faults: Vec<String> = phase.faults.iter().map(fault).collect();
        keys.push(("faults", format!("[{}]", faults.join(", "))));
    }
    match &phase.kind {
        PhaseKind::Random(random) => keys.extend(random_keys(random)),
        PhaseKind::Scan(scan) => keys.extend([
            ("users", scan.users.to_string()),
            ("degree", scan.degree.to_string()),
            ("parallel", scan.parallel.to_string()),
        ]),
        PhaseKind::Age(age) => keys.extend([
            ("passes", age.passes.to_string()),
            ("sessions", age.sessions.to_string()),
            ("work_unit", age.work_unit.to_string()),
            ("redo_stress", word(&age.redo_stress)),
            ("outstanding", age.outstanding.to_string()),
        ]),
        PhaseKind::Copy(copy) => {
            let to = match &copy.to {
                CopyTarget::Home => "home",
                CopyTarget::Stack(name) => name,
            };
            keys.push(("to", quoted(to)));
            keys.extend(copy.data.as_ref().map(|set| ("data", quoted(set))));
            keys.extend(copy.redo.as_ref().map(|set| ("redo", quoted(set))));
            keys.extend([
                ("chunk", quoted(copy.chunk)),
                ("outstanding", copy.outstanding.to_string()),
                ("verify", copy.verify.to_string()),
            ]);
        }
        PhaseKind::PowerCut(cut) => keys.extend(cut_keys(cut)),
        PhaseKind::Rebalance(rebalance) => {
            let disks = |luns: &[u32]| strings(luns.iter().map(|lun| format!("disk{lun}")));
            keys.extend([
                ("add", disks(&rebalance.add)),
                ("drop", disks(&rebalance.drop)),
                ("power", rebalance.power.to_string()),
                ("before", quoted(rebalance.before)),
                ("after", quoted(rebalance.after)),
            ]);
            keys.extend(
                random_keys(&rebalance.work)
                    .into_iter()
                    .filter(|(key, _)| *key != "work_loop"),
            );
        }
        PhaseKind::Tpcc(tpcc) => keys.extend(engines::tpcc(tpcc)),
        PhaseKind::Tpch(tpch) => keys.extend(engines::tpch(tpch)),
        PhaseKind::Bulk(bulk) => keys.extend(engines::bulk(bulk)),
    }
    keys
}

fn cut_keys(cut: &PowerCut) -> Keys {
    let count = match cut.end {
        End::PowerCut => "cuts",
        End::Kill => "kills",
    };
    let mut keys = vec![
        (count, cut.cuts.to_string()),
        ("earliest", quoted(cut.earliest)),
        ("latest", quoted(cut.latest)),
    ];
    keys.extend(random_keys(&cut.work));
    keys
}

fn random_keys(random: &Random) -> Keys {
    let hotspot = random.hotspot.map(|hot| {
        let (size, offset) = (quoted(hot.size), quoted(hot.offset));
        format!("{{ size = {size}, offset = {offset}, frequency = {} }}", hot.frequency)
    });
    vec![
        ("update_pct", random.update_pct.to_string()),
        ("scan_pct", random.scan_pct.to_string()),
        ("scan_table_size", quoted(random.scan_table_size)),
        ("sessions", random.sessions.to_string()),
        ("work_unit", random.work_unit.to_string()),
        ("work_loop", random.work_loop.to_string()),
        ("redo_stress", word(&random.redo_stress)),
        ("outstanding", random.outstanding.to_string()),
        ("think_tm_frequency", random.think_tm_frequency.to_string()),
        ("think_tm_min", quoted::<Duration>(random.think_tm_min)),
        ("think_tm_max", quoted::<Duration>(random.think_tm_max)),
        ("hotspot", hotspot.unwrap_or_else(|| quoted("none"))),
        ("hot_schema_frequency", random.hot_schema_frequency.to_string()),
        ("rate", or_word(&random.rate.map(Rate), "none")),
    ]
}
