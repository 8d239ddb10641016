//! Whether a model kept up with its device: the one criterion of the probe before a study and of every phase in it.
//!
//! Takes what a service and the kernel counted between two moments, gives the reason why the time cannot count.
//! Prevents: a probe that lets through what the phases then refuse.

use luns::model::HELD_LONG_NS;

/// Answers may be so much later than the model's, as a share of the time that they took, all together: with one
/// request at a time the rate would be too low by this share.
pub(crate) const LATE_SHARE: f64 = 0.03;
/// All lateness of a LUN set one after the other, as a share of the phase: what it takes from the phase at most, in
/// whatever order requests wait for one another. Less says nothing against the phase.
const PHASE_SHARE: f64 = 0.01;
/// Of fewer requests nothing is said.
const REQUESTS_MIN: f64 = 100.0;

/// What was counted of one LUN set; times in nanoseconds, summed over requests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// Of the clock on the wall.
    pub(crate) elapsed_ns: f64,
    /// Requests that were answered.
    pub(crate) answered: f64,
    /// How much later than the model's time.
    pub(crate) delay_ns: f64,
    /// What the model took for them.
    pub(crate) modelled_ns: f64,
    /// Requests that a limit held back by each of [`HELD_LONG_NS`].
    pub(crate) held_long: [f64; HELD_LONG_NS.len()],
    /// Reads.
    pub(crate) reads: f64,
    /// What the model took for them.
    pub(crate) read_modelled_ns: f64,
    /// What they took as the kernel saw it; `None` where it does not tell.
    pub(crate) read_seen_ns: Option<f64>,
    /// Reads that a limit held back.
    pub(crate) held_long_reads: [f64; HELD_LONG_NS.len()],
    /// Share of the reads that a device found in its read-ahead; `None`: it reads nothing ahead.
    pub(crate) read_ahead: Option<f64>,
    /// How many times slower than its device the model ran.
    pub(crate) slower: f64,
}

impl Pace {
    /// Why the model was not the device that was asked for, if more than a share of the time was the machine's.
    pub(crate) fn why_late(&self, share: f64) -> Option<String> {
        let matters = |late_ns: f64| late_ns > PHASE_SHARE * self.elapsed_ns;
        let free = self.exposed(self.answered, self.held_long, self.delay_ns);
        let late = self.late(free, share).filter(|_| matters(free * self.delay_ns));
        late.or_else(|| {
            let way_ns = self.read_seen_ns? - self.read_modelled_ns;
            if way_ns < 0.0 {
                return self.too_soon(share).filter(|_| matters(-way_ns));
            }
            let waiting = match self.read_ahead {
                Some(hits) => 1.0 - hits,
                None => self.exposed(self.reads, self.held_long_reads, way_ns),
            };
            self.slow_path(waiting, share).filter(|_| matters(waiting * way_ns))
        })
    }

    /// The way of a read to the model and back, nanoseconds: what the kernel saw beyond the model's time; `None` of few
    /// reads.
    pub(crate) fn way_ns(&self) -> Option<f64> {
        let way_ns = self.read_seen_ns? - self.read_modelled_ns;
        (self.reads >= REQUESTS_MIN).then(|| way_ns / self.reads)
    }

    /// The share of requests that a delay of the host's makes later. Not those that a limit of the device held back for
    /// four times the mean delay or longer: had they come earlier, they would have waited, and the limit's rate is
    /// what it is.
    fn exposed(&self, requests: f64, held_long: [f64; HELD_LONG_NS.len()], delay_ns: f64) -> f64 {
        let mean_ns = delay_ns / requests.max(1.0);
        let is_long = |ns: &u64| *ns as f64 * self.slower.max(1.0) >= 4.0 * mean_ns;
        let long = HELD_LONG_NS.iter().position(is_long);
        long.map_or(1.0, |nth| 1.0 - (held_long[nth] / requests.max(1.0)).min(1.0))
    }

    /// Answers came too late. `exposed`: the share of requests that lateness makes later.
    fn late(&self, exposed: f64, share: f64) -> Option<String> {
        let Pace {
            answered,
            delay_ns,
            modelled_ns,
            ..
        } = *self;
        let much = exposed * delay_ns > share * (modelled_ns + delay_ns);
        let too_late = answered >= REQUESTS_MIN && modelled_ns > 0.0 && much;
        too_late.then(|| {
            format!(
                "the model cannot keep up: answers came {:.0} us late on average, {:.0} % of the {:.0} us \
                 that the model takes",
                delay_ns / answered / 1e3,
                100.0 * delay_ns / modelled_ns,
                modelled_ns / answered / 1e3
            )
        })
    }

    /// A way shorter than what the answers came sooner by.
    fn too_soon(&self, share: f64) -> Option<String> {
        let (seen_ns, modelled_ns) = (self.read_seen_ns?, self.read_modelled_ns);
        (self.reads >= REQUESTS_MIN && modelled_ns - seen_ns > share * modelled_ns).then(|| {
            format!(
                "the model answers too soon: reads took {:.0} us on average, the model's device takes {:.0} us",
                seen_ns / self.reads / 1e3,
                modelled_ns / self.reads / 1e3
            )
        })
    }

