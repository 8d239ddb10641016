//! The verdict where blocks are dropped phase by phase: comparisons that share a phase have their own blocks and looks.
//!
//! Each group is judged by [`decide`] alone, with the error of its own comparisons: the union bound over all of them
//! holds whatever their blocks have to do with each other. A group that is decided has its further looks as long as
//! another one goes on: its verdicts stay, its intervals narrow. Takes histories and the group of each, gives one
//! answer. Prevents: one phase that cannot be measured and no verdict for the others, and blocks that enter no ratio.

use crate::decide::{Decision, Ends, Estimate, GoOn, History, Judged, Procedure, Reason, Verdict};
use crate::design::{Design, LookRule};
use std::collections::BTreeMap;

/// A look that some comparisons had after the same block.
#[derive(Clone, Debug, PartialEq)]
pub struct LookApart {
    /// When it was allowed and what it spent.
    pub rule: LookRule,
    /// Blocks run by then, dropped ones included.
    pub blocks_run: u32,
    /// What is said with it, in the order of the histories; `None` of a comparison that had no look then.
    pub results: Vec<Option<(Verdict, Estimate)>>,
}

/// What is said of all comparisons.
#[derive(Clone, Debug, PartialEq)]
pub struct DecidedApart {
    /// In the order of the histories.
    pub comparisons: Vec<Judged>,
    /// All looks taken, in the order of blocks.
    pub looks: Vec<LookApart>,
    /// Whether any comparison wants another block.
    pub go_on: GoOn,
    /// Blocks that count, of the comparison that has the most of them.
    pub blocks_valid: u32,
    /// Blocks that were run up to the end of the study.
    pub blocks_run: u32,
    /// By comparison: its blocks up to the end of its own looks, those that count and those run.
    pub blocks: Vec<(u32, u32)>,
}

/// Judges a study so far; `group` gives a number for each history, the same where blocks are dropped together.
pub fn decide_apart(design: &Design, histories: &[History], group: &[usize]) -> DecidedApart {
    Procedure::new(*design).decide_apart(histories, group)
}

impl Procedure {
    /// As [`decide_apart`].
    pub fn decide_apart(&self, histories: &[History], group: &[usize]) -> DecidedApart {
        assert_eq!(histories.len(), group.len(), "a group for each history");
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (nth, one) in group.iter().enumerate() {
            members.entry(*one).or_default().push(nth);
        }
        let mut decided: Vec<(Vec<usize>, Decision)> = (members.into_values())
            .map(|members| {
                let own: Vec<History> = members.iter().map(|nth| histories[*nth].clone()).collect();
                (members, self.decide(&own))
            })
            .collect();
        let is_open = |decision: &Decision| matches!(decision.go_on, GoOn::Continue { .. });
        let is_going_on = decided.iter().any(|(_, decision)| is_open(decision));
        let end = decided.iter().map(|(_, decision)| run(decision)).max().unwrap_or(0);
        for (members, decision) in &mut decided {
            if decision.go_on != GoOn::Stop(Reason::AllDecided) {
                continue;
            }
            let until_end = members.iter().map(|nth| {
                let mut one = histories[*nth].clone();
                if !is_going_on {
                    one.ys.truncate(end as usize);
                }
                one
            });
            let looked_on = self.decide_until(Ends::Study, &until_end.collect::<Vec<_>>());
            *decision = Decision {
                go_on: decision.go_on,
                ..looked_on
            };
        }
        merged(&decided, histories.len())
    }
}

fn merged(decided: &[(Vec<usize>, Decision)], count: usize) -> DecidedApart {
    let mut comparisons: Vec<Option<Judged>> = vec![None; count];
    let mut blocks = vec![(0, 0); count];
    let mut looks: Vec<LookApart> = Vec::new();
    for (members, decision) in decided {
        for (nth, judged) in members.iter().zip(&decision.comparisons) {
            comparisons[*nth] = Some(judged.clone());
            blocks[*nth] = (decision.blocks_valid, run(decision));
        }
        for look in &decision.looks {
            let same = |other: &LookApart| other.rule == look.rule && other.blocks_run == look.blocks_run;
            let at = looks.iter().position(same).unwrap_or_else(|| {
                looks.push(LookApart {
                    rule: look.rule,
                    blocks_run: look.blocks_run,
                    results: vec![None; count],
                });
                looks.len() - 1
            });
            for (nth, result) in members.iter().zip(&look.results) {
                looks[at].results[*nth] = Some(*result);
            }
        }
    }
    looks.sort_by_key(|look| (look.blocks_run, look.rule.number));
    let most = |of: fn(&Decision) -> u32| decided.iter().map(|(_, decision)| of(decision)).max().unwrap_or(0);
    DecidedApart {
        comparisons: comparisons.into_iter().flatten().collect(),
        looks,
        go_on: go_on(decided),
        blocks_valid: most(|decision| decision.blocks_valid),
        blocks_run: most(run),
        blocks,
    }
}

