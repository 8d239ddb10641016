//! Recorded blocks of twins as the studies that they are: neighbouring blocks, none of them in two studies.
//!
//! Takes blocks and a design, gives how often such studies err: with the names as they were, and with either twin
//! called the base in each block. Prevents: a rate drawn again and again from the same blocks, which bounds the drawing
//! and not the machine.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use stats::{Design, History, SimulationResult, Tally, TwinBlocks, mean, sd, t_upper_quantile};

/// Fewer studies have no standard error worth the name.
const STUDIES_MIN: usize = 20;

/// Assignments of the names that are tried on a study: all, where there are no more.
const NAMES_MOST: u64 = 256;

/// Studies of blocks as they were run, under many assignments of the names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Renamed {
    /// Studies, none of which shares a block with another.
    pub(crate) studies: u64,
    /// Mean share of their assignments that give a false verdict.
    pub(crate) share: f64,
    /// Its standard error, of the studies: an assignment more of the same blocks tells nothing new of the machine.
    pub(crate) error: f64,
}

impl Renamed {
    /// The largest true share that this makes plausible, with a one-sided `confidence` (Student's t over the studies).
    pub(crate) fn upper(&self, confidence: f64) -> f64 {
        self.share + t_upper_quantile(1.0 - confidence, self.studies as f64 - 1.0) * self.error
    }

    /// The smallest one.
    fn lower(&self, confidence: f64) -> f64 {
        (2.0 * self.share - self.upper(confidence)).max(0.0)
    }

    /// Whether the true share is above `promise`: one that is not is called so once in a thousand times.
    pub(crate) fn is_surely_above(&self, promise: f64) -> bool {
        self.lower(0.999) > promise
    }
}

/// The blocks of one phase.
pub(crate) fn only(blocks: &TwinBlocks, phase: usize) -> Option<TwinBlocks> {
    let of_recording = |blocks: &[Vec<f64>]| TwinBlocks::new(blocks.iter().map(|block| vec![block[phase]]).collect());
    let recordings: Option<Vec<TwinBlocks>> = blocks.recordings().map(of_recording).collect();
    recordings?
        .into_iter()
        .map(Some)
        .reduce(|all, next| all?.followed_by(next?))?
}

/// Judges the studies, the names as they were. What sets the twins apart for good makes a false verdict here, where
/// `true_ratio` is 1; it is another one where one of them was made slower. *Detected* counts for the phase of that
/// number. `None` of fewer blocks than one study has.
pub(crate) fn as_run(blocks: &TwinBlocks, design: &Design, true_ratio: f64, phase: usize) -> Option<SimulationResult> {
    let phases = blocks.phases();
    let mut tally = Tally::new(design);
    let mut studies = 0;
    for study in apart(blocks, design) {
        tally.judge(&histories(study, phases, phase, |_| 1.0), true_ratio.ln());
        studies += 1;
    }
    (studies > 0).then(|| tally.result())
}

/// The same studies, in each block of which either twin is called the base: all assignments of the names, or as many as
/// suffice. Blocks stay whole, so a study is one draw, however often it is renamed. `None` of fewer than 20 studies.
pub(crate) fn renamed(blocks: &TwinBlocks, design: &Design, seed: u64) -> Option<Renamed> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let blocks_more = design.blocks.saturating_sub(1);
    let all = 1u64.checked_shl(blocks_more).filter(|all| *all <= NAMES_MOST);
    let names = all.unwrap_or(NAMES_MOST);
    let (mut tally, mut wrong_before) = (Tally::new(design), 0);
    let mut shares = Vec::new();
    for study in apart(blocks, design) {
        for nth in 0..names {
            // Both names exchanged in all blocks give the opposite verdicts: the first block keeps its own.
            let signs: Vec<f64> = (0..study.len())
                .map(|block| match (block, all) {
                    (0, _) => 1.0,
                    (block, Some(_)) => sign(nth >> (block - 1)),
                    (_, None) => sign(random.next_u64() >> 63),
                })
                .collect();
            tally.judge(&histories(study, blocks.phases(), 0, |block| signs[block]), 0.0);
        }
        let wrong = tally.result().false_verdicts.count;
        shares.push((wrong - wrong_before) as f64 / names as f64);
        wrong_before = wrong;
    }
    (shares.len() >= STUDIES_MIN).then(|| Renamed {
        studies: shares.len() as u64,
        share: mean(&shares),
        error: sd(&shares) / (shares.len() as f64).sqrt(),
    })
}

