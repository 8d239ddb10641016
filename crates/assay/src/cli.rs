//! Every flag of the command line, once: help, completions and man page are generated from here.

pub(crate) mod dg;
pub(crate) mod import;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::LazyLock;

/// The program's version, and that of the files that it writes.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let (program, file) = (env!("CARGO_PKG_VERSION"), ledger::SCHEMA_VERSION);
    format!("{program} (result file schema {file})")
});

/// Find out which storage stack to put a database on, what it costs, and whether to believe the answer.
#[derive(Parser, Debug)]
#[command(
    name = "assay",
    bin_name = "assay",
    version = VERSION.as_str(),
    max_term_width = 100,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Results go to stdout, everything else to stderr. NO_COLOR switches colours off.\n\n\
                  Exit codes:\n  \
                  0  done, also if the time limit ended the study or a comparison is undecided\n  \
                  1  done, and the result is what --fail-on names, or `dg check` found something\n  \
                  2  the command line or the study is wrong\n  \
                  3  Assay could not build or run it, no block can count, or you stopped it\n  \
                  4  Assay could not undo something, or a second signal ended it: run `assay clean`"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Compare stacks in this directory, or two or more directories, in under three minutes
    #[command(
        after_help = "Examples:\n  assay quick                 as root: ext4, XFS (or ext4 on LVM) or a disk \
                      group; as a user: files or a disk group\n  \
                            assay quick --no-luns       commits with direct I/O or through the page cache\n  \
                            assay quick /mnt/a /mnt/b   two places against each other\n  \
                            assay quick --print         the study, to keep and change"
    )]
    Quick(Quick),
    /// Show what a study would run and destroy, and how small a difference it can find; touches nothing
    Check(Check),
    /// Run a study and print its verdict; progress goes to stderr
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
    /// Follow a study in a browser while it runs; reads its result file and nothing else
    #[command(after_help = "Examples:\n  \
                      assay watch study.assay            prints the page's address, for a browser of this host\n  \
                      assay watch study.assay --wait     before the run has made the file\n\n\
                      From another host use a tunnel: ssh -L 8000:127.0.0.1:PORT HOST, then \
                            http://localhost:8000/TOKEN")]
    Watch(Watch),
    /// Show result files of several days or hosts beside each other: what differs, and ratios to the same base
    #[command(after_help = "Examples:\n  assay compare june.assay july.assay\n  \
                            assay compare old.assay new.assay --full --html compare.html\n\n\
                            The other files are compared with the first; 16 files in all at most. Separate runs get no \
                            verdict.")]
    Compare(Compare),
    /// Say how many LUNs of each measured stack carry a load
    #[command(
        after_help = "Examples:\n  assay size study.assay --load \"20000/s reads, 5000/s updates\"\n  \
                            assay size study.assay --load \"2000/s reads, 500/s updates, p99 5ms, 20GiB\"\n\n\
                            Reads are pages read from storage, those of updates too, without scans. Updates are \
                            pages changed. A result beyond twice the measured size is labelled as an extrapolation. \
                            Beyond ten times there is no number."
    )]
    Size(Size),
    /// Show figures of other tools (AWR, statspack, iostat, sar, fio, pgbench ...) beside measured ones; never ranked
    #[command(after_help = import::EXAMPLES)]
    Import(import::Import),
    /// List published figures that a study can print beside its own
    Published(Published),
    /// List the stacks that this machine can build, and the cure for the others
    Stacks(Stacks),
    /// Measure Assay's own limits on this machine, and how often its verdicts err
    Calibrate(Calibrate),
    /// Remove what a killed run left behind (loop devices, mounts, files)
    Clean(Clean),
    /// Make, fill, grow, check and repair disk groups by hand
    #[command(subcommand, subcommand_required = true, arg_required_else_help = true, after_help = dg::NAMING)]
    Dg(dg::Dg),
    /// Serve a set of LUN files under a device model; started by `assay run`
    #[command(hide = true)]
    DeviceService,
    /// Work with SQLite on storage that loses its power; started by `assay run`
    #[command(hide = true)]
    SqliteSessions,
    /// Be one of several instances of the page engine; started by `assay run`
    #[command(hide = true)]
    Instance,
    /// Undo what a run leaves when its process is gone; started by `assay run` under a launcher of MPI
    #[command(hide = true)]
    Keeper {
        /// Name of the run
        run: String,
    },
    /// Make the rows of decision support; started by `assay run`
    #[command(hide = true)]
    DecisionRows {
        /// Scale factor
        scale: String,
        /// A set of new orders alone
        set: Option<u32>,
    },
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
        /// Write the pages of all commands into this directory
        #[arg(long, value_name = "DIR", conflicts_with = "command")]
        into: Option<PathBuf>,
    },
}

