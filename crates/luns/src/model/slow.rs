//! A device in slow motion: the same device, whose clock runs slower than the wall's by a whole factor.
//!
//! Takes any model, gives one whose times are longer and whose rates are lower by the factor; caches, credits and
//! queues stay in proportion. Prevents: a machine that is too slow for a device, and a parameter forgotten when its
//! times are multiplied by hand.

use super::{Answer, Ask, Counters, DeviceModel};
use targets::Nanos;

/// A device in slow motion.
pub struct Slow {
    device: Box<dyn DeviceModel>,
    times: u64,
    done: Vec<Answer>,
}

impl Slow {
    /// The device with a clock that is so many times slower, at least 1.
    pub fn new(device: Box<dyn DeviceModel>, times: u32) -> Slow {
        Slow {
            device,
            times: u64::from(times.max(1)),
            done: Vec::new(),
        }
    }
}

impl DeviceModel for Slow {
    fn submit(&mut self, now: Nanos, ask: Ask) {
        self.device.submit(now / self.times, ask);
    }

    fn next(&self) -> Option<Nanos> {
        self.device.next().map(|at| at.saturating_mul(self.times))
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Answer>) {
        self.device.advance(now / self.times, &mut self.done);
        let of_wall = |answer: Answer| Answer {
            at: answer.at.saturating_mul(self.times),
            ..answer
        };
        done.extend(self.done.drain(..).map(of_wall));
    }

    /// Times are those of the wall; how long a request is held back is told in the device's own time.
    fn counters(&self) -> Counters {
        let own = self.device.counters();
        let of_wall = |ns: u64| ns.saturating_mul(self.times);
        Counters {
            seek_ns: of_wall(own.seek_ns),
            rotation_ns: of_wall(own.rotation_ns),
            held_ns: of_wall(own.held_ns),
            processor_ns: of_wall(own.processor_ns),
            busy_ns: of_wall(own.busy_ns),
            sooner_ns: of_wall(own.sooner_ns),
            sooner_reads_ns: of_wall(own.sooner_reads_ns),
            ..own
        }
    }

    fn power_cycle(&mut self, now: Nanos) {
        self.device.power_cycle(now / self.times);
    }

    /// Of the wall's time, as the way is.
    fn answer_sooner(&mut self, by: Nanos) {
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

    /// Ends of requests that come at a steady pace, and what the device counted.
    fn ends(times: u32, gap_ns: Nanos, sooner: Nanos) -> (Vec<Nanos>, Counters) {
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
        let device = named("array", &value, "", &[1 << 30], 7).unwrap();
        let mut device = Slow::new(device, times);
        device.answer_sooner(sooner);
        let mut done = Vec::new();
        for id in 0..500 {
            let command = if id % 3 == 0 {
                Command::Write { through: false }
            } else {
                Command::Read
            };
            let (now, offset) = (id * gap_ns, id * 8192);
            device.advance(now, &mut done);
            device.submit(
                now,
                Ask {
                    id,
                    lun: 0,
                    command,
                    offset,
                    len: 8192,
                },
            );
        }
        while let Some(next) = device.next() {
            device.advance(next, &mut done);
        }
        assert_eq!(done.len(), 500);
        done.sort_by_key(|answer| answer.id);
        (done.into_iter().map(|answer| answer.at).collect(), device.counters())
    }

    #[test]
    fn all_times_are_longer_by_the_factor_and_nothing_else_is_other() {
        let ((own, counted), (slow, slowed)) = (ends(1, 500_000, 0), ends(10, 5_000_000, 0));
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
    fn an_answer_comes_sooner_by_what_the_host_takes_and_a_limit_keeps_its_rate() {
        let ((device, _), (sooner, counted)) = (ends(10, 5_000_000, 0), ends(10, 5_000_000, 120_000));
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
    fn no_answer_comes_before_its_request() {
        let (ends, counted) = ends(1, 500_000, 1 << 40);
        assert!(ends.iter().enumerate().all(|(id, at)| *at == id as u64 * 500_000));
        assert!(counted.sooner_ns > 0, "{counted:?}");
    }
}
