//! What `check` says about load ramps: how far a rate at a limit scatters, and what more blocks find.
//!
//! Takes a study and its design, gives a row. Prevents: a few ramps that are believed as one long run would be.

use plan::Study;
use stats::Design;

/// Standard deviation of the logarithm of block ratios: the rate at the limit of two equal file servers, in two runs of
/// eight blocks each (0.13 and 0.15). Source: benches/runs/2026-11-26-file-serving.
const SPREAD: f64 = 0.14;

/// Blocks, and the ratio found 9 times in 10 with them: as many as the study has, twice and four times as many. `None`
/// where no phase is ranked by a rate at a limit.
pub(super) fn found(study: &Study, blocks: u32, comparisons: u32) -> Option<[(u32, f64); 3]> {
    let mut ramps = study.phases.iter().filter_map(|phase| phase.kind.serving());
    ramps.any(|serving| serving.until.is_some()).then(|| {
        [1, 2, 4].map(|times| {
            let design = Design::new(blocks * times, comparisons.max(1), study.margin.0);
            (blocks * times, stats::detectable(&design, SPREAD))
        })
    })
}

pub(super) fn words(found: &[(u32, f64); 3]) -> String {
    let of = |(blocks, ratio): &(u32, f64)| format!("{} % with {blocks} blocks", super::percent_above(*ratio));
    let found: Vec<_> = found.iter().map(of).collect();
    format!(
        "Rates at a limit scattered by {:.0} % between blocks of two equal file servers. With this scatter, 9 of 10 \
         studies find a difference of {}",
        SPREAD * 100.0,
        found.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::study_file;
    use std::path::Path;

    fn shipped(name: &str) -> Study {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies").join(name);
        study_file::load(&path, None).unwrap()
    }

    #[test]
    fn more_blocks_find_less_and_only_ramps_with_a_limit_have_it() {
        let found = found(&shipped("file-serving.toml"), 6, 2).unwrap();
        assert_eq!(found.map(|(blocks, _)| blocks), [6, 12, 24]);
        assert!(
            found.is_sorted_by(|one, two| one.1 > two.1) && found[2].1 > 1.1,
            "{found:?}"
        );
        assert!(super::found(&shipped("overwrite-vs-cow.toml"), 6, 2).is_none());
    }
}
