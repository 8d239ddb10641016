//! One stack, once: its phases on an open instance of the page engine, whole or in stints.

pub(crate) mod ageing;
pub(crate) mod around;
pub(crate) mod book;
pub(crate) mod done;
pub(crate) mod drive;
pub(crate) mod extents;
pub(crate) mod laid_out;
pub(crate) mod on_pages;
pub(crate) mod phases;
pub(crate) mod sampled;
pub(crate) mod seen_in_stints;
pub(crate) mod stints;
