//! Outcomes one after another as one: the steps of a load curve, the row counts of a bulk load.
//!
//! Prevents: the pauses between two steps counted as time of the work.

use workloads::{Outcome, Slice};

/// All of them; the time is the sum of theirs, the clock that of the first beginning and the last end.
///
/// # Panics
/// Without any.
pub(crate) fn one_after_another(outcomes: &[&Outcome]) -> Outcome {
    let (first, rest) = outcomes.split_first().expect("at least one step");
    let mut all = (*first).clone();
    for one in rest {
        let shift = all.elapsed_ns;
        all.slices.extend(one.slices.iter().map(|slice| Slice {
            at_ns: slice.at_ns + shift,
            ..*slice
        }));
        all.elapsed_ns += one.elapsed_ns;
        all.ended = one.ended;
        for (mine, theirs) in all.classes.iter_mut().zip(&one.classes) {
            mine.count += theirs.count;
            mine.units += theirs.units;
            mine.clamped += theirs.clamped;
            mine.service.add(&theirs.service).expect("all latencies have one range");
            mine.response
                .add(&theirs.response)
                .expect("all latencies have one range");
        }
        all.in_time_count += one.in_time_count;
        all.in_time_units += one.in_time_units;
        all.unsent += one.unsent;
        all.sessions = all.sessions.max(one.sessions);
        all.cancelled |= one.cancelled;
    }
    all
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
        let one = drive(&mut Idle(3), &Pacing::closed(1, 1_000_000_000), 0).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5));
        let other = drive(&mut Idle(4), &Pacing::closed(1, 1_000_000_000), 0).unwrap();
        let all = one_after_another(&[&one, &other]);
        assert_eq!((all.count(), all.units()), (7, 14));
        assert_eq!(all.elapsed_ns, one.elapsed_ns + other.elapsed_ns);
        assert_eq!((all.began, all.ended), (one.began, other.ended));
        assert_eq!(all.classes[0].service.len(), 7);
    }
}
