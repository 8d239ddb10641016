//! Room `stacks`.
