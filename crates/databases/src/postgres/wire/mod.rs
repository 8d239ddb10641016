//! The frontend/backend protocol: what goes to a server and what comes from it.
//!
//! Prevents: a length or a count of the server's that is believed.

pub(crate) mod copy;
pub(crate) mod messages;
pub(crate) mod requests;
pub(crate) mod response;
