//! LUN sets: files, devices, and devices by calculation with what goes wrong with them.

pub(crate) mod faults;
pub(crate) mod kept;
pub(crate) mod models;
pub(crate) mod pace;
pub(crate) mod probe;
mod same_device;
pub(crate) mod seeds;
pub mod service;
pub(crate) mod serving;
pub(crate) mod sets;
mod speed;
