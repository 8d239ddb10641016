//! What `[cost]` means: prices of this study's stacks.
//!
//! Takes the section as written and the study; gives [`Cost`]. Prevents: a licence of a stack that was renamed since.

use crate::error::Findings;
use crate::study::{Cost, Study};
use crate::written::{WrittenCost, nearest};

/// The largest price that makes sense in any currency.
const MOST: f64 = 1e12;

/// Letters of a currency.
const LETTERS: usize = 8;

pub(super) fn resolve(written: Option<&WrittenCost>, study: &Study, findings: &mut Findings) -> Option<Cost> {
    let written = written?;
    let cost = Cost {
        currency: written.currency().value(),
        host: written.host().value(),
        lun: written.lun().value(),
        gb: written.gb().value(),
        licence: written
            .licence
            .iter()
            .map(|(stack, price)| (stack.value.clone(), price.value))
            .collect(),
    };
    let is_letter = |c: char| c.is_alphanumeric() || "€$£¥₹".contains(c);
    if let Some(at) = &written.currency
        && !(at.value.chars().count() <= LETTERS && at.value.chars().all(is_letter))
    {
        let message = format!("`currency` has up to {LETTERS} letters");
        findings.add(&at.span, message, "write currency = \"EUR\"");
    }
    let plain = [&written.host, &written.lun, &written.gb];
    let licences = written.licence.iter().map(|(_, price)| price);
    for at in plain.into_iter().flatten().chain(licences).filter(|at| at.value > MOST) {
        let cure = format!("write prices up to {MOST:e}, in a larger unit if need be");
        findings.add(&at.span, format!("{:e} is no price", at.value), cure);
    }
    let names: Vec<&str> = study.stacks.iter().map(|stack| stack.name.as_str()).collect();
    for (stack, _) in written
        .licence
        .iter()
        .filter(|(at, _)| !names.contains(&at.value.as_str()))
    {
        let cure = match nearest(&stack.value, names.iter().copied()) {
            Some(near) => format!("did you mean {near:?}?"),
            None => format!("write one of {}", names.join(", ")),
        };
        findings.add(&stack.span, format!("the study has no stack {:?}", stack.value), cure);
    }
    let all = [cost.host, cost.lun, cost.gb];
    if all
        .iter()
        .chain(cost.licence.iter().map(|(_, price)| price))
        .all(|price| *price == 0.0)
    {
        let cure = "say `host`, `lun`, `gb` or `licence`, or remove the section";
        findings.add(&written.span, "[cost] has no price above 0", cure);
    }
    Some(cost)
}
