//! Flags of `assay import`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Shown below the help.
pub(crate) const EXAMPLES: &str = "Without --into and --output what is in the texts is shown, and nothing is \
                                   recorded. Examples:\n  \
    assay import awr.txt\n  \
    assay import awr.txt --into study.assay --stack oracle --phase \"fresh read\"\n  \
    assay import iostat.log --device 'sd*' --into study.assay --stack oracle --phase \"fresh read\"\n  \
    assay import runs.txt --where comp=no --where update=30 --output unity.assay --stack plain --phase \"30 % \
    updates\"";

#[derive(Args, Debug)]
pub(crate) struct Import {
    /// Texts: AWR report (text), iostat -x (Linux or Solaris), SLOB's output, fio's JSON
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Add them to this result file
    #[arg(
        long,
        value_name = "RESULT",
        requires = "stack",
        requires = "phase",
        conflicts_with = "output"
    )]
    pub(crate) into: Option<PathBuf>,
    /// Make a new result file of them
    #[arg(long, short, value_name = "RESULT", requires = "stack", requires = "phase")]
    pub(crate) output: Option<PathBuf>,
    /// The stack that they are of, in your words
    #[arg(long, value_name = "NAME")]
    pub(crate) stack: Option<String>,
    /// The phase beside whose figures they are shown; best a phase of the study
    #[arg(long, value_name = "NAME")]
    pub(crate) phase: Option<String>,
    /// What they are, where it cannot be told
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<ImportFormat>,
    /// AWR: the tablespace whose latency counts [default: that with the most I/O]
    #[arg(long, value_name = "NAME")]
    pub(crate) tablespace: Option<String>,
    /// iostat: a device that counts, `sd*` for all that begin so (may be given again)
    #[arg(long = "device", value_name = "NAME")]
    pub(crate) devices: Vec<String>,
    /// iostat: the first report is an interval too, because it was started with -y
    #[arg(long)]
    pub(crate) keep_first: bool,
    /// A table of runs: only rows whose column holds this (may be given again)
    #[arg(long = "where", value_name = "COLUMN=VALUE")]
    pub(crate) rows: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// Oracle's AWR report as text
    Awr,
    /// iostat -x of Linux or Solaris
    Iostat,
    /// What SLOB and scripts around it print
    Slob,
    /// fio --output-format=json
    Fio,
}
