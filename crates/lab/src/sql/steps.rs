//! Outcomes one after another as one: the steps of a load curve, the row counts of a bulk load, the points of a ramp.
//!
//! Prevents: the pauses between two steps counted as time of the work, and memory that grows with each step because the
//! outcomes of all steps before are kept.

use workloads::{Outcome, Slice};

/// The steps so far. Of each alone nothing stays: with many classes of operation it takes more than 10 MB.
#[derive(Debug, Default)]
pub(crate) struct Steps(Option<Outcome>);

impl Steps {
    /// Adds the next.
    pub(crate) fn add(&mut self, step: Outcome) {
        match &mut self.0 {
            None => self.0 = Some(step),
            Some(all) => append(all, step),
        }
    }

    /// All of them: the time is the sum of theirs, the clock that of the first beginning and the last end. `None`:
    /// there was none.
    pub(crate) fn into_one(self) -> Option<Outcome> {
        self.0
    }
}

fn append(all: &mut Outcome, step: Outcome) {
    let shift = all.elapsed_ns;
    all.slices.extend(step.slices.iter().map(|slice| Slice {
        at_ns: slice.at_ns + shift,
        ..*slice
    }));
    all.elapsed_ns += step.elapsed_ns;
    all.ended = step.ended;
    for (mine, theirs) in all.classes.iter_mut().zip(&step.classes) {
        mine.count += theirs.count;
        mine.units += theirs.units;
        mine.clamped += theirs.clamped;
        mine.service.add(&theirs.service).expect("all latencies have one range");
        mine.response
            .add(&theirs.response)
            .expect("all latencies have one range");
    }
    all.in_time_count += step.in_time_count;
    all.in_time_units += step.in_time_units;
    all.unsent += step.unsent;
    all.sessions = all.sessions.max(step.sessions);
    // At one step of a load curve the client may be the limit, and at the others not.
    all.busy_share = all
        .busy_share
        .zip(step.busy_share)
        .map(|(mine, theirs)| mine.max(theirs));
    all.cancelled |= step.cancelled;
}

#[cfg(test)]
mod tests {
    use super::*;
    use targets::{Nanos, monotonic_ns};
    use workloads::{Done, Operation, Pacing, Started, drive};

    struct Idle(u32);

    impl Operation for Idle {
        type Error = std::convert::Infallible;
        fn now(&self) -> Nanos {
            monotonic_ns()
        }
        fn classes(&self) -> &[&'static str] {
            &["idle"]
        }
        fn start(&mut self, session: u32, done: &mut Vec<Done>) -> Result<Started, Self::Error> {
            if self.0 == 0 {
                return Ok(Started::Exhausted);
            }
            self.0 -= 1;
            let at = monotonic_ns();
            done.push(Done {
                session,
                class: 0,
                at,
                units: 2,
            });
            Ok(Started::Running)
        }
        fn advance(&mut self, _: Option<Nanos>, _: &mut Vec<Done>) -> Result<(), Self::Error> {
            Ok(())
        }
    }

    #[test]
    fn times_and_counts_add_up() {
        let hour_ns = 3_600_000_000_000;
        let mut pacing = Pacing::closed(1, hour_ns);
        pacing.slice_ns = hour_ns;
        let mut steps = Steps::default();
        let mut each = Vec::new();
        for operations in [3, 4, 5] {
            let step = drive(&mut Idle(operations), &pacing, 0).unwrap();
            each.push((step.began, step.elapsed_ns, step.ended));
            steps.add(step);
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let whole_ns: u64 = each.iter().map(|(_, elapsed_ns, _)| elapsed_ns).sum();
        let all = steps.into_one().unwrap();
        assert_eq!((all.count(), all.units()), (12, 24));
        assert_eq!((all.began, all.elapsed_ns, all.ended), (each[0].0, whole_ns, each[2].2));
        assert_eq!(all.classes[0].service.len(), 12);
        let slices: Vec<_> = all.slices.iter().map(|slice| (slice.at_ns, slice.count)).collect();
        assert_eq!(slices, [(0, 3), (each[0].1, 4), (each[0].1 + each[1].1, 5)]);
    }
}
