//! A base and the stacks compared with it, in clauses of the answer: what to take, why, and what is open.
//!
//! Takes the comparisons of one base, gives clauses with their claims. None begins with a name, so that a name keeps
//! its letters at the head of a sentence. Prevents: an advice that hides what limits it.

use super::claims::{Claim, Clause};
use crate::analysis::{Analysis, GoOn, StopReason};
use crate::format::{listed, percent, ratio};
use crate::grouped::{distinct, grouped};
use crate::ranking::verdicts::{Comparison, Verdict};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Stacks named beside the advice; more of them are counted.
const MEMBERS_MAX: usize = 3;

/// A base and the stacks compared with it.
pub(super) struct Group<'a> {
    base: &'a str,
    stacks: Vec<&'a str>,
    all: Vec<&'a Comparison>,
    of_stack: BTreeMap<&'a str, Vec<&'a Comparison>>,
}

impl<'a> Group<'a> {
    pub(super) fn of(base: &'a str, all: Vec<&'a Comparison>) -> Group<'a> {
        let by_stack = grouped(all.iter().map(|one| (one.stack.as_str(), *one)));
        Group {
            base,
            stacks: by_stack.iter().map(|(stack, _)| *stack).collect(),
            all,
            of_stack: by_stack.into_iter().collect(),
        }
    }

    fn of_stack(&self, stack: &str) -> &[&'a Comparison] {
        self.of_stack.get(stack).map_or(&[], Vec::as_slice)
    }

    pub(super) fn is_undecided(&self) -> bool {
        self.all.iter().all(|one| is_open(one))
    }

    fn has(&self, stack: &str, verdict: Verdict) -> bool {
        self.of_stack(stack).iter().any(|one| one.verdict == verdict)
    }

    fn members(&self) -> Vec<&'a str> {
        [self.base].into_iter().chain(self.stacks.iter().copied()).collect()
    }

    /// As group number `nth` of `of`. Of later groups the first clause may be left out, so what always stays names its
    /// base.
    pub(super) fn clauses(&self, analysis: &Analysis, lost: &[&str], (nth, of): (usize, usize)) -> Vec<Clause> {
        let later = nth > 0;
        let members = listed(&self.members(), "and");
        let margin = percent(analysis.study.margin);
        if self.is_undecided() {
            if of > 1 {
                return vec![Clause::from(format!("Not enough data to distinguish {members}")).always()];
            }
            let more = more(analysis);
            let after = after(&self.all);
            return vec![format!("Not enough data to distinguish {members}{after}: {more}").into()];
        }
        if self.all.iter().all(|one| one.verdict == Verdict::Equivalent) {
            return self.all_equivalent(analysis, lost, later);
        }
        let decided = |one: &&Comparison| matches!(one.verdict, Verdict::Better | Verdict::Worse);
        let advised = self.all.iter().any(decided);
        let mut clauses = if advised {
            self.advice(lost)
        } else {
            // Some are equivalent and the rest is open: nothing speaks for one of them, and not all is known.
            let alike = |stack: &&str| self.has(stack, Verdict::Equivalent);
            let alike: Vec<&str> = self.stacks.iter().copied().filter(alike).collect();
            let are = if alike.len() == 1 { "is" } else { "are each" };
            let said = format!(
                "Where decided, {} {are} equivalent to {} within {margin}",
                listed(&alike, "and"),
                self.base
            );
            vec![Clause::of(said, self.claims(Verdict::Equivalent))]
        };
        let open = self.open(advised, later);
        if open.is_none() {
            clauses.extend(self.rest(&margin));
        }
        // Right after the advice: the tables say the rest, but an advice without this would say too much.
        let limits = self.contradicted().into_iter().chain(self.small(analysis.study.margin));
        clauses.splice(1..1, limits.chain(open));
        clauses
    }

    /// That what the clauses before it leave over is equivalent, where nothing is open.
    fn rest(&self, margin: &str) -> Option<Clause> {
        let equivalent = self.all.iter().filter(|one| one.verdict == Verdict::Equivalent);
        let said = match equivalent.count() {
            0 => return None,
            1 => format!("The other comparison with {} is equivalent within {margin}", self.base),
            _ => format!(
                "All other comparisons with {} are equivalent within {margin}",
                self.base
            ),
        };
        Some(Clause::of(said, self.claims(Verdict::Equivalent)).of_the_rest())
    }

    /// That each difference for which a stack is called better or worse is smaller than the margin. A verdict stays as
    /// it was first given, and later blocks may narrow its interval.
    fn small(&self, margin: f64) -> Option<Clause> {
        let decided = |one: &&&Comparison| matches!(one.verdict, Verdict::Better | Verdict::Worse);
        let limits = 1.0 / (1.0 + margin)..1.0 + margin;
        let inside = |one: &Comparison| {
            let ends = [one.low, one.high];
            ends.iter().all(|end| end.is_some_and(|end| limits.contains(&end)))
        };
        let all: Vec<&Comparison> = self.all.iter().filter(decided).copied().collect();
        if !all.iter().all(|one| inside(one)) {
            return None;
        }
        let margin = percent(margin);
        let said = match all.len() {
            0 => return None,
            1 => format!("This difference is smaller than the margin of {margin}"),
            _ => format!("Every difference that was found is smaller than the margin of {margin}"),
        };
        let inside = all.into_iter().map(|one| Claim::Verdict {
            stack: one.stack.clone(),
            phase: one.phase.clone(),
            verdict: Verdict::Equivalent,
        });
        Some(Clause::of(said, inside).always())
    }

    /// Verdicts against which later blocks speak: each stays as it was first given, and its interval has moved.
    fn contradicted(&self) -> Option<Clause> {
        let moved = |one: &&&Comparison| match one.verdict {
            Verdict::Better => one.low.is_some_and(|low| low <= 1.0),
            Verdict::Worse => one.high.is_some_and(|high| high >= 1.0),
            Verdict::Equivalent | Verdict::NotEnoughData => false,
        };
        let moved: Vec<String> = self
            .all
            .iter()
            .filter(moved)
            .map(|one| format!("{} in {}", one.stack, one.phase))
            .collect();
        let moved: Vec<&str> = moved.iter().map(String::as_str).collect();
        let said = format!("Later blocks contradict the verdict on {}", listed(&moved, "and"));
        (!moved.is_empty()).then(|| Clause::from(said).always())
    }

    /// What is undecided; `advised`: beside an advice, which leaves out stacks that nothing speaks for or against.
    /// `later`: it names its base.
    fn open(&self, advised: bool, later: bool) -> Option<Clause> {
        let open: Vec<&Comparison> = self.all.iter().copied().filter(|one| is_open(one)).collect();
        let stacks = if advised { self.undecided() } else { Vec::new() };
        let named = listed(&stacks, "and");
        let (many, after) = (open.len(), after(&open));
        let with = match later {
            true => format!(" with {}", self.base),
            false => String::new(),
        };
        let said = match open.as_slice() {
            [] => return None,
            [one] => format!("Undecided in {}: {} against {}", one.phase, one.stack, one.base),
            open if open.iter().all(|one| stacks.contains(&one.stack.as_str())) => {
                format!("Undecided in {many} comparisons{with}: {named}")
            }
            _ if stacks.is_empty() => format!("{many} other comparisons{with} are undecided{after}"),
            _ => {
                // An equivalence is a decision, and no advice.
                let nothing = |stack: &&str| self.of_stack(stack).iter().all(|one| is_open(one));
                let what = match stacks.iter().all(nothing) {
                    true => "nothing is decided of",
                    false => "nothing speaks for or against",
                };
                format!("{many} other comparisons{with} are undecided{after} ({what} {named})")
            }
        };
        Some(Clause::from(said).always())
    }

    /// Stacks of which something is open, and nothing better or worse.
    fn undecided(&self) -> Vec<&'a str> {
        let decided = |stack: &str| self.has(stack, Verdict::Better) || self.has(stack, Verdict::Worse);
        let stacks = self.stacks.iter().copied();
        stacks
            .filter(|stack| !decided(stack) && self.has(stack, Verdict::NotEnoughData))
            .collect()
    }

    /// Nothing but equivalence was found.
    fn all_equivalent(&self, analysis: &Analysis, lost: &[&str], later: bool) -> Vec<Clause> {
        let (members, margin) = (listed(&self.members(), "and"), percent(analysis.study.margin));
        let apart = !self.are_all_alike(analysis);
        let alike = match (self.stacks.len(), apart) {
            (1, _) => "they are equivalent".to_string(),
            (_, false) => "all are equivalent".to_string(),
            (_, true) => format!("each is equivalent to {}", self.base),
        };
        let all = self.members();
        let sound: Vec<&str> = all.iter().copied().filter(|stack| !lost.contains(stack)).collect();
        let (take, alike) = match (sound.len() == all.len(), self.stacks.len()) {
            (true, _) => (format!("Take {}", listed(&all, "or")), alike),
            // Not all who are alike are taken, so they are named.
            (false, 1) => (taken_or_none(&sound, &all), format!("{members} are equivalent")),
            (false, _) => (taken_or_none(&sound, &all), alike),
        };
        let phases = distinct(self.all.iter().map(|one| one.phase.as_str())).len();
        let of = |stack: &str| self.all.iter().filter(|one| one.stack == stack).count();
        let limit = match self.stacks.iter().all(|stack| of(stack) == phases) {
            true => "",
            false => ", where each is ranked",
        };
        let said = format!("{take}: {alike} within {margin} in {}{limit}", self.phases());
        let pairs = if apart { Vec::new() } else { self.pairs() };
        let mut clauses = vec![Clause::of(said, self.claims(Verdict::Equivalent).chain(pairs))];
        if apart {
            let others = listed(&self.stacks, "and");
            let limit = match later {
                false => Clause::from(format!("The differences between {others} may be larger")),
                true => Clause::of(
                    format!(
                        "Each of {others} is equivalent to {} within {margin}, and they may differ from each other by \
                         more",
                        self.base
                    ),
                    self.claims(Verdict::Equivalent),
                ),
            };
            clauses.push(limit.always());
        }
        clauses
    }

    /// What to take, and why.
    fn advice(&self, lost: &[&str]) -> Vec<Clause> {
        let better: Vec<&str> = self.only(Verdict::Better, Verdict::Worse);
        let worse: Vec<&str> = self.only(Verdict::Worse, Verdict::Better);
        let both = |stack: &&str| self.has(stack, Verdict::Better) && self.has(stack, Verdict::Worse);
        let mixed: Vec<&str> = self.stacks.iter().copied().filter(|stack| both(stack)).collect();
        // A stack that lost data is no choice, and speaks against no other.
        let kept: Vec<&str> = better.iter().copied().filter(|stack| !lost.contains(stack)).collect();
        let take: Vec<&str> = if kept.is_empty() {
            // Only what was decided is named: a stack of which something is open is no advice.
            let open = |stack: &str| self.has(stack, Verdict::NotEnoughData);
            let good = |stack: &&str| !worse.contains(stack) && !lost.contains(stack) && !open(stack);
            self.members().into_iter().filter(good).collect()
        } else {
            // A stack with two sides stays a choice beside one that is better in something.
            let good = |stack: &&str| !lost.contains(stack) && !kept.iter().any(|other| self.is_above(other, stack));
            kept.iter().chain(&mixed).copied().filter(good).collect()
        };
        let reasons = if better.is_empty() { &worse } else { &better };
        let mut clauses: Vec<Clause> = Vec::new();
        let mut of: Vec<&str> = reasons.iter().chain(&mixed).copied().collect();
        of.sort_by(|a, b| self.distance(b).total_cmp(&self.distance(a)));
        for stack in of {
            clauses.push(self.reason(stack));
        }
        if !better.is_empty() {
            // Whoever takes the better one still wants to know how bad the others are, and which of them nothing
            // speaks against.
            let mut rest = worse.clone();
            rest.sort_by(|a, b| self.distance(b).total_cmp(&self.distance(a)));
            clauses.extend(rest.into_iter().map(|stack| self.reason(stack)));
        }
        let members = self.members();
        let head = match (take.is_empty(), take.len() == members.len(), members.len()) {
            (true, ..) => format!("Take none of {}", listed(&members, "and")),
            (_, true, _) => format!("Choose {} by your main work", listed(&take, "or")),
            (_, _, 2) => format!("Take {}", take[0]),
            (_, _, ..=MEMBERS_MAX) => format!("Take {} (of {})", listed(&take, "or"), listed(&members, "and")),
            (_, _, many) => format!("Take {} (of {many} stacks)", listed(&take, "or")),
        };
        let first = clauses.remove(0);
        for clause in &mut clauses {
            clause.words = format!("Also, {}", clause.words);
        }
        let said = format!("{head}: {}", first.words);
        clauses.insert(
            0,
            Clause::of(said, self.taken(&take, &self.undecided()).chain(first.claims)),
        );
        clauses
    }

    /// Whether each pair of stacks, and not only each stack and the base, is equivalent in each phase.
    fn are_all_alike(&self, analysis: &Analysis) -> bool {
        let known = analysis.pairs_alike.iter();
        let known = known.map(|pair| (pair.phase.as_str(), [pair.stack.as_str(), pair.other.as_str()]));
        let known: BTreeSet<(&str, [&str; 2])> = known.collect();
        let of_phases = grouped(self.all.iter().map(|one| (one.phase.as_str(), one.stack.as_str())));
        let alike = |phase: &str, a: &str, b: &str| known.contains(&(phase, [a, b]));
        for (phase, stacks) in &of_phases {
            for (nth, one) in stacks.iter().enumerate() {
                let mut later = stacks[nth + 1..].iter().filter(|other| *other != one);
                if !later.all(|other| alike(phase, one, other) || alike(phase, other, one)) {
                    return false;
                }
            }
        }
        true
    }

    /// Whether a stack is above another in every phase: all intervals hold at once, so those that do not meet tell.
    fn is_above(&self, stack: &str, other: &str) -> bool {
        let its = self.of_stack(stack).iter().map(|one| (one.phase.as_str(), *one));
        // Of two of one phase the first counts.
        let its: BTreeMap<&str, &Comparison> = its.rev().collect();
        let others = self.of_stack(other);
        let above = |one: &&Comparison| {
            let same = its.get(one.phase.as_str());
            same.is_some_and(|own| matches!((own.low, one.high), (Some(low), Some(high)) if low > high))
        };
        stack != other && !others.is_empty() && others.iter().all(above)
    }

    /// Stacks with the one verdict somewhere and the other nowhere.
    fn only(&self, verdict: Verdict, not: Verdict) -> Vec<&'a str> {
        let fits = |stack: &&str| self.has(stack, verdict) && !self.has(stack, not);
        self.stacks.iter().copied().filter(fits).collect()
    }

    /// How far from 1 the furthest decided ratio of a stack is.
    fn distance(&self, stack: &str) -> f64 {
        self.decided(stack)
            .iter()
            .filter_map(|one| one.ratio)
            .map(|ratio| ratio.ln().abs())
            .fold(0.0, f64::max)
    }

    /// Better and worse of a stack, the furthest from 1 first.
    fn decided(&self, stack: &str) -> Vec<&'a Comparison> {
        let said = |one: &&Comparison| matches!(one.verdict, Verdict::Better | Verdict::Worse);
        let mut found: Vec<&Comparison> = self.of_stack(stack).iter().copied().filter(said).collect();
        let far = |one: &Comparison| one.ratio.map_or(0.0, |ratio| ratio.ln().abs());
        found.sort_by(|a, b| far(b).total_cmp(&far(a)));
        found
    }

    /// That these are to be taken, over all others that are not called undecided.
    fn taken(&self, take: &[&str], open: &[&str]) -> impl Iterator<Item = Claim> {
        let mut over = self.members();
        over.retain(|stack| !take.contains(stack) && !open.contains(stack));
        take.iter().map(move |stack| Claim::Taken {
            stack: (*stack).to_string(),
            over: over.iter().map(|stack| (*stack).to_string()).collect(),
        })
    }

    /// What a verdict claims, of all comparisons that have it.
    fn claims(&self, verdict: Verdict) -> impl Iterator<Item = Claim> {
        let all = self.all.iter().filter(move |one| one.verdict == verdict);
        all.map(|one| Claim::verdict(one))
    }

    /// That each pair of stacks is equivalent in each phase.
    fn pairs(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        let mut later: BTreeMap<&str, VecDeque<&str>> = BTreeMap::new();
        for one in &self.all {
            later.entry(&one.phase).or_default().push_back(&one.stack);
        }
        for one in &self.all {
            let later = later.entry(&one.phase).or_default();
            later.pop_front();
            claims.extend(later.iter().map(|other| Claim::Alike {
                stack: one.stack.clone(),
                other: other.to_string(),
                phase: one.phase.clone(),
            }));
        }
        claims
    }

    /// "btrfs does 0.16 of ext4's rate in 50 % update (0.04 to 0.63) and 0.50 in scan".
    fn reason(&self, stack: &str) -> Clause {
        let decided = self.decided(stack);
        let Some((first, rest)) = decided.split_first() else {
            return format!("{stack} was compared with {}", self.base).into();
        };
        let mut said = format!(
            "{stack} does {} of {}'s {} in {} {}",
            value(first),
            self.base,
            first.metric.noun(),
            first.phase,
            interval(first)
        );
        match rest {
            [] => {}
            [one] => said.push_str(&format!(" and {} in {}", value(one), one.phase)),
            more => {
                let sides = more.iter().all(|one| one.verdict == first.verdict);
                let word = if sides {
                    first.verdict.words()
                } else {
                    "better or worse"
                };
                said.push_str(&format!(". It is {word} in {} more phases", more.len()));
            }
        }
        Clause::of(said, decided.into_iter().map(Claim::verdict))
    }

    /// "50 % update", or how many phases.
    fn phases(&self) -> String {
        let names = distinct(self.all.iter().map(|one| one.phase.as_str()));
        match names.as_slice() {
            [one] => (*one).to_string(),
            [a, b] => format!("{a} and {b}"),
            _ => format!("all {} phases", names.len()),
        }
    }
}

