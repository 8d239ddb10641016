//! How much of a load one stack carries, with the interval in which one more build of it lies.
//!
//! Takes measured phases and the load, gives a [`Share`] or the reason why none can be said. A page read costs a part
//! of the stack's time, with the updates that come with it. It lies between the parts of two phases, in proportion to
//! their mixes: pages changed for each page read. Prevents: a stack sized by a mix that it never did, or at a rate at
//! which its p99 was never measured.

use super::found::Amount;
use super::load::Load;
use super::measured::{ByBlock, Carried};
use crate::format::percent;

/// Confidence that one more build lies inside the interval.
const CONFIDENCE: f64 = 0.95;

/// A phase on a schedule whose updates for each read differ by no more is of the mix that was asked for; above one
/// update for each read by so much of its mix.
const SAME_MIX: f64 = 0.1;

/// Drawn operations scatter: mixes that differ by no more are one.
const DRAWN: f64 = 0.01;

/// So does what a cache finds, and dead rows are read too: phases of one study whose mixes differ by no larger part are
/// of one mix.
const ONE_STUDY: f64 = 0.1;

/// Of a mix further outside the measured ones nothing is said. Where an update costs five reads, its own among them,
/// an update more for every fourth read doubles the cost of a read: there an extrapolation by LUNs is labelled, too.
/// Above one update for each read it is so much of the measured mix, and adds less than a quarter to that cost.
const MIX_REFUSED: f64 = 0.25;

/// How many of a stack a load takes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Share {
    pub(crate) middle: f64,
    /// Ends of the interval in which one more build lies; `None` below two blocks.
    pub(crate) ends: Option<[f64; 2]>,
    /// Phases that it was computed from.
    pub(crate) phases: Vec<String>,
    /// The mix lies outside those measured: the nearest was taken.
    pub(crate) outside: bool,
    /// At the highest rate on a schedule, of those that kept the p99 where one is asked.
    pub(crate) paced: bool,
    /// Processors of the host that are busy at the load.
    pub(crate) processors: Option<Amount>,
    /// Processors that there were.
    pub(crate) host_processors: Option<f64>,
    /// Bytes a second that the lowest visible devices move at the load.
    pub(crate) device_bytes_per_s: Option<Amount>,
}

/// What `carried` tells of the load; the reason in words where it cannot.
pub(crate) fn of(carried: &[Carried], load: &Load) -> Result<Share, String> {
    let closed: Vec<&Carried> = carried.iter().filter(|one| !one.open).collect();
    let nearest = between(&closed, load.updates_per_read());
    let within = |one: &&Carried| {
        load.p99_ns
            .is_none_or(|limit| one.p99_ns.is_some_and(|p99| p99 <= limit))
    };
    if let Some(nearest) = nearest.filter(|nearest| !nearest.is_far())
        && nearest.phases.iter().all(within)
    {
        return share(nearest, load, false);
    }
    // At full speed the p99 is missed, or no phase of this mix was run: what was measured at a lower rate?
    let paced = carried.iter().filter(|one| one.open && within(one));
    let off = |one: &Carried| (one.updates_per_read - load.updates_per_read()).abs();
    let paced = paced.filter(|one| off(one) <= in_proportion(SAME_MIX, one.updates_per_read));
    if let Some(best) = paced.max_by(|a, b| a.usual().total_cmp(&b.usual())) {
        let best = Nearest {
            phases: [best, best],
            outside: off(best),
            mix: best.updates_per_read,
        };
        return share(best, load, true);
    }
    if let Some(nearest) = nearest.filter(Nearest::is_far) {
        return Err(too_far(nearest, load));
    }
    Err(match load.p99_ns.is_some() && !closed.is_empty() {
        true => "no phase of this mix keeps that p99: measure phases with a `rate`, below what the stack does at most",
        false => "no ranked phase of random work counts on it",
    }
    .into())
}

/// The phases between whose mixes a load lies.
#[derive(Clone, Copy)]
struct Nearest<'a> {
    phases: [&'a Carried; 2],
    /// How far the load lies outside the measured mixes.
    outside: f64,
    /// The measured mix that it is held against then.
    mix: f64,
}

