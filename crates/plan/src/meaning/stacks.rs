//! Stacks: what is built on which LUN set.
//!
//! Takes the stacks as written and the LUN sets; gives [`Stack`]s. Prevents: a stack that says what another kind
//! has, and a compression that the report does not know of. What tools may be asked for stands in `options`.

use super::file_systems::file_system;
use super::settle::{MIB, Settle};
use super::{engines, server_url};
use crate::study::{
    Access, Btrfs, BtrfsProfile, DiskGroup, Engine, FileSystemKind, Inject, LunSet, Manager, Model, Stack, StackKind,
};
use crate::units::Bytes;
use crate::written::{At, Said, StackWord, Word, WrittenStack, WrittenStudy};
use std::path::PathBuf;

pub(super) fn resolve(
    written: &WrittenStudy,
    luns: &[LunSet],
    budget: Option<Bytes>,
    settle: &mut Settle<'_>,
) -> Vec<Stack> {
    settle.unique(written.stacks.iter().map(|stack| &stack.name), "stack");
    let page = written.database.engine.page().value();
    let mut stacks = Vec::new();
    for stack in &written.stacks {
        let Some(kind) = &stack.kind else { continue };
        let engine = engines::of(stack, written, budget, settle);
        // A server reads and writes as it was built to, a file server as the kernel does; what we open ourselves goes
        // around the page cache.
        let of_a_server = matches!(engine, Engine::Postgres(_) | Engine::Files(_));
        stacks.push(Stack {
            name: settle.name(&stack.name, "stack"),
            kind: kind_of(stack, kind.value, written, (luns, page), settle),
            data: stack.data.as_ref().map(|at| at.value.clone()),
            redo: stack.redo().value(),
            temp: stack.temp().value(),
            access: stack.access().or_if(of_a_server, Access::Buffered).value(),
            inject: inject(stack, settle),
            instances: instances(stack, written, engine == Engine::Pages, settle),
            engine,
        });
    }
    stacks
}

/// LUNs in a set, if it exists.
fn width(luns: &[LunSet], name: &Option<At<String>>) -> Option<usize> {
    let name = &name.as_ref()?.value;
    luns.iter().find(|set| set.name == *name).map(LunSet::count)
}

fn kind_of(
    stack: &WrittenStack,
    word: StackWord,
    written: &WrittenStudy,
    (luns, page): (&[LunSet], Bytes),
    settle: &mut Settle<'_>,
) -> StackKind {
    match word {
        StackWord::Directory => StackKind::Directory {
            path: path(stack, settle),
        },
        StackWord::Raw => StackKind::Raw,
        StackWord::Ext3 => StackKind::FileSystem(file_system(stack, FileSystemKind::Ext3, settle)),
        StackWord::Ext4 => StackKind::FileSystem(file_system(stack, FileSystemKind::Ext4, settle)),
        StackWord::Xfs => StackKind::FileSystem(file_system(stack, FileSystemKind::Xfs, settle)),
        StackWord::Btrfs => {
            let btrfs = FileSystemKind::Btrfs(btrfs(stack, luns, settle));
            StackKind::FileSystem(file_system(stack, btrfs, settle))
        }
        StackWord::Diskgroup => StackKind::Diskgroup(diskgroup(stack, settle)),
        StackWord::Lvm => StackKind::Volume(super::volume::lvm(stack, settle)),
        StackWord::Md => StackKind::Volume(super::volume::md(stack, settle)),
        StackWord::Server => StackKind::Server {
            url: match written.files.span.is_some() {
                true => server_url::export(stack, settle),
                false => server_url::url(stack, settle),
            },
        },
        StackWord::Zfs => StackKind::Zfs(super::zfs::zfs(stack, page, settle)),
        StackWord::Model => StackKind::Model(model(stack, settle)),
    }
}

fn btrfs(stack: &WrittenStack, luns: &[LunSet], settle: &mut Settle<'_>) -> Btrfs {
    let several = width(luns, &stack.data).is_some_and(|width| width > 1);
    Btrfs {
        profile: stack.profile().or_if(several, BtrfsProfile::Raid0).value(),
        compress: compress(stack, settle),
        nodatacow: stack.nodatacow().value(),
    }
}

fn diskgroup(stack: &WrittenStack, settle: &mut Settle<'_>) -> DiskGroup {
    let au = stack.au();
    if let Some(at) = au.odd() {
        let message = format!("`au` is {}, no power of two from 1 to 64 MiB", at.value);
        let cure = format!("write {}, or 2, 4, 8, 16, 32 or 64", au.example());
        settle.findings.add(&at.span, message, cure);
    }
    DiskGroup {
        redundancy: stack.redundancy().value(),
        au: au.value(),
        stripe: stack.stripe().value(),
        failure_groups: settle.count_if_said(&stack.failure_groups()),
        reserve: settle.count(&stack.reserve()),
    }
}

fn path(stack: &WrittenStack, settle: &mut Settle<'_>) -> PathBuf {
    let Some(at) = &stack.path else { return PathBuf::new() };
    settle.path(at, "path", "write the directory: path = \"/srv/data\"");
    PathBuf::from(&at.value)
}

