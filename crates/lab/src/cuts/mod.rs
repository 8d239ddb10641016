//! Power cuts and kills: what ends a phase's work, how its stack comes back, what of the acknowledged is left.

pub(crate) mod acknowledged;
pub(crate) mod ending;
pub(crate) mod moment;
pub(crate) mod phase;
pub(crate) mod power;
pub(crate) mod power_cut;
pub(crate) mod sums;
