//! Order entry in words, for every form: what it is derived from, and what its figures are worth.
//!
//! Takes figures, gives lines without a place. Prevents: a form that shows new orders per minute and leaves out that
//! a condition is broken.

use crate::analysis::Analysis;
use crate::cells::orders::{Conditions, OrderFigures, is_too_small};
use crate::format::{nanoseconds, percent};

/// Said wherever order entry is shown.
pub(crate) const DERIVED: &str = "Order entry is derived from the published description of TPC-C. It is no TPC \
     result and can't be compared with one: nothing is audited, and the metric is new orders committed per minute.";

/// Order entry was run.
pub(crate) fn has_orders(analysis: &Analysis) -> bool {
    let mut cells = analysis.phases.iter().flat_map(|phase| &phase.cells);
    cells.any(|cell| cell.orders.is_some())
}

/// Conditions, limits and the storage's share in words.
pub(crate) fn doubts(stack: &str, orders: &OrderFigures) -> Vec<String> {
    let mut said = vec![format!("{stack}: {}", conditions(&orders.conditions))];
    for one in orders.over_limit() {
        said.push(format!(
            "{stack}: the 90th percentile of {} is over its limit of {}",
            one.class,
            nanoseconds(one.limit_ns.unwrap_or(0.0))
        ));
    }
    if let (Some(share), Some(by)) = (orders.storage_share, &orders.storage_told_by)
        && is_too_small(share)
    {
        said.push(format!(
            "{stack}: storage is at most {} of the service without waits for locks (as {by} reports): not ranked as a \
             storage result",
            percent(share.median)
        ));
    }
    said
}

/// "all 12 consistency conditions hold before and after".
fn conditions(of: &Conditions) -> String {
    if !of.broken.is_empty() {
        return format!("{}; none of its figures counts", of.broken.join("; "));
    }
    let asked: Vec<String> = [
        (of.asked_before, "before"),
        (of.asked_after, "after"),
        (of.asked_after_crash, "after crashes"),
    ]
    .iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, moment)| format!("{count} {moment}"))
    .collect();
    if asked.is_empty() {
        "no consistency condition was checked".into()
    } else {
        format!("consistency conditions checked, and all hold: {}", asked.join(", "))
    }
}
