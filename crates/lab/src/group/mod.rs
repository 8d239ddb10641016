//! The disk group of a stack.

pub(crate) mod grouped;
