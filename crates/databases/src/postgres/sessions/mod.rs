//! Users of a server who do not wait: sessions on one thread, and the phases that they run.
//!
//! Prevents: a client whose own work hides the server's.

pub(crate) mod phase;
pub(crate) mod polling;
pub(crate) mod scattered;
pub(crate) mod scattered_phase;
pub(crate) mod session;
pub(crate) mod terminals;
