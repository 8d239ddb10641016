//! What the run and the process of another instance say to each other: one line of JSON each.
//!
//! Orders go down; each but [`Order::Begin`] and [`Order::Stop`] is answered once. Prevents: two programs that
//! understand a phase differently (both are this one), and a number that is lost between them.

use crate::instances::notices::Places;
use crate::instances::proof::{self, Proof};
use crate::instances::settled::Settled;
use crate::trial::drive::{Driven, Paced, Work};
use anyhow::{Context, ensure};
use hdrhistogram::Histogram;
use hosts::Offset;
use pages::{AgeWork, Hotspot, RandomWork, RedoWork, ScanWork, Settings, TornPages, UserScan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workloads::{Arrival, ClassOutcome, LATENCY_RANGE, Outcome, Pacing, SLICES_MAX, Schedule, Slice, Stop, Think};

/// A line from the run to the process.
#[derive(Serialize, Deserialize)]
pub(crate) struct OrderLine {
    /// Its answer has it too.
    pub(crate) number: u64,
    pub(crate) order: Order,
}

/// A line from the process to the run.
#[derive(Serialize, Deserialize)]
pub(crate) enum AnswerLine {
    /// A sign of life.
    Alive,
    /// What became of the order of this number.
    Answered(u64, Box<Answer>),
}

/// From the run to the process.
#[derive(Serialize, Deserialize)]
pub(crate) enum Order {
    /// The first: opens its workers of the database.
    Open(Box<Opening>),
    /// A phase begins, which may have several works: what is counted of a phase is counted anew. It has no answer.
    Begin,
    /// Works, and says when it is over.
    Work(Asked),
    /// Ends the work of the order with this number. It has no answer of its own.
    Stop,
    /// Brings home what was written.
    Settle,
}

/// From the process to the run.
#[derive(Serialize, Deserialize)]
pub(crate) enum Answer {
    Opened,
    Worked(Box<Worked>),
    Settled(Box<Settled>),
    /// It could not, and ends.
    Failed {
        error: String,
        /// The stack had no space left.
        full: bool,
        /// The storage lost something.
        loss: bool,
    },
}

/// What an instance needs to open its workers.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Opening {
    pub(crate) ground: Ground,
    pub(crate) data: Vec<u16>,
    pub(crate) redo: u16,
    /// Its first worker, and how many it has.
    pub(crate) first: u32,
    pub(crate) workers: u32,
    #[serde(with = "SettingsWire")]
    pub(crate) settings: Settings,
    pub(crate) memory: u64,
    pub(crate) depth: usize,
    /// By io_uring.
    pub(crate) ring: bool,
    pub(crate) seed: u64,
    pub(crate) inject: Planted,
    /// Where it hears what the owner of its disk group moves, if it has one.
    pub(crate) hears: Option<Places>,
}

/// Where the files are.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Ground {
    Files(Vec<Place>),
    Group {
        devices: Vec<Place>,
        /// How many of them are the data's, the first ones.
        data: usize,
        /// The redo log has a group of its own on the others.
        redo: bool,
    },
}

/// A file or a device.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) direct: bool,
    /// Its directory, by a descriptor of the run's.
    pub(crate) held: Option<PathBuf>,
    /// The device that the run has open, by its numbers.
    pub(crate) is: Option<(u64, u64)>,
    /// What the run found there, for another host: descriptors and numbers mean nothing to it.
    pub(crate) proof: Option<Proof>,
}

impl Ground {
    /// As another host finds it. The database must be on it, and nothing may change it meanwhile.
    pub(crate) fn of_other_hosts(self) -> anyhow::Result<Ground> {
        let there = |place: Place| -> anyhow::Result<Place> {
            Ok(Place {
                proof: Some(proof::of(&place.path)?),
                held: None,
                is: None,
                ..place
            })
        };
        Ok(match self {
            Ground::Files(places) => Ground::Files(places.into_iter().map(there).collect::<anyhow::Result<_>>()?),
            Ground::Group { devices, data, redo } => Ground::Group {
                devices: devices.into_iter().map(there).collect::<anyhow::Result<_>>()?,
                data,
                redo,
            },
        })
    }
}

