//! Where the bytes came from and went to: what the engine asked of storage against what the devices moved.
//!
//! Takes the phases of one stack over all blocks, gives a [`Provenance`] per direction. Judged on totals, before any
//! ratio is computed, so that it cannot be bent by one. Prevents: the page cache ranked as a storage stack.

use super::counts::{READS_ASKED, WRITES_ASKED};
use crate::check::Status;
use crate::figures::over;
use crate::history::{Book, Seen};
use crate::phase_kind::kind_row;
use ledger::{Access, FactName, Measure, PhaseKind, Role, Way};
use schemars::JsonSchema;
use serde::Serialize;

/// From this share on, the devices moved what was asked. Not 1: engines and devices are read one after the other, and a
/// few requests fall between.
pub const DEVICE_SHARE_MIN: f64 = 0.9;

/// Up to this share, nearly nothing of it met a device.
pub const CACHE_SHARE_MAX: f64 = 0.1;

/// Below this many bytes a direction was not used: control pages and a checkpoint's end, not a workload.
pub const ASKED_BYTES_MIN: f64 = 1024.0 * 1024.0;

/// A direction with less than this share of all bytes of the phase does not decide what the phase is.
pub const ASKED_SHARE_MIN: f64 = 0.01;

/// Random reads that reach a device larger by this factor were widened on their way, and not merged by chance.
const WIDENED_MIN: f64 = 2.0;

const READS: &str = "reads";

/// Where the bytes of one direction came from or went to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The devices, nearest and lowest, moved at least 0.9 of them.
    Device,
    /// Between the two.
    Mixed,
    /// At most 0.1 of them met a device.
    Cache,
    /// No device is visible below.
    Unknown,
    /// Several hosts moved them, each past its page cache. No host sees what the others' devices moved.
    SeveralHosts,
    /// Nearly nothing was asked (under 1 MiB, or under 1 % of the phase's bytes).
    None,
    /// The engine does not say what it asked.
    Uncounted,
}

impl Origin {
    /// The word in a table.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Origin::Device => "device",
            Origin::Mixed => "mixed",
            Origin::Cache => "cache",
            Origin::Unknown => "unknown",
            Origin::SeveralHosts => "not counted (several hosts)",
            Origin::None => "none",
            Origin::Uncounted => "uncounted",
        }
    }
}

/// Temporary files of a database, which devices move and which are not among what it asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TemporaryFiles {
    /// There are none that weigh anything, or nothing was asked.
    Light,
    /// Their own LUNs moved them: label and share are without them.
    Apart,
    /// They are in the share. The label holds whatever devices moved of them, or is `uncounted`.
    Within,
    /// They are in the share, and in the label: the database does not count them, or tells the least they may be.
    Unknown,
}

/// One direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Direction {
    /// The label.
    pub origin: Origin,
    /// What it says of temporary files.
    pub temporary: TemporaryFiles,
    /// Bytes the engine asked of storage, all blocks together.
    pub asked_bytes: f64,
    /// Bytes the nearest devices moved.
    pub near_bytes: Option<f64>,
    /// Bytes the lowest visible devices moved.
    pub low_bytes: Option<f64>,
    /// The smaller of the two: what the label is of. An array or a snapshot between them reads and writes by itself,
    /// which nobody asked. Those of the lowest where the nearest count nothing.
    pub passed_bytes: Option<f64>,
    /// Bytes among them of temporary files, where these have LUNs of their own.
    pub temporary_bytes: Option<f64>,
}

/// Bytes that passed the lowest devices and the nearest, where these count any: what an array or a snapshot between
/// them reads or writes by itself was asked by nobody.
fn passed(low: Option<f64>, near: Option<f64>) -> Option<f64> {
    match near {
        Some(near) => low.map(|low| low.min(near)),
        None => low,
    }
}

/// Both directions of a phase on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Provenance {
    /// Reads.
    pub reads: Direction,
    /// Writes, redo included, after the drain.
    pub writes: Direction,
    /// Share of the accesses to data that the adaptive replacement cache of a ZFS served without its devices: hits less
    /// what read-ahead had to fetch; `None` where that was not counted.
    pub arc_share: Option<f64>,
}

