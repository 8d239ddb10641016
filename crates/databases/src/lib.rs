//! Room `databases`: real database servers, and the clients that work on them.
//!
//! [`postgres`] runs a PostgreSQL server on a place of the stack under test and speaks to it; [`sqlite`] opens SQLite
//! in process, through the operating system's files or past them; [`order_entry`], [`decision_support`] and [`bulk`]
//! are the work that the studies of the field ran, in SQL that both take. They hand operations to room `workloads`,
//! which drives them.
//!
//! Prevents: SQL, drivers and servers anywhere else in the house.

pub mod bulk;
pub mod decision_support;
pub mod order_entry;
pub mod postgres;
pub mod sqlite;
