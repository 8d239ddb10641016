//! Facts of the host that shape results and do not change while a study runs.
//!
//! Takes roots, gives pairs of name and value as the kernel prints them, in a fixed order; what the
//! kernel does not tell is left out. Read only; never a secret.
//! Prevents: "you did not disclose the configuration".

use std::path::Path;

use crate::Root;
use crate::devices::facts::{Facts, chosen};
use crate::root::{text, value};

/// Facts of the running host.
pub fn host_facts() -> Vec<(String, String)> {
    host_facts_in(&Root::live())
}

/// [`host_facts`] from given roots.
pub fn host_facts_in(root: &Root) -> Vec<(String, String)> {
    let mut facts = Facts::default();
    let kernel = |name: &str| value(&root.proc.join("sys/kernel").join(name));
    facts.add("host", kernel("hostname"));
    facts.add("kernel", kernel("osrelease"));
    facts.add("kernel build", kernel("version"));
    facts.add("distribution", distribution(root));
    processors(root, &mut facts);
    let memory = crate::host::memory::read(root);
    facts.add(
        "memory bytes",
        memory
            .and_then(|memory| memory.total_bytes)
            .map(|bytes| bytes.to_string()),
    );
    facts.add("virtualisation", virtualisation(root));
    facts.add("machine", machine(root));
    facts.add(
        "cgroup",
        crate::processes::cgroup::own(root).map(|group| format!("{:?}", group.version).to_lowercase()),
    );
    facts.add(
        "clock source",
        root.sys_value("devices/system/clocksource/clocksource0/current_clocksource"),
    );
    facts.add(
        "cpu governor",
        root.sys_value("devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    );
    facts.add("cpu boost", root.sys_value("devices/system/cpu/cpufreq/boost"));
    facts.add("smt", root.sys_value("devices/system/cpu/smt/control"));
    facts.add("cpu isolated", root.sys_value("devices/system/cpu/isolated"));
    let idle = root.sys_value("devices/system/cpu/cpuidle/current_governor");
    facts.add(
        "cpu idle governor",
        idle.or(root.sys_value("devices/system/cpu/cpuidle/current_governor_ro")),
    );
    let huge = root.sys_value("kernel/mm/transparent_hugepage/enabled");
    facts.add("transparent hugepages", huge.map(|text| chosen(&text)));
    for name in [
        "dirty_ratio",
        "dirty_background_ratio",
        "dirty_bytes",
        "dirty_background_bytes",
    ] {
        facts.add(&format!("vm.{name}"), value(&root.proc.join("sys/vm").join(name)));
    }
    for name in [
        "dirty_expire_centisecs",
        "dirty_writeback_centisecs",
        "nr_hugepages",
        "swappiness",
        "vfs_cache_pressure",
        "zone_reclaim_mode",
    ] {
        facts.add(&format!("vm.{name}"), value(&root.proc.join("sys/vm").join(name)));
    }
    facts.add("io_uring disabled", kernel("io_uring_disabled"));
    facts.add("mitigations", mitigations(root));
    facts.0
}

fn processors(root: &Root, facts: &mut Facts) {
    let Some(text) = root.proc_text("cpuinfo") else { return };
    let field = |names: &[&str]| {
        let line = text
            .lines()
            .find(|line| names.iter().any(|name| line.starts_with(name)))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    // Arm prints no model name: its part number has to do.
    facts.add("cpu", field(&["model name", "Model", "CPU part"]));
    let count = text.lines().filter(|line| line.starts_with("processor")).count();
    facts.add("cpus", (count > 0).then(|| count.to_string()));
    let is_part = crate::host::affinity::read(root).is_some_and(|some| some.count() < count as u64);
    facts.add("cpus allowed", crate::host::affinity::list(root).filter(|_| is_part));
    facts.add("cpu cores each socket", field(&["cpu cores"]));
}

/// How the kernel's port to user space names the maker of its processors.
const USER_MODE_VENDOR: &str = "User Mode Linux";

fn virtualisation(root: &Root) -> Option<String> {
    let cpuinfo = root.proc_text("cpuinfo").unwrap_or_default();
    // It also prints the flags of the host's processors, and those may tell of a hypervisor below the host.
    if is_user_mode(&cpuinfo) {
        return Some("User-mode Linux".to_owned());
    }
    let mut flags = cpuinfo.lines().filter(|line| line.starts_with("flags"));
    let flagged = flags.any(|line| line.split_ascii_whitespace().any(|flag| flag == "hypervisor"));
    let vendor = root.sys_value("class/dmi/id/sys_vendor");
    let named = root.sys_value("hypervisor/type");
    match (named, flagged) {
        (Some(name), _) => Some(name),
        (None, true) => Some(format!("a hypervisor ({})", vendor.unwrap_or_else(|| "unnamed".into()))),
        // Absence of the flag on x86 means bare metal or a hypervisor that hides; no claim either way.
        (None, false) => None,
    }
}

/// Whether this kernel is itself a process of another Linux.
fn is_user_mode(cpuinfo: &str) -> bool {
    let vendors = cpuinfo.lines().filter(|line| line.starts_with("vendor_id"));
    let mut vendors = vendors.filter_map(|line| line.split_once(':'));
    vendors.any(|(_, vendor)| vendor.trim() == USER_MODE_VENDOR)
}

fn machine(root: &Root) -> Option<String> {
    let vendor = root.sys_value("class/dmi/id/sys_vendor");
    let product = root
        .sys_value("class/dmi/id/product_name")
        .or(root.sys_value("firmware/devicetree/base/model"));
    let words: Vec<String> = vendor
        .into_iter()
        .chain(product)
        .map(|word| word.replace('\0', ""))
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn distribution(root: &Root) -> Option<String> {
    // A fixture has its own; the live one is outside /proc and /sys.
    let near = root.proc.parent().map(|dir| dir.join("etc/os-release"));
    let text = near.and_then(|path| text(&path)).or_else(|| {
        ["/etc/os-release", "/usr/lib/os-release"]
            .iter()
            .filter(|_| root.live)
            .find_map(|path| text(Path::new(path)))
    })?;
    let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

fn mitigations(root: &Root) -> Option<String> {
    let line = root.proc_text("cmdline")?;
    line.split_ascii_whitespace()
        .find_map(|word| word.strip_prefix("mitigations="))
        .map(str::to_owned)
}
