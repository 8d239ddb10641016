//! What a database that takes SQL is to a trial: made on a stack, loaded, driven, counted, ended.
//!
//! Prevents: two databases measured in two ways.

use super::kept::Kept;
use crate::condition::Condition;
use crate::host::stand::Stand;
use crate::trial::around::Around;
use crate::turn::Turn;
use databases::bulk::{BulkResult, Space};
use databases::decision_support::{self, Answered, Ask, Held, RefreshSet, Refreshed, Source, Text};
use databases::order_entry::{Home, Scale};
use databases::postgres::ClusterImage;
use databases::sqlite::{Image, LockWait};
use ledger::{DatabaseSetting, Measure, Skipped, TrialId};
use plan::{Company, Random, Stack, Study, Tpcc};
use sandbox::Directory;
use stacks::Journal;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use targets::Method;
use workloads::{Outcome, Pacing};

/// Order entry for some time.
pub(crate) struct Orders {
    pub(crate) scale: Scale,
    pub(crate) home: Home,
    pub(crate) load_seed: u64,
    pub(crate) seed: u64,
    pub(crate) pauses: bool,
    pub(crate) pacing: Pacing,
}

/// What order entry, or random work, came to.
pub(crate) struct Worked {
    pub(crate) outcome: Outcome,
    /// Tries refused for others' sake, by class: not serialised, deadlock.
    pub(crate) refused: [[u64; 2]; 5],
    /// Waits for the one writer.
    pub(crate) lock_wait: Option<LockWait>,
    /// Batches and statements that a server was sent.
    pub(crate) sent: Option<(u64, u64)>,
}

impl Worked {
    /// Work of which nobody counts more.
    pub(crate) fn of(outcome: Outcome) -> Worked {
        Worked {
            outcome,
            refused: [[0; 2]; 5],
            lock_wait: None,
            sent: None,
        }
    }
}

/// Questions of decision support, asked at the same time.
pub(crate) struct Asking {
    /// Each user's.
    pub(crate) users: Vec<Vec<Ask>>,
    pub(crate) text: Text,
    /// The most that one question may take.
    pub(crate) limit: Duration,
}

/// Tables of decision support, and where they come from.
pub(crate) struct Tables<'a> {
    pub(crate) scale: decision_support::Scale,
    /// Brings their rows.
    pub(crate) source: &'a dyn Source,
    /// Loaded before, to be copied.
    pub(crate) image: Option<&'a Copied>,
}

/// Tables of decision support that were loaded once, beside the stacks, to be copied into each trial.
pub(crate) enum Copied {
    /// The file of a database.
    File(Image),
    /// The data of a server.
    Cluster(ClusterImage),
}

impl Copied {
    /// The file, if it is one.
    pub(super) fn file(&self) -> Option<&Image> {
        match self {
            Copied::File(image) => Some(image),
            Copied::Cluster(_) => None,
        }
    }

    /// The data of a server, if they are.
    pub(super) fn cluster(&self) -> Option<&ClusterImage> {
        match self {
            Copied::Cluster(image) => Some(image),
            Copied::File(_) => None,
        }
    }
}

/// How the tables of decision support came onto a stack, as a result keeps it.
pub(super) fn tables_came(are_copied: bool) -> DatabaseSetting {
    let value = match are_copied {
        true => "copied: loaded once beside the stacks",
        false => "inserted in each stack",
    };
    DatabaseSetting {
        name: "tables of questions".to_string(),
        value: value.to_string(),
        source: "assay".to_string(),
    }
}

/// What a database counts of itself, since some beginning of its own; `None`: it does not tell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    /// Pages looked for in its cache.
    pub(crate) logical_reads: Option<u64>,
    /// Pages asked of storage.
    pub(crate) reads: Option<u64>,
    pub(crate) read_bytes: Option<u64>,
    /// Bytes of pages written.
    pub(crate) write_bytes: Option<u64>,
    /// Bytes of its log.
    pub(crate) log_bytes: Option<u64>,
    pub(crate) commits: Option<u64>,
    pub(crate) checkpoints: Option<u64>,
    /// Bytes that it wrote to temporary files.
    pub(crate) temp_bytes: Option<u64>,
    /// Sizes of those that it deleted, of a database that tells no more.
    pub(crate) temp_file_bytes: Option<u64>,
    /// Bytes of the whole blocks in which it wrote them.
    pub(crate) temp_block_bytes: Option<u64>,
    /// Time in storage calls.
    pub(crate) storage_ns: Option<u64>,
}

