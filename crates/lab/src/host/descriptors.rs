//! Open files that this process may have.
//!
//! Prevents: a phase that ends in its middle because a limit of the shell's is lower than what it needs.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to so many, as far as the hard limit allows; gives the limit that holds then.
pub(crate) fn raise_to(wanted: u64) -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let most = wanted.min(limit.maximum.unwrap_or(u64::MAX));
    let now = limit.current.unwrap_or(u64::MAX);
    if now >= most {
        return now;
    }
    let raised = Rlimit {
        current: Some(most),
        maximum: limit.maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => most,
        Err(_) => now,
    }
}
