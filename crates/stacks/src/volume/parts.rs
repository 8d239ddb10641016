//! Parts of the kernel that some volumes of a manager take and others do not: each a module of its own.
//!
//! Takes a volume as a study asks for it, gives what the kernel lacks of it. Prevents: a study that fails at its first
//! `lvcreate`, though it was known before that this kernel has no such target.

use super::mapped;
use crate::host::modules;
use plan::{Lvm, LvmLayout, Manager, Md, MdLevel, Snapshot, StackKind, Volume};

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// What asks for it, as a study writes it.
    pub(crate) key: &'static str,
    /// The module that has it.
    pub(crate) module: &'static str,
}

const fn part(key: &'static str, module: &'static str) -> Part {
    Part { key, module }
}

const MIRROR: Part = part("layout = \"raid1\"", "dm-raid");
/// dm-raid is a shell around md's own code.
const MIRROR_OF_MD: Part = part("layout = \"raid1\"", "raid1");
const THIN: Part = part("thin = true", "dm-thin-pool");
const COW: Part = part("snapshot = \"cow\"", "dm-snapshot");
/// `pvmove` mirrors what it moves.
const MOVE: Part = part("reserve", "dm-mirror");
/// Of LVM.
pub(crate) const OF_LVM: [Part; 5] = [MIRROR, MIRROR_OF_MD, THIN, COW, MOVE];

const RAID0: Part = part("level = \"raid0\"", "raid0");
const RAID1: Part = part("level = \"raid1\"", "raid1");
const RAID10: Part = part("level = \"raid10\"", "raid10");
const RAID5: Part = part("level = \"raid5\"", "raid456");
/// Of md.
pub(crate) const OF_MD: [Part; 4] = [RAID0, RAID1, RAID10, RAID5];

impl Part {
    /// Whether the kernel has it, or a module of it, or nobody can say: then the tool finds out.
    pub(crate) fn is_there(&self) -> bool {
        modules::has(self.module) || mapped::here().has_level(self.module) || !modules::are_listed()
    }

    fn why(&self) -> String {
        format!("this kernel has no module {}, which {} takes", self.module, self.key)
    }
}

/// Why the kernel can't make the volume of such a stack, and the cure; `None`: it can, or the stack has no volume.
pub fn volume_unable(kind: &StackKind) -> Option<(String, String)> {
    unable(kind.volume()?, &|part| part.is_there())
}

fn unable(volume: &Volume, is_there: &dyn Fn(&Part) -> bool) -> Option<(String, String)> {
    let missing = taken(volume).into_iter().find(|part| !is_there(part))?;
    Some((missing.why(), modules::cure(missing.module)))
}

/// Those that a volume takes.
fn taken(volume: &Volume) -> Vec<Part> {
    match &volume.manager {
        Manager::Md(Md { level, .. }) => vec![match level {
            MdLevel::Raid0 => RAID0,
            MdLevel::Raid1 => RAID1,
            MdLevel::Raid10 => RAID10,
            MdLevel::Raid5 => RAID5,
        }],
        Manager::Lvm(lvm) => of_lvm(lvm, volume.reserve > 0),
    }
}

fn of_lvm(lvm: &Lvm, moves: bool) -> Vec<Part> {
    let mirror = lvm.layout == LvmLayout::Raid1;
    let asked = [
        (mirror, MIRROR),
        (mirror, MIRROR_OF_MD),
        (lvm.thin || lvm.snapshot == Snapshot::Thin, THIN),
        (lvm.snapshot == Snapshot::Cow, COW),
        (moves, MOVE),
    ];
    let asked = asked.into_iter().filter(|(is_asked, _)| *is_asked);
    asked.map(|(_, part)| part).collect()
}

/// What a kernel that has the manager lacks of it, in words, each with its cure; empty: nothing.
pub(crate) fn without(missing: &[Part]) -> String {
    let mut modules: Vec<(&str, Vec<&str>)> = Vec::new();
    for part in missing {
        match modules.iter_mut().find(|(key, _)| *key == part.key) {
            Some((_, of_key)) => of_key.push(part.module),
            None => modules.push((part.key, vec![part.module])),
        }
    }
    let each = |(key, modules): &(&str, Vec<&str>)| format!("not {key} (modprobe {})", modules.join(", "));
    modules.iter().map(each).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Bytes, Resync};

    fn lvm(layout: LvmLayout, snapshot: Snapshot, reserve: u32) -> Volume {
        Volume {
            manager: Manager::Lvm(Lvm {
                layout,
                stripes: None,
                stripe_size: Bytes(64 << 10),
                thin: snapshot == Snapshot::Thin,
                snapshot,
                resync: Resync::Wait,
            }),
            top: None,
            reserve,
        }
    }

    fn md(level: MdLevel) -> Volume {
        Volume {
            manager: Manager::Md(Md {
                level,
                chunk: Bytes(64 << 10),
                resync: Resync::Wait,
                bitmap: false,
            }),
            top: None,
            reserve: 0,
        }
    }

    #[test]
    fn a_volume_is_refused_for_the_module_that_it_takes_and_for_no_other() {
        let plain = lvm(LvmLayout::Striped, Snapshot::None, 0);
        assert_eq!(unable(&plain, &|_| false), None, "the device mapper itself has it");
        for (volume, module) in [
            (lvm(LvmLayout::Raid1, Snapshot::None, 0), "dm-raid"),
            (lvm(LvmLayout::Raid1, Snapshot::None, 0), "raid1"),
            (lvm(LvmLayout::Striped, Snapshot::Thin, 0), "dm-thin-pool"),
            (lvm(LvmLayout::Striped, Snapshot::Cow, 0), "dm-snapshot"),
            (lvm(LvmLayout::Linear, Snapshot::None, 1), "dm-mirror"),
            (md(MdLevel::Raid0), "raid0"),
            (md(MdLevel::Raid1), "raid1"),
            (md(MdLevel::Raid10), "raid10"),
            (md(MdLevel::Raid5), "raid456"),
        ] {
            let (why, cure) = unable(&volume, &|part| part.module != module).expect("refused");
            assert!(why.contains(&format!("no module {module},")), "{why}");
            assert!(cure.starts_with(&format!("modprobe {module},")), "{cure}");
            assert_eq!(unable(&volume, &|part| part.module == module), alone(&volume, module));
        }
    }

    /// Of a volume that takes two modules the other one is missed then.
    fn alone(volume: &Volume, module: &str) -> Option<(String, String)> {
        let other = taken(volume).into_iter().find(|part| part.module != module)?;
        Some((other.why(), modules::cure(other.module)))
    }

    #[test]
    fn what_is_missing_is_said_with_its_cure() {
        assert_eq!(without(&[]), "");
        assert_eq!(
            without(&[THIN, RAID5]),
            "not thin = true (modprobe dm-thin-pool), not level = \"raid5\" (modprobe raid456)"
        );
    }
}
