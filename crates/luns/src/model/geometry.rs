//! Where a byte lies on a disk: its track, its angle, and how long the arm takes to get there.
//!
//! Takes offsets in bytes, gives turns of the platter and nanoseconds. The surface is one spiral whose rate falls
//! evenly from the outer edge to the inner one, so that a sustained rate of a data sheet, with its changes of head and
//! track, is met exactly. Prevents: a scan that is as fast at the end of a disk as at its beginning.

/// Times of the arm in nanoseconds, as data sheets give them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SeekTimes {
    /// To the next track.
    pub track_ns: u64,
    /// Mean over all pairs of tracks.
    pub average_ns: u64,
    /// From the outer edge to the inner one.
    pub full_ns: u64,
}

/// A disk of some size.
#[derive(Clone, Debug)]
pub struct Geometry {
    bytes: f64,
    outer: f64,
    inner: f64,
    turns: f64,
    /// Time of one turn in nanoseconds.
    pub rotation_ns: u64,
    seek: SeekTimes,
    root: f64,
    line: f64,
    stroke: f64,
}

/// A disk as its data sheet has it.
#[derive(Clone, Copy, Debug)]
pub struct Platters {
    /// Turns a minute.
    pub rpm: u32,
    /// Bytes a second at the outer edge.
    pub outer_rate: f64,
    /// Bytes a second at the inner edge.
    pub inner_rate: f64,
    /// Times of the arm.
    pub seek: SeekTimes,
    /// Share of the arm's way that the LUN takes, above 0 and at most 1. With 1 a small LUN stands for a whole disk:
    /// fewer tracks, the same distances in the share of the way.
    pub stroke: f64,
}

impl Geometry {
    /// A LUN of `bytes` on a disk.
    pub fn new(bytes: u64, platters: Platters) -> Geometry {
        let Platters {
            rpm,
            outer_rate,
            inner_rate,
            seek,
            stroke,
        } = platters;
        assert!(
            bytes > 0 && rpm > 0 && inner_rate > 0.0 && outer_rate >= inner_rate,
            "a disk"
        );
        assert!(stroke > 0.0 && stroke <= 1.0, "a share of the arm's way");
        assert!(
            seek.track_ns <= seek.average_ns && seek.average_ns <= seek.full_ns,
            "seek times that rise"
        );
        let rotation_ns = 60_000_000_000 / u64::from(rpm);
        let mean = f64::midpoint(outer_rate, inner_rate);
        // Short seeks grow with the root of the distance, long ones with the distance (Ruemmler and Wilkes 1994). Over
        // all pairs of tracks the distance has density 2 (1 - d), so that its root has the mean 8/15 and it has the
        // mean 1/3: with the times to the next track, on average and for the whole way, two equations for the two
        // weights.
        let average = (seek.average_ns - seek.track_ns) as f64;
        let full = (seek.full_ns - seek.track_ns) as f64;
        let root = ((average - full / 3.0) / (8.0 / 15.0 - 1.0 / 3.0)).clamp(0.0, full);
        Geometry {
            bytes: bytes as f64,
            outer: outer_rate,
            inner: inner_rate,
            turns: bytes as f64 / mean / (rotation_ns as f64 / 1e9),
            rotation_ns,
            seek,
            root,
            line: full - root,
            stroke,
        }
    }

    /// Share of the way (0 at the outer edge, 1 at the inner) at which a byte lies.
    fn way(&self, offset: u64) -> f64 {
        let share = (offset as f64 / self.bytes).min(1.0);
        let (a, b) = ((self.inner - self.outer) / 2.0, self.outer);
        if a == 0.0 {
            return share;
        }
        let c = share * f64::midpoint(self.outer, self.inner);
        // The root of a w^2 + b w = c, written so that nothing cancels out.
        2.0 * c / (b + (b * b + 4.0 * a * c).sqrt())
    }

    /// Turns of the platter from the first byte to this one.
    pub fn turn(&self, offset: u64) -> f64 {
        self.way(offset) * self.turns
    }

    /// Bytes a second at this place.
    pub fn rate(&self, offset: u64) -> f64 {
        self.outer + (self.inner - self.outer) * self.way(offset)
    }

    /// Time in nanoseconds in which the head passes from one place to a later one.
    pub fn passing_ns(&self, from: u64, to: u64) -> u64 {
        ((self.turn(to) - self.turn(from)) * self.rotation_ns as f64).round() as u64
    }

    /// Time in nanoseconds that the arm takes from one turn to another.
    pub fn seek_ns(&self, from: f64, to: f64) -> u64 {
        if (from.floor() - to.floor()).abs() < 1.0 {
            return 0;
        }
        let distance = (from - to).abs() / self.turns * self.stroke;
        self.seek.track_ns + (self.root * distance.sqrt() + self.line * distance).round() as u64
    }

    /// Time in nanoseconds that a sector needs to come round, when the arm is there at `at`.
    pub fn rotation_wait_ns(&self, at: u64, turn: f64) -> u64 {
        /// Places are rounded; what has just passed by less than this has not passed.
        const NEAR_NS: u64 = 2_000;
        let angle = (turn.fract() * self.rotation_ns as f64) as u64;
        let wait = (angle + self.rotation_ns - at % self.rotation_ns) % self.rotation_ns;
        if wait > self.rotation_ns - NEAR_NS { 0 } else { wait }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEK: SeekTimes = SeekTimes {
        track_ns: 500_000,
        average_ns: 8_500_000,
        full_ns: 17_000_000,
    };

    fn platters(outer_rate: f64, inner_rate: f64) -> Platters {
        Platters {
            rpm: 7200,
            outer_rate,
            inner_rate,
            seek: SEEK,
            stroke: 1.0,
        }
    }

    #[test]
    fn rates_at_the_edges_and_the_time_of_the_whole() {
        let disk = Geometry::new(1 << 40, platters(250e6, 120e6));
        assert!((disk.rate(0) - 250e6).abs() < 1.0);
        assert!((disk.rate(1 << 40) - 120e6).abs() < 1.0);
        // Half of the bytes lie outside the middle of the way, where the rate is above the mean.
        let seconds = disk.passing_ns(0, 1 << 40) as f64 / 1e9;
        assert!((seconds - (1u64 << 40) as f64 / 185e6).abs() < 1.0, "{seconds}");
        // A mebibyte anywhere passes at the rate that stands there.
        for at in [0, 1 << 38, 1 << 39, (1 << 40) - (1 << 20)] {
            let seen = (1 << 20) as f64 / (disk.passing_ns(at, at + (1 << 20)) as f64 / 1e9);
            assert!((seen / disk.rate(at) - 1.0).abs() < 1e-3, "{seen} at {at}");
        }
    }

    #[test]
    fn the_mean_seek_is_that_of_the_data_sheet() {
        let disk = Geometry::new(1 << 40, platters(200e6, 200e6));
        let n = 1000;
        let places: Vec<f64> = (0..n)
            .map(|i| disk.turns * (f64::from(i) + 0.5) / f64::from(n))
            .collect();
        let sum: f64 = places
            .iter()
            .flat_map(|a| places.iter().map(|b| disk.seek_ns(*a, *b) as f64))
            .sum();
        let mean = sum / f64::from(n * n);
        assert!((mean / 8_500_000.0 - 1.0).abs() < 2e-3, "{mean}");
        assert_eq!(disk.seek_ns(0.0, disk.turns), 17_000_000);
        assert_eq!(disk.seek_ns(5.1, 5.9), 0);
    }
}