impl Command {
    /// Nothing is measured: result files are read and shown.
    pub(crate) fn reads_result_files(&self) -> bool {
        matches!(self, Command::Report(_) | Command::Compare(_) | Command::Size(_))
    }
}

#[derive(Args, Debug)]
pub(crate) struct Quick {
    /// Directories to measure [default: the working directory]
    #[arg(value_name = "DIR")]
    pub(crate) places: Vec<PathBuf>,
    /// Keep the result file here (without this flag it is removed)
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
    /// Multiply the sizes of LUNs, data, caches, redo log and memory budget by this; rows and warehouses stay. `seed`:
    /// make the LUNs as large as those of the publication that the study names
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
    /// Continue a run that was stopped, in its result file
    #[arg(long)]
    pub(crate) resume: bool,
    /// Add blocks to an ended study that has open comparisons: as many blocks as planned, at most four times. The
    /// study is read from FILE
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "resume"])]
    pub(crate) extend: Option<PathBuf>,
    /// Multiply the sizes of LUNs, data, caches, redo log and memory budget by this; rows and warehouses stay. `seed`:
    /// make the LUNs as large as those of the publication that the study names
    #[arg(long, value_name = "FACTOR")]
    pub(crate) scale: Option<Scale>,
    /// Seed of all random numbers: the order of stacks, which pages are read [default: the study's, else random]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Allow the run to destroy what is on the devices that the study names
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Exit with 1 if a stack is worse, or if a line of the sheet is INVALID (can be given twice). A stack that cannot
    /// be built here is then an error, before the first block
    #[arg(long, value_name = "VERDICT")]
    pub(crate) fail_on: Vec<FailOn>,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// A ranked stack is worse than the base, or its change is
    Worse,
    /// A line of the validity sheet says INVALID (lost data too)
    Invalid,
}

#[derive(Args, Debug)]
pub(crate) struct Report {
    /// A result file
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Args, Debug)]
pub(crate) struct Compare {
    /// Result files, at least two
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Args, Debug)]
pub(crate) struct Size {
    /// The result file
    pub(crate) file: PathBuf,
    /// Page reads and updates a second, with p99 of an operation and the size of the data where they matter
    #[arg(long, value_name = "LOAD")]
    pub(crate) load: String,
    /// Only this stack; repeat it for several. The curve of LUNs then has no other
    #[arg(long, value_name = "NAME")]
    pub(crate) stack: Vec<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,
    /// Print Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Watch {
    /// The result file of the run
    pub(crate) file: PathBuf,
    /// Address and port of the page; port 0 means any free port. Any other address than loopback lets other hosts in,
    /// without encryption: a person who sees the address can read the study. They need an IP number of this host,
    /// because the page is not served by a host name
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Wait until the file is there
    #[arg(long)]
    pub(crate) wait: bool,
    /// End this long after the study is over and the last browser has asked
    #[arg(long, value_name = "SECONDS", default_value_t = 600,
        value_parser = clap::value_parser!(u64).range(10..))]
    pub(crate) stay: u64,
}

#[derive(Args, Debug, Default)]
pub(crate) struct Format {
    /// Print every figure, not only the answer
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    pub(crate) full: bool,
    /// Print JSON (schema: docs/report.schema.json, docs/compare.schema.json)
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
    /// The publication [default: all]
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
    /// Simulate the verdict procedure: how often it errs, how often it finds a true difference
    #[arg(long, group = "simulated", conflicts_with = "target")]
    pub(crate) procedure: bool,
    /// The same with the noise of this machine: FILE is a result of two equal stacks
    /// (benches/laboratory/studies/twins.toml)
    #[arg(long, value_name = "FILE", group = "simulated", conflicts_with = "target")]
    pub(crate) twins: Option<PathBuf>,
    /// Number of studies to simulate for each scenario
    #[arg(long, default_value_t = 200_000, value_name = "N", requires = "simulated")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) studies: u32,
    /// Length of each measurement, in seconds: more than 0, at most 600
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS")]
    pub(crate) seconds: f64,
    /// Also measure bare io_uring and pread on this file or device (read only)
    #[arg(long, value_name = "FILE")]
    pub(crate) target: Option<PathBuf>,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Clean {
    /// Only list what it would remove
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
