//! Databases that take SQL: their trials, their phases, and what is left of them after a power cut or a kill.

pub(crate) mod contract;
mod cut_lite;
mod cut_server;
mod cuts;
pub(crate) mod generator;
pub(crate) mod kept;
pub(crate) mod kinds;
mod lite;
mod lite_ground;
mod lite_temp;
mod phase;
mod postgres_setup;
mod questions;
mod refresh;
mod rows;
mod server;
pub(crate) mod sessions;
pub(crate) mod steps;
pub(crate) mod trial;
pub(crate) mod works;