/// A database under test, as a stack asks for it: all that a run has to know of it. Its row stands in `kinds.rs`.
pub(crate) trait Database {
    /// What is done while it is made, in words.
    fn making(&self) -> &'static str {
        "making the database"
    }
    /// Makes it on the stack of a trial, to be driven through phases; what outlives a call is journalled before.
    /// `image`: what [`Database::image`] gave before.
    fn make(&self, trial: &Trial<'_>, image: Option<&Copied>, journal: &mut Journal) -> anyhow::Result<Box<dyn Sql>>;
    /// Makes it on the stack of a trial, to be ended in the middle of its work again and again.
    fn make_to_cut<'a>(&self, trial: &'a Trial<'a>, journal: &mut Journal) -> anyhow::Result<Box<dyn Cuttable + 'a>>;
    /// What a stack shares tables of decision support by that are loaded once: all that say the same take copies of the
    /// same. `None`: each trial loads them itself.
    fn shares_tables(&self) -> Option<String>;
    /// Loads them, in a file of `dir` that has no name afterwards; nothing else stays.
    fn image(
        &self,
        trial: &Trial<'_>,
        tables: &Tables<'_>,
        dir: &Directory,
        journal: &mut Journal,
    ) -> anyhow::Result<Copied>;
    /// Why this machine has none, and the cure.
    fn unable(&self, stack: &Stack) -> Option<Skipped> {
        let _ = stack;
        None
    }
    /// Bytes of its cache.
    fn cache_bytes(&self) -> u64;
    /// Bytes of a page.
    fn page_bytes(&self) -> u64;
    /// How strictly it keeps transactions apart, in its own words.
    fn isolation(&self) -> ledger::Isolation;
    /// Time in storage of all users, and who told it. `waited_ns_most`: the most they can have waited for devices.
    fn storage(&self, counted: &Counted, waited_ns_most: Option<u64>) -> Option<(f64, String)> {
        let _ = (counted, waited_ns_most);
        None
    }
    /// What it writes to besides the stack, with the reason.
    fn writes_beside(&self) -> Vec<(PathBuf, &'static str)> {
        Vec::new()
    }
}

