//! The way to a server and into it: addresses, streams, TLS and the login.
//!
//! Prevents: a password that goes out where others can read it.

pub(crate) mod address;
pub(crate) mod certificate;
pub(crate) mod encryption;
pub(crate) mod exchange;
pub(crate) mod open;
pub(crate) mod stream;
pub(crate) mod tls;
