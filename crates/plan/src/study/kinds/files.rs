//! Phases of kind `files`: a ramp of loads on one tree of files, and what the users of a file server do.
//!
//! Prevents: a load that one room takes for a rate and another for a number of users.

use crate::shown::{Keys, Shown, list, quoted, table};
use crate::study::kind::{Ends, Engines, InFlight, Kind, KindRow, Loads, NO_END};
use crate::study::words::PhaseWord;
use crate::units::{Bytes, Duration, Rate, Share};
use crate::word::Word;

/// Files a second that are made with their data. Assumed: 2,700 one call at a time over NFS.
const FILES_PER_S: f64 = 3000.0;

settled! {
    /// A phase of file serving: a ramp of loads on one tree of files.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Serving {
        /// What each operation does: a mix of calls,
        pub mix: FileMixed,
        /// or steps in a row.
        pub work: Option<FileSteps>,
        /// Operations a second of each point, ascending; each lasts as long as the phase says.
        pub load: Vec<Rate> as |serving| Some(list(serving.load.iter().filter_map(Shown::shown))),
        /// The response at which the ramp ends; `None`: only a point that falls short of its rate ends it.
        pub until: Option<Limit> | "none",
        /// Of the rate asked for; where less is done, the ramp ends.
        pub reached: Share,
        /// Before each point, not counted.
        pub warm_up: Duration,
        /// The gaps between operations.
        pub arrival: FileArrival,
        /// Most operations on their way.
        pub sessions: u32,
        /// Size of the data for each operation a second; `None`: it is the same at each load,
        pub data_per_load: Option<Bytes>,
        /// which is this one.
        pub data_size: Option<Bytes>,
        /// Of the files.
        pub accessed: Share,
        /// Sizes of the files.
        pub sizes: FileSizes,
        /// Files in a directory.
        pub files_per_directory: u32,
        /// Of the lookups.
        pub lookups_failed: Share,
        /// Of the writes.
        pub append: Share,
        /// Of the writes.
        pub stable: Share,
        /// Of the operations under a cut or a kill; no other phase has renames.
        pub rename: Share as |serving| serving.rename.shown().filter(|_| serving.load.is_empty()),
    }
}

/// Which calls a phase mixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileMixed {
    /// None: it goes through steps.
    Steps,
    /// A published mix.
    Mix(FileMix),
    /// These: name and percent, together 100.
    Own(Vec<(String, u8)>),
}

impl Shown for FileMixed {
    fn shown(&self) -> Option<String> {
        match self {
            FileMixed::Steps => None,
            FileMixed::Mix(mix) => mix.shown(),
            FileMixed::Own(all) => Some(table(all.iter().map(|(call, percent)| (call, percent.to_string())))),
        }
    }
}

impl Shown for Limit {
    fn shown(&self) -> Option<String> {
        let (response, of) = (quoted(self.response), quoted(self.of.word()));
        Some(table([("response", response), ("of", of)]))
    }
}

impl Shown for FileSizes {
    fn shown(&self) -> Option<String> {
        Some(match self {
            FileSizes::Sfs97 => quoted("sfs97"),
            FileSizes::Own(all) => list(all.iter().map(|(size, pct)| format!("[{}, {pct}]", quoted(size)))),
        })
    }
}

words! {
    /// Published mixes of calls.
    pub enum FileMix: "a mix of calls" {
        /// SFS 97 and SFS 3.0, NFS version 3.
        Sfs97 = "sfs97",
        /// SFS 93 (LADDIS).
        Sfs93 = "sfs93",
        /// A software build, as SPECstorage 2020 describes it.
        Build = "build",
    }
}

words! {
    /// Works in steps, as filebench describes them.
    pub enum FileSteps: "a work in steps" {
        /// Whole files made, read, appended to, removed.
        Fileserver = "fileserver",
        /// Small files, made durable twice a round.
        Varmail = "varmail",
        /// Ten files read whole, one append to a log.
        Webserver = "webserver",
    }
}

/// The response at which a ramp ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Above it the ramp ends.
    pub response: Duration,
    /// Which response.
    pub of: LimitOf,
}

words! {
    /// Which response a limit holds for.
    pub enum LimitOf: "a figure of response" {
        /// The mean of all operations.
        Mean = "mean",
        /// Their 99th percentile.
        P99 = "p99",
    }
}

words! {
    /// The gaps between operations.
    pub enum FileArrival: "an arrival" {
        /// Exponential: independent users.
        Poisson = "poisson",
        /// Equal.
        Fixed = "fixed",
    }
}

/// Sizes of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileSizes {
    /// The distribution of SFS 97 and SFS 3.0.
    Sfs97,
    /// One size, or several with their percents, together 100.
    Own(Vec<(Bytes, u8)>),
}

impl Serving {
    /// Bytes of the data at a load.
    pub fn data_bytes(&self, rate: Rate) -> u64 {
        match (self.data_size, self.data_per_load) {
            (Some(bytes), _) => bytes.0,
            (None, Some(bytes)) => (rate.0 * bytes.0 as f64) as u64,
            (None, None) => 0,
        }
    }

    /// Bytes of the data at the highest load.
    pub fn data_bytes_most(&self) -> u64 {
        let one_size = self.data_size.map_or(0, |bytes| bytes.0);
        self.load.last().map_or(one_size, |rate| self.data_bytes(*rate))
    }

    /// Its keys under a power cut or a kill, where nothing is due at a rate.
    pub(crate) fn keys_of_a_cut(&self) -> Keys {
        let of_a_ramp = ["load", "until", "reached", "warm_up", "arrival"];
        let keys = self.keys().into_iter();
        keys.filter(|(key, _)| !of_a_ramp.contains(key)).collect()
    }

    /// Time of all points, warm-ups included, `time` each.
    pub fn ramp_time(&self, time: Duration) -> Duration {
        let point = time.0.saturating_add(self.warm_up.0);
        Duration(point.saturating_mul(self.load.len() as u64))
    }
}

impl FileSizes {
    /// Mean size of a file in bytes.
    pub fn mean_bytes(&self) -> f64 {
        match self {
            // 26.7 KiB: the table stands in room `files`.
            FileSizes::Sfs97 => 26.7 * 1024.0,
            FileSizes::Own(all) => {
                all.iter()
                    .map(|(size, pct)| size.0 as f64 * f64::from(*pct))
                    .sum::<f64>()
                    / 100.0
            }
        }
    }
}

/// What all of them are.
pub(super) const ROW: KindRow = KindRow {
    engines: Engines::Files,
    repeated: None,
};

impl Kind for Serving {
    fn kind(&self) -> PhaseWord {
        PhaseWord::Files
    }

    fn own_keys(&self) -> Keys {
        self.keys()
    }

    fn ends(&self) -> Ends {
        Ends::Time(NO_END)
    }

    fn in_flight(&self) -> InFlight {
        InFlight::scattered(self.sessions)
    }

    fn least_time(&self, time: Option<Duration>) -> Option<Duration> {
        time.map(|time| self.ramp_time(time))
    }

    fn timed_ns(&self, time: Duration) -> u64 {
        // The points, and filling the tree: so many files a second.
        let files = self.data_bytes_most() as f64 / self.sizes.mean_bytes().max(1.0);
        let making = (files / FILES_PER_S * 1e9) as u64;
        self.ramp_time(time).0.saturating_add(making)
    }

    fn loads(&self) -> Loads {
        Loads {
            once: self.data_bytes_most(),
            within: 0,
        }
    }
}
