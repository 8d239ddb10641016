//! Databases that take SQL: their trials, their phases, and what is left of them after a power cut or a kill.

pub(crate) mod able;
pub(crate) mod contract;
mod cut_lite;
mod cut_server;
mod cuts;
mod cuttable;
pub(crate) mod kept;
mod lite;
mod phase;
mod rows;
mod server;
pub(crate) mod sessions;
mod steps;
pub(crate) mod trial;
