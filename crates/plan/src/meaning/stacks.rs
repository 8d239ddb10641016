//! Stacks: what is built on which LUN set.
//!
//! Takes the stacks as written and the LUN sets; gives [`Stack`]s. Prevents: a stack that says what another kind
//! has, and a compression that the report does not know of. What tools may be asked for stands in `options`.

use super::file_systems::file_system;
use super::settle::{MIB, SECOND, Settle, or, value_or};
use super::{engines, server_url};
use crate::error::Span;
use crate::study::{
    Access, Btrfs, BtrfsProfile, DiskGroup, Engine, FileSystemKind, Inject, LunSet, Manager, Model, Redundancy, Stack,
    StackKind, Stripe,
};
use crate::units::{ByteRate, Bytes, Duration, Share};
use crate::written::{At, StackWord, Word, WrittenStack, WrittenStudy};
use std::path::PathBuf;

/// More are more processes than a host has use for.
pub(super) const INSTANCES_MAX: u32 = 64;

pub(super) fn resolve(
    written: &WrittenStudy,
    luns: &[LunSet],
    budget: Option<Bytes>,
    settle: &mut Settle<'_>,
) -> Vec<Stack> {
    settle.unique(written.stacks.iter().map(|stack| &stack.name), "stack");
    let page = value_or(&written.database.engine.page, Bytes(8 << 10));
    let mut stacks = Vec::new();
    for stack in &written.stacks {
        let Some(kind) = &stack.kind else { continue };
        let engine = engines::of(stack, written, budget, settle);
        // A server reads and writes as it was built to; what we open ourselves goes around the page cache.
        let usual = match engine {
            // A file server does as the kernel does.
            Engine::Postgres(_) | Engine::Files(_) => Access::Buffered,
            Engine::Pages | Engine::Sqlite(_) => Access::Direct,
        };
        stacks.push(Stack {
            name: settle.name(&stack.name, "stack"),
            kind: kind_of(stack, kind.value, written, (luns, page), settle),
            data: stack.data.as_ref().map(|at| at.value.clone()),
            redo: stack.redo.as_ref().and_then(|at| at.value.clone()),
            temp: stack.temp.as_ref().and_then(|at| at.value.clone()),
            access: value_or(&stack.access, usual),
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
        StackWord::Model => StackKind::Model(model(stack, &stack.span, settle)),
    }
}

fn btrfs(stack: &WrittenStack, luns: &[LunSet], settle: &mut Settle<'_>) -> Btrfs {
    let several = width(luns, &stack.data).is_some_and(|width| width > 1);
    let usual = if several {
        BtrfsProfile::Raid0
    } else {
        BtrfsProfile::Single
    };
    Btrfs {
        profile: value_or(&stack.profile, usual),
        compress: compress(stack, settle),
        nodatacow: value_or(&stack.nodatacow, false),
    }
}

fn diskgroup(stack: &WrittenStack, settle: &mut Settle<'_>) -> DiskGroup {
    let au = or(&stack.au, Bytes(MIB), &stack.span);
    if !au.value.0.is_power_of_two() || !(MIB..=64 * MIB).contains(&au.value.0) {
        settle.findings.add(
            &au.span,
            format!("`au` is {}, no power of two from 1 to 64 MiB", au.value),
            "write au = \"1MiB\", or 2, 4, 8, 16, 32 or 64",
        );
    }
    let failure_groups = stack
        .failure_groups
        .as_ref()
        .map(|_| settle.count(&stack.failure_groups, "failure_groups", 2, 2..=256));
    DiskGroup {
        redundancy: value_or(&stack.redundancy, Redundancy::External),
        au: au.value,
        stripe: value_or(&stack.stripe, Stripe::Coarse),
        failure_groups,
        reserve: settle.count(&stack.reserve, "reserve", 0, 0..=63),
    }
}

fn path(stack: &WrittenStack, settle: &mut Settle<'_>) -> PathBuf {
    let Some(at) = &stack.path else { return PathBuf::new() };
    settle.path(at, "path", "write the directory: path = \"/srv/data\"");
    PathBuf::from(&at.value)
}

/// The algorithm as btrfs writes it, with its level.
fn compress(stack: &WrittenStack, settle: &mut Settle<'_>) -> Option<String> {
    let at = stack.compress.as_ref()?;
    let algorithm = at.value.clone()?;
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

fn model(written: &WrittenStack, home: &Span, settle: &mut Settle<'_>) -> Model {
    let size = Bytes(settle.scaled(value_or(&written.size, Bytes(4096 * MIB)).0));
    if size.0 < MIB || !size.0.is_multiple_of(4096) {
        let span = written.size.as_ref().map_or(home, |at| &at.span);
        settle.findings.add(
            span,
            format!("a device of {size} is too small or no whole number of 4 KiB blocks"),
            "write a size of some GiB: size = \"4GiB\"",
        );
    }
    let service = or(&written.service, Duration(100_000), home);
    if service.value.0 == 0 || service.value.0 > 10 * SECOND {
        settle.findings.add(
            &service.span,
            format!("a request cannot take {}", service.value),
            "write 1ns to 10s: service = \"100us\"",
        );
    }
    let spread = or(&written.spread, Share(0.2), home);
    if spread.value.0 > 10.0 {
        settle.findings.add(
            &spread.span,
            "`spread` is above 10",
            "write the coefficient of variation, such as 0.2",
        );
    }
    let drift = or(&written.drift, Share(0.0), home);
    if drift.value.0 > 10.0 {
        settle.findings.add(
            &drift.span,
            "`drift` is above 10",
            "write by which share service gets longer in a minute, such as \"5%\"",
        );
    }
    let transfer = or(&written.transfer, ByteRate(1_000_000_000), home);
    if transfer.value.0 == 0 {
        settle.findings.add(
            &transfer.span,
            "nothing can be transferred at 0 bytes a second",
            "write transfer = \"500MB/s\"",
        );
    }
    let cached = or(&written.cached, Share(0.0), home);
    if cached.value.0 > 1.0 {
        settle.findings.add(
            &cached.span,
            format!("`cached` is {}, more than all reads", cached.value),
            "write 0% to 100%",
        );
    }
    let flush = or(&written.flush, Duration(200_000), home);
    if flush.value.0 > 10 * SECOND {
        settle.findings.add(
            &flush.span,
            format!("a flush cannot take {}", flush.value),
            "write at most 10s: flush = \"200us\"",
        );
    }
    Model {
        size,
        service: service.value,
        spread: spread.value.0,
        parallel: settle.count(&written.parallel, "parallel", 8, 1..=4096),
        flush: flush.value,
        transfer: Bytes(transfer.value.0),
        cached: cached.value,
        drift: drift.value,
    }
}

/// What the stack says, or what all do; a stack without the page engine has one, and a simulated one too.
fn instances(stack: &WrittenStack, written: &WrittenStudy, paged: bool, settle: &mut Settle<'_>) -> u32 {
    let simulated = stack.kind.as_ref().is_some_and(|kind| kind.value == StackWord::Model);
    let of_all = written.instances.as_ref().and_then(|all| all.count.as_ref());
    let usual = match of_all {
        // What is wrong with it was said where it stands.
        Some(at) if paged && !simulated => at.value.clamp(1, INSTANCES_MAX.into()) as u32,
        _ => 1,
    };
    settle.count(&stack.instances, "instances", usual, 1..=INSTANCES_MAX)
}

fn inject(stack: &WrittenStack, settle: &mut Settle<'_>) -> Inject {
    let late = or(&stack.inject.late, Share(0.0), &stack.span);
    if late.value.0 > 100.0 {
        settle.findings.add(
            &late.span,
            format!("`late` is {}", late.value),
            "write how much longer each I/O takes: late = \"20%\"",
        );
    }
    let mut nth = |written: &Option<At<Option<u64>>>, key: &str| {
        let at = written.as_ref()?;
        if at.value == Some(0) {
            let cure = format!("count from 1: {key} = 1000");
            settle.findings.add(&at.span, "there is no I/O number 0", &cure);
        }
        at.value
    };
    Inject {
        late: late.value.0,
        error_at: nth(&stack.inject.error_at, "error_at"),
        short_at: nth(&stack.inject.short_at, "short_at"),
        stall_at: nth(&stack.inject.stall_at, "stall_at"),
        stall: value_or(&stack.inject.stall, Duration(1_000_000_000)),
        late_from: stack.inject.late_from.as_ref().map_or(0, |at| at.value),
        flush_lost: stack.inject.flush_lost.as_ref().is_some_and(|at| at.value),
        same_verifier: stack.inject.same_verifier.as_ref().is_some_and(|at| at.value),
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
