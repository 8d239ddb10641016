//! Every flag of the command line, once: help, completions and man page are generated from here.

pub(crate) mod dg;
pub(crate) mod import;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Which storage stack to put a database on, what it costs, and whether to believe the answer.
#[derive(Parser, Debug)]
#[command(
    name = "assay",
    bin_name = "assay",
    version,
    max_term_width = 100,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Results go to stdout, everything else to stderr. NO_COLOR is honoured.\n\
                  Exit codes: 0 done; 1 done, and the verdict is what --fail-on names, or `dg check` found something; \
                  2 usage or study; 3 could not build or run, \
                  or no block can count; 4 could not undo (run `assay clean`)."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// An answer in under three minutes: this place, or these places against each other
    #[command(
        after_help = "Examples:\n  assay quick                 as root: ext4, XFS or a disk \
                      group; as a user: files or a disk group\n  \
                            assay quick --no-luns       commits with direct I/O or through the page cache\n  \
                            assay quick /mnt/a /mnt/b   two places against each other\n  \
                            assay quick --print         the study, to keep and change"
    )]
    Quick(Quick),
    /// What a study would run, destroy and be able to tell; touches nothing
    Check(Check),
    /// Run a study: progress on stderr, result file and verdict at the end
    #[command(after_help = "Examples:\n  assay run studies/overwrite-vs-cow.toml\n  \
                            assay run study.toml --scale 8 --output big.assay\n  assay run study.toml --resume\n  \
                            assay run --extend study.assay   as many blocks again, where something is open")]
    Run(Run),
    /// Show a result file
    #[command(
        after_help = "Examples:\n  assay report study.assay --html study.html   to read in a browser, without a \
                      network\n  \
                            assay report study.assay --json | jq .report.sentence"
    )]
    Report(Report),
    /// Figures of other tools (AWR, iostat, SLOB, fio) beside measured ones: shown, never ranked
    #[command(after_help = import::EXAMPLES)]
    Import(import::Import),
    /// Figures that others published, which a study can have printed beside its own
    Published(Published),
    /// Which stacks this machine can build, and the cure for those it cannot
    Stacks(Stacks),
    /// The tool's own ceiling on this machine, and how often its verdict procedure errs
    Calibrate(Calibrate),
    /// Undo what a killed run left behind (loop devices, mounts, files)
    Clean(Clean),
    /// Disk groups by hand: make, fill, grow, check and mend them
    #[command(subcommand, subcommand_required = true, arg_required_else_help = true, after_help = dg::NAMING)]
    Dg(dg::Dg),
    /// Serve a set of LUN files under a device model; started by `assay run`
    #[command(hide = true)]
    DeviceService,
    /// Work with SQLite on storage that loses its power; started by `assay run`
    #[command(hide = true)]
    SqliteSessions,
    /// Print shell completions
    #[command(hide = true)]
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
    /// Print the man page (roff), of a command when one is named (`man dg cp`)
    #[command(hide = true)]
    Man {
        /// The command
        command: Vec<String>,
    },
}

#[derive(Args, Debug)]
pub(crate) struct Quick {
    /// Places to measure; the working directory when none is given
    #[arg(value_name = "DIR")]
    pub(crate) places: Vec<PathBuf>,
    /// Keep the result file here (otherwise it is removed)
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Make no LUN files: compare direct I/O with the page cache in the directory
    #[arg(long)]
    pub(crate) no_luns: bool,
    /// Print the study that would run, and run nothing
    #[arg(long)]
    pub(crate) print: bool,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// `--scale`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    /// By this factor.
    Factor(f64),
    /// By the one that makes the LUNs as large as those of the study's publication.
    Seed,
}

impl std::str::FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Scale, String> {
        match text {
            "seed" => Ok(Scale::Seed),
            _ => text
                .parse()
                .map(Scale::Factor)
                .map_err(|error| format!("{error}; write a number such as 8, or the word seed")),
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The study file
    pub(crate) study: PathBuf,
    /// Multiply every size of the study by this; `seed`: as large as the publication that it names
    #[arg(long, value_name = "FACTOR")]
    pub(crate) scale: Option<Scale>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Run {
    /// The study file
    #[arg(required_unless_present = "extend")]
    pub(crate) study: Option<PathBuf>,
    /// The result file [default: the study's name with .assay]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Go on with a result file that a stopped run left
    #[arg(long)]
    pub(crate) resume: bool,
    /// Add as many blocks as were planned to a study that has ended with something undecided: at most four times,
    /// with the error that was kept for it. The study is that of the file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "resume"])]
    pub(crate) extend: Option<PathBuf>,
    /// Multiply every size of the study by this; `seed`: as large as the publication that it names
    #[arg(long, value_name = "FACTOR")]
    pub(crate) scale: Option<Scale>,
    /// Root of all random numbers: the order of stacks, what is read [default: the study's, else drawn anew]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Destroy what is on the devices that the study names
    #[arg(long)]
    pub(crate) yes: bool,
    /// No progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Exit with 1 when the verdict is this (may be given twice)
    #[arg(long, value_name = "VERDICT")]
    pub(crate) fail_on: Vec<FailOn>,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// A ranked stack is worse than the base
    Worse,
    /// A line of the validity sheet says INVALID
    Invalid,
}

#[derive(Args, Debug)]
pub(crate) struct Report {
    /// A result file
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Args, Debug, Default)]
pub(crate) struct Format {
    /// Print every figure, not only the answer
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    pub(crate) full: bool,
    /// Print JSON (schema: docs/report.schema.json)
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Print Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Also write the report as one HTML file, with charts
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Published {
    /// The publication; all of them when none is named
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Stacks {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(group(clap::ArgGroup::new("simulated")))]
pub(crate) struct Calibrate {
    /// Simulate the verdict procedure: how often it is wrong, how often it sees a true difference
    #[arg(long, group = "simulated", conflicts_with = "target")]
    pub(crate) procedure: bool,
    /// The same on this machine's own noise: a result file of two stacks that are alike (see studies/twins.toml)
    #[arg(long, value_name = "FILE", group = "simulated", conflicts_with = "target")]
    pub(crate) twins: Option<PathBuf>,
    /// Studies to simulate, per scenario
    #[arg(long, default_value_t = 200_000, value_name = "N", requires = "simulated")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) studies: u32,
    /// Seconds per measurement of the ceiling
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS")]
    pub(crate) seconds: f64,
    /// Also measure the bare ring and pread on this file or device (read only)
    #[arg(long, value_name = "FILE")]
    pub(crate) target: Option<PathBuf>,
    /// Root of the seeds
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Clean {
    /// Only say what would be undone
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The whole definition, for completions and the man page.
pub(crate) fn definition() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    #[test]
    fn flags_do_not_contradict_each_other() {
        super::definition().debug_assert();
    }
}
