//! `[cost]` as written: what a host, a LUN, a gigabyte and licences cost.
//!
//! Takes the section, gives numbers with their places. Prevents: a price of a stack that the study does not have, taken
//! for the price of one that it has.

use super::section::Section;
use super::value::{At, Refusal, Written, type_of};
use crate::error::{Findings, Span};
use crate::study::EngineWord;
use toml::de::DeValue;

/// A price each, by stack.
pub(crate) type Prices = Vec<(At<String>, At<f64>)>;

const LICENCE: &str = "licence = { btrfs = 0, \"disk group\" = 4000 }";

written! {
    /// `[cost]`.
    struct WrittenCost of EngineWord {
        /// what prices are in, up to 8 letters; the report prints it behind each price
        currency: String = (String::new());
        /// price of the host; a stack whose instances run on several hosts takes it for each
        host: f64 = (0.0);
        /// price of each LUN that a stack lies on, those of its redo log too
        lun: f64 = (0.0);
        /// price of each GB (10^9 bytes) of those LUNs, as they are before anything is reduced
        gb: f64 = (0.0);
        /// licences and support, by stack: `licence = { btrfs = 0, "disk group" = 4000 }`; a stack that is not in it
        /// needs none
        licence: Prices => licences "table of numbers" = "";
        with {
            /// The header.
            span: Span,
        }
    }
}

pub(crate) fn read(mut s: Section<'_>, findings: &mut Findings) -> WrittenCost {
    let mut cost = WrittenCost::read(&mut s, findings);
    cost.span = s.span.clone();
    s.finish(
        &[("license", "the key is written with a c", "write licence = { ... }")],
        findings,
    );
    cost
}

fn licences(s: &mut Section<'_>, findings: &mut Findings) -> Prices {
    let Some((_, value)) = s.raw("licence") else {
        return Vec::new();
    };
    let DeValue::Table(table) = value.get_ref() else {
        let message = format!("`licence` takes a table, found {}", type_of(value.get_ref()));
        findings.add(&value.span(), message, format!("write it as `{LICENCE}`"));
        return Vec::new();
    };
    let mut prices = Vec::new();
    for (stack, price) in table {
        match f64::placed(price) {
            Ok(value) => prices.push((
                At {
                    value: stack.get_ref().to_string(),
                    span: stack.span(),
                },
                At {
                    value,
                    span: price.span(),
                },
            )),
            Err(Refusal::Value { what, cure }) => findings.add(&price.span(), format!("`licence`: {what}"), cure),
            Err(Refusal::Type) => {
                let message = format!("a price is a number, found {}", type_of(price.get_ref()));
                findings.add(&price.span(), message, format!("write it as `{LICENCE}`"));
            }
        }
    }
    prices.sort_by_key(|(stack, _)| stack.span.start);
    prices
}