impl Provenance {
    /// Of the runs of one phase on one stack. `unseen`: where bytes are that no device was seen to move ([`unseen`]).
    pub(crate) fn of(seen: &[&Seen], unseen: Origin) -> Provenance {
        let total = |measures: &[Measure]| {
            let found: Vec<f64> = seen.iter().filter_map(|phase| phase.sum(measures)).collect();
            (!found.is_empty()).then(|| found.iter().sum::<f64>())
        };
        let (read, written) = (total(&READS_ASKED), total(&WRITES_ASKED));
        let all = read.unwrap_or(0.0) + written.unwrap_or(0.0);
        let floor = ASKED_BYTES_MIN.max(ASKED_SHARE_MIN * all);
        // A stack that compresses moves fewer bytes than it was given, and no cache took the rest.
        let ratios = seen.iter().filter_map(|phase| phase.get(Measure::DataCompressionRatio));
        let squeezed = ratios.fold(1.0, f64::max);
        let beside = Beside::of(seen);
        let [hits, misses, ahead] =
            [Measure::ArcDataHits, Measure::ArcDataMisses, Measure::ArcAheadMisses].map(|of| total(&[of]));
        let accesses = hits.zip(misses).map(|(hits, misses)| hits + misses);
        let accesses = accesses.filter(|all| *all > 0.0);
        let served = hits.zip(ahead).map(|(hits, ahead)| (hits - ahead).max(0.0));
        let arc_share = served.zip(accesses).map(|(served, all)| served / all);
        // A miss of one random page reads a whole record: its bytes would hide the pages that the ARC served.
        let is_random = seen.iter().all(|phase| kind_row(phase.run.kind).is_random);
        let fetched = misses.zip(ahead).map(|(misses, ahead)| misses + ahead);
        let requests = total(&[Measure::EnginePhysicalReads]).filter(|_| is_random);
        let [near_reads, near_bytes] = [Measure::NearReads, Measure::NearReadBytes].map(|of| total(&[of]));
        let sizes = over(near_bytes, near_reads).zip(over(read, requests));
        let missed_most = over(fetched.or(near_reads.filter(|_| is_widened(sizes))), requests).unwrap_or(f64::INFINITY);
        let counts = total(&[Measure::NearReadBytes, Measure::NearWriteBytes]).is_some_and(|bytes| bytes > 0.0);
        let passed = |low, near: Option<f64>| passed(low, near.filter(|_| counts));
        let direction = |asked: Option<f64>, near, low: Option<f64>, apart: Measure, missed_most: f64| {
            // A part of the runs says nothing of all.
            let apart = total(&[apart]).filter(|_| seen.iter().all(|run| run.get(apart).is_some()));
            let (origin, temporary) = match asked {
                Some(asked) => beside.label(apart, passed(low, near), |low| {
                    let expected = asked / squeezed;
                    match label(asked, expected, floor, low.map(|low| low.min(expected * missed_most))) {
                        Origin::Unknown => unseen,
                        origin => origin,
                    }
                }),
                None if seen.is_empty() => (Origin::None, TemporaryFiles::Light),
                None => (Origin::Uncounted, TemporaryFiles::Light),
            };
            Direction {
                origin,
                temporary,
                asked_bytes: asked.unwrap_or(0.0),
                near_bytes: near,
                low_bytes: low,
                passed_bytes: passed(low, near),
                temporary_bytes: apart.filter(|_| temporary == TemporaryFiles::Apart),
            }
        };
        Provenance {
            arc_share,
            reads: direction(
                read,
                near_bytes,
                total(&[Measure::LowReadBytes]),
                Measure::TempDeviceReadBytes,
                missed_most,
            ),
            writes: direction(
                written,
                total(&[Measure::NearWriteBytes]),
                total(&[Measure::LowWriteBytes]),
                Measure::TempDeviceWriteBytes,
                f64::INFINITY,
            ),
        }
    }

