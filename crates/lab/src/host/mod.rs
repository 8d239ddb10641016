//! A study on this host: what is prepared once, the stacks of a trial, what is observed around a phase.

pub(crate) mod beside;
pub(crate) mod clients;
pub(crate) mod descriptors;
pub(crate) mod devices;
pub(crate) mod elsewhere;
pub(crate) mod observed;
pub(crate) mod opened;
pub(crate) mod paced;
pub(crate) mod prepared;
pub(crate) mod sides;
pub(crate) mod site;
pub(crate) mod slow_lun;
pub(crate) mod stand;
pub(crate) mod stands;
mod taken_up;
pub(crate) mod trial;
pub(crate) mod trials;
pub(crate) mod turns;
