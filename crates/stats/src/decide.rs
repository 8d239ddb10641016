//! The verdict: takes the whole history of a study, gives what may be said about each comparison and whether to go on.
//!
//! A pure function, used alike while the study runs, when it is reported years later, and in the simulations that say
//! how often it is wrong. It walks through the looks in order, so the same history always gives the same answer,
//! whether it is asked after each block or once at the end.
//!
//! The union bound covers all looks at once: with probability 1 - alpha every interval of every look holds its true
//! ratio, so their intersection does too, and verdicts are taken from it. *Equivalent* asks for less: each of its two
//! one-sided tests may spend the look's whole alpha, for only one of the two can err.
//!
//! A comparison keeps the verdict of the first look that decided it: what was shown during the run is never taken back.
//! Ratio and interval are those of the last look taken.
//!
//! Prevents: stopping when the figures look good, and a report that disagrees with the run.

use crate::design::{Design, LookRule};
use crate::summary::{mean, sd};

/// One comparison: a stack against the base stack in a ranked phase.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The stack (not the base).
    pub stack: String,
    /// The phase.
    pub phase: String,
    /// ln(x / base) per block in block order, positive is better (see [`log_ratio`](crate::log_ratio)); `None` for a
    /// block that was judged invalid. A block that is `None` in any comparison is dropped for all of them, so the
    /// validity of a block must be judged without a look at the ratios. Blocks that some comparison does not have yet
    /// are not counted.
    pub ys: Vec<Option<f64>>,
}

/// What may be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Better than the base.
    Better,
    /// Worse than the base.
    Worse,
    /// The difference lies inside the margin.
    Equivalent,
    /// None of these can be told.
    NotEnoughData,
}

/// A ratio with what all looks so far leave of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// exp(mean of y), no further out than the interval.
    pub ratio: f64,
    /// The largest exp(mean - h) of the looks so far.
    pub low: f64,
    /// The smallest exp(mean + h).
    pub high: f64,
    /// Standard deviation of y.
    pub sd: f64,
    /// Valid blocks in it.
    pub n: u32,
}

/// A look that was taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// When it was allowed and what it spent.
    pub rule: LookRule,
    /// Blocks run by then, dropped ones included.
    pub blocks_run: u32,
    /// What is said with this look, in the order of the comparisons.
    pub results: Vec<(Verdict, Estimate)>,
}

/// What is said about one comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// As in the history.
    pub stack: String,
    /// As in the history.
    pub phase: String,
    /// Of the first look that decided, else of the last look taken.
    pub verdict: Verdict,
    /// At the last look taken; `None` before the first look.
    pub estimate: Option<Estimate>,
    /// Number from 1 of the look that decided, else of the last one; `None` before the first look.
    pub look: Option<u32>,
    /// Error spent at that look; 0 before the first.
    pub alpha: f64,
}

/// Whether to run another block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoOn {
    /// Yes.
    Continue {
        /// Valid blocks needed for the next look.
        next_look: u32,
    },
    /// No.
    Stop(Reason),
}

/// Why a study ends by itself. (A study may also end by the clock; then its last completed look stands.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Every comparison has a verdict.
    AllDecided,
    /// All blocks of the design have been run.
    BlocksUsed,
    /// As many blocks were dropped as were planned: this machine does not give valid ones.
    TooManyDropped,
    /// The history holds no comparison.
    NothingToCompare,
}

/// The answer of [`decide`].
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// In the order of the histories.
    pub comparisons: Vec<Judged>,
    /// All looks taken, in order.
    pub looks: Vec<Look>,
    /// Whether to go on.
    pub go_on: GoOn,
    /// Valid blocks up to the end of the study. Blocks that were run after it are ignored.
    pub blocks_valid: u32,
    /// Blocks dropped up to then.
    pub blocks_dropped: u32,
}

