//! A device in slow motion: the same device, whose clock runs slower than the wall's by a whole factor.
//!
//! Takes any model, gives one whose times are longer and whose rates are lower by the factor; caches, credits and
//! queues stay in proportion. The factor may change: the device goes on where it was. Prevents: a machine that is too
//! slow for a device, and a parameter forgotten when its times are multiplied by hand.

use super::{Answer, Ask, Counters, DeviceModel};
use targets::Nanos;

/// A device in slow motion.
pub struct Slow {
    device: Box<dyn DeviceModel>,
    times: u64,
    /// Since when it is so slow: a moment on the wall's clock, and the same on the device's.
    since: (Nanos, Nanos),
    /// What was counted by then, in the wall's time and in the device's.
    counted: (Counters, Counters),
    /// What the host's way takes, in the wall's time.
    sooner: Nanos,
    done: Vec<Answer>,
}

impl Slow {
    /// The device with a clock that is so many times slower, at least 1.
    pub fn new(device: Box<dyn DeviceModel>, times: u32) -> Slow {
        Slow {
            device,
            times: u64::from(times.max(1)),
            since: (0, 0),
            counted: (Counters::default(), Counters::default()),
            sooner: 0,
            done: Vec::new(),
        }
    }

    /// How many times slower its clock is.
    pub fn times(&self) -> u64 {
        self.times
    }

    /// From `now` on its clock is so many times slower, at least 1; what the device holds, owes and has saved up stays.
    /// [`DeviceModel::advance`] to `now` comes first. Of busy time the stretch under way is told at the new pace.
    pub fn set_times(&mut self, now: Nanos, times: u32) {
        self.counted = (self.counters(), self.device.counters());
        self.since = (now, self.own(now));
        self.times = u64::from(times.max(1));
        self.device.answer_sooner(self.sooner / self.times);
    }

    /// A moment of the wall's clock on the device's.
    fn own(&self, wall: Nanos) -> Nanos {
        self.since.1 + wall.saturating_sub(self.since.0) / self.times
    }

    /// A moment of the device's clock on the wall's.
    fn wall(&self, own: Nanos) -> Nanos {
        let since_ns = own.saturating_sub(self.since.1);
        self.since.0.saturating_add(since_ns.saturating_mul(self.times))
    }
}

impl DeviceModel for Slow {
    fn submit(&mut self, now: Nanos, ask: Ask) {
        let now = self.own(now);
        self.device.submit(now, ask);
    }

    fn next(&self) -> Option<Nanos> {
        self.device.next().map(|at| self.wall(at))
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Answer>) {
        let (now, mut ended) = (self.own(now), std::mem::take(&mut self.done));
        self.device.advance(now, &mut ended);
        let of_wall = |answer: Answer| Answer {
            at: self.wall(answer.at),
            ..answer
        };
        done.extend(ended.drain(..).map(of_wall));
        self.done = ended;
    }

    /// Times are those of the wall; how long a request is held back is told in the device's own time.
    fn counters(&self) -> Counters {
        let own = self.device.counters();
        let (wall, then) = &self.counted;
        let of_wall = |of: fn(&Counters) -> u64| {
            let since_ns = of(&own).saturating_sub(of(then));
            of(wall).saturating_add(since_ns.saturating_mul(self.times))
        };
        Counters {
            seek_ns: of_wall(|counted| counted.seek_ns),
            rotation_ns: of_wall(|counted| counted.rotation_ns),
            held_ns: of_wall(|counted| counted.held_ns),
            processor_ns: of_wall(|counted| counted.processor_ns),
            busy_ns: of_wall(|counted| counted.busy_ns),
            sooner_ns: of_wall(|counted| counted.sooner_ns),
            sooner_reads_ns: of_wall(|counted| counted.sooner_reads_ns),
            ..own
        }
    }

    fn power_cycle(&mut self, now: Nanos) {
        let now = self.own(now);
        self.device.power_cycle(now);
    }

    /// Of the wall's time, as the way is.
    fn answer_sooner(&mut self, by: Nanos) {
        self.sooner = by;
        self.device.answer_sooner(by / self.times);
    }

