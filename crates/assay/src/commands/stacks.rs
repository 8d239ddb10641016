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
        return print_json(&json!({
            "schema": 1, "stacks": rows, "zfs_ways": ways, "devices": modelled_luns::classes_as_json(),
            "tools_confined": sandbox::confinement(),
        }));
    }
    let mut text = String::new();
    for b in &probed {
        let mark = if b.able { "yes" } else { "no" };
        let _ = write!(text, "{:<10} {:<4} {}", b.kind, mark, b.reason);
        if !b.tool_version.is_empty() {
            let _ = write!(text, " ({})", b.tool_version);
        }
        if !b.cure.is_empty() {
            let _ = write!(text, ": {}", b.cure);
        }
        text.push('\n');
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
    let _ = writeln!(text, "\nStorage tools are confined {}.", sandbox::confinement());
    print(&text)
}

/// Each way to ZFS, in the order in which they are taken.
fn ways(text: &mut String) {
    for way in zfs_ways::here() {
        let (name, mark) = (way.way.word(), if way.able { "yes" } else { "no" });
        let _ = write!(text, "  via {name:<10} {mark:<4} {}", way.reason);
        if !way.version.is_empty() {
            let _ = write!(text, " ({})", way.version);
        }
        if !way.cure.is_empty() {
            let _ = write!(text, ": {}", way.cure);
        }
        text.push('\n');
    }
}