impl Nearest<'_> {
    /// How far outside nothing is said.
    fn refused(&self) -> f64 {
        in_proportion(MIX_REFUSED, self.mix)
    }

    fn is_far(&self) -> bool {
        self.outside > self.refused() + DRAWN
    }
}

/// A difference of mixes. Above one update for each read a cache has pages that are updated, and the difference grows
/// with the measured mix.
fn in_proportion(difference: f64, mix: f64) -> f64 {
    difference * mix.max(1.0)
}

/// The phases with the nearest mixes on both sides; of one side alone, that one twice. Of several of one mix the
/// slowest: a fresh database does not stay fresh.
fn between<'a>(closed: &[&'a Carried], wanted: f64) -> Option<Nearest<'a>> {
    let mixes = || closed.iter().map(|one| one.updates_per_read);
    let slowest = |mix: f64| {
        let is_alike = |one: f64| (one - mix).abs() <= DRAWN.max(ONE_STUDY * mix.max(one));
        let alike = closed.iter().filter(|one| is_alike(one.updates_per_read));
        alike.min_by(|a, b| a.usual().total_cmp(&b.usual())).copied()
    };
    let below = mixes().filter(|one| *one <= wanted + DRAWN).max_by(f64::total_cmp);
    let above = mixes().filter(|one| *one >= wanted - DRAWN).min_by(f64::total_cmp);
    let (low, high) = (below.or(above)?, above.or(below)?);
    Some(Nearest {
        phases: [slowest(low)?, slowest(high)?],
        outside: (low - wanted).max(wanted - high).max(0.0),
        mix: if wanted < low { low } else { high },
    })
}

fn too_far(nearest: Nearest<'_>, load: &Load) -> String {
    let wanted = load.updates_per_read();
    // Without a cache each page that is updated is read.
    let cure = match wanted > nearest.mix.max(1.0) {
        true => ", with a larger `cache` in `[database]`",
        false => "",
    };
    format!(
        "its updates are {} of its reads, and those of the nearest phase that was measured {}. Nothing is said beyond \
         {:.0} points: measure a phase of this mix{cure}",
        percent(wanted),
        percent(nearest.mix),
        nearest.refused() * 100.0
    )
}

