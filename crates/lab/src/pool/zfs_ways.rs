//! Which way a stack of kind `zfs` goes: the kernel's module, OpenZFS in user space, zfs-fuse.
//!
//! Takes a study and gives it back with each way said; gives what this machine offers. Prevents: two commands that
//! take two ways for the same study, and a way that was taken and not printed.

use ledger::Skipped;
use plan::{Resolved, Stack, Study, Zfs, ZfsWay};
use stacks::{Buildable, WayHere};
use std::sync::OnceLock;
use zpool::Launch;

/// The ways in the order in which they are taken, each looked for once.
pub fn here() -> &'static [WayHere; 3] {
    static HERE: OnceLock<[WayHere; 3]> = OnceLock::new();
    HERE.get_or_init(|| {
        let [kernel, fuse] = stacks::zfs_ways();
        [kernel, userspace(), fuse]
    })
}

fn userspace() -> WayHere {
    let found = zpool::probe(&Launch::itself());
    let (able, reason, cure, version) = match found {
        Ok(version) => {
            let what = "OpenZFS's library in a process of its own".to_string();
            (true, what, String::new(), format!("libzpool {version}"))
        }
        Err(error) => {
            let said = error.to_string();
            let (reason, cure) = said.split_once('\n').unwrap_or((&said, "see the message"));
            (false, reason.trim().to_string(), cure.trim().to_string(), String::new())
        }
    };
    WayHere {
        way: ZfsWay::Userspace,
        able,
        reason,
        cure,
        version,
    }
}

/// Which stacks this machine can build, the ways to ZFS looked for.
pub fn probe() -> Vec<Buildable> {
    with_ways(stacks::probe())
}

/// The same of the kinds that a study has.
pub fn probe_of(study: &Study) -> Vec<Buildable> {
    let is_asked = |kind: &str| study.stacks.iter().any(|stack| stack.kind.word() == kind);
    with_ways(stacks::probe_those(&is_asked))
}

fn with_ways(mut found: Vec<Buildable>) -> Vec<Buildable> {
    if let Some(zfs) = found.iter_mut().find(|row| row.kind == "zfs") {
        let able = here().iter().any(|way| way.able);
        if !able {
            let none = no_way(&ZfsWay::KINDS);
            zfs.able = false;
            zfs.reason = none.reason;
            zfs.cure = none.cure;
        } else {
            zfs.reason = "pools on whole LUNs, by the first of these ways that fits the study".to_string();
        }
    }
    found
}

/// The way as it is printed: the word, and what it is.
pub fn words(way: &WayHere) -> String {
    let version = match way.version.is_empty() {
        true => String::new(),
        false => format!(", {}", way.version),
    };
    format!("{}: {}{version}", way.way.word(), way.reason)
}

/// The ways of a study's stacks, in words.
pub fn of(study: &Study) -> Vec<String> {
    let said = |stack: &Stack| Some(said(&stack.name, stack.kind.pool()?));
    study.stacks.iter().filter_map(said).collect()
}

fn said(stack: &str, zfs: &Zfs) -> String {
    let found = zfs.via.and_then(|way| here().iter().find(|here| here.way == way));
    match found {
        Some(here) if here.able => format!("stack {stack} via {}", words(here)),
        Some(here) => format!("stack {stack} via {}, which is not here", here.way.word()),
        None => format!("stack {stack}: no way to it here"),
    }
}

/// Says the way of each stack that leaves it open: the first that the machine offers and that has what is asked.
pub fn settle(study: &mut Study) {
    let cuts = study
        .phases
        .iter()
        .any(|phase| phase.kind.is_ended_by(plan::End::PowerCut));
    for stack in &mut study.stacks {
        let needs_files = !stack.engine.is_pages();
        let Some(zfs) = stack.kind.pool_mut() else { continue };
        if zfs.via.is_some() {
            continue;
        }
        let Some(way) = chosen(here(), zfs, needs_files, cuts) else {
            continue;
        };
        zfs.via = Some(way);
        let row = Resolved {
            key: format!("stack.{}.via", stack.name),
            value: format!("\"{}\"", way.word()),
            written: false,
            unscaled: None,
        };
        let before = format!("stack.{}.preset", stack.name);
        let at = study.resolved.iter().position(|row| row.key == before);
        study.resolved.insert(at.unwrap_or(study.resolved.len()), row);
    }
}

