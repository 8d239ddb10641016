//! Row types of file serving: how files were reached, and the points of a ramp with all that was seen at each.
//!
//! Plain data, shared by writers and readers. Distributions of a point are [`StepHistogram`]s of its number. Where the
//! limit lies between two points is computed by whoever reads. Prevents: a rate quoted without the response that was
//! paid for it, and a load that was asked for passing for one that was done.

use super::committed::committed_words;
use super::databases::StepHistogram;
use super::measure::Measure;

committed_words! {
    /// How files are reached.
    Protocol {
        /// Calls to a file system of this host.
        Posix = "posix",
        /// NFS, version 3.
        Nfs3 = "nfs3",
    }
}

committed_words! {
    /// When operations are due.
    FileArrival {
        /// At random, independent of each other.
        Poisson = "poisson",
        /// At even distances.
        Fixed = "fixed",
    }
}

committed_words! {
    /// Which response a ramp's limit is of.
    LimitOf {
        /// The mean.
        Mean = "mean",
        /// The 99th percentile.
        P99 = "p99",
    }
}

/// File serving in one phase.
#[derive(Clone, Debug, PartialEq)]
pub struct FileServing {
    /// How they were reached.
    pub protocol: Protocol,
    /// Who served, in words: "nfs-ganesha 4.3", "there already"; `None`: nobody, the file system itself.
    pub server: Option<String>,
    /// The mix or the work: "sfs97", "varmail", "of its own".
    pub work: String,
    /// When operations were due.
    pub arrival: FileArrival,
    /// Most operations on their way.
    pub sessions: u32,
    /// Connections; `None` without a server.
    pub connections: Option<u32>,
    /// Largest read and write in bytes.
    pub transfer_bytes: u64,
    /// Work before each point that was not counted.
    pub warm_up_ns: u64,
    /// The response at which the ramp ends; `None`: it has no limit.
    pub limit_ns: Option<u64>,
    /// Of which response.
    pub limit_of: LimitOf,
    /// Of the rate asked for; a point below it ends the ramp.
    pub reached_share: f64,
    /// The points in the order run.
    pub points: Vec<LoadPoint>,
}

/// One point of a ramp: operations due at one rate, for some time.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadPoint {
    /// Operations a second that were asked for.
    pub asked_per_s: f64,
    /// Its first counted moment, since the phase began.
    pub began_ns: u64,
    /// Its last, since the phase began.
    pub ended_ns: u64,
    /// Operations that ended within its time.
    pub in_time: u64,
    /// Operations that fell due in it and were never sent.
    pub unsent: u64,
    /// Bytes of the tree.
    pub data_bytes: u64,
    /// Files of the tree.
    pub files: u64,
    /// What was measured and counted meanwhile.
    pub measures: Vec<PointMeasure>,
    /// Distributions by class and stamp; the phase's own hold all points together.
    pub histograms: Vec<StepHistogram>,
}

/// One value of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct PointMeasure {
    /// Name of a [`Measure`].
    pub name: String,
    /// In its unit.
    pub value: f64,
}

impl PointMeasure {
    /// A value of a measure.
    pub fn of(measure: Measure, value: f64) -> PointMeasure {
        PointMeasure {
            name: measure.name().to_string(),
            value,
        }
    }
}

impl LoadPoint {
    /// What was measured; `None` where it was not.
    pub fn get(&self, measure: Measure) -> Option<f64> {
        let found = self.measures.iter().find(|one| one.name == measure.name())?;
        Some(found.value).filter(|value| value.is_finite())
    }
}