/// A database on a stack.
pub(crate) trait Sql {
    /// Which it is and how it is set, as it says itself.
    fn describe(&mut self) -> anyhow::Result<ledger::Database>;
    /// Makes and fills the tables of the company.
    fn load_orders(&mut self, scale: &Scale, seed: u64, cancel: &Arc<AtomicBool>) -> anyhow::Result<()>;
    /// Makes and fills the table of random work: so many rows, one a page.
    fn load_scattered(&mut self, rows: u64, seed: u64, cancel: &Arc<AtomicBool>) -> anyhow::Result<()>;
    /// The conditions that do not hold: number, rows that break it.
    fn broken(&mut self, scale: &Scale) -> anyhow::Result<Vec<(u8, u64)>>;
    /// Runs order entry. What it has committed may still be on its way home.
    fn orders(&mut self, work: &Orders) -> anyhow::Result<Worked>;
    /// Runs random work on a table of so many rows.
    fn scattered(&mut self, work: &Random, rows: u64, pacing: &Pacing, seed: u64) -> anyhow::Result<Worked>;
    /// Loads rows into an empty table and brings them home.
    fn bulk(&mut self, rows: u64, commit_every: u64, cancel: &Arc<AtomicBool>) -> anyhow::Result<BulkResult>;
    /// The space that the last bulk load took. It may read everything.
    fn bulk_space(&mut self) -> anyhow::Result<Space>;
    /// Makes and fills the tables of decision support, and holds them against what was generated.
    fn load_questions(&mut self, tables: &Tables<'_>, cancel: &Arc<AtomicBool>) -> anyhow::Result<()>;
    /// Asks questions of decision support.
    fn ask(&mut self, asking: &Asking) -> anyhow::Result<Answered>;
    /// Runs pairs of refresh functions of decision support: what each inserts it deletes again.
    fn refresh(&mut self, sets: &[RefreshSet]) -> anyhow::Result<Vec<Refreshed>>;
    /// Rows and checksums of the tables that those change.
    fn refreshed(&mut self) -> anyhow::Result<Vec<Held>>;
    /// Brings everything home: a checkpoint. Where its user may not ask for one, gives that in words, with the cure.
    fn settle(&mut self) -> anyhow::Result<Option<String>>;
    /// Starts counting anew.
    fn begin_count(&mut self) -> anyhow::Result<()>;
    /// What was counted since; asked when the work's sessions are gone.
    fn counted(&mut self) -> anyhow::Result<Counted>;
    /// Bytes of the database's files.
    fn bytes(&mut self) -> anyhow::Result<u64>;
    /// The process that a server's others come from.
    fn server(&self) -> Option<u32> {
        None
    }
    /// Where its storage can be observed.
    fn places(&self) -> Vec<PathBuf>;
    /// How what it stands on is.
    fn condition(&self) -> Condition {
        Condition::default()
    }
    /// After a failure: takes away what no undo of ours does; gives in words what had to be left.
    fn give_up(&mut self) -> Option<String> {
        None
    }
    /// Ends it in good order.
    fn close(self: Box<Self>) -> anyhow::Result<()>;
}

/// Takes the power away, or what a kill takes beside the database.
pub(crate) type Stop<'a> = dyn Fn() -> anyhow::Result<()> + 'a;

/// A database that survives a power cut or a kill, or does not.
pub(crate) trait Cuttable {
    /// Which it is and how it is set.
    fn describe(&mut self) -> anyhow::Result<ledger::Database>;
    /// Sessions write, each from a number of its own on, until the power fails after this time; then everything of
    /// the database is ended without a word. Gives the last number that each session had an acknowledgement for by
    /// then.
    fn work(&mut self, first: &[u64], after: Duration, stop: &Stop<'_>) -> anyhow::Result<Vec<u64>>;
    /// Recovers it on what survived.
    fn rise(&mut self) -> anyhow::Result<()>;
    /// Every row that is there.
    fn kept(&mut self) -> anyhow::Result<Kept>;
    /// What only this database counts, since it was asked last.
    fn counted(&mut self) -> Vec<(Measure, f64)> {
        Vec::new()
    }
    /// Ends it without a word.
    fn fall(&mut self);
    /// Makes it again, empty, on a stack that was made anew.
    fn make_anew(&mut self) -> anyhow::Result<()>;
    /// Ends it in good order.
    fn close(self: Box<Self>) -> anyhow::Result<()>;
}

/// The size of the company that the study asks for.
pub(super) fn scale_of(tpcc: &Tpcc) -> anyhow::Result<Scale> {
    Ok(match tpcc.company {
        Company::Full => Scale::full(tpcc.warehouses)?,
        Company::Reduced => Scale::reduced(tpcc.warehouses)?,
    })
}

/// The company of the study, if it has order entry.
pub(super) fn company(study: &Study) -> anyhow::Result<Option<Scale>> {
    let tpcc = study.phases.iter().find_map(|phase| phase.kind.tpcc());
    tpcc.map(scale_of).transpose()
}

/// The most sessions of any phase.
pub(super) fn sessions(trial: &Trial<'_>) -> u32 {
    let phases = trial.study.phases.iter();
    phases.map(|phase| phase.kind.in_flight().sessions).max().unwrap_or(1)
}

/// A trial under way on a database.
pub(crate) struct Trial<'a> {
    pub(crate) study: &'a Study,
    pub(crate) turn: &'a Turn<'a>,
    pub(crate) stand: &'a Stand,
    pub(crate) id: TrialId,
    pub(crate) first: bool,
    /// Rows of the table of random work.
    pub(crate) scattered_rows: u64,
    /// How I/O is done where it is ours.
    pub(crate) method: Method,
}

impl Trial<'_> {
    /// What surrounds its phases; `fixed`: measures that are the same in all of them.
    pub(super) fn around(&self, fixed: Vec<(Measure, f64)>) -> Around<'_> {
        Around {
            study: self.study,
            sizes: None,
            trial: self.id,
            stack: &self.stand.name,
            turn: self.turn,
            fixed,
        }
    }
}
