//! Assay: which storage stack to put a database on, what it costs, and whether to believe the answer.

mod acknowledged;
mod ageing;
mod arc_counts;
mod beside;
mod ceiling;
mod cli;
mod clients;
mod commands;
mod copying;
mod cut_sums;
mod device_faults;
mod device_models;
mod device_service;
mod drive;
mod ending;
mod exit;
mod full;
mod grouped;
mod host;
mod host_sides;
mod host_site;
mod host_trial;
mod host_turns;
mod inject;
mod laid_out;
mod lun_power;
mod lun_sets;
mod modelled;
mod moment;
mod not_kept;
mod pooled;
mod pools;
mod power_cut;
mod printed;
mod progress;
mod rebalance;
mod record;
mod result_file;
mod run;
mod sampled;
mod seen_in_stints;
mod signals;
mod site;
mod sizes;
mod slow_lun;
mod sql;
mod stand;
mod stints;
mod surroundings;
mod trial;
mod writes;
mod zfs_ways;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    // The process that runs OpenZFS is this program, started by itself: no user's command, so no flag of the command line.
    if zpool::Launch::asked_for() {
        return ExitCode::from(zpool::serve_standard_input());
    }
    match commands::dispatch(&cli::Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