    /// `None` when the phase may be ranked, else why not: as a storage result, or, where a cache may serve, as what a
    /// stack makes of its storage and its memory.
    pub(crate) fn objection(&self, may: MayServe) -> Option<String> {
        self.doubt(may).map(|(_, reason)| reason)
    }

    /// The same with the status of the line in the sheet, so that the two cannot disagree: the graver of both
    /// directions.
    pub(crate) fn doubt(&self, may: MayServe) -> Option<(Status, String)> {
        let of = |(name, direction): (&str, Direction)| match direction.origin {
            Origin::Device | Origin::None | Origin::Uncounted | Origin::SeveralHosts => None,
            Origin::Cache | Origin::Mixed if may != MayServe::Devices => None,
            Origin::Unknown if may == MayServe::Anything => None,
            Origin::Unknown => Some((Status::Suspect, format!("no device is visible below its {name}"))),
            Origin::Cache => Some((Status::Invalid, self.by_cache(name, direction, "by a cache"))),
            Origin::Mixed => Some((Status::Suspect, self.by_cache(name, direction, "partly by a cache"))),
        };
        let [reads, writes] = [(READS, self.reads), ("writes", self.writes)].map(of);
        let graver = match (&reads, &writes) {
            (Some((of_reads, _)), Some((of_writes, _))) if of_writes > of_reads => writes,
            _ => reads.or(writes),
        };
        graver.or_else(|| self.idle(may))
    }

    fn by_cache(&self, name: &str, direction: Direction, by: &str) -> String {
        format!(
            "its {name} were served {by} ({}{})",
            direction.share_words(),
            self.arc_words(name)
        )
    }

    /// Next to nothing was asked of storage, as far as is known.
    pub(crate) fn is_idle(&self) -> bool {
        let nothing = [Origin::None, Origin::Uncounted];
        [self.reads, self.writes]
            .iter()
            .all(|direction| nothing.contains(&direction.origin))
    }

    /// Of one direction at least nobody told what was asked, or nobody saw what devices moved.
    pub(crate) fn is_partly_uncounted(&self) -> bool {
        [self.reads, self.writes]
            .iter()
            .any(|direction| matches!(direction.origin, Origin::Uncounted | Origin::SeveralHosts))
    }

    /// The label of a direction is one of temporary files, too, and nobody knows what it would be without them.
    pub(crate) fn has_unknown_temporary(&self) -> bool {
        [self.reads, self.writes]
            .iter()
            .any(|direction| direction.temporary == TemporaryFiles::Unknown)
    }

    /// Temporary files beside the data decide the label of a direction, and nobody knows how many bytes of devices are
    /// theirs: a device served it, or a cache.
    pub(crate) fn is_blurred(&self) -> bool {
        [self.reads, self.writes]
            .iter()
            .any(|one| one.origin == Origin::Uncounted && one.temporary == TemporaryFiles::Within)
    }

    /// A direction has no label for another reason than temporary files.
    fn is_uncounted_elsewhere(&self) -> bool {
        [self.reads, self.writes].iter().any(|one| match one.origin {
            Origin::Uncounted => one.temporary != TemporaryFiles::Within,
            other => other == Origin::SeveralHosts,
        })
    }

    /// A rate of what asked for nothing is that of a processor and a cache; where nobody told what was asked, it may be
    /// anything. Where both device and cache count, it need not be known which it was.
    fn idle(&self, may: MayServe) -> Option<(Status, String)> {
        let doubt = match (self.is_blurred(), self.is_partly_uncounted()) {
            (true, _) if may != MayServe::Devices && !self.is_uncounted_elsewhere() => return None,
            (true, _) => (
                Status::Suspect,
                "temporary files lie beside its data, so nobody knows whether a cache served it",
            ),
            (_, true) => (Status::Suspect, "its engine does not say what it asked of storage"),
            _ => (Status::Invalid, "it asked storage for next to nothing"),
        };
        self.is_idle().then(|| (doubt.0, doubt.1.to_string()))
    }

    /// Which cache it was, if it is known; what is written waits in it too, but is no hit.
    fn arc_words(&self, name: &str) -> String {
        match self.arc_share.filter(|_| name == READS) {
            Some(share) => format!("; the ARC served {:.0} % of the accesses to data", share * 100.0),
            None => String::new(),
        }
    }
}

