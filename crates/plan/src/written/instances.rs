//! `[instances]` as written.
//!
//! Prevents: a way to make instances that this version does not have, taken for one that it has.

use super::section::Section;
use super::value::EngineWord;
use crate::error::{Findings, Span};
use crate::study::Via;
use toml::de::DeValue;

written! {
    /// `[instances]`.
    struct WrittenInstances of EngineWord {
        /// instances of the page engine on each stack that does not say it itself. They share the schemas, the
        /// sessions, the `workers` and the cache of the study ([instances](instances.md))
        count: u64 = (1, in 1..=64);
        /// what each of them is: `processes`, a process of its own on this host
        via: Via = (Via::Processes);
        with {
            /// The header.
            span: Span,
        }
    }
}

pub(crate) fn read(mut s: Section<'_>, findings: &mut Findings) -> WrittenInstances {
    let is_mpi = s.raw("via").and_then(|(_, value)| {
        let DeValue::String(word) = value.get_ref() else {
            return None;
        };
        word.eq_ignore_ascii_case("mpi").then(|| value.span())
    });
    if let Some(span) = is_mpi {
        findings.add(
            &span,
            "instances on several hosts (via = \"mpi\") are not in this version",
            "write via = \"processes\": all instances are on this host",
        );
        return WrittenInstances::default();
    }
    let mut instances = WrittenInstances::read(&mut s, findings);
    instances.span = s.span.clone();
    s.finish(&[], findings);
    instances
}
