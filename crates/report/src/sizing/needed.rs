//! What a load takes beside LUNs: processors of the host, bytes of its devices, and the price of the whole.
//!
//! Takes the shares of a load and prices, adds their figures to a [`SizedStack`]. Prevents: LUNs bought for a load that
//! the host's processors do not carry.

use super::found::SizedStack;
use super::measured::counts_processors;
use super::share::Share;
use crate::analysis::Analysis;
use crate::format::{number, whole};
use crate::history::Book;
use crate::stacks::cost::Cost;
use crate::stacks::priced;

/// Processors and bytes by the stack whose measured rate lies nearest to the load: what a host does besides grows least
/// with it there.
pub(super) fn beside_luns(sized: &mut SizedStack, shares: &[(f64, Share)], book: &Book, analysis: &Analysis) {
    let far = |share: &Share| share.middle.ln().abs();
    let nearest = shares.iter().map(|(_, share)| share);
    let nearest = nearest.min_by(|a, b| far(a).total_cmp(&far(b)));
    // Of a rate that is refused nothing is said here either.
    let Some(nearest) = nearest.filter(|_| sized.for_rate.is_some()) else {
        return;
    };
    (sized.processors, sized.device_bytes_per_s) = (nearest.processors, nearest.device_bytes_per_s);
    if sized
        .stacks
        .iter()
        .any(|stack| !counts_processors(book, analysis, stack))
    {
        let slow = analysis.study.slow_motion.is_some_and(|times| times > 1);
        let why = match slow {
            true => "models in slow motion keep them busy for longer than their devices would",
            false => "its instances ran on several hosts, and those of one were counted",
        };
        sized.notes.push(format!("the processors in use are not known: {why}"));
        return;
    }
    let plays_models = analysis.modelled.iter().any(|row| sized.stacks.contains(&row.stack));
    if !plays_models {
        sized.host_processors = nearest.host_processors;
    } else if sized.processors.is_some() {
        sized
            .notes
            .push("the processors in use include the process that plays the models".into());
    }
}

/// Whether the load takes more processors than the host had; a note says so.
pub(super) fn is_host_full(sized: &mut SizedStack) -> bool {
    let (Some(processors), Some(host)) = (sized.processors, sized.host_processors) else {
        return false;
    };
    let worst = processors.high.unwrap_or(processors.middle);
    sized.processors_full = worst > host;
    if sized.processors_full {
        sized.notes.push(format!(
            "the host's processors would be full first: the load takes up to {} of them, and the run had {}",
            number(worst),
            whole(host)
        ));
    }
    sized.processors_full
}

/// Price of the largest measured stack with so many data LUNs instead of its own. Hosts, licences, and LUNs of redo
/// log, temporary files and reserve stay. `luns` are its bytes by data LUN. A stack without LUNs is bought whole.
pub(super) fn price(cost: &Cost, largest: &str, luns: &[f64], takes: u32) -> Option<f64> {
    let of_stack = cost.stacks.iter().find(|one| one.stack == largest);
    let measured = of_stack?.total;
    let (takes, have) = (f64::from(takes), luns.len() as f64);
    if luns.is_empty() {
        return Some(measured * takes);
    }
    let each = priced::of_luns(cost, 1.0, luns.iter().sum::<f64>() / have);
    Some(measured + (takes - have) * each)
}