/// What may serve a phase that is ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MayServe {
    /// Devices, for it is a storage result.
    Devices,
    /// A cache too, in a budget that was kept; devices must be visible.
    Caches,
    /// File serving: storage and memory together, also on a host that is out of sight.
    Anything,
}

impl MayServe {
    /// `cached_counts`: the study ranks what caches served, and the budget was kept.
    pub(crate) fn of(kind: PhaseKind, cached_counts: bool) -> MayServe {
        match (kind_row(kind).is_with_memory, cached_counts) {
            (true, _) => MayServe::Anything,
            (false, true) => MayServe::Caches,
            (false, false) => MayServe::Devices,
        }
    }
}

/// Whether what a cache served counts: the study asks for it, and in each of these runs the memory budget was enforced
/// and kept, so that the cache was the stack's own and no larger than another's.
pub(crate) fn cached_counts(book: &Book, seen: &[&Seen]) -> bool {
    book.ranks_cached() && !seen.is_empty() && seen.iter().all(|run| run.kept_budget().is_some())
}

/// What is known of bytes that no device was seen to move: on several hosts raw LUNs and disk groups are opened past
/// each page cache where access is direct, so what was asked went to devices, which one host alone can't count.
pub(crate) fn unseen(book: &Book, stack: &str, seen: &[&Seen]) -> Origin {
    let mut stacks = book.stacks.iter().filter(|one| one.name == stack);
    let is_asked = stacks.any(|one| one.access == Access::Direct && ["raw", "diskgroup"].contains(&one.kind.as_str()));
    // What rank 0 saw: `O_DIRECT` may be taken and not kept.
    let is_direct = is_asked && book.way(stack, FactName::ReadsGo, Role::Data) != Some(Way::Through);
    let several = seen.iter().any(|run| run.is_on_several_hosts());
    match is_direct && several {
        true => Origin::SeveralHosts,
        false => Origin::Unknown,
    }
}

impl Direction {
    /// Share of what was asked that passed the devices, without what is known to be of temporary files.
    pub(crate) fn share(&self) -> Option<f64> {
        let temporary = self.temporary_bytes.unwrap_or(0.0);
        self.passed_bytes
            .filter(|_| self.asked_bytes > 0.0)
            .map(|low| (low - temporary).max(0.0) / self.asked_bytes)
    }

    /// The label in a table: it says so where temporary files are among the bytes that it is of.
    pub(crate) fn words(&self) -> String {
        let word = self.origin.word();
        match self.temporary {
            TemporaryFiles::Within | TemporaryFiles::Unknown => format!("{word}, with temporary files"),
            TemporaryFiles::Light | TemporaryFiles::Apart => word.to_string(),
        }
    }

    fn share_words(&self) -> String {
        let with = match self.temporary {
            TemporaryFiles::Within | TemporaryFiles::Unknown => ", with those of temporary files",
            TemporaryFiles::Light | TemporaryFiles::Apart => "",
        };
        match self.share() {
            Some(share) => format!("the device moved {:.0} % of the bytes{with}", share * 100.0),
            None => "nothing was asked".into(),
        }
    }
}

/// Temporary files beside what a database asked for.
#[derive(Clone, Copy)]
enum Beside {
    /// None that weigh anything.
    Light,
    /// So many bytes were written to them.
    Counted(f64),
    /// At least so many.
    AtLeast(f64),
    /// The database does not count them.
    Unknown,
}

impl Beside {
    fn of(seen: &[&Seen]) -> Beside {
        let weighing = || seen.iter().filter(|run| run.temporary_weighs());
        let counted: Option<Vec<f64>> = weighing().map(|run| run.temporary_bytes()).collect();
        let sum = || seen.iter().filter_map(|run| run.temporary_bytes()).sum();
        match counted {
            None => Beside::Unknown,
            Some(none) if none.is_empty() => Beside::Light,
            Some(_) if seen.iter().any(|run| run.temporary_is_least()) => Beside::AtLeast(sum()),
            Some(_) => Beside::Counted(sum()),
        }
    }

