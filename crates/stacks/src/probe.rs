//! Which stacks this machine can build, and the cure for those it can't.
//!
//! Takes nothing, touches nothing: it looks for rights, tools and file systems. Prevents a study that fails after an
//! hour for want of a package.

use crate::host::modules;
use crate::host::process::is_root;
use crate::tool;
use crate::volume::mapped;
use crate::volume::parts::{OF_LVM, OF_MD, Part, without};
use std::path::Path;

const CAP_SYS_ADMIN: u32 = 21;

/// One kind of stack and whether it can be built here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buildable {
    /// As a study names it.
    pub kind: &'static str,
    /// Whether it can be built.
    pub able: bool,
    /// Why not, or what it is built of.
    pub reason: String,
    /// What to do about it; empty when able.
    pub cure: String,
    /// Version of the tool that makes it; empty where none is needed or found.
    pub tool_version: String,
}

/// All kinds.
pub fn probe() -> Vec<Buildable> {
    probe_those(&|_| true)
}

/// The kinds that are asked for by the word of a study: for most of them a tool is started, which says its version.
pub fn probe_those(is_asked: &dyn Fn(&str) -> bool) -> Vec<Buildable> {
    let yes = |kind, reason: &str| Buildable {
        kind,
        able: true,
        reason: reason.to_owned(),
        cure: String::new(),
        tool_version: String::new(),
    };
    let mut found = Vec::new();
    let mut look = |kind: &'static str, at: &dyn Fn() -> Buildable| {
        if is_asked(kind) {
            found.push(at());
        }
    };
    look("directory", &|| yes("directory", "any directory that can be written"));
    look("raw", &raw);
    for row in plan::FileSystemRow::ALL {
        look(row.word, &|| file_system(row.word, row.program));
    }
    look("diskgroup", &disk_group);
    let server = "a PostgreSQL or an NFS server that is there already";
    look("server", &|| yes("server", server));
    look("zfs", &zfs);
    look("lvm", &|| volumes("lvm", (mapped::has_lvm(), "dm-mod"), &OF_LVM));
    look("md", &|| volumes("md", (mapped::has_md(), "md-mod"), &OF_MD));
    found
}

/// What stands in the way of mounting and attaching, if anything: (reason, cure).
pub(crate) fn obstacle() -> Option<(String, String)> {
    if !is_root() {
        return Some(("needs root".to_owned(), "run as root".to_owned()));
    }
    if !has_capability(CAP_SYS_ADMIN) {
        let cure = "run outside the container, or give it CAP_SYS_ADMIN".to_owned();
        return Some(("root here may not mount (no CAP_SYS_ADMIN)".to_owned(), cure));
    }
    None
}

fn raw() -> Buildable {
    let (able, reason, cure) = match obstacle().or_else(no_loops) {
        Some((reason, cure)) => (false, reason, cure),
        None => (true, "devices, or LUN files on loop devices".to_owned(), String::new()),
    };
    Buildable {
        kind: "raw",
        able,
        reason,
        cure,
        tool_version: String::new(),
    }
}

/// Its reason says in a line what it is not. LUN files serve an ordinary user as they are.
fn disk_group() -> Buildable {
    Buildable {
        kind: "diskgroup",
        able: true,
        reason: "LUNs that the engine uses whole; not Oracle ASM: no instance of its own, one host, its own format"
            .to_owned(),
        cure: String::new(),
        tool_version: String::new(),
    }
}

/// Which ways there are is found by who knows all three ([`crate::zfs_ways`] tells two).
fn zfs() -> Buildable {
    Buildable {
        kind: "zfs",
        able: true,
        reason: "pools on whole LUNs, by one of three ways".to_owned(),
        cure: String::new(),
        tool_version: String::new(),
    }
}

/// A kind whose volumes the kernel makes, by a tool. `parts`: what only some of its volumes take.
fn volumes(kind: &'static str, (kernel_has_it, module): (bool, &str), parts: &[Part]) -> Buildable {
    let program = match kind {
        "lvm" => "lvm",
        _ => "mdadm",
    };
    let missing: Vec<Part> = parts.iter().filter(|part| !part.is_there()).copied().collect();
    // Every array takes one of them; a plain volume of LVM takes none.
    let has_none = kind == "md" && missing.len() == parts.len();
    let no_kernel = || {
        let module = match has_none && kernel_has_it {
            true => parts.iter().map(|part| part.module).collect::<Vec<_>>().join(" or "),
            false => module.to_owned(),
        };
        let is_lacking = has_none || !kernel_has_it;
        is_lacking.then(|| {
            let reason = format!("this kernel has no {kind} (module {module})");
            (reason, modules::cure(&module))
        })
    };
    let tool_version = tool::version(program);
    let too_old = || (kind == "lvm").then(|| lvm_too_old(&tool_version)).flatten();
    let found = obstacle()
        .or_else(no_kernel)
        .or_else(|| no_tool(program))
        .or_else(too_old);
    let able = found.is_none();
    let all = || match without(&missing) {
        few if few.is_empty() => format!("{program} and the kernel have it"),
        few => format!("{program} and the kernel have it, but {few}"),
    };
    let (reason, cure) = found.unwrap_or_else(|| (all(), String::new()));
    Buildable {
        kind,
        able,
        reason,
        cure,
        tool_version,
    }
}