/// A database in SQL and a file server need files, and a pool of the module does not survive its LUNs' power.
fn fits(way: ZfsWay, needs_files: bool, cuts: bool) -> bool {
    (way.has_files() || !needs_files) && !(cuts && way == ZfsWay::Kernel)
}

fn chosen(ways: &[WayHere], zfs: &Zfs, needs_files: bool, cuts: bool) -> Option<ZfsWay> {
    let mut offered = ways
        .iter()
        .filter(|here| here.able && fits(here.way, needs_files, cuts))
        .map(|here| here.way);
    let first = offered.clone().next();
    offered.find(|way| zfs.lacks(*way).is_empty()).or(first)
}

/// Why a stack's way can't be gone here. Of one that the study left open it is known only now what it needs.
pub fn unable(study: &Study, stack: &Stack) -> Option<Skipped> {
    let zfs = stack.kind.pool()?;
    let Some(way) = zfs.via else {
        let ways: Vec<ZfsWay> = ZfsWay::KINDS
            .into_iter()
            .filter(|way| fits(*way, !stack.engine.is_pages(), false))
            .collect();
        return Some(no_way(&ways));
    };
    let found = here().iter().find(|here| here.way == way)?;
    if !found.able {
        return Some(Skipped {
            reason: format!("via {}: {}", way.word(), found.reason),
            cure: found.cure.clone(),
        });
    }
    let lack = zfs.lacks(way).into_iter().next();
    let lack = lack.or_else(|| plan::zfs_over_budget(study, stack))?;
    Some(Skipped {
        reason: lack.why,
        cure: lack.cure,
    })
}

/// None of these ways is offered.
fn no_way(ways: &[ZfsWay]) -> Skipped {
    let of: Vec<&WayHere> = here().iter().filter(|here| ways.contains(&here.way)).collect();
    let all = |say: fn(&WayHere) -> &str| {
        let said: Vec<String> = of
            .iter()
            .map(|here| format!("{}: {}", here.way.word(), say(here)))
            .collect();
        said.join("; ")
    };
    Skipped {
        reason: format!("no way to ZFS here: {}", all(|here| &here.reason)),
        cure: format!("one of these: {}", all(|here| &here.cure)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Bytes, RedoAs, Vdevs, ZfsPreset};

    fn asked(compression: &str) -> Zfs {
        Zfs {
            via: None,
            preset: ZfsPreset::Default,
            vdevs: Vdevs::Stripe,
            ashift: 12,
            recordsize: Bytes(8192),
            compression: compression.into(),
            checksum: "on".into(),
            primarycache: "all".into(),
            logbias: "latency".into(),
            sync: "standard".into(),
            atime: None,
            prefetch: true,
            prefetch_distance: None,
            arc_max: Bytes(64 << 20),
            arc_min: None,
            redo_as: RedoAs::Pool,
        }
    }

    fn offered(able: [bool; 3]) -> Vec<WayHere> {
        let ways = ZfsWay::KINDS.into_iter().zip(able);
        ways.map(|(way, able)| WayHere {
            way,
            able,
            reason: String::new(),
            cure: String::new(),
            version: String::new(),
        })
        .collect()
    }

    #[test]
    fn the_first_way_that_is_offered_and_has_what_is_asked_is_taken() {
        let off = asked("off");
        let take = |able, zfs: &Zfs, sql, cuts| chosen(&offered(able), zfs, sql, cuts);
        assert_eq!(take([true, true, true], &off, false, false), Some(ZfsWay::Kernel));
        assert_eq!(take([false, true, true], &off, false, false), Some(ZfsWay::Userspace));
        assert_eq!(
            take([false, true, true], &off, true, false),
            Some(ZfsWay::Fuse),
            "a database needs files"
        );
        assert_eq!(
            take([true, false, true], &off, false, true),
            Some(ZfsWay::Fuse),
            "its power is cut"
        );
        assert_eq!(take([false, true, false], &off, true, false), None);
        let noted = Zfs {
            atime: Some(false),
            ..asked("off")
        };
        assert_eq!(
            take([false, true, true], &noted, false, false),
            Some(ZfsWay::Fuse),
            "only files have access times"
        );
        // Nothing has it: the refusal names the first.
        assert_eq!(
            take([false, false, true], &asked("lz4"), false, false),
            Some(ZfsWay::Fuse)
        );
    }
}
