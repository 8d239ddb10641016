//! The disk group of a stack.

pub(crate) mod changing;
pub(crate) mod frozen;
pub(crate) mod grouped;
