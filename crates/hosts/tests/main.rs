//! The tests of room `hosts`, in one binary.

mod together;
#[cfg(feature = "mpi")]
mod under_mpi;
