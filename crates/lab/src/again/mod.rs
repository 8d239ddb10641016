//! A question that was asked before: a study that goes on after its end, and a new one beside it.

pub(crate) mod extend;
pub(crate) mod older;
