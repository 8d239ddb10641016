//! The list of all readers.
//!
//! A new reader of what others wrote is added here, with a corpus that our own writers make. Prevents: a reader that
//! nothing attacks.

mod disk_group;
mod host_notes;
mod imports;
mod instances;
mod journal;
mod latencies;
mod nfs_replies;
mod page_engine;
mod page_requests;
mod patches;
mod postgres;
mod result_edits;
mod result_file;
mod signatures;
mod study;
mod volumes;
mod zpool_messages;

use crate::Dice;

/// What a reader made of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Taken for good, and used.
    Accepted,
    /// Refused, or damaged in a way that was said.
    Refused,
}

/// Inputs of one reader, and the reading.
pub trait Trial {
    /// An input: of the corpus, damaged. The same dice give the same.
    fn input(&mut self, dice: &mut Dice) -> Vec<u8>;

    /// Reads it, and uses what was accepted. `Err`: something came out that must not.
    fn read(&mut self, input: &[u8]) -> Result<Verdict, String>;
}

/// A reader.
pub struct Reader {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it reads.
    pub what: &'static str,
    /// Inputs in a usual test: some seconds.
    pub usual: u64,
    /// Makes its corpus.
    pub make: fn() -> anyhow::Result<Box<dyn Trial>>,
}

/// All readers.
pub const READERS: &[Reader] = &[
    Reader {
        name: "result file",
        what: "ledger, report: a result file with what lies beside it, to every form of report",
        usual: 300,
        make: result_file::make,
    },
    Reader {
        name: "distribution",
        what: "ledger: a packed latency distribution of a result file",
        usual: 3_000,
        make: result_file::make_distribution,
    },
    Reader {
        name: "study",
        what: "plan: a study (TOML), to its estimate and back to TOML",
        usual: 1_500,
        make: study::make,
    },
    Reader {
        name: "slob.conf",
        what: "plan: a slob.conf that a study names",
        usual: 3_000,
        make: study::make_slob_conf,
    },
    Reader {
        name: "import",
        what: "import: AWR (text, HTML), statspack, host tools, load generators, each as every format",
        usual: 1_000,
        make: imports::make,
    },
    Reader {
        name: "latencies",
        what: "luns: a file of latencies of a custom device",
        usual: 3_000,
        make: latencies::make,
    },
    Reader {
        name: "signatures",
        what: "luns: signatures on a device",
        usual: 1_000,
        make: signatures::make,
    },
    Reader {
        name: "volumes",
        what: "stacks: what dmsetup, LVM and the kernel's md say of volumes",
        usual: 3_000,
        make: volumes::make,
    },
    Reader {
        name: "undo journal",
        what: "stacks: the journal of a killed run, as `assay clean --dry-run` reads it",
        usual: 2_000,
        make: journal::make,
    },
    Reader {
        name: "disk group",
        what: "diskgroup: headers, roots, tables, directories and journals of disks, checksums made right",
        usual: 1_000,
        make: disk_group::make,
    },
    Reader {
        name: "page engine",
        what: "pages: control blocks, redo batches and pages, checksums made right",
        usual: 1_000,
        make: page_engine::make,
    },
    Reader {
        name: "host notes",
        what: "hosts: notes, messages in pieces, clocks and facts of another host",
        usual: 3_000,
        make: host_notes::make,
    },
    Reader {
        name: "zpool messages",
        what: "zpool: both sides of the control socket",
        usual: 3_000,
        make: zpool_messages::make,
    },
    Reader {
        name: "instances",
        what: "lab: orders and answers between a run and the process of another instance, figures added up",
        usual: 3_000,
        make: instances::make,
    },
    Reader {
        name: "postgres",
        what: "databases: what a PostgreSQL server answers to a login, to queries and to prepared statements",
        usual: 1_000,
        make: postgres::make,
    },
    Reader {
        name: "nfs replies",
        what: "files: records, heads and results that an NFS server sends",
        usual: 5_000,
        make: nfs_replies::make,
    },
    Reader {
        name: "page requests",
        what: "watch: what is sent to the port of the live page",
        usual: 5_000,
        make: page_requests::make,
    },
];
