//! The procedure beside a fixed protocol in simulated worlds: how often each finds what is there, and in how much
//! measuring time.
//!
//! Both see the same worlds: a run's figure scatters by itself, however long the run is (`between`), and by what its
//! seconds scatter, which averages out (`within`). Runs alone are counted, on both sides: what comes before and after a
//! run is the same.
//!
//! Prevents: a saving of time that was bought with verdicts that are wrong or missing, and nobody told.

use super::{RATIOS, drawn, seconds_of_two};
use stats::{About, Design, Noise, Rate, Rule, Scenario, simulate};

/// Seconds of a run of the procedure.
pub(crate) const RUN_SECONDS: f64 = 10.0;
/// Differences inside it count as equal for the procedure; the test knows no such thing.
const MARGIN: f64 = 0.05;

/// How figures scatter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scatter {
    /// In a few words.
    pub(crate) name: &'static str,
    /// Standard deviation of a run's log rate, whatever its length.
    pub(crate) between: f64,
    /// Standard deviation of the log rate of one second; over T seconds it is this over the root of T.
    pub(crate) within: f64,
}

/// Both protocols on one world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TimeToVerdict {
    /// How figures scatter in it.
    pub(crate) scatter: Scatter,
    /// True ratio.
    pub(crate) true_ratio: f64,
    /// Studies in which the fixed protocol calls the stacks different, in the right direction.
    pub(crate) fixed_found: Rate,
    /// Studies in which it is wrong: a difference where there is none, or in the wrong direction.
    pub(crate) fixed_false: Rate,
    /// Studies that the procedure calls *better* or *worse*, rightly.
    pub(crate) found: Rate,
    /// Those that it calls *equivalent*.
    pub(crate) equivalent: Rate,
    /// Those with a false verdict.
    pub(crate) false_verdicts: Rate,
    /// Measuring time of the procedure, s, on average: of the first run where there is nothing to find, else with one
    /// extension of what was open.
    pub(crate) seconds_mean: f64,
    /// The same with one extension of what was open, whatever there is to find.
    pub(crate) seconds_extended: f64,
}

impl TimeToVerdict {
    /// The procedure's time over the fixed protocol's.
    pub(crate) fn time_ratio(&self) -> f64 {
        self.seconds_mean / seconds_of_two()
    }
}

const SCATTERS: [Scatter; 3] = [
    Scatter {
        name: "a quiet machine (runs 1 %, seconds 5 %)",
        between: 0.01,
        within: 0.05,
    },
    Scatter {
        name: "a shared machine (runs 3 %, seconds 10 %)",
        between: 0.03,
        within: 0.10,
    },
    // The best that can be said of long runs: all that scatters averages out in them.
    Scatter {
        name: "all scatter averages out (runs 0 %, seconds 10 %)",
        between: 0.0,
        within: 0.10,
    },
];

/// Every ratio in every world, so many studies each.
pub(crate) fn time_to_verdict(studies: u64, seed: u64) -> Vec<TimeToVerdict> {
    let worlds = SCATTERS
        .into_iter()
        .flat_map(|scatter| RATIOS.into_iter().map(move |ratio| (scatter, ratio)));
    let with_seeds = worlds.zip(0u64..);
    with_seeds
        .map(|((scatter, ratio), index)| both(scatter, ratio, studies, seed.wrapping_add(index * 0x9E37_79B9)))
        .collect()
}

fn both(scatter: Scatter, true_ratio: f64, studies: u64, seed: u64) -> TimeToVerdict {
    let run_sd = |seconds: f64| (scatter.between.powi(2) + scatter.within.powi(2) / seconds).sqrt();
    let scenario = Scenario {
        noise: Noise::Normal,
        // Of a ratio of two runs.
        sd: 2f64.sqrt() * run_sd(RUN_SECONDS),
        true_ratio,
        rule: Rule::Procedure,
        about: About::AllRuns,
    };
    let first = Design::new(12, 1, MARGIN);
    // An extension looks for a difference that the first run left open. Between equals there is none to find.
    let extended = simulate(&scenario, &first.extended(1), studies, seed);
    let ours = match true_ratio == 1.0 {
        true => simulate(&scenario, &first, studies, seed),
        false => extended,
    };
    let fixed = drawn(run_sd(super::SECONDS), true_ratio, studies, seed);
    TimeToVerdict {
        scatter,
        true_ratio,
        fixed_found: fixed.found,
        fixed_false: fixed.wrong,
        found: ours.detected,
        equivalent: ours.equivalent,
        false_verdicts: ours.false_verdicts,
        seconds_mean: ours.blocks_mean * 2.0 * RUN_SECONDS,
        seconds_extended: extended.blocks_mean * 2.0 * RUN_SECONDS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_fixed_protocol_finds_the_procedure_finds_in_a_fifth_of_the_time() {
        for row in time_to_verdict(400, 7) {
            let name = format!("{} {}", row.scatter.name, row.true_ratio);
            assert!(
                row.fixed_false.share() < 0.1 && row.false_verdicts.low <= 0.05,
                "{name}"
            );
            assert!(row.time_ratio() <= 0.2, "{name}: {}", row.time_ratio());
            // Time means nothing without what it found: as much as the fixed protocol, or nine of ten.
            if row.true_ratio < 1.0 {
                let least = row.fixed_found.share().min(0.9) - 0.05;
                assert!(row.found.share() >= least, "{name}: {row:?}");
            }
            // A difference far above the margin is found by both.
            if row.true_ratio <= 0.8 {
                assert!(
                    row.fixed_found.share() > 0.95 && row.found.share() > 0.99,
                    "{name}: {row:?}"
                );
            }
            if row.true_ratio == 1.0 {
                assert_eq!((row.found.count, row.fixed_found.count), (0, 0), "{name}");
            }
        }
    }
}