    /// The model may be punctual from the moment it hears of a request, and requests late to reach it: more of them
    /// than the machine can carry, or a device so quick that the way to it and back counts. Only reads can be held
    /// against each other: a write may wait in the kernel for a flush of another.
    fn slow_path(&self, exposed: f64, share: f64) -> Option<String> {
        let (reads, modelled_ns) = (self.reads, self.read_modelled_ns);
        let seen_ns = self.read_seen_ns?;
        let way_ns = seen_ns - modelled_ns;
        let too_slow = reads >= REQUESTS_MIN && modelled_ns > 0.0 && exposed * way_ns > share * seen_ns;
        too_slow.then(|| {
            format!(
                "the model cannot keep up: reads took {:.0} us on average, of which the model's device is {:.0} us \
                 and the way to it and back the rest, {:.0} %",
                seen_ns / reads / 1e3,
                modelled_ns / reads / 1e3,
                100.0 * way_ns / seen_ns
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(answered: f64, delay_ns: f64, modelled_ns: f64) -> Option<String> {
        let pace = Pace {
            answered,
            delay_ns,
            modelled_ns,
            slower: 1.0,
            ..Pace::default()
        };
        pace.late(1.0, LATE_SHARE)
    }

    fn slow_path(reads: f64, seen_ns: f64, read_modelled_ns: f64, exposed: f64) -> Option<String> {
        let read_seen_ns = Some(seen_ns);
        let pace = Pace {
            reads,
            read_modelled_ns,
            read_seen_ns,
            slower: 1.0,
            ..Pace::default()
        };
        pace.slow_path(exposed, LATE_SHARE)
    }

    #[test]
    fn answers_later_than_the_model_by_more_than_a_share_are_told() {
        assert_eq!(late(1000.0, 1e6, 1000.0 * 1e6), None);
        assert_eq!(late(10.0, 1e9, 10.0 * 1e6), None, "of a few requests nothing is said");
        assert_eq!(late(1000.0, 1e9, 0.0), None, "a device without times of its own");
        let told = late(1000.0, 50_000.0 * 1000.0, 1000.0 * 1e6).expect("too late");
        assert!(told.contains("50 us late on average, 5 % of the 1000 us"), "{told}");
    }

    #[test]
    fn a_way_to_the_model_that_takes_more_than_a_share_is_told() {
        assert_eq!(slow_path(1000.0, 1.02e9, 1e9, 1.0), None);
        assert_eq!(
            slow_path(10.0, 2e9, 1e9, 1.0),
            None,
            "of a few requests nothing is said"
        );
        assert_eq!(
            slow_path(1000.0, 1e9, 0.0, 1.0),
            None,
            "a device without times of its own"
        );
        assert_eq!(
            slow_path(1000.0, 0.9e9, 1e9, 1.0),
            None,
            "the kernel counts in milliseconds"
        );
        assert_eq!(
            slow_path(1000.0, 0.9e9, 0.8e9, 0.2),
            None,
            "four of five are read ahead"
        );
        let told = slow_path(1000.0, 0.9e9, 0.8e9, 1.0).expect("too slow");
        assert!(
            told.contains("900 us on average, of which the model's device is 800 us"),
            "{told}"
        );
    }

    #[test]
    fn a_model_that_answers_before_its_device_is_told() {
        let pace = |seen_ns: f64| Pace {
            elapsed_ns: 1e9,
            reads: 1000.0,
            read_modelled_ns: 1e9,
            read_seen_ns: Some(seen_ns),
            slower: 1.0,
            ..Pace::default()
        };
        assert_eq!(pace(0.98e9).why_late(LATE_SHARE), None);
        assert_eq!(pace(0.98e9).way_ns(), Some(-20_000.0));
        let told = pace(0.9e9).why_late(LATE_SHARE).expect("too soon");
        assert!(
            told.contains("reads took 900 us on average, the model's device takes 1000 us"),
            "{told}"
        );
    }

    #[test]
    fn a_request_that_a_limit_holds_back_is_no_later_for_a_short_way() {
        // Of 1,000 requests, 900 were held back by 400 us, 600 by 1.6 ms, 300 by 12.8 ms.
        let held_long = [990.0, 970.0, 940.0, 900.0, 800.0, 600.0, 500.0, 400.0, 300.0, 200.0];
        let slower = |slower: f64, delay_us: f64| {
            let pace = Pace {
                slower,
                ..Pace::default()
            };
            pace.exposed(1000.0, held_long, 1000.0 * delay_us * 1e3)
        };
        let of = |delay_us: f64| slower(1.0, delay_us);
        assert_eq!(
            Pace::default().exposed(1000.0, [0.0; HELD_LONG_NS.len()], 1000.0 * 100e3),
            1.0
        );
        assert!(
            (of(100.0) - 0.1).abs() < 1e-9,
            "one in ten came to a device that was free"
        );
        assert!(
            (of(400.0) - 0.4).abs() < 1e-9,
            "a longer way wants a longer wait to hide in"
        );
        assert!((of(2000.0) - 0.7).abs() < 1e-9);
        assert_eq!(of(10_000.0), 1.0, "no wait hides so long a way");
        assert_eq!(
            slower(10.0, 1000.0),
            of(100.0),
            "in slow motion a wait hides a way ten times as long"
        );
        let pace = Pace {
            elapsed_ns: 1e9,
            answered: 1000.0,
            delay_ns: 1000.0 * 100e3,
            modelled_ns: 1000.0 * 1e6,
            slower: 1.0,
            ..Pace::default()
        };
        assert!(pace.why_late(LATE_SHARE).is_some());
        assert_eq!(Pace { held_long, ..pace }.why_late(LATE_SHARE), None);
    }
}