fn run(decision: &Decision) -> u32 {
    decision.blocks_valid + decision.blocks_dropped
}

/// A study goes on while any of its comparisons does. When none does, the reason is the worst of them.
fn go_on(decided: &[(Vec<usize>, Decision)]) -> GoOn {
    let next = decided.iter().filter_map(|(_, decision)| match decision.go_on {
        GoOn::Continue { next_look } => Some(next_look),
        GoOn::Stop(_) => None,
    });
    if let Some(next_look) = next.min() {
        return GoOn::Continue { next_look };
    }
    let is_any = |reason: Reason| decided.iter().any(|(_, decision)| decision.go_on == GoOn::Stop(reason));
    let worst = [Reason::TooManyDropped, Reason::BlocksUsed, Reason::AllDecided];
    GoOn::Stop(
        worst
            .into_iter()
            .find(|reason| is_any(*reason))
            .unwrap_or(Reason::NothingToCompare),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::decide;

    fn history(phase: &str, ys: impl IntoIterator<Item = Option<f64>>) -> History {
        History {
            stack: "zfs".into(),
            phase: phase.into(),
            ys: ys.into_iter().collect(),
        }
    }

    /// Around a ratio, no two alike.
    fn near(middle: f64, blocks: u32) -> Vec<Option<f64>> {
        (0..blocks)
            .map(|block| Some(middle + 0.002 * f64::from(block % 3)))
            .collect()
    }

    #[test]
    fn without_drops_it_is_the_plain_procedure() {
        let design = Design::new(12, 2, 0.05);
        // The first is decided at the first look, the second at none.
        let wide = (0..8).map(|block| Some(if block % 2 == 0 { -0.2 } else { 0.2 }));
        let histories = [history("read", near(-0.3, 8)), history("scan", wide)];
        let (plain, apart) = (decide(&design, &histories), decide_apart(&design, &histories, &[0, 1]));
        assert_eq!(apart.comparisons, plain.comparisons);
        assert_eq!(apart.go_on, plain.go_on);
        let results: Vec<_> = plain.looks.iter().map(|look| look.results.clone()).collect();
        let both: Vec<Vec<_>> = apart
            .looks
            .iter()
            .map(|look| look.results.iter().flatten().copied().collect())
            .collect();
        assert_eq!(both, results);
    }

    #[test]
    fn a_decided_phase_keeps_its_verdict_and_its_interval_narrows() {
        let design = Design::new(12, 2, 0.05);
        let wide = |blocks: u32| (0..blocks).map(|block| Some(if block % 2 == 0 { -0.2 } else { 0.2 }));
        let of = |blocks: u32| {
            let histories = [history("read", near(-0.3, blocks)), history("scan", wide(blocks))];
            decide_apart(&design, &histories, &[0, 1])
        };
        let (early, late) = (of(4), of(8));
        let (first, last) = (&early.comparisons[0], &late.comparisons[0]);
        assert_eq!(
            (first.verdict, first.look, first.alpha),
            (last.verdict, last.look, last.alpha)
        );
        let (first, last) = (first.estimate.expect("a look"), last.estimate.expect("a look"));
        assert_eq!((first.n, last.n), (4, 8));
        assert!(last.low >= first.low && last.high <= first.high && last.high - last.low < first.high - first.low);

        // Both are decided here at the fourth block: what was run after it is of no study.
        let both = |blocks: u32| {
            let histories = [history("read", near(-0.3, blocks)), history("scan", near(0.3, blocks))];
            decide_apart(&design, &histories, &[0, 1])
        };
        assert_eq!(both(4), both(8));
    }

    #[test]
    fn a_phase_that_never_counts_takes_no_verdict_from_the_other() {
        let design = Design::new(4, 2, 0.05);
        let histories = [history("read", near(-0.3, 4)), history("scan", [None; 4])];
        assert!(
            decide(&design, &histories).looks.is_empty(),
            "together neither is judged"
        );
        let apart = decide_apart(&design, &histories, &[0, 1]);
        assert_eq!(apart.comparisons[0].verdict, Verdict::Worse);
        assert_eq!(apart.comparisons[1].verdict, Verdict::NotEnoughData);
        assert_eq!(apart.blocks, [(4, 4), (0, 4)]);
        assert_eq!(apart.go_on, GoOn::Stop(Reason::TooManyDropped));
        assert!(apart.looks.iter().all(|look| look.results[1].is_none()));
    }

    #[test]
    fn each_goes_on_until_it_has_its_own_blocks() {
        let design = Design::new(6, 2, 0.0);
        let (even, mut late) = (near(0.0, 6), near(0.0, 6));
        late[2] = None;
        let apart = decide_apart(&design, &[history("read", even), history("scan", late)], &[0, 1]);
        assert_eq!(apart.blocks, [(6, 6), (5, 6)]);
        assert_eq!(apart.go_on, GoOn::Continue { next_look: 6 });
    }
}