    fn rate_max(&self, len: u32) -> Option<f64> {
        self.device.rate_max(len).map(|rate| rate / self.times as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Command, named};

    const GAP_NS: Nanos = 500_000;

    fn array() -> Box<dyn DeviceModel> {
        let value = |name: &str| match name {
            "parallel" => 4.0,
            "lun_iops" => 1000.0,
            "block" => 8192.0,
            "write_cache" => 1e6,
            "destage_rate" | "port_rate" => 1e8,
            name if name.ends_with("median") => 1e6,
            name if name.ends_with("p99") => 2e6,
            _ => 0.0,
        };
        named("array", &value, "", &[1 << 30], 7).unwrap()
    }

    fn ask(id: u64) -> Ask {
        Ask {
            id,
            lun: 0,
            command: if id.is_multiple_of(3) {
                Command::Write { through: false }
            } else {
                Command::Read
            },
            offset: id * 8192,
            len: 8192,
        }
    }

    /// Ends of 500 requests, each of which comes at its time, and what the device counted; `before` is asked before
    /// each request.
    fn driven(
        mut device: Slow,
        wall: impl Fn(Nanos) -> Nanos,
        mut before: impl FnMut(&mut Slow, u64, Nanos),
    ) -> (Vec<Nanos>, Counters) {
        let mut done = Vec::new();
        for id in 0..500 {
            let now = wall(id * GAP_NS);
            device.advance(now, &mut done);
            before(&mut device, id, now);
            device.submit(now, ask(id));
        }
        while let Some(next) = device.next() {
            device.advance(next, &mut done);
        }
        assert_eq!(done.len(), 500);
        done.sort_by_key(|answer| answer.id);
        (done.into_iter().map(|answer| answer.at).collect(), device.counters())
    }

    /// The same of requests that come at a steady pace.
    fn ends(times: u32, sooner: Nanos) -> (Vec<Nanos>, Counters) {
        let mut device = Slow::new(array(), times);
        device.answer_sooner(sooner);
        driven(device, |own| own * u64::from(times), |_, _, _| ())
    }

    #[test]
    fn all_times_are_longer_by_the_factor_and_nothing_else_is_other() {
        let ((own, counted), (slow, slowed)) = (ends(1, 0), ends(10, 0));
        assert_eq!(own.iter().map(|at| at * 10).collect::<Vec<_>>(), slow);
        assert!(counted.held_ns > 0 && counted.held_long[0] > 0, "{counted:?}");
        let expected = Counters {
            held_ns: counted.held_ns * 10,
            busy_ns: counted.busy_ns * 10,
            ..counted
        };
        assert_eq!(slowed, expected);
    }

    #[test]
    fn a_device_whose_pace_changes_goes_on_where_it_was() {
        let (own, whole) = ends(1, 0);
        let changes_at = 250 * GAP_NS;
        for (first, then) in [(1, 10), (10, 1)] {
            let wall = |at: Nanos| at.min(changes_at) * first + at.saturating_sub(changes_at) * then;
            let mut by_then = Counters::default();
            let device = Slow::new(array(), first as u32);
            let (ended, counted) = driven(device, wall, |device, id, now| {
                if id != 250 {
                    return;
                }
                assert!(device.next().is_some_and(|next| next > now), "requests are under way");
                by_then = device.counters();
                device.set_times(now, then as u32);
                assert_eq!((device.counters(), device.times()), (by_then, then));
                assert!(device.next().is_some_and(|next| next > now), "time does not go back");
            });
            // Cache, credit, queue and chance are those of the device that nobody slowed.
            assert_eq!(ended, own.iter().map(|at| wall(*at)).collect::<Vec<_>>());
            let both = |whole: u64, by_then: u64| by_then + (whole - by_then / first) * then;
            let expected = Counters {
                held_ns: both(whole.held_ns, by_then.held_ns),
                busy_ns: both(whole.busy_ns, by_then.busy_ns),
                ..whole
            };
            assert_eq!(counted, expected);
        }
    }

    #[test]
    fn an_answer_comes_sooner_by_what_the_host_takes_and_a_limit_keeps_its_rate() {
        let ((device, _), (sooner, counted)) = (ends(10, 0), ends(10, 120_000));
        assert!(
            device
                .iter()
                .zip(&sooner)
                .all(|(device, sooner)| device - sooner == 120_000)
        );
        assert_eq!(
            (counted.sooner_ns, counted.sooner_reads_ns),
            (500 * 120_000, 333 * 120_000)
        );
    }

    #[test]
    fn the_hosts_way_is_as_long_at_any_pace() {
        let mut device = Slow::new(array(), 10);
        device.answer_sooner(120_000);
        device.set_times(0, 1);
        assert_eq!(driven(device, |own| own, |_, _, _| ()), ends(1, 120_000));
    }

    #[test]
    fn no_answer_comes_before_its_request() {
        let (ends, counted) = ends(1, 1 << 40);
        assert!(ends.iter().enumerate().all(|(id, at)| *at == id as u64 * GAP_NS));
        assert!(counted.sooner_ns > 0, "{counted:?}");
    }
}