    /// The label by what devices moved, without temporary files. `apart`: what the devices of their own moved. Beside
    /// the data they are anything between nothing and all; where that decides, nobody knows. If they are not counted
    /// either, the label is with them and says so: without one no study of such a database could be ranked.
    fn label(
        self,
        apart: Option<f64>,
        low: Option<f64>,
        label: impl Fn(Option<f64>) -> Origin,
    ) -> (Origin, TemporaryFiles) {
        let without = |bytes: f64| label(low.map(|low| (low - bytes).max(0.0)));
        let with = label(low);
        match (self, apart) {
            _ if !matches!(with, Origin::Device | Origin::Mixed | Origin::Cache) => (with, TemporaryFiles::Light),
            (Beside::Light, _) => (with, TemporaryFiles::Light),
            (_, Some(apart)) => (without(apart), TemporaryFiles::Apart),
            (Beside::Counted(bytes), None) if without(bytes) == with => (with, TemporaryFiles::Within),
            (Beside::Counted(_), None) => (Origin::Uncounted, TemporaryFiles::Within),
            // Without them it would be less, which no label is below.
            (Beside::AtLeast(_) | Beside::Unknown, None) if with == Origin::Cache => (with, TemporaryFiles::Within),
            // The least that they may be already decides.
            (Beside::AtLeast(bytes), None) if without(bytes) != with => (Origin::Uncounted, TemporaryFiles::Within),
            (Beside::AtLeast(_) | Beside::Unknown, None) => (with, TemporaryFiles::Unknown),
        }
    }
}

/// Whether the device reads several pages where one was asked, as a file system does that compresses: its bytes would
/// hide pages that the page cache served. `sizes`: bytes of a read at the nearest device, and of one that was asked.
fn is_widened(sizes: Option<(f64, f64)>) -> bool {
    sizes.is_some_and(|(near, asked)| near >= WIDENED_MIN * asked)
}