fn share(nearest: Nearest<'_>, load: &Load, paced: bool) -> Result<Share, String> {
    let [low, high] = nearest.phases;
    let span = high.updates_per_read - low.updates_per_read;
    let weight = if span > DRAWN {
        ((load.updates_per_read() - low.updates_per_read) / span).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let a_second = |parts: [&ByBlock; 2]| taken(parts, weight, load);
    let Some(parts) = a_second([&low.seconds(), &high.seconds()]) else {
        return Err("its phases share no block that counts".into());
    };
    let mut phases = Vec::new();
    // Only those whose figures are in it.
    for (phase, part) in [(&low.phase, 1.0 - weight), (&high.phase, weight)] {
        if part > 0.0 && !phases.contains(phase) {
            phases.push(phase.clone());
        }
    }
    Ok(Share {
        middle: parts.middle,
        ends: parts.low.zip(parts.high).map(|(low, high)| [low, high]),
        phases,
        outside: nearest.outside > DRAWN,
        paced,
        processors: a_second([&low.processor_s, &high.processor_s]),
        host_processors: low.processors.filter(|_| low.processors == high.processors),
        device_bytes_per_s: a_second([&low.device_bytes, &high.device_bytes]),
    })
}

/// What the load takes a second of something, from what a page read took of it in two phases; `None` without a block
/// of both. Each block is a build of its own, and one system is bought: its ends are those of one more build.
fn taken([low, high]: [&ByBlock; 2], weight: f64, load: &Load) -> Option<Amount> {
    let both = low.iter().filter_map(|(block, low)| {
        let high = high.get(block)?;
        Some((1.0 - weight) * low + weight * high)
    });
    let logs: Vec<f64> = both.map(|read| (read * load.reads_per_s).ln()).collect();
    if logs.is_empty() || logs.iter().any(|log| !log.is_finite()) {
        return None;
    }
    let interval = stats::ratio_prediction_interval(&logs, CONFIDENCE);
    Some(Amount {
        middle: stats::mean(&logs).exp(),
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &str, updates_per_read: f64, rates: &[f64], p99_ms: f64) -> Carried {
        Carried {
            phase: name.into(),
            open: false,
            updates_per_read,
            reads_per_s: (0..).zip(rates.iter().copied()).collect(),
            p99_ns: Some(p99_ms * 1e6),
            processor_s: (0..).zip(rates.iter().map(|rate| 2.0 / rate)).collect(),
            processors: Some(4.0),
            device_bytes: (0..).zip(rates.iter().map(|_| 8192.0)).collect(),
        }
    }

    fn load(reads_per_s: f64, updates_per_s: f64, p99_ms: Option<f64>) -> Load {
        Load {
            reads_per_s,
            updates_per_s,
            p99_ns: p99_ms.map(|ms| ms * 1e6),
            data_bytes: None,
        }
    }

    #[test]
    fn a_mix_costs_what_its_parts_cost() {
        // A read takes 1/10,000 of the stack's second, and changing what it read 1/2,500 more.
        let carried = [
            phase("read", 0.0, &[10_000.0; 4], 1.0),
            phase("half", 0.5, &[1.0 / 0.0003; 4], 3.0),
        ];
        let found = of(&carried, &load(2_400.0, 400.0, None)).unwrap();
        assert!((found.middle - (0.24 + 0.16)).abs() < 1e-9, "{found:?}");
        assert!(!found.outside && !found.paced && found.phases == ["read", "half"]);
        let found = of(&carried[..1], &load(10_000.0, 1_000.0, None)).unwrap();
        assert!(found.outside, "updates were never measured: {found:?}");
        let found = of(&carried, &load(400.0, 300.0, None)).unwrap();
        assert!(
            found.outside && found.phases == ["half"],
            "so many updates were never measured: {found:?}"
        );
    }

    #[test]
    fn a_mix_far_outside_is_refused_on_both_sides() {
        let far = |carried: &[Carried], load: &Load| of(carried, load).unwrap_err();
        let half = [phase("half", 0.5, &[3_000.0; 4], 3.0)];
        for (load, mix) in [
            (load(400.0, 400.0, None), "are 100 %"),
            (load(1_000.0, 100.0, None), "are 10 %"),
        ] {
            let why = far(&half, &load);
            assert!(why.contains(mix) && why.contains("beyond 25 points"), "{why}");
        }
        let near = of(&half, &load(400.0, 100.0, None)).unwrap();
        assert!(near.outside, "labelled up to there: {near:?}");
        // What was measured on a schedule in this mix still counts.
        let open = Carried {
            open: true,
            ..phase("all updates", 1.0, &[500.0; 4], 1.0)
        };
        let both = [half[0].clone(), open];
        let found = of(&both, &load(400.0, 400.0, None)).unwrap();
        assert!(found.paced && found.phases == ["all updates"], "{found:?}");
    }

    /// A cache has most pages that are updated: the mix is above 1.
    #[test]
    fn a_mix_above_one_is_held_against_its_own_size() {
        let cached = phase("cached", 2.0, &[1_000.0; 4], 3.0);
        let closed = std::slice::from_ref(&cached);
        for updates in [1_600.0, 2_300.0] {
            let near = of(closed, &load(1_000.0, updates, None)).unwrap();
            assert!(near.outside && near.phases == ["cached"], "{near:?}");
        }
        for (updates, mix) in [(1_400.0, "are 140 %"), (2_600.0, "are 260 %")] {
            let why = of(closed, &load(1_000.0, updates, None)).unwrap_err();
            assert!(why.contains(mix) && why.contains("beyond 50 points"), "{why}");
            assert_eq!(why.contains("a larger `cache`"), updates > 2_000.0, "{why}");
        }
        let open = [Carried { open: true, ..cached }];
        let found = of(&open, &load(500.0, 1_075.0, None)).unwrap();
        assert!(found.paced && found.outside, "2.15 of 2: {found:?}");
        assert!(of(&open, &load(500.0, 1_150.0, None)).is_err(), "2.3 of 2");
    }

    #[test]
    fn processors_and_bytes_are_those_of_the_mix() {
        // Two processors at each measured rate: a read of either phase takes twice what it takes of the stack.
        let carried = [
            phase("read", 0.0, &[10_000.0; 4], 1.0),
            phase("half", 0.5, &[1.0 / 0.0003; 4], 3.0),
        ];
        let found = of(&carried, &load(2_400.0, 400.0, None)).unwrap();
        let (processors, bytes) = (found.processors.unwrap(), found.device_bytes_per_s.unwrap());
        assert!((processors.middle - 0.8).abs() < 1e-9, "{found:?}");
        assert!((bytes.middle - 2_400.0 * 8192.0).abs() < 1e-3, "{found:?}");
        assert_eq!(found.host_processors, Some(4.0));
        let mut unknown = carried;
        unknown[1].processor_s.clear();
        assert_eq!(of(&unknown, &load(2_400.0, 400.0, None)).unwrap().processors, None);
    }

    #[test]
    fn of_phases_of_one_mix_the_slowest_counts() {
        let carried = [
            phase("fresh", 0.0, &[10_000.0; 4], 1.0),
            phase("fresh half", 0.5002, &[4_000.0; 4], 3.0),
            phase("aged", 0.0, &[5_000.0; 4], 1.0),
            phase("aged half", 0.4997, &[3_000.0; 4], 3.0),
        ];
        let read = of(&carried, &load(5_000.0, 0.0, None)).unwrap();
        assert!(read.phases == ["aged"] && (read.middle - 1.0).abs() < 1e-9, "{read:?}");
        let mixed = of(&carried, &load(5_000.0, 1_000.0, None)).unwrap();
        assert_eq!(mixed.phases, ["aged", "aged half"]);
    }

    /// While a cache fills, and where dead rows are read, an update comes with more reads.
    #[test]
    fn mixes_that_a_cache_alone_tells_apart_are_one() {
        let carried = [
            phase("fresh half", 0.52, &[4_000.0; 4], 3.0),
            phase("aged half", 0.55, &[3_000.0; 4], 3.0),
            phase("two thirds", 0.67, &[2_000.0; 4], 3.0),
        ];
        let found = of(&carried, &load(1_000.0, 520.0, None)).unwrap();
        assert!(found.phases == ["aged half"] && !found.outside, "{found:?}");
    }

    #[test]
    fn scatter_of_blocks_is_the_interval() {
        let found = of(
            &[phase("read", 0.0, &[9_000.0, 11_000.0, 10_000.0], 1.0)],
            &load(5_000.0, 0.0, None),
        )
        .unwrap();
        let [low, high] = found.ends.unwrap();
        assert!(
            low < found.middle && found.middle < high && (found.middle - 0.5).abs() < 0.01,
            "{found:?}"
        );
        let one = of(&[phase("read", 0.0, &[9_000.0], 1.0)], &load(9_000.0, 0.0, None)).unwrap();
        assert_eq!((one.ends, (one.middle * 1e9).round()), (None, 1e9));
    }

    #[test]
    fn a_p99_that_full_speed_misses_asks_for_a_lower_rate() {
        let full = phase("read", 0.0, &[10_000.0; 2], 20.0);
        let asked = load(8_000.0, 0.0, Some(5.0));
        assert!(
            of(std::slice::from_ref(&full), &asked)
                .unwrap_err()
                .contains("keeps that p99")
        );
        let open = |name: &str, rate: f64, p99_ms: f64| Carried {
            open: true,
            ..phase(name, 0.0, &[rate; 2], p99_ms)
        };
        let all = [
            full,
            open("half", 5_000.0, 2.0),
            open("most", 8_000.0, 4.0),
            open("all", 9_500.0, 9.0),
        ];
        let found = of(&all, &asked).unwrap();
        assert!(
            found.paced && found.phases == ["most"] && (found.middle - 1.0).abs() < 1e-9,
            "{found:?}"
        );
        assert!(of(&[], &asked).unwrap_err().contains("no ranked phase"));
    }
}
