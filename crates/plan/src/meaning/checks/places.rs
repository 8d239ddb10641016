//! Where in the study file a finding points.
//!
//! Takes what was written; gives spans. Prevents: a finding about a default that points at nothing.

use crate::error::Span;
use crate::written::{At, WrittenStack};

/// Where a value stands, or its home when it is a default.
pub(super) fn place<'a, T>(at: &'a Option<At<T>>, home: &'a Span) -> &'a Span {
    at.as_ref().map_or(home, |at| &at.span)
}

/// Where the kind of a stack stands, or the stack.
pub(super) fn kind_place(w: &WrittenStack) -> &Span {
    place(&w.kind, &w.span)
}