/// The algorithm as btrfs writes it, with its level.
fn compress(stack: &WrittenStack, settle: &mut Settle<'_>) -> Option<String> {
    let key = stack.compress();
    let (algorithm, at) = (key.value()?, key.written?);
    let (name, level) = algorithm
        .split_once(':')
        .map_or((algorithm.as_str(), None), |(n, l)| (n, Some(l)));
    let levels = match name {
        "zlib" => 1..=9,
        "zstd" => -15..=15,
        "lzo" => 0..=0,
        _ => {
            let cure = "write \"zstd\", \"zstd:3\", \"zlib\", \"lzo\" or \"none\"";
            settle
                .findings
                .add(&at.span, format!("btrfs has no compression {algorithm:?}"), cure);
            return None;
        }
    };
    let Some(level) = level else {
        return Some(name.to_string());
    };
    let number = level.parse::<i32>().ok();
    let Some(number) = number.filter(|number| *number != 0 && levels.contains(number)) else {
        let cure = format!("leave the level out: compress = \"{name}\"");
        let message = format!("{name} has no level {level:?}");
        settle.findings.add(&at.span, message, cure);
        return None;
    };
    Some(format!("{name}:{number}"))
}

fn model(w: &WrittenStack, settle: &mut Settle<'_>) -> Model {
    let size = w.size();
    let bytes = Bytes(settle.scaled(size.value().0));
    if bytes.0 < MIB || !bytes.0.is_multiple_of(4096) {
        let message = format!("a device of {bytes} is too small or no whole number of 4 KiB blocks");
        let cure = format!("write a size of some GiB: {}", size.example());
        settle.findings.add(size.span(&w.span), message, cure);
    }
    let service = w.service();
    if let Some(at) = service.outside() {
        let cure = format!("write {}: {}", service.limits, service.example());
        settle
            .findings
            .add(&at.span, format!("a request cannot take {}", at.value), cure);
    }
    if let Some(at) = w.spread().outside() {
        let cure = "write the coefficient of variation, such as 0.2";
        settle.findings.add(&at.span, "`spread` is above 10", cure);
    }
    if let Some(at) = w.drift().outside() {
        let cure = "write by which share service gets longer in a minute, such as \"5%\"";
        settle.findings.add(&at.span, "`drift` is above 10", cure);
    }
    let transfer = w.transfer();
    if let Some(at) = transfer.written.filter(|at| at.value.0 == 0) {
        let message = "nothing can be transferred at 0 bytes a second";
        settle.findings.add(&at.span, message, "write transfer = \"500MB/s\"");
    }
    if let Some(at) = w.cached().outside() {
        let message = format!("`cached` is {}, more than all reads", at.value);
        settle.findings.add(&at.span, message, "write 0% to 100%");
    }
    let flush = w.flush();
    if let Some(at) = flush.outside() {
        let cure = format!("write {}: {}", flush.limits, flush.example());
        settle
            .findings
            .add(&at.span, format!("a flush cannot take {}", at.value), cure);
    }
    Model {
        size: bytes,
        service: service.value(),
        spread: w.spread().value().0,
        parallel: settle.count(&w.parallel()),
        flush: flush.value(),
        transfer: Bytes(transfer.value().0),
        cached: w.cached().value(),
        drift: w.drift().value(),
    }
}

/// What the stack says, or what all do; a stack without the page engine has one, and a simulated one too.
fn instances(stack: &WrittenStack, written: &WrittenStudy, paged: bool, settle: &mut Settle<'_>) -> u32 {
    let simulated = stack.kind.as_ref().is_some_and(|kind| kind.value == StackWord::Model);
    let of_all = written.instances.as_ref().filter(|_| paged && !simulated);
    // What is wrong with it was said where it stands.
    let usual = of_all.map_or(1, |all| all.count().limits.nearest(all.count().value()));
    settle.count_if_said(&stack.instances()).unwrap_or(usual as u32)
}

fn inject(stack: &WrittenStack, settle: &mut Settle<'_>) -> Inject {
    let w = &stack.inject;
    if let Some(at) = w.late().outside() {
        let cure = "write how much longer each I/O takes: late = \"20%\"";
        settle.findings.add(&at.span, format!("`late` is {}", at.value), cure);
    }
    let mut nth = |key: Said<'_, u64, Option<u64>>| {
        let nth = key.value()?;
        if let Some(at) = key.written.filter(|_| !key.limits.hold(&nth)) {
            let cure = format!("count from 1: {} = 1000", key.key);
            settle
                .findings
                .add(&at.span, format!("there is no I/O number {nth}"), cure);
        }
        Some(nth)
    };
    Inject {
        late: w.late().value().0,
        error_at: nth(w.error_at()),
        short_at: nth(w.short_at()),
        stall_at: nth(w.stall_at()),
        stall: w.stall().value(),
        late_from: w.late_from().value(),
        flush_lost: w.flush_lost().value(),
        same_verifier: w.same_verifier().value(),
    }
}

impl StackKind {
    /// As a study writes it.
    pub fn word(&self) -> &'static str {
        let word = match self {
            StackKind::Directory { .. } => StackWord::Directory,
            StackKind::Raw => StackWord::Raw,
            StackKind::FileSystem(made) => return made.row().word,
            StackKind::Diskgroup(_) => StackWord::Diskgroup,
            StackKind::Volume(volume) => match volume.manager {
                Manager::Lvm(_) => StackWord::Lvm,
                Manager::Md(_) => StackWord::Md,
            },
            StackKind::Server { .. } => StackWord::Server,
            StackKind::Zfs(_) => StackWord::Zfs,
            StackKind::Model(_) => StackWord::Model,
        };
        word.word()
    }
}