/// What to do when nothing is decided.
pub(super) fn more(analysis: &Analysis) -> &'static str {
    match analysis.go_on {
        GoOn::Stop(StopReason::TooManyDropped) => "too many blocks had to be dropped",
        _ if !analysis.is_file_kept => "more blocks may decide it",
        GoOn::Continue(_) => "let the study go on (`assay run STUDY --resume --output FILE`)",
        GoOn::Stop(_) if analysis.study.may_be_extended() => "more blocks may decide it (`assay run --extend FILE`)",
        GoOn::Stop(_) => "all extensions are used. Run a study with longer phases, and report both",
    }
}

fn is_open(one: &Comparison) -> bool {
    one.verdict == Verdict::NotEnoughData
}

/// After how many blocks, as few as one of these comparisons has; nothing where one of them was never looked at.
fn after(open: &[&Comparison]) -> String {
    let blocks: Option<Vec<u32>> = open.iter().map(|one| one.n).collect();
    let fewest = blocks.and_then(|blocks| blocks.into_iter().min());
    fewest.map_or_else(String::new, |blocks| format!(" after {blocks} blocks"))
}

/// Which of all stacks are taken, where some are no choice.
fn taken_or_none(sound: &[&str], all: &[&str]) -> String {
    match sound {
        [] => format!("Take none of {}", listed(all, "and")),
        sound => format!("Take {}", listed(sound, "or")),
    }
}