fn label(asked: f64, expected: f64, floor: f64, low: Option<f64>) -> Origin {
    if asked < floor {
        return Origin::None;
    }
    match low.map(|low| low / expected) {
        None => Origin::Unknown,
        Some(share) if share >= DEVICE_SHARE_MIN => Origin::Device,
        Some(share) if share <= CACHE_SHARE_MAX => Origin::Cache,
        Some(_) => Origin::Mixed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_files_prove_nothing_of_the_data() {
        let of = |beside: Beside, apart: Option<f64>, low: f64| {
            beside.label(apart, Some(low), |low| label(100e6, 100e6, 1e6, low))
        };
        let counted = Beside::Counted(30e6);
        assert_eq!(of(Beside::Light, None, 95e6), (Origin::Device, TemporaryFiles::Light));
        let within = |origin| (origin, TemporaryFiles::Within);
        assert_eq!(
            of(counted, None, 100e6),
            within(Origin::Uncounted),
            "70 or 100 of 100 MB"
        );
        assert_eq!(
            of(counted, None, 125e6),
            within(Origin::Device),
            "at least 95 of 100 MB"
        );
        assert_eq!(of(counted, None, 5e6), within(Origin::Cache));
        let apart = |origin| (origin, TemporaryFiles::Apart);
        assert_eq!(of(counted, Some(30e6), 100e6), apart(Origin::Mixed), "70 of 100 MB");
        assert_eq!(of(Beside::Unknown, Some(30e6), 100e6), apart(Origin::Mixed), "the same");
        assert_eq!(of(Beside::Unknown, Some(5e6), 100e6), apart(Origin::Device));
        let least = Beside::AtLeast(30e6);
        assert_eq!(
            of(least, None, 100e6),
            within(Origin::Uncounted),
            "at most 70 of 100 MB"
        );
        assert_eq!(of(least, None, 5e6), within(Origin::Cache));
        assert_eq!(of(least, Some(30e6), 100e6), apart(Origin::Mixed), "the devices tell");
        let unknown = |origin| (origin, TemporaryFiles::Unknown);
        assert_eq!(
            of(least, None, 125e6),
            unknown(Origin::Device),
            "95 of 100 MB, or less: ranked, and said"
        );
        assert_eq!(
            of(Beside::Unknown, None, 125e6),
            unknown(Origin::Device),
            "ranked, and said"
        );
        assert_eq!(of(Beside::Unknown, None, 50e6), unknown(Origin::Mixed));
        assert_eq!(
            of(Beside::Unknown, None, 5e6),
            within(Origin::Cache),
            "at most 5 of 100 MB"
        );
        let asked_little = Beside::Unknown.label(None, Some(5e6), |_| Origin::None);
        assert_eq!(asked_little, (Origin::None, TemporaryFiles::Light));
    }

    #[test]
    fn what_temporary_files_blur_is_ranked_where_device_and_cache_count_both() {
        let direction = |origin, temporary| Direction {
            origin,
            temporary,
            asked_bytes: 100e6,
            near_bytes: None,
            low_bytes: Some(100e6),
            passed_bytes: Some(100e6),
            temporary_bytes: None,
        };
        let of = |reads, writes| Provenance {
            reads,
            writes,
            arc_share: None,
        };
        let none = direction(Origin::None, TemporaryFiles::Light);
        let blurred = of(direction(Origin::Uncounted, TemporaryFiles::Within), none);
        let (status, why) = blurred.doubt(MayServe::Devices).expect("a doubt");
        assert!(
            status == Status::Suspect && why.contains("temporary files lie beside its data"),
            "{why}"
        );
        assert_eq!(blurred.doubt(MayServe::Caches), None);
        let untold = of(direction(Origin::Uncounted, TemporaryFiles::Light), none);
        assert!(
            untold
                .objection(MayServe::Caches)
                .is_some_and(|why| why.contains("does not say"))
        );
        let cached = of(blurred.reads, direction(Origin::Cache, TemporaryFiles::Light));
        assert!(
            cached
                .objection(MayServe::Devices)
                .is_some_and(|why| why.contains("its writes were served by a cache"))
        );
        assert_eq!(
            of(none, none).doubt(MayServe::Caches).map(|doubt| doubt.0),
            Some(Status::Invalid)
        );
        let unseen = of(direction(Origin::Unknown, TemporaryFiles::Light), none);
        for may in [MayServe::Devices, MayServe::Caches] {
            let why = unseen.objection(may).expect("nobody knows what served it");
            assert!(why.contains("no device is visible"), "{why}");
        }
        assert_eq!(
            unseen.doubt(MayServe::Anything),
            None,
            "ranked with its memory, wherever that is"
        );
    }

    #[test]
    fn reads_are_widened_where_each_is_of_several_pages() {
        let page = 8192.0;
        assert!(is_widened(Some((32_768.0, page))) && is_widened(Some((2.0 * page, page))));
        assert!(
            !is_widened(Some((page, page))) && !is_widened(Some((1.3 * page, page))),
            "some were merged"
        );
        assert!(!is_widened(None), "nobody counted");
    }

    #[test]
    fn labels_follow_the_thresholds() {
        let mib = 1024.0 * 1024.0;
        assert_eq!(label(100.0 * mib, 100.0 * mib, mib, Some(90.0 * mib)), Origin::Device);
        assert_eq!(label(100.0 * mib, 100.0 * mib, mib, Some(300.0 * mib)), Origin::Device);
        assert_eq!(label(100.0 * mib, 100.0 * mib, mib, Some(89.0 * mib)), Origin::Mixed);
        assert_eq!(label(100.0 * mib, 100.0 * mib, mib, Some(10.0 * mib)), Origin::Cache);
        assert_eq!(label(100.0 * mib, 100.0 * mib, mib, Some(11.0 * mib)), Origin::Mixed);
        assert_eq!(label(100.0 * mib, 100.0 * mib, mib, None), Origin::Unknown);
        assert_eq!(label(0.5 * mib, 0.5 * mib, mib, Some(0.0)), Origin::None);
        assert_eq!(label(100.0 * mib, 50.0 * mib, mib, Some(51.0 * mib)), Origin::Device);
    }
}
