//! `assay stacks`: which stacks this machine can build, and the cure for those it cannot.

use super::answer::{print, print_json};
use super::modelled_luns;
use crate::cli;
use crate::exit::Failure;
use lab::zfs_ways;
use serde_json::json;
use std::fmt::Write;

pub(crate) fn stacks(flags: &cli::Stacks) -> Result<(), Failure> {
    let probed = zfs_ways::probe();
    if flags.json {
        let rows: Vec<_> = probed
            .iter()
            .map(|b| {
                json!({
                    "kind": b.kind, "able": b.able, "reason": b.reason, "cure": b.cure, "tool_version": b.tool_version,
                })
            })
            .collect();
        let ways: Vec<_> = zfs_ways::here()
            .iter()
            .map(|way| {
                json!({
                    "via": way.way.word(), "able": way.able, "reason": way.reason, "cure": way.cure,
                    "version": way.version,
                })
            })
            .collect();
        let servers: Vec<_> = stacks::file_servers()
            .iter()
            .map(|here| {
                json!({
                    "server": here.server.word(), "able": here.able, "reason": here.reason, "cure": here.cure,
                    "version": here.version,
                })
            })
            .collect();
        return print_json(&json!({
            "schema": 1, "stacks": rows, "zfs_ways": ways, "file_servers": servers,
            "devices": modelled_luns::classes_as_json(),
            "tools_confined": sandbox::confinement(),
        }));
    }
    let mut text = String::new();
    for b in &probed {
        let name = format!("{:<10}", b.kind);
        row(&mut text, (&name, b.able), (&b.reason, &b.tool_version, &b.cure));
        if b.kind == "zfs" {
            ways(&mut text);
        }
    }
    let _ = writeln!(
        text,
        "{:<10} {:<4} simulated in virtual time: never ranked with real stacks",
        "model", "yes"
    );
    text.push_str(&modelled_luns::classes());
    file_servers(&mut text);
    let _ = writeln!(text, "\nStorage tools are confined {}.", sandbox::confinement());
    print(&text)
}

/// Each way to ZFS, in the order in which they are taken.
fn ways(text: &mut String) {
    for way in zfs_ways::here() {
        let name = format!("  via {:<10}", way.way.word());
        row(text, (&name, way.able), (&way.reason, &way.version, &way.cure));
    }
}

/// Servers of the files of other stacks.
fn file_servers(text: &mut String) {
    text.push_str("\nServers of files ([files], protocol = \"nfs3\"):\n");
    for here in stacks::file_servers() {
        let name = format!("{:<10}", here.server.word());
        row(text, (&name, here.able), (&here.reason, &here.version, &here.cure));
    }
}

/// What a thing is, or why it cannot be had, with its version and the cure.
fn row(text: &mut String, (name, able): (&str, bool), (reason, version, cure): (&str, &str, &str)) {
    let mark = if able { "yes" } else { "no" };
    let _ = write!(text, "{name} {mark:<4} {reason}");
    if !version.is_empty() {
        let _ = write!(text, " ({version})");
    }
    if !cure.is_empty() {
        let _ = write!(text, ": {cure}");
    }
    text.push('\n');
}
