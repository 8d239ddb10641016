//! Moving data in words: a line for each copy and each rebalance.
//!
//! Takes a cell, gives lines. Prevents: a rebalance praised for a speed that the work beside it paid for.

use crate::cells::Cell;
use crate::cells::moves::{CopyFigures, RebalanceFigures};
use crate::format::{bytes, nanoseconds, number};

/// What a cell has to say of moving data, a line each.
pub(crate) fn lines(cell: &Cell) -> Vec<String> {
    let copied = cell.copy.as_ref().and_then(|copy| copied(cell, copy));
    let moved = cell.rebalance.as_ref().and_then(|rebalance| moved(cell, rebalance));
    copied.into_iter().chain(moved).collect()
}

fn copied(cell: &Cell, copy: &CopyFigures) -> Option<String> {
    let over = match copy.over_existing.map(|code| code.median) {
        Some(code) if code >= 0.5 => ", over what was there",
        Some(_) => ", into new files",
        None => "",
    };
    let mut line = format!(
        "{}: {} copied at {} MB/s{over}",
        cell.stack,
        bytes(copy.bytes?.median),
        number(copy.bytes_per_s?.median / 1e6)
    );
    for (name, side) in [("source", copy.source), ("target", copy.target)] {
        if let (Some(read), Some(written)) = (side.read_bytes, side.write_bytes) {
            line.push_str(&format!(
                "; {name}'s devices: {} read, {} written",
                bytes(read.median),
                bytes(written.median)
            ));
        }
    }
    line.push_str(&match copy.verified_bytes {
        Some(verified) => format!("; {} read back and found the same", bytes(verified.median)),
        None => "; not read back".to_string(),
    });
    Some(line)
}

fn moved(cell: &Cell, rebalance: &RebalanceFigures) -> Option<String> {
    // LVM and md pace themselves.
    let power = rebalance.power.map(|power| format!(" at power {:.0}", power.median));
    let mut line = format!(
        "{}: {} moved in {}{}",
        cell.stack,
        bytes(rebalance.moved_bytes?.median),
        nanoseconds(rebalance.seconds?.median * 1e9),
        power.unwrap_or_default()
    );
    if let (Some(ideal), Some(share)) = (rebalance.ideal_bytes, rebalance.moved_per_ideal) {
        line.push_str(&format!(
            ", {} times the ideal of {}",
            number(share.median),
            bytes(ideal.median)
        ));
    }
    for window in &rebalance.windows {
        let p99: Vec<String> = cell
            .latency
            .iter()
            .filter_map(|latency| {
                Some((
                    latency.class.strip_suffix(&format!(" {}", window.name))?,
                    latency.p99_ns?,
                ))
            })
            .map(|(class, figure)| format!("{class} p99 {}", nanoseconds(figure.median)))
            .collect();
        if let Some(rate) = window.operations_per_s {
            line.push_str(&format!("; {}: {} op/s", window.name, number(rate.median)));
            if !p99.is_empty() {
                line.push_str(&format!(", {}", p99.join(", ")));
            }
        }
    }
    Some(line)
}
