//! `assay stacks`: which stacks this machine can build, and the cure for those it cannot.

use super::{modelled_luns, print, print_json};
use crate::cli;
use crate::exit::Failure;
use serde_json::json;
use std::fmt::Write;

pub(crate) fn stacks(flags: &cli::Stacks) -> Result<(), Failure> {
    let probed = crate::pooled::probe();
    if flags.json {
        let rows: Vec<_> = probed
            .iter()
            .map(|b| {
                json!({
                    "kind": b.kind, "able": b.able, "reason": b.reason, "cure": b.cure, "tool_version": b.tool_version,
                })
            })
            .collect();
        return print_json(&json!({ "schema": 1, "stacks": rows, "devices": modelled_luns::classes_as_json() }));
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
    }
    let _ = writeln!(
        text,
        "{:<10} {:<4} simulated in virtual time: never ranked with real stacks",
        "model", "yes"
    );
    text.push_str(&modelled_luns::classes());
    print(&text)
}
