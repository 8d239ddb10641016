//! Flags of `assay import`.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use import::Format;
use std::path::PathBuf;

/// Shown below the help.
pub(crate) const EXAMPLES: &str = "Without --into and --output, Assay shows what it read and records nothing. \
                                   Examples:\n  \
    assay import awrrpt_1_100_101.html\n  \
    assay import awr.txt --into study.assay --stack oracle --phase \"fresh read\"\n  \
    assay import iostat.log --device 'sd*' --into study.assay --stack oracle --phase \"fresh read\"\n  \
    assay import runs.txt --where comp=no --where update=30 --output unity.assay --stack plain --phase \"30 % \
    updates\"";

#[derive(Args, Debug)]
pub(crate) struct Import {
    /// Texts: AWR (HTML or text), statspack, iostat -x, sar -d, sadf -j, vmstat, zpool iostat, SLOB, fio's JSON,
    /// pgbench, HammerDB, sysbench
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Add them to this result file
    #[arg(long, value_name = "RESULT", requires = "stack", requires = "phase", group = "kept")]
    pub(crate) into: Option<PathBuf>,
    /// Make a new result file of them
    #[arg(
        long,
        short,
        value_name = "RESULT",
        requires = "stack",
        requires = "phase",
        group = "kept"
    )]
    pub(crate) output: Option<PathBuf>,
    /// Name of the stack under which the report shows the figures
    #[arg(long, value_name = "NAME", requires = "kept")]
    pub(crate) stack: Option<String>,
    /// Name of the phase beside which the report shows the figures; use a phase of the study if there is one
    #[arg(long, value_name = "NAME", requires = "kept")]
    pub(crate) phase: Option<String>,
    /// Format of the texts, if Assay cannot find it
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) format: Option<Format>,
    /// AWR, statspack: the tablespace whose latency counts [default: that with the most I/O]
    #[arg(long, value_name = "NAME")]
    pub(crate) tablespace: Option<String>,
    /// iostat, sar, sadf, zpool: use this device; `sd*` means all names with this beginning (can be given again)
    #[arg(long = "device", value_name = "NAME")]
    pub(crate) devices: Vec<String>,
    /// iostat, vmstat, zpool: keep the first report; use it if the tool was started with -y
    #[arg(long)]
    pub(crate) keep_first: bool,
    /// Tables of runs: use only rows with this value in this column (can be given again)
    #[arg(long = "where", value_name = "COLUMN=VALUE")]
    pub(crate) rows: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The formats by their words, each with what it is.
fn formats() -> impl TypedValueParser<Value = Format> {
    let words = Format::ALL
        .iter()
        .map(|format| PossibleValue::new(format.word()).help(format.what()));
    PossibleValuesParser::new(words).try_map(|word| Format::from_word(&word).ok_or("no such format"))
}
