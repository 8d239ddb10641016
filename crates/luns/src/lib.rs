//! Room `luns`.