/// Judges a study so far. See the file's head for the rule, `docs/method.md` for the reasons.
pub fn decide(design: &Design, comparisons: &[History]) -> Decision {
    Procedure::new(*design).decide(comparisons)
}

/// The procedure for many studies of one design: the looks' t quantiles cost more than all the rest.
#[derive(Clone, Debug)]
pub struct Procedure {
    design: Design,
    rules: Vec<LookRule>,
}

impl Procedure {
    /// For studies of this design.
    pub fn new(design: Design) -> Self {
        Procedure {
            design,
            rules: design.looks(),
        }
    }

    /// As [`decide`].
    pub fn decide(&self, comparisons: &[History]) -> Decision {
        self.decide_until(Ends::Decided, comparisons)
    }

    pub(crate) fn decide_until(&self, ends: Ends, comparisons: &[History]) -> Decision {
        decide_by((&self.design, &self.rules), Memory::AllLooks, ends, comparisons)
    }
}

impl Verdict {
    /// Whether it is false for a stack whose true log ratio is `truth`: it names a direction that is not the true
    /// one, or calls equivalent what is not inside the margin.
    pub fn is_false(self, truth: f64, margin: f64) -> bool {
        match self {
            Verdict::Better => truth <= 0.0,
            Verdict::Worse => truth >= 0.0,
            // Room for the last bits of a truth that is the margin itself.
            Verdict::Equivalent => truth.abs() >= margin.ln_1p() - 1e-12,
            Verdict::NotEnoughData => false,
        }
    }
}

/// When the looks of a comparison end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// With the verdict of the last of those that are judged together.
    Decided,
    /// With the blocks that were run: others are still open, and each look has its error.
    Study,
}

/// Whose intervals a verdict is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Those of all looks so far.
    AllLooks,
    /// That of the look alone, as hands do it.
    OneLook,
}

/// The same with the looks at hand: their t quantiles cost more than all the rest.
pub(crate) fn decide_by(
    (design, rules): (&Design, &[LookRule]),
    memory: Memory,
    ends: Ends,
    histories: &[History],
) -> Decision {
    let mut walk = Walk::new(histories);
    let mut looks: Vec<Look> = Vec::with_capacity(rules.len());
    let mut judged: Vec<Judged> = histories.iter().map(Judged::open).collect();
    let mut held = vec![Held::default(); histories.len()];
    let reason = if histories.is_empty() {
        Some(Reason::NothingToCompare)
    } else {
        None
    };
    let mut go_on = reason.map(GoOn::Stop);
    for rule in rules {
        if go_on.is_some() {
            break;
        }
        // The first run ends as it did, however often it was extended since.
        match walk.to(rule.n, rule.n.max(design.blocks)) {
            Reached::Look => {}
            Reached::EndOfHistory => go_on = Some(GoOn::Continue { next_look: rule.n }),
            Reached::TooManyDropped => go_on = Some(GoOn::Stop(Reason::TooManyDropped)),
        }
        if go_on.is_some() {
            break;
        }
        if memory == Memory::OneLook {
            held.fill(Held::default());
        }
        let seen = walk.valid.iter().zip(&mut held);
        let results: Vec<_> = seen.map(|(ys, held)| held.judge(design, rule, ys)).collect();
        for (comparison, (verdict, estimate)) in judged.iter_mut().zip(&results) {
            comparison.hear(*verdict, *estimate, rule);
        }
        looks.push(Look {
            rule: *rule,
            blocks_run: walk.block as u32,
            results,
        });
        let is_decided = |comparison: &Judged| comparison.verdict != Verdict::NotEnoughData;
        if ends == Ends::Decided && judged.iter().all(is_decided) {
            go_on = Some(GoOn::Stop(Reason::AllDecided));
        }
    }
    Decision {
        comparisons: judged,
        looks,
        go_on: go_on.unwrap_or(GoOn::Stop(Reason::BlocksUsed)),
        blocks_valid: walk.block as u32 - walk.dropped,
        blocks_dropped: walk.dropped,
    }
}

