//! Room `lab`: what runs a study, from the list of what it writes to down to the last row of its result file.
//!
//! Takes a study whose meaning is settled, gives a result file. [`run`] is the story; [`HostSite`] and [`ModelSite`]
//! are where it takes place. Whoever calls hears of its progress by [`Progress`] and of a signal by [`signals`]:
//! nothing here prints. Prevents: two ways to run a study, one for the program and one for whatever else wants a
//! result.

mod again;
mod causes;
pub mod ceiling;
mod condition;
mod cuts;
mod first_blocks;
mod full;
mod group;
mod host;
mod inject;
mod instances;
mod kinds;
mod luns;
mod model;
mod moves;
mod not_kept;
mod ordered;
mod pool;
mod ports;
mod progress;
mod record;
mod result_file;
mod run;
mod serving;
pub mod signals;
mod site;
mod sizes;
mod sql;
mod surroundings;
mod trial;
mod turn;
mod writes;

pub use again::taking_up::{Start, may_go_on};
pub use causes::chain;
pub use host::site::{HostSite, none_left, skipped, undone};
pub use instances::heard::{Lines as InstanceLines, heard as instance_heard, spoken as instances_spoken};
pub use instances::process::serve as serve_instance;
pub use instances::rank::serve as serve_rank;
pub use instances::ranks::Ranks;
pub use luns::service as device_service;
pub use luns::serving::serve as serve_devices;
pub use luns::sets::looked_at as devices_looked_at;
pub use model::site::ModelSite;
pub use ordered::OrderedError;
pub use pool::zfs_ways;
pub use progress::{BlockDone, Caller, Progress};
pub use record::unix_ns;
pub use run::run;
pub use site::Site;
pub use sql::generator::serve as serve_decision_rows;
pub use sql::sessions::serve as serve_sqlite_sessions;
pub use trial::book::comparisons;
pub use turn::Turn;
pub use writes::{Writes, Written};
