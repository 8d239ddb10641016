//! Room `pages`.