/// What all looks so far leave of one comparison's intervals, as ln.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// The interval.
    two_sided: (f64, f64),
    /// The bounds of the two one-sided tests.
    one_sided: (f64, f64),
}

impl Default for Held {
    fn default() -> Self {
        let all = (f64::NEG_INFINITY, f64::INFINITY);
        Held {
            two_sided: all,
            one_sided: all,
        }
    }
}

/// What two intervals share. Where they share nothing one of them has missed, which the error pays for: then the new
/// one.
fn shared(old: (f64, f64), new: (f64, f64)) -> (f64, f64) {
    let (low, high) = (old.0.max(new.0), old.1.min(new.1));
    if low <= high { (low, high) } else { new }
}

impl Held {
    /// One comparison at one look.
    fn judge(&mut self, design: &Design, rule: &LookRule, ys: &[f64]) -> (Verdict, Estimate) {
        let middle = mean(ys);
        let spread = sd(ys);
        let error = spread / f64::from(rule.n).sqrt();
        let around = |t: f64| (middle - t * error, middle + t * error);
        self.two_sided = shared(self.two_sided, around(rule.t));
        self.one_sided = shared(self.one_sided, around(rule.t_one_sided));
        let (low, high) = self.two_sided;
        let estimate = Estimate {
            ratio: middle.clamp(low, high).exp(),
            low: low.exp(),
            high: high.exp(),
            sd: spread,
            n: rule.n,
        };
        let edge = design.margin.ln_1p();
        let verdict = if self.one_sided.0 > -edge && self.one_sided.1 < edge {
            Verdict::Equivalent
        } else if low > 0.0 {
            Verdict::Better
        } else if high < 0.0 {
            Verdict::Worse
        } else {
            Verdict::NotEnoughData
        };
        (verdict, estimate)
    }
}

impl Judged {
    fn open(history: &History) -> Self {
        Judged {
            stack: history.stack.clone(),
            phase: history.phase.clone(),
            verdict: Verdict::NotEnoughData,
            estimate: None,
            look: None,
            alpha: 0.0,
        }
    }

    fn hear(&mut self, verdict: Verdict, estimate: Estimate, rule: &LookRule) {
        self.estimate = Some(estimate);
        if self.verdict == Verdict::NotEnoughData {
            self.verdict = verdict;
            self.look = Some(rule.number);
            self.alpha = rule.alpha;
        }
    }
}

enum Reached {
    Look,
    EndOfHistory,
    TooManyDropped,
}

/// A walk through the blocks that gathers the valid ones.
struct Walk<'a> {
    histories: &'a [History],
    /// Blocks that every comparison has.
    blocks: usize,
    block: usize,
    dropped: u32,
    valid: Vec<Vec<f64>>,
}

impl<'a> Walk<'a> {
    fn new(histories: &'a [History]) -> Self {
        let blocks = histories.iter().map(|history| history.ys.len()).min().unwrap_or(0);
        let valid = histories.iter().map(|_| Vec::with_capacity(blocks)).collect();
        Walk {
            histories,
            blocks,
            block: 0,
            dropped: 0,
            valid,
        }
    }

    /// On to the block with which `n` are valid.
    fn to(&mut self, n: u32, drops_max: u32) -> Reached {
        while (self.block as u32 - self.dropped) < n {
            if self.block == self.blocks {
                return Reached::EndOfHistory;
            }
            let block = self.block;
            self.block += 1;
            // A y that is no number can only come from a caller's zero or infinity: as invalid as a missing one.
            let y = |history: &History| history.ys[block].filter(|y| y.is_finite());
            if self.histories.iter().all(|history| y(history).is_some()) {
                for (ys, history) in self.valid.iter_mut().zip(self.histories) {
                    ys.extend(y(history));
                }
            } else {
                self.dropped += 1;
                if self.dropped >= drops_max {
                    return Reached::TooManyDropped;
                }
            }
        }
        Reached::Look
    }
}
