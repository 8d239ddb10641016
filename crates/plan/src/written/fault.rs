//! `faults` of a phase as written: a list of tables, one for each thing that goes wrong with a modelled LUN.
//!
//! Takes the phase's section; gives the values with their places. Prevents: a fault that is misspelt and never happens.

use super::section::Section;
use super::value::At;
use crate::error::{Findings, Span};
use crate::study::FaultWord;
use crate::units::{Bytes, Duration};
use toml::de::DeValue;

/// One of `faults`.
#[derive(Clone)]
pub(crate) struct WrittenFault {
    pub(crate) span: Span,
    pub(crate) kind: Option<At<FaultWord>>,
    pub(crate) luns: Option<At<String>>,
    pub(crate) lun: Option<At<u64>>,
    pub(crate) after: Option<At<Duration>>,
    pub(crate) time: Option<At<Duration>>,
    pub(crate) offset: Option<At<Bytes>>,
    pub(crate) length: Option<At<Bytes>>,
    pub(crate) by: Option<At<Duration>>,
}

const EXAMPLE: &str = "faults = [{ kind = \"vanish\", luns = \"data\", lun = 1, after = \"1s\" }]";

pub(crate) fn read(s: &mut Section<'_>, findings: &mut Findings) -> Vec<WrittenFault> {
    let Some((key, value)) = s.raw("faults") else {
        return Vec::new();
    };
    let DeValue::Array(items) = value.get_ref() else {
        findings.add(
            &key,
            "`faults` takes a list of tables",
            format!("write it as `{EXAMPLE}`"),
        );
        return Vec::new();
    };
    let mut faults = Vec::new();
    for item in items.iter() {
        let Some(table) = item.get_ref().as_table() else {
            findings.add(
                &item.span(),
                "each of `faults` is a table",
                format!("write it as `{EXAMPLE}`"),
            );
            continue;
        };
        faults.push(one(Section::new("a fault", item.span(), table), findings));
    }
    faults
}

fn one(mut s: Section<'_>, findings: &mut Findings) -> WrittenFault {
    let kind = s.require(
        "kind",
        "say what goes wrong: kind = \"vanish\" (or error, corrupt, slow)",
        findings,
    );
    let of = |word: FaultWord| kind.as_ref().is_some_and(|at: &At<FaultWord>| at.value == word);
    let ranged = of(FaultWord::Error) || of(FaultWord::Corrupt);
    let slow = of(FaultWord::Slow);
    let fault = WrittenFault {
        span: s.span.clone(),
        luns: s.require("luns", "say which LUN set it happens to: luns = \"data\"", findings),
        lun: s.get("lun", findings),
        after: s.get("after", findings),
        time: s.get("time", findings),
        offset: if ranged { s.get("offset", findings) } else { None },
        length: if ranged { s.get("length", findings) } else { None },
        by: if slow {
            s.require("by", "say how much longer each request takes: by = \"50ms\"", findings)
        } else {
            None
        },
        kind,
    };
    s.finish(&[], findings);
    fault
}
