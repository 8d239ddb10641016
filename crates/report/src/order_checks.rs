//! What is checked of order entry: conditions, limits of response, the size of the company, the storage's part.
//!
//! Takes the figures of one stack in one phase, gives checks without their place. Prevents: a rate of a database that is no longer sound,
//! and one whose users waited longer than anybody would.

use crate::checks::Status;
use crate::format::{nanoseconds, percent};
use crate::orders::{OrderFigures, STORAGE_SHARE_MIN, is_too_small};

/// Subject, status, figure, threshold, advice.
pub(crate) type Found = (&'static str, Status, String, String, &'static str);

pub(crate) fn found(orders: &OrderFigures) -> Vec<Found> {
    [conditions(orders), limits(orders), company(orders), storage(orders)]
        .into_iter()
        .flatten()
        .collect()
}

fn conditions(orders: &OrderFigures) -> Option<Found> {
    let of = &orders.conditions;
    let asked = of.asked_before + of.asked_after + of.asked_after_crash;
    let (status, figure) = match (of.broken.first(), asked) {
        (Some(first), _) => (Status::Invalid, first.clone()),
        (None, 0) => (Status::Suspect, "none was asked".into()),
        (None, _) => (Status::Valid, format!("{asked} asked, all hold")),
    };
    let advice =
        "do not use it: the database or the storage lost something; look into the server's log and the kernel's";
    Some((
        "consistency",
        status,
        figure,
        "all twelve hold, before and after".into(),
        advice,
    ))
}

fn limits(orders: &OrderFigures) -> Option<Found> {
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
            let said = |one: &&crate::orders::TransactionFigures| {
                let p90 = one.response.p90_ns.map_or("-".into(), |p90| nanoseconds(p90.high));
                format!("{} {p90}", one.class)
            };
            over.iter().map(said).collect::<Vec<_>>().join(", ")
        }
    };
    let status = if over.is_empty() {
        Status::Valid
    } else {
        Status::Suspect
    };
    Some((
        "response limits",
        status,
        figure,
        "90th percentile of response at most 5 s, stock level 20 s".into(),
        "ask for fewer users, or look at the load curve",
    ))
}

fn company(orders: &OrderFigures) -> Option<Found> {
    orders.reduced.then(|| {
        (
            "company",
            Status::Suspect,
            "reduced: fewer items or customers than described".into(),
            "100,000 items, 3,000 customers a district".into(),
            "leave the size as described; reduced ones are for tests of the tool",
        )
    })
}

fn storage(orders: &OrderFigures) -> Option<Found> {
    let share = orders.storage_share?;
    let status = if is_too_small(share) {
        Status::Suspect
    } else {
        Status::Valid
    };
    Some((
        "storage's part",
        status,
        format!(
            "at most {} of the service without waits for locks",
            percent(share.median)
        ),
        format!("at least {}", percent(STORAGE_SHARE_MIN)),
        "more warehouses or less cache make storage matter; what is measured here is processors and locks",
    ))
}
