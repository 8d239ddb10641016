//! `[instances]` as written.
//!
//! Prevents: instances of which nobody says where they are.

use super::section::Section;
use crate::error::{Findings, Span};
use crate::study::{EngineWord, Via};

written! {
    /// `[instances]`.
    struct WrittenInstances of EngineWord {
        /// instances of the page engine on each stack that does not say it itself. They share the schemas, the
        /// sessions, the `workers` and the cache of the study ([instances](instances.md))
        count: u64 = (1, in 1..=64);
        /// what each of them is: `processes`, a process of its own on this host; `mpi`, a process on a host of its own
        /// ([several hosts](instances.md#several-hosts))
        via: Via = (Via::Processes);
        with {
            /// The header.
            span: Span,
        }
    }
}

pub(crate) fn read(mut s: Section<'_>, findings: &mut Findings) -> WrittenInstances {
    let mut instances = WrittenInstances::read(&mut s, findings);
    instances.span = s.span.clone();
    s.finish(&[], findings);
    instances
}
