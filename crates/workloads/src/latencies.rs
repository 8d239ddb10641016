//! Latencies while they happen: of one worker, or of hundreds that count in one place.
//!
//! The one place is for workers with a thread and a session each. A count is one atomic addition, and nobody waits for
//! anybody. The histograms are made once, when all workers have ended. They are those that would come of adding each
//! worker's.
//!
//! Prevents: a phase whose end takes seconds and gigabytes, because each thread makes a histogram for every class, most
//! of them empty. They would be in the processor time of an operation, in the peak of memory and in the drain.

use crate::outcome::{ClassOutcome, LATENCY_NS_MAX, distribution};
use crate::tally::{SharedTally, Tally};
use std::sync::atomic::{AtomicU64, Ordering};

/// Latencies of all workers of a phase, by class of operation. It takes 0.5 MB a class, however many workers there are.
pub struct Latencies {
    classes: Vec<SharedClass>,
}

/// One class of operation of all workers.
pub(crate) struct SharedClass {
    name: String,
    service: SharedTally,
    response: SharedTally,
    /// These three are of the workers that have ended.
    count: AtomicU64,
    units: AtomicU64,
    clamped: AtomicU64,
}

impl Latencies {
    /// `classes`: the names of [`Operation::classes`](crate::Operation::classes), in their order.
    pub fn new(classes: &[&str]) -> Latencies {
        Latencies {
            classes: classes.iter().map(|name| SharedClass::new(name)).collect(),
        }
    }

    /// What all workers counted since the last time, by class; the counts begin at zero again. To be called when all
    /// have ended, also where one ended by an error: the next phase would have its latencies.
    pub fn take(&mut self) -> Vec<ClassOutcome> {
        self.classes.iter_mut().map(SharedClass::take).collect()
    }

    /// The classes of one worker, whose operation names them so.
    pub(crate) fn under_way(&self, names: &[&str]) -> Vec<ClassUnderWay<'_>> {
        let own = self.classes.iter().map(|class| class.name.as_str());
        assert!(
            own.eq(names.iter().copied()),
            "a worker has other classes than the place where its latencies are counted"
        );
        self.classes.iter().map(ClassUnderWay::shared).collect()
    }
}

impl SharedClass {
    fn new(name: &str) -> SharedClass {
        SharedClass {
            name: name.to_owned(),
            service: SharedTally::new(LATENCY_NS_MAX),
            response: SharedTally::new(LATENCY_NS_MAX),
            count: AtomicU64::new(0),
            units: AtomicU64::new(0),
            clamped: AtomicU64::new(0),
        }
    }

    #[inline]
    pub(crate) fn record(&self, service_ns: u64, response_ns: u64) {
        self.service.record(service_ns);
        self.response.record(response_ns);
    }

    /// What a worker counted for itself, at its end.
    pub(crate) fn add(&self, count: u64, units: u64, clamped: u64) {
        self.count.fetch_add(count, Ordering::Relaxed);
        self.units.fetch_add(units, Ordering::Relaxed);
        self.clamped.fetch_add(clamped, Ordering::Relaxed);
    }

    fn take(&mut self) -> ClassOutcome {
        let (mut service, mut response) = (distribution(), distribution());
        self.service.pour_out(&mut service);
        self.response.pour_out(&mut response);
        let taken = |count: &mut AtomicU64| std::mem::take(count.get_mut());
        ClassOutcome {
            name: self.name.clone(),
            count: taken(&mut self.count),
            units: taken(&mut self.units),
            service,
            response,
            clamped: taken(&mut self.clamped),
        }
    }
}

/// One class of operation of one worker, while it runs.
pub(crate) struct ClassUnderWay<'a> {
    pub(crate) count: u64,
    units: u64,
    clamped: u64,
    counted: Counted<'a>,
}

/// Where its latencies are counted.
enum Counted<'a> {
    /// For this worker alone.
    Own {
        name: String,
        service: Tally,
        response: Tally,
    },
    /// For all workers of the phase.
    Shared(&'a SharedClass),
}

impl<'a> ClassUnderWay<'a> {
    pub(crate) fn new(name: &str) -> Self {
        Self::counted(Counted::Own {
            name: name.to_owned(),
            service: Tally::new(LATENCY_NS_MAX),
            response: Tally::new(LATENCY_NS_MAX),
        })
    }

    pub(crate) fn shared(class: &'a SharedClass) -> Self {
        Self::counted(Counted::Shared(class))
    }

    fn counted(counted: Counted<'a>) -> Self {
        ClassUnderWay {
            count: 0,
            units: 0,
            clamped: 0,
            counted,
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, service_ns: u64, response_ns: u64, units: u64) {
        self.count += 1;
        self.units += units;
        self.clamped += u64::from(service_ns > LATENCY_NS_MAX) + u64::from(response_ns > LATENCY_NS_MAX);
        match &mut self.counted {
            Counted::Own { service, response, .. } => {
                service.record(service_ns);
                response.record(response_ns);
            }
            Counted::Shared(class) => class.record(service_ns, response_ns),
        }
    }

    /// What it came to; `None`: it is counted with that of the other workers.
    pub(crate) fn ended(self) -> Option<ClassOutcome> {
        let (name, own_service, own_response) = match self.counted {
            Counted::Own {
                name,
                service,
                response,
            } => (name, service, response),
            Counted::Shared(class) => {
                class.add(self.count, self.units, self.clamped);
                return None;
            }
        };
        let (mut service, mut response) = (distribution(), distribution());
        // The counts of a class without operations are memory that nobody has touched yet.
        if self.count > 0 {
            own_service.pour_into(&mut service);
            own_response.pour_into(&mut response);
        }
        Some(ClassOutcome {
            name,
            count: self.count,
            units: self.units,
            service,
            response,
            clamped: self.clamped,
        })
    }
}
