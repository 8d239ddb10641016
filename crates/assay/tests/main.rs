//! The tests of this room, one binary: each file says what it prevents.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test says why it skips, and panics where it cannot go on"
)]

mod ageing;
mod array_compression;
mod bad_input;
mod bench;
mod broken_storage;
#[path = "../../report/tests/chromium/mod.rs"]
mod chromium;
mod cli;
mod commits;
mod comparing;
mod copying;
mod decision_support;
mod device_models;
mod dg;
mod dg_damage;
mod dg_luns;
mod disk_group_stack;
mod disks;
mod extending;
mod grounds;
#[path = "../../zpool/tests/guest/mod.rs"]
mod guest;
#[path = "../../plan/tests/hostile/mod.rs"]
mod hostile;
mod hostile_studies;
mod house;
mod import;
mod instances;
mod killed;
mod kills;
mod lun_lost;
#[path = "../../luns/tests/machine/mod.rs"]
mod machine;
mod neighbours;
mod pipeline;
mod power_cuts;
mod quick;
mod raw_truth;
mod rebalancing;
mod rig;
mod rotating;
mod safety;
mod serving;
mod serving_nfs;
mod sql;
mod sql_bad_input;
mod sql_server;
mod sql_tls;
mod sqlite_group;
mod strangers;
mod tidy;
mod tool_options;
mod traps;
mod traps_simulated;
mod turns;
mod verdict_model;
mod verdict_real;
mod volumes;
mod watch;
mod zfs_bad_input;
mod zfs_copies;
mod zfs_engine;
mod zfs_fuse;
mod zfs_guest;
mod zfs_stack;

/// The books of acknowledgements are those of a study's power cuts.
#[allow(dead_code)] // no files are served here
#[path = "../../lab/src/cuts/acknowledged.rs"]
mod acknowledged;
#[allow(dead_code)] // nobody waits for a moment here
#[path = "../../lab/src/cuts/moment.rs"]
mod moment;

/// What the books ask of the loop that drives them.
mod trial {
    pub(crate) mod drive {
        pub(crate) trait Served: workloads::Operation {
            fn sessions(&self) -> u32;
            #[allow(dead_code)] // one instance has all workers here
            fn worker(&self) -> (u32, u32);
            fn finish(&mut self) -> Result<(), Self::Error>;
        }
    }
}
