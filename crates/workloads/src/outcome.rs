//! What a phase came to: counts, histograms of service and response, completions over time.
//!
//! Given by [`crate::drive`] for one worker, and by [`merge`] for several. Raw distributions are kept, percentiles are
//! derived later. Prevents: percentiles averaged over workers (histograms are added instead), and a histogram that lost
//! its largest values silently (they are kept at its end and counted in [`ClassOutcome::clamped`]).

use hdrhistogram::Histogram;
use targets::Nanos;

/// Largest latency a histogram tells apart: one hour.
pub const LATENCY_NS_MAX: u64 = 3_600_000_000_000;

/// Lowest value, highest value and digits of each histogram: those of another range cannot be added.
pub const LATENCY_RANGE: (u64, u64, u8) = (1, LATENCY_NS_MAX, 3);

/// The slices of a phase never exceed this number; later completions are counted in the last one.
pub const SLICES_MAX: usize = 1 << 20;

/// One worker's phase, or several merged.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Clock at the beginning, ns.
    pub began: Nanos,
    /// Clock at the end, ns: the last completion, or the time limit if that came later and ended the phase.
    pub ended: Nanos,
    /// `ended - began`. Rates of the phase are counts over this, because late completions are in the counts.
    pub elapsed_ns: u64,
    /// Per class, in the order of [`Operation::classes`](crate::Operation::classes). Empty for a worker whose latencies
    /// are counted with those of others ([`crate::Latencies`]).
    pub classes: Vec<ClassOutcome>,
    /// Completions over time, without gaps from the beginning to the end; empty when not asked for.
    pub slices: Vec<Slice>,
    /// Operations completed within the time limit; all of them when there was none.
    pub in_time_count: u64,
    /// Their units.
    pub in_time_units: u64,
    /// Open arrival: operations due within the phase that were never started.
    pub unsent: u64,
    /// Operations completed by the slowest and by the fastest session.
    pub fairness: (u64, u64),
    /// Sessions.
    pub sessions: u32,
    /// The phase was ended by the cancel flag.
    pub cancelled: bool,
    /// Processor time of the threads that drove it over the time they had, 0 to 1; who owns the threads knows it, and
    /// `None` until then.
    pub busy_share: Option<f64>,
}

/// One class of operation.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassOutcome {
    /// Its name.
    pub name: String,
    /// Operations completed.
    pub count: u64,
    /// Work in them, in the operation's own unit.
    pub units: u64,
    /// done - start, ns; 3 significant digits, 1 ns to [`LATENCY_NS_MAX`].
    pub service: Histogram<u64>,
    /// done - due, ns; the same range.
    pub response: Histogram<u64>,
    /// Values above [`LATENCY_NS_MAX`] in either histogram, recorded as that.
    pub clamped: u64,
}

/// Completions in one slice of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slice {
    /// Where the slice begins, ns from the beginning of the phase. It holds what ended after this and up to and
    /// including the beginning of the next.
    pub at_ns: u64,
    /// Operations completed in it.
    pub count: u64,
    /// Their units.
    pub units: u64,
}

impl Outcome {
    /// Operations completed, all classes.
    pub fn count(&self) -> u64 {
        self.classes.iter().map(|class| class.count).sum()
    }

    /// Work done, all classes.
    pub fn units(&self) -> u64 {
        self.classes.iter().map(|class| class.units).sum()
    }
}

impl ClassOutcome {
    pub(crate) fn add(&mut self, other: &ClassOutcome) {
        self.count += other.count;
        self.units += other.units;
        self.clamped += other.clamped;
        self.service
            .add(&other.service)
            .expect("all latency histograms have one range");
        self.response
            .add(&other.response)
            .expect("all latency histograms have one range");
    }
}

/// Of no latencies so far. It takes 264 KiB at once and writes all of it, however little is recorded. One for each
/// class of each of hundreds of threads is gigabytes.
pub(crate) fn distribution() -> Histogram<u64> {
    let (low, high, digits) = LATENCY_RANGE;
    Histogram::new_with_bounds(low, high, digits).expect("1 ns to one hour at 3 digits is a legal range")
}

/// Completions over time, while they happen.
pub(crate) struct Slices {
    width_ns: u64,
    list: Vec<Slice>,
}

impl Slices {
    /// `width_ns` 0 keeps none.
    pub(crate) fn new(width_ns: u64, time_ns: Option<u64>) -> Self {
        // Room for the phase and a tail, so that the loop does not allocate.
        let room = match (width_ns, time_ns) {
            (0, _) => 0,
            (width, Some(time)) => usize::try_from(time / width).unwrap_or(SLICES_MAX).min(SLICES_MAX - 64) + 64,
            (_, None) => 4096,
        };
        Slices {
            width_ns,
            list: Vec::with_capacity(room),
        }
    }

    #[inline]
    pub(crate) fn count(&mut self, offset_ns: u64, units: u64) {
        if self.width_ns == 0 {
            return;
        }
        let index = self.index(offset_ns);
        self.reach(index + 1);
        self.list[index].count += 1;
        self.list[index].units += units;
    }

    pub(crate) fn finish(mut self, elapsed_ns: u64) -> Vec<Slice> {
        if self.width_ns > 0 && elapsed_ns > 0 {
            let last = self.index(elapsed_ns);
            self.reach(last + 1);
        }
        self.list
    }

    fn index(&self, offset_ns: u64) -> usize {
        let index = offset_ns.saturating_sub(1) / self.width_ns;
        usize::try_from(index).unwrap_or(SLICES_MAX).min(SLICES_MAX - 1)
    }

    fn reach(&mut self, length: usize) {
        while self.list.len() < length {
            let at_ns = self.list.len() as u64 * self.width_ns;
            self.list.push(Slice {
                at_ns,
                count: 0,
                units: 0,
            });
        }
    }
}

/// One outcome of several workers that ran the same phase side by side: histograms are added class by class (by name),
/// slices by their place from each worker's own beginning, and the phase lasts from the first beginning to the last
/// end. Of workers that counted their latencies in one place ([`crate::Latencies`]) the classes come from there.
///
/// Panics on an empty list: a phase has at least one worker; and on histograms of another range than
/// [`LATENCY_RANGE`].
pub fn merge(outcomes: Vec<Outcome>) -> Outcome {
    let mut rest = outcomes.into_iter();
    let mut whole = rest.next().expect("a phase has at least one worker");
    for one in rest {
        for class in one.classes {
            match whole.classes.iter_mut().find(|own| own.name == class.name) {
                Some(own) => own.add(&class),
                None => whole.classes.push(class),
            }
        }
        for (index, slice) in one.slices.iter().enumerate() {
            match whole.slices.get_mut(index) {
                Some(own) => {
                    own.count += slice.count;
                    own.units += slice.units;
                }
                None => whole.slices.push(*slice),
            }
        }
        whole.began = whole.began.min(one.began);
        whole.ended = whole.ended.max(one.ended);
        whole.in_time_count += one.in_time_count;
        whole.in_time_units += one.in_time_units;
        whole.unsent += one.unsent;
        // A worker without sessions says nothing about fairness.
        whole.fairness = match (whole.sessions, one.sessions) {
            (_, 0) => whole.fairness,
            (0, _) => one.fairness,
            _ => (
                whole.fairness.0.min(one.fairness.0),
                whole.fairness.1.max(one.fairness.1),
            ),
        };
        whole.sessions += one.sessions;
        whole.cancelled |= one.cancelled;
        whole.busy_share = None;
    }
    whole.elapsed_ns = whole.ended - whole.began;
    whole
}