fn value(one: &Comparison) -> String {
    one.ratio.map_or("an unknown part".into(), ratio)
}

fn interval(one: &Comparison) -> String {
    match (one.low, one.high) {
        (Some(low), Some(high)) => format!("({} to {})", ratio(low), ratio(high)),
        _ => "(no interval)".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::StudyHead;
    use crate::cells::metric::Metric;

    fn comparison(stack: &str, phase: &str, verdict: Verdict, ratio: f64) -> Comparison {
        Comparison {
            stack: stack.into(),
            base: "ext4".into(),
            phase: phase.into(),
            metric: Metric::OperationsPerSecond,
            verdict,
            ratio: Some(ratio),
            low: Some(ratio * 0.99),
            high: Some(ratio * 1.01),
            n: Some(4),
            look: Some(1),
            alpha: 0.0,
            words: String::new(),
        }
    }

    /// Clauses of group number `nth` of two.
    fn clauses(nth: usize, all: &[Comparison]) -> Vec<Clause> {
        let study = ledger::Study {
            margin: 0.05,
            ..ledger::Study::default()
        };
        let analysis = Analysis::empty(StudyHead::of(&study, &[]));
        Group::of("ext4", all.iter().collect()).clauses(&analysis, &[], (nth, 2))
    }

    fn kept(nth: usize, all: &[Comparison]) -> Vec<String> {
        let kept = clauses(nth, all).into_iter().filter(|clause| clause.always);
        kept.map(|clause| clause.words).collect()
    }

    #[test]
    fn what_stays_of_a_later_group_names_its_base() {
        let alike = ["xfs", "btrfs"].map(|stack| comparison(stack, "reads", Verdict::Equivalent, 1.0));
        assert_eq!(kept(0, &alike), ["The differences between xfs and btrfs may be larger"]);
        assert_eq!(
            kept(1, &alike),
            ["Each of xfs and btrfs is equivalent to ext4 within 5 %, and they may differ from each other by more"]
        );
        let open = |phase: &str| comparison("xfs", phase, Verdict::NotEnoughData, 0.9);
        let worse = comparison("xfs", "reads", Verdict::Worse, 0.5);
        let some = [worse, open("updates"), open("scan")];
        assert_eq!(kept(0, &some), ["2 other comparisons are undecided after 4 blocks"]);
        assert_eq!(
            kept(1, &some),
            ["2 other comparisons with ext4 are undecided after 4 blocks"]
        );
    }

    #[test]
    fn a_verdict_that_later_blocks_contradict_is_named() {
        let moved = |verdict, low, high| Comparison {
            low: Some(low),
            high: Some(high),
            ..comparison("xfs", "reads", verdict, 1.0)
        };
        let said = ["Later blocks contradict the verdict on xfs in reads"];
        for contradicted in [moved(Verdict::Better, 0.65, 1.1), moved(Verdict::Worse, 0.9, 1.4)] {
            assert_eq!(kept(0, &[contradicted]), said);
        }
        for held in [moved(Verdict::Better, 1.1, 1.4), moved(Verdict::Worse, 0.6, 0.9)] {
            assert_eq!(kept(0, &[held]), [""; 0]);
        }
    }

    #[test]
    fn a_decided_difference_inside_the_margin_is_called_small() {
        let worse = comparison("xfs", "reads", Verdict::Worse, 0.98);
        let small = "This difference is smaller than the margin of 5 %";
        assert_eq!(kept(0, std::slice::from_ref(&worse)), [small]);
        // Who knows the truth holds this against it too, and not only the verdict.
        let claims = clauses(0, std::slice::from_ref(&worse))
            .into_iter()
            .flat_map(|clause| clause.claims);
        let alike = |claim: &Claim| {
            matches!(
                claim,
                Claim::Verdict {
                    verdict: Verdict::Equivalent,
                    ..
                }
            )
        };
        assert_eq!(claims.filter(alike).count(), 1);
        let both = [worse.clone(), comparison("xfs", "scan", Verdict::Better, 1.02)];
        assert_eq!(
            kept(0, &both),
            ["Every difference that was found is smaller than the margin of 5 %"]
        );
        let much = [worse, comparison("xfs", "scan", Verdict::Worse, 0.5)];
        assert_eq!(kept(0, &much), Vec::<String>::new());
    }

    #[test]
    fn stacks_of_which_nothing_is_decided_stay_beside_the_advice() {
        let mut all = vec![
            comparison("xfs", "reads", Verdict::Worse, 0.5),
            comparison("xfs", "scan", Verdict::NotEnoughData, 0.9),
            comparison("raw", "reads", Verdict::NotEnoughData, 1.0),
        ];
        assert_eq!(
            kept(0, &all),
            ["2 other comparisons are undecided after 4 blocks (nothing is decided of raw)"]
        );
        all.push(comparison("raw", "scan", Verdict::Equivalent, 1.0));
        assert_eq!(
            kept(0, &all),
            ["2 other comparisons are undecided after 4 blocks (nothing speaks for or against raw)"]
        );
    }

    #[test]
    fn the_rest_names_its_base_and_waits_for_what_stands_before_it() {
        let mut all = vec![
            comparison("xfs", "reads", Verdict::Worse, 0.5),
            comparison("btrfs", "reads", Verdict::Equivalent, 1.0),
        ];
        let last = |all: &[Comparison]| clauses(0, all).pop().map(|clause| (clause.words, clause.rest));
        let one = "The other comparison with ext4 is equivalent within 5 %";
        assert_eq!(last(&all), Some((one.to_string(), true)));
        all.push(comparison("btrfs", "scan", Verdict::Equivalent, 1.0));
        let two = "All other comparisons with ext4 are equivalent within 5 %";
        assert_eq!(last(&all), Some((two.to_string(), true)));
    }
}