/// Studies of neighbouring blocks of one recording, no block in two of them.
fn apart<'a>(blocks: &'a TwinBlocks, design: &Design) -> impl Iterator<Item = &'a [Vec<f64>]> {
    let length = design.blocks as usize;
    blocks.recordings().flat_map(move |blocks| blocks.chunks_exact(length))
}

/// A history for each phase, from the one that is tallied on; `sign` says for each block whether the names are
/// exchanged (-1).
fn histories(study: &[Vec<f64>], phases: usize, first: usize, sign: impl Fn(usize) -> f64) -> Vec<History> {
    let of_phase = |phase: usize| History {
        stack: String::new(),
        phase: String::new(),
        ys: (study.iter().enumerate())
            .map(|(nth, block)| Some(sign(nth) * block[phase]))
            .collect(),
    };
    (0..phases).map(|nth| of_phase((first + nth) % phases)).collect()
}

/// Of the lowest bit: 0 keeps a name.
fn sign(bits: u64) -> f64 {
    if bits & 1 == 0 { 1.0 } else { -1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Normal figures, of a twin that is better by `offset` in truth.
    fn figures(blocks: usize, phases: usize, offset: f64) -> Vec<Vec<f64>> {
        let mut draw = stats::normals(7);
        let mut block = || (0..phases).map(|_| offset + 0.03 * draw()).collect();
        (0..blocks).map(|_| block()).collect()
    }

    fn normal(blocks: usize, phases: usize, offset: f64) -> TwinBlocks {
        TwinBlocks::new(figures(blocks, phases, offset)).expect("blocks")
    }

    #[test]
    fn blocks_as_they_were_run_are_studies_that_share_none() {
        let design = Design::new(4, 2, 0.0);
        let found = |blocks: usize, offset: f64| as_run(&normal(blocks, 2, offset), &design, 1.0, 0).expect("studies");
        let alike = found(1_203, 0.0);
        assert_eq!(alike.false_verdicts.of, 300);
        // Four blocks spend all of the 5 %: 15 are expected, and 30 are four standard errors away.
        assert!(alike.false_verdicts.count <= 30, "{alike:?}");
        // What one of them always has is told here, and nowhere else.
        assert_eq!(found(1_200, 0.3).false_verdicts.count, 300);
        // The same difference, planted and known, is found; in the phase that is asked for.
        let mixed = |phase: usize| {
            let ys = figures(1_200, 2, 0.0).into_iter();
            let planted = TwinBlocks::new(ys.map(|block| vec![block[0] - 0.3, block[1]]).collect()).expect("blocks");
            as_run(&planted, &design, (-0.3f64).exp(), phase).expect("studies")
        };
        assert_eq!(mixed(0).detected.count, 300);
        assert!(mixed(1).detected.count < 30, "{:?}", mixed(1));
        assert_eq!(as_run(&normal(3, 2, 0.0), &design, 1.0, 0), None);
        // Ten blocks are two studies of four each time, and not five of four in twenty.
        let twice = normal(10, 2, 0.0).followed_by(normal(10, 2, 0.0)).expect("alike");
        assert_eq!(twice.blocks(), 20);
        let twice_run = as_run(&twice, &design, 1.0, 0).expect("studies");
        assert_eq!(twice_run.false_verdicts.of, 4);
        let one = only(&twice, 1).expect("blocks");
        assert_eq!((one.phases(), one.spread(0)), (1, twice.spread(1)));
        assert_eq!(one.recordings().count(), 2);
    }

    #[test]
    fn studies_renamed_bound_the_rate_by_their_own_number() {
        let design = Design::new(4, 2, 0.0);
        let bound = |blocks: usize, offset: f64| {
            let renamed = renamed(&normal(blocks, 2, offset), &design, 1).expect("studies");
            assert_eq!(renamed.studies, blocks as u64 / 4);
            renamed
        };
        // The rate of four blocks is just below 4 %; thousands of studies place it, and eighty say less than that.
        let (many, few) = (bound(40_000, 0.0), bound(320, 0.0));
        assert!((many.share - 0.0395).abs() < 4.0 * many.error, "{many:?}");
        assert!(many.error < 0.001 && few.error > 5.0 * many.error, "{many:?} {few:?}");
        assert!(few.upper(0.95) > few.share && few.lower(0.95) < few.share, "{few:?}");
        // Names that change hide what one of them always has; it is asked elsewhere.
        assert!(bound(4_000, 0.3).share < 0.15);
        // More assignments than are tried: some are drawn.
        let drawn = renamed(&normal(4_800, 2, 0.0), &Design::new(12, 2, 0.0), 1).expect("studies");
        assert!((0.02..0.05).contains(&drawn.share), "{drawn:?}");
        assert_eq!(renamed(&normal(76, 2, 0.0), &design, 1), None);
    }
}
