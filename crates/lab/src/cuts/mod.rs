//! Power cuts and kills: what ends the work of a phase, how its stack comes back, and what of the acknowledged is
//! still there.

pub(crate) mod acknowledged;
pub(crate) mod ending;
pub(crate) mod moment;
pub(crate) mod phase;
pub(crate) mod power;
pub(crate) mod power_cut;
pub(crate) mod sums;
