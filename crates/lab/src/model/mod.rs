//! A study on modelled devices, in virtual time.

pub(crate) mod modelled;
pub(crate) mod site;
