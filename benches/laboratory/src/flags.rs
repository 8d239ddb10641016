//! The flags of `laboratory`: one command for each question.
//!
//! Prevents: flags that are allowed with some others and forbidden with the rest, as questions that share one command
//! have them.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// What examines the verdict procedure of Assay itself.
///
/// benches/laboratory/README.md explains the answers; benches/runs has those of some days.
#[derive(Parser, Debug)]
#[command(
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 all that is owed is kept; 2 flags or a file; 3 something that is owed is missed, or \
                  there is no answer."
)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// How often studies of twins err as they were run, and whether a slowdown that was planted is found
    Twins(Twins),
    /// A fixed protocol that was really run, three runs a cell, beside short runs of the same stacks
    Protocols(Protocols),
    /// What the first version of the procedure would have said of result files, beside today's verdicts
    Before(Before),
    /// The procedure beside a fixed protocol in simulated worlds: what each finds, and in how much time
    Worlds(Worlds),
    /// What a verdict promises, in simulated worlds that keep its conditions and in others: how often it is wrong, what
    /// it finds, and whether the sheet speaks
    Claim(Claim),
    /// Whether a slowdown within each trial reads as ageing, and whether ageing is found, in simulated worlds
    Ageing(Drawing),
    /// Which schedule tells most in a minute on the storage of a directory: whole runs, or stints in turns
    Schedules(Schedules),
    /// Whether to believe a verdict: all of it in one table, beside what is owed
    Belief(Belief),
    /// Set the traps, run the twins, and print the table of `belief`
    Measure(Measure),
}

/// How studies are drawn.
#[derive(Args, Debug, Clone, Copy)]
pub(crate) struct Drawing {
    /// Studies to draw, per line
    #[arg(long, default_value_t = 200_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) studies: u32,
    /// Root of the seeds
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Twins {
    /// Result files of two stacks that are alike, of one study with other seeds (studies/twins-short.toml); or one
    /// CSV file of their block figures
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Write the block figures to this CSV file instead, to be judged elsewhere
    #[arg(long, value_name = "CSV", conflicts_with = "slowed")]
    pub(crate) write: Option<PathBuf>,
    /// The same study with a slowdown planted below one stack (twins-slowed.toml); several say more
    #[arg(long, value_name = "FILE")]
    pub(crate) slowed: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) drawing: Drawing,
}

#[derive(Args, Debug)]
pub(crate) struct Before {
    /// Result files
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Protocols {
    /// The result file of the fixed protocol, with the long runs (fixed-protocol.toml)
    pub(crate) fixed: PathBuf,
    /// That of the same stacks in short runs (short-protocol.toml)
    pub(crate) short: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Worlds {
    #[command(flatten)]
    pub(crate) drawing: Drawing,
}

#[derive(Args, Debug)]
pub(crate) struct Claim {
    /// Studies to draw, per cell
    #[arg(long, default_value_t = 20_000, value_name = "N", value_parser = clap::value_parser!(u32).range(100..))]
    pub(crate) studies: u32,
    /// Studies of them whose own blocks are looked at
    #[arg(long, default_value_t = 2_000, value_name = "N", value_parser = clap::value_parser!(u32).range(100..))]
    pub(crate) looked_at: u32,
    /// Let each study go on until everything is decided: by extensions, and by new studies instead
    #[arg(long)]
    pub(crate) extended: bool,
    /// Only worlds whose name has this in it
    #[arg(long, value_name = "TEXT")]
    pub(crate) world: Option<String>,
    /// Drop a block for all phases where one of them is invalid; the product drops it for that phase
    #[arg(long)]
    pub(crate) whole_blocks: bool,
    /// Root of the seeds
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Schedules {
    /// Where two places are made and read
    pub(crate) dir: PathBuf,
    /// Minutes that it takes
    #[arg(long, default_value_t = 12.0, value_name = "MINUTES")]
    pub(crate) minutes: f64,
    /// Root of the seeds
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What takes an hour to make, and is given.
#[derive(Args, Debug, Clone)]
pub(crate) struct Given {
    /// Result files of slowed twins, as for `twins`
    #[arg(long, value_name = "FILE")]
    pub(crate) slowed: Vec<PathBuf>,
    /// Result files of a fixed protocol and of short runs, as for `protocols`
    #[arg(long, num_args = 2, value_names = ["FIXED", "SHORT"])]
    pub(crate) protocols: Vec<PathBuf>,
    /// What `schedules DIR --json` printed
    #[arg(long, value_name = "FILE")]
    pub(crate) scheduled: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Belief {
    /// Result files of twins, as for `twins`
    #[arg(long, value_name = "FILE")]
    pub(crate) twins: Vec<PathBuf>,
    /// What the tests wrote when they set their traps: ASSAY_TRAPS=FILE cargo test -p assay --test integration traps::
    #[arg(long, value_name = "FILE")]
    pub(crate) traps: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) given: Given,
    #[command(flatten)]
    pub(crate) drawing: Drawing,
}

#[derive(Args, Debug)]
pub(crate) struct Measure {
    /// The study of twins; needs root and loop devices
    #[arg(long, default_value = "benches/laboratory/studies/twins.toml", value_name = "STUDY")]
    pub(crate) study: PathBuf,
    /// Where twins.assay, traps.json and the LUNs of the twins go
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// The `assay` binary [default: the one beside this program]
    #[arg(long, value_name = "PATH")]
    pub(crate) assay: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) given: Given,
    #[command(flatten)]
    pub(crate) drawing: Drawing,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn flags_do_not_contradict_each_other() {
        super::Flags::command().debug_assert();
    }
}