/// A stack's planted disadvantage.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Planted {
    pub(crate) late: f64,
    pub(crate) late_from: u64,
    pub(crate) error_at: Option<u64>,
    pub(crate) short_at: Option<u64>,
    pub(crate) stall_at: Option<u64>,
    pub(crate) stall_ns: u64,
    pub(crate) flush_lost: bool,
}

impl Planted {
    pub(crate) fn of(inject: &plan::Inject) -> Planted {
        Planted {
            late: inject.late,
            late_from: inject.late_from,
            error_at: inject.error_at,
            short_at: inject.short_at,
            stall_at: inject.stall_at,
            stall_ns: inject.stall.0,
            flush_lost: inject.flush_lost,
        }
    }

    pub(crate) fn inject(self) -> plan::Inject {
        plan::Inject {
            late: self.late,
            error_at: self.error_at,
            flush_lost: self.flush_lost,
            same_verifier: false,
            late_from: self.late_from,
            short_at: self.short_at,
            stall_at: self.stall_at,
            stall: plan::Duration(self.stall_ns),
        }
    }
}

/// Work of all instances together, of which each does its part.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Asked {
    work: WorkWire,
    sessions: u32,
    /// Operations a second, where they are due on a schedule.
    rate_per_s: Option<f64>,
    /// Frequency, least and most time of pauses.
    think: Option<(u32, u64, u64)>,
    time_ns: Option<u64>,
    operations_per_session: Option<u64>,
    slice_ns: u64,
    seed: u64,
    at: Option<u64>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum WorkWire {
    Random(#[serde(with = "RandomWire")] RandomWork),
    Redo(#[serde(with = "RedoWire")] RedoWork),
    Scan(#[serde(with = "ScanWire")] ScanWork),
    Age(#[serde(with = "AgeWire")] AgeWork),
}

impl Asked {
    pub(crate) fn of(paced: &Paced) -> Asked {
        let Pacing { arrival, stop, .. } = &paced.pacing;
        let (rate_per_s, think) = match arrival {
            Arrival::Open { rate_per_s, .. } => (Some(*rate_per_s), None),
            Arrival::Closed { think } => (None, think.map(|think| (think.frequency, think.min_ns, think.max_ns))),
        };
        Asked {
            work: match paced.work {
                Work::Random(work) => WorkWire::Random(work),
                Work::Redo(work) => WorkWire::Redo(work),
                Work::Scan(work) => WorkWire::Scan(work),
                Work::Age(work) => WorkWire::Age(work),
            },
            sessions: paced.pacing.sessions,
            rate_per_s,
            think,
            time_ns: stop.time_ns,
            operations_per_session: stop.operations_per_session,
            slice_ns: paced.pacing.slice_ns,
            seed: paced.seed,
            at: paced.at,
        }
    }

    /// For a host with another clock.
    pub(crate) fn on(self, clock: Option<Offset>) -> anyhow::Result<Asked> {
        let (Some(clock), Some(at)) = (clock, self.at) else {
            return Ok(self);
        };
        let at = clock
            .theirs(at)
            .context("a moment that the clock of another host does not reach")?;
        Ok(Asked { at: Some(at), ..self })
    }

    pub(crate) fn paced(&self, cancel: &Arc<AtomicBool>) -> Paced {
        let think = self.think.map(|(frequency, min_ns, max_ns)| Think {
            frequency,
            min_ns,
            max_ns,
        });
        Paced {
            work: match self.work {
                WorkWire::Random(work) => Work::Random(work),
                WorkWire::Redo(work) => Work::Redo(work),
                WorkWire::Scan(work) => Work::Scan(work),
                WorkWire::Age(work) => Work::Age(work),
            },
            pacing: Pacing {
                sessions: self.sessions,
                arrival: match self.rate_per_s {
                    Some(rate_per_s) => Arrival::Open {
                        rate_per_s,
                        schedule: Schedule::Poisson,
                    },
                    None => Arrival::Closed { think },
                },
                stop: Stop {
                    time_ns: self.time_ns,
                    operations_per_session: self.operations_per_session,
                },
                slice_ns: self.slice_ns,
                cancel: Some(Arc::clone(cancel)),
            },
            seed: self.seed,
            at: self.at,
        }
    }
}

/// More of anything is not counted in a phase: sums of all instances stay far below what a number holds.
const COUNT_MAX: u64 = 1 << 53;
/// More sessions than any instance has, so that those of all are a number of 32 bits.
const SESSIONS_MAX: u32 = 1 << 22;
/// Work has fewer classes of operations, and their names are shorter.
const CLASSES_MAX: usize = 16;
const NAME_MAX: usize = 64;

/// What the loop of an instance saw.
#[derive(Serialize, Deserialize)]
pub(crate) struct Worked {
    began: u64,
    ended: u64,
    elapsed_ns: u64,
    classes: Vec<ClassWire>,
    slices: Vec<(u64, u64, u64)>,
    in_time: (u64, u64),
    unsent: u64,
    fairness: (u64, u64),
    sessions: u32,
    cancelled: bool,
    busy_share: Option<f64>,
    /// Schema, bytes, begin, end.
    user_scans: Vec<(u32, u64, u64, u64)>,
}

#[derive(Serialize, Deserialize)]
struct ClassWire {
    name: String,
    count: u64,
    units: u64,
    clamped: u64,
    service: Vec<u8>,
    response: Vec<u8>,
}

impl ClassWire {
    /// Distributions are added up: all must have the range of ours, and the count that is told.
    fn outcome(self) -> anyhow::Result<ClassOutcome> {
        let count = self.count;
        let histogram = |bytes: &[u8]| -> anyhow::Result<Histogram<u64>> {
            let histogram = ledger::decode_histogram(bytes)?;
            ensure!(
                (histogram.low(), histogram.high(), histogram.sigfig()) == LATENCY_RANGE,
                "a distribution of another range than what is measured"
            );
            ensure!(
                histogram.len() == count,
                "a distribution of another count than its class"
            );
            Ok(histogram)
        };
        Ok(ClassOutcome {
            service: histogram(&self.service)?,
            response: histogram(&self.response)?,
            name: self.name,
            count,
            units: self.units,
            clamped: self.clamped,
        })
    }
}

impl Worked {
    pub(crate) fn of(driven: &Driven) -> anyhow::Result<Worked> {
        let outcome = &driven.outcome;
        let class = |class: &ClassOutcome| -> anyhow::Result<ClassWire> {
            Ok(ClassWire {
                name: class.name.clone(),
                count: class.count,
                units: class.units,
                clamped: class.clamped,
                service: ledger::encode_histogram(&class.service)?,
                response: ledger::encode_histogram(&class.response)?,
            })
        };
        let scan = |scan: &UserScan| (scan.schema, scan.bytes, scan.began, scan.ended);
        Ok(Worked {
            began: outcome.began,
            ended: outcome.ended,
            elapsed_ns: outcome.elapsed_ns,
            classes: outcome.classes.iter().map(class).collect::<anyhow::Result<_>>()?,
            slices: outcome.slices.iter().map(|s| (s.at_ns, s.count, s.units)).collect(),
            in_time: (outcome.in_time_count, outcome.in_time_units),
            unsent: outcome.unsent,
            fairness: outcome.fairness,
            sessions: outcome.sessions,
            cancelled: outcome.cancelled,
            busy_share: outcome.busy_share,
            user_scans: driven.user_scans.iter().map(scan).collect(),
        })
    }

    /// Counts that no loop comes to, and times that run backwards, are refused: they are added up.
    fn check(&self) -> anyhow::Result<()> {
        let classes = self
            .classes
            .iter()
            .flat_map(|class| [class.count, class.units, class.clamped]);
        let slices = self.slices.iter().flat_map(|(at, count, units)| [*at, *count, *units]);
        let scans = self.user_scans.iter().map(|(_, bytes, ..)| *bytes);
        let (in_time, fairness) = (self.in_time, self.fairness);
        let own = [
            in_time.0,
            in_time.1,
            self.unsent,
            fairness.0,
            fairness.1,
            self.elapsed_ns,
        ];
        let mut all = classes.chain(slices).chain(scans).chain(own);
        ensure!(
            self.ended.checked_sub(self.began) == Some(self.elapsed_ns)
                && all.all(|count| count <= COUNT_MAX)
                && self.sessions <= SESSIONS_MAX
                && self.slices.len() <= SLICES_MAX
                && self.user_scans.iter().all(|(.., began, ended)| began <= ended)
                && self.busy_share.is_none_or(|share| (0.0..=1.0).contains(&share)),
            "what an instance measured cannot be"
        );
        let names: BTreeSet<&str> = self.classes.iter().map(|class| class.name.as_str()).collect();
        ensure!(
            self.classes.len() <= CLASSES_MAX
                && names.len() == self.classes.len()
                && names.iter().all(|name| name.len() <= NAME_MAX),
            "an instance names classes of operations that it does not have"
        );
        Ok(())
    }

    /// Times of a host with another clock, as this one's.
    pub(crate) fn on_our_clock(mut self, clock: Option<Offset>) -> anyhow::Result<Worked> {
        let Some(clock) = clock else { return Ok(self) };
        let scans = self.user_scans.iter_mut().flat_map(|(.., began, ended)| [began, ended]);
        for time in [&mut self.began, &mut self.ended].into_iter().chain(scans) {
            *time = clock
                .ours(*time)
                .context("a time of another host that this clock does not reach")?;
        }
        Ok(self)
    }

    pub(crate) fn driven(self) -> anyhow::Result<Driven> {
        self.check()?;
        let classes = self.classes.into_iter().map(ClassWire::outcome);
        let classes = classes
            .collect::<anyhow::Result<_>>()
            .context("what an instance measured")?;
        let slice = |(at_ns, count, units)| Slice { at_ns, count, units };
        let scan = |(schema, bytes, began, ended)| UserScan {
            schema,
            bytes,
            began,
            ended,
        };
        Ok(Driven {
            outcome: Outcome {
                began: self.began,
                ended: self.ended,
                elapsed_ns: self.elapsed_ns,
                classes,
                slices: self.slices.into_iter().map(slice).collect(),
                in_time_count: self.in_time.0,
                in_time_units: self.in_time.1,
                unsent: self.unsent,
                fairness: self.fairness,
                sessions: self.sessions,
                cancelled: self.cancelled,
                busy_share: self.busy_share,
            },
            user_scans: self.user_scans.into_iter().map(scan).collect(),
        })
    }
}

// Types of other rooms, field by field: one that is forgotten does not compile.

#[derive(Serialize, Deserialize)]
#[serde(remote = "RandomWork")]
struct RandomWire {
    update_pct: u32,
    scan_pct: u32,
    scan_table_bytes: u64,
    sessions: u32,
    work_unit: u32,
    work_loop: u64,
    heavy: bool,
    outstanding: u32,
    #[serde(with = "spot")]
    hotspot: Option<Hotspot>,
    hot_schema_frequency: u32,
}

/// A hot spot as bytes, offset and frequency.
mod spot {
    use pages::Hotspot;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(spot: &Option<Hotspot>, to: S) -> Result<S::Ok, S::Error> {
        spot.map(|spot| (spot.bytes, spot.offset, spot.frequency)).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Hotspot>, D::Error> {
        let spot: Option<(u64, u64, u32)> = Deserialize::deserialize(from)?;
        Ok(spot.map(|(bytes, offset, frequency)| Hotspot {
            bytes,
            offset,
            frequency,
        }))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "RedoWork")]
struct RedoWire {
    sessions: u32,
    bytes: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ScanWork")]
struct ScanWire {
    users: u32,
    degree: u32,
    parallel: u32,
    passes: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "AgeWork")]
struct AgeWire {
    passes: u32,
    sessions: u32,
    work_unit: u32,
    heavy: bool,
    outstanding: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "TornPages")]
enum TornWire {
    Log,
    Double,
    None,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Settings")]
struct SettingsWire {
    cache_bytes: u64,
    multiblock_read: u32,
    #[serde(with = "TornWire")]
    torn_pages: TornPages,
    checkpoint_ns: u64,
    writers: u32,
    redo_bytes: u64,
    workers: u32,
}
