//! A question that was asked before: a file that is gone on with, also after its end, and a new one beside it.

mod alike;
mod extend;
pub(crate) mod older;
pub(crate) mod taking_up;
