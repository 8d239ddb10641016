//! What is checked of order entry: conditions, limits of response, the size of the company, the storage's part.
//!
//! Takes the figures of one stack in one phase, gives what was found. Prevents: a rate of a database that is no longer
//! sound, and one whose users waited longer than anybody would.

use super::at::At;
use super::rule::Taken;
use crate::check::Status;
use crate::format::{nanoseconds, percent};

pub(crate) fn conditions(at: &At<'_>) -> Option<Taken> {
    let orders = at.cell.orders.as_ref()?;
    let of = &orders.conditions;
    let asked = of.asked_before + of.asked_after + of.asked_after_crash;
    let (status, figure) = match (of.broken.first(), asked) {
        (Some(first), _) => (Status::Invalid, first.clone()),
        (None, 0) => (Status::Suspect, "none was asked".into()),
        (None, _) => (Status::Valid, format!("{asked} asked, all hold")),
    };
    Some(Taken::judged(status, figure))
}

pub(crate) fn limits(at: &At<'_>) -> Option<Taken> {
    let orders = at.cell.orders.as_ref()?;
    let known: Vec<_> = orders
        .transactions
        .iter()
        .filter(|one| one.within_limit.is_some())
        .collect();
    if known.is_empty() {
        return None;
    }
    let over = orders.over_limit();
    let figure = match over.first() {
        None => format!("{} kinds of transaction within theirs", known.len()),
        Some(_) => {
            let said = |one: &&crate::cells::orders::TransactionFigures| {
                let p90 = one.response.p90_ns.map_or("-".into(), |p90| nanoseconds(p90.high));
                format!("{} {p90}", one.class)
            };
            over.iter().map(said).collect::<Vec<_>>().join(", ")
        }
    };
    Some(Taken::holds(over.is_empty(), figure))
}

pub(crate) fn company(at: &At<'_>) -> Option<Taken> {
    let orders = at.cell.orders.as_ref()?;
    let said = "reduced: fewer items or customers than described";
    orders.reduced.then(|| Taken::broken(said))
}

pub(crate) fn storage(at: &At<'_>) -> Option<Taken> {
    let orders = at.cell.orders.as_ref()?;
    let share = orders.storage_share?;
    let part = percent(share.median);
    let figure = format!("at most {part} of the service without waits for locks");
    Some(Taken::share(share.median, figure))
}