/// The first version of LVM whose commands take a list of devices.
const LVM_LEAST: [u32; 3] = [2, 3, 12];

/// By what it says of itself, as in `LVM version:     2.03.16(2) (2022-05-18)`. One that says it otherwise is tried.
fn lvm_too_old(said: &str) -> Option<(String, String)> {
    let number = said.split([' ', '(']).find(|word| word.contains('.'))?;
    let parts: Option<Vec<u32>> = number.split('.').map(|part| part.parse().ok()).collect();
    (parts?.as_slice() < LVM_LEAST.as_slice()).then(|| {
        let reason = format!("LVM {number} takes no list of devices (--devices)");
        (reason, "install lvm2 2.03.12 or newer".to_owned())
    })
}

pub(crate) fn no_tool(program: &str) -> Option<(String, String)> {
    sandbox::find_program(program).is_none().then(|| {
        (
            format!("{program} not found"),
            format!("install {}", tool::package_of(program)),
        )
    })
}

fn no_loops() -> Option<(String, String)> {
    (!Path::new("/dev/loop-control").exists()).then(|| {
        (
            "no loop devices (/dev/loop-control is missing)".to_owned(),
            "modprobe loop, or name devices".to_owned(),
        )
    })
}

fn file_system(kind: &'static str, tool_name: &str) -> Buildable {
    let no_kernel = || {
        (!kernel_has(kind)).then(|| {
            (
                format!("this kernel has no {kind}"),
                format!("use a kernel with {kind} (modprobe {kind})"),
            )
        })
    };
    let found = obstacle()
        .or_else(no_loops)
        .or_else(no_kernel)
        .or_else(|| no_tool(tool_name));
    let able = found.is_none();
    let (reason, cure) = found.unwrap_or_else(|| (format!("{tool_name} and the kernel have it"), String::new()));
    Buildable {
        kind,
        able,
        reason,
        cure,
        tool_version: tool::version(tool_name),
    }
}

/// In the kernel, or as a module that it loads at the first mount.
pub(crate) fn kernel_has(kind: &str) -> bool {
    let listed = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if listed.lines().any(|l| l.split_whitespace().last() == Some(kind)) {
        return true;
    }
    modules::has(kind)
}

fn has_capability(bit: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|l| l.strip_prefix("CapEff:"))
        .and_then(|v| u64::from_str_radix(v.trim(), 16).ok());
    mask.is_none_or(|m| m >> bit & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_is_not_able_has_a_reason_and_a_cure() {
        let all = probe();
        for row in plan::FileSystemRow::ALL {
            assert!(all.iter().any(|kind| kind.kind == row.word), "{}", row.word);
        }
        for kind in &all {
            assert!(!kind.reason.is_empty(), "{kind:?}");
            assert_eq!(kind.able, kind.cure.is_empty(), "{kind:?}");
        }
        assert!(all.iter().any(|b| b.kind == "directory" && b.able));
    }

    #[test]
    fn a_kind_that_nobody_asks_for_is_not_looked_for() {
        let all = probe();
        for row in &all {
            let found = probe_those(&|kind| kind == row.kind);
            assert_eq!(found, std::slice::from_ref(row));
        }
        assert!(probe_those(&|_| false).is_empty());
    }

    #[test]
    fn an_lvm_without_a_list_of_devices_is_too_old() {
        let line = |version: &str| format!("LVM version:     {version}(2) (2021-01-08)");
        for old in ["2.03.07", "2.03.11", "2.02.187", "1.0.8"] {
            let (why, cure) = lvm_too_old(&line(old)).expect("too old");
            assert!(why.contains(old) && cure.contains("2.03.12"), "{why}; {cure}");
        }
        for new in ["2.03.12", "2.03.16", "2.04.0", "3.0.0"] {
            assert_eq!(lvm_too_old(&line(new)), None, "{new}");
        }
        assert_eq!(lvm_too_old(""), None);
        assert_eq!(lvm_too_old("LVM version:     2.03.x"), None);
    }

    #[test]
    fn the_kernel_has_proc_and_not_nonesuch() {
        assert!(kernel_has("proc"));
        assert!(!kernel_has("nonesuch"));
    }
}
