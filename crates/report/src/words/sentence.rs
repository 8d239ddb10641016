//! The answer: a few short sentences that a person can decide on, honest when there is nothing to decide.
//!
//! Takes the analysis, gives what to take, the strongest reason, what is undecided, and then what fits beside them.
//! Prevents: a table that leaves the reader to draw the conclusion, and a conclusion where there is none.

use super::claims::{Claim, Clause};
use crate::analysis::{Analysis, GoOn, StopReason};
use crate::check::Status;
use crate::format::{listed, percent, ratio};
use crate::grouped::{distinct, grouped};
use crate::ranking::own_blocks::OwnBlocks;
use crate::ranking::verdicts::{Comparison, Verdict};
use crate::words::changed::{changed, contrasted};
use crate::words::cuts::kept_in_short;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Three lines of a terminal; what would go beyond is left to the tables.
const LENGTH_MAX: usize = 235;
/// Between two sentences.
const BETWEEN: &str = ". ";
/// Stacks named beside the advice; more of them are counted.
const MEMBERS_MAX: usize = 3;

pub(crate) fn sentence(analysis: &Analysis) -> String {
    answer(analysis).words
}

/// The sentence with what it claims of the stacks.
pub(crate) fn answer(analysis: &Analysis) -> Clause {
    let answer = if analysis.comparisons.is_empty() {
        let mut clauses: Vec<Clause> = match analysis.contrasts.is_empty() {
            true => changed(&analysis.changes).map(Clause::from).into_iter().collect(),
            false => contrasted(&analysis.contrasts, analysis.study.margin)
                .map(Clause::from)
                .into_iter()
                .collect(),
        };
        clauses.extend(ran_out(analysis).map(Clause::from));
        if analysis.contrasts.is_empty() {
            let kept = kept_in_short(&analysis.kept, &came(analysis));
            clauses.extend(kept.into_iter().map(Clause::from));
        }
        if clauses.is_empty() && !analysis.contrasts.is_empty() {
            unchanged_so_far(analysis).into()
        } else if clauses.is_empty() {
            nothing_ranked(analysis).into()
        } else {
            fitted(clauses)
        }
    } else {
        ranked(analysis)
    };
    let (mut said, claims) = (answer.words, answer.claims);
    if analysis.study.modelled {
        said = format!("The device is a model, not a real one. {said}");
    }
    let on_models = |stack: &crate::StackHead| stack.on_model;
    if !analysis.stacks.is_empty() && analysis.stacks.iter().all(on_models) {
        said = match analysis.study.slow_motion.filter(|times| *times > 1) {
            Some(times) => format!("The devices are models, {times} times slower than real ones. {said}"),
            None => format!("The devices are models, not real ones. {said}"),
        };
    }
    let planted: Vec<&str> = analysis
        .stacks
        .iter()
        .filter(|s| s.injected.is_some())
        .map(|s| s.name.as_str())
        .collect();
    if !planted.is_empty() {
        said.push_str(&format!(". A disadvantage is planted on {}", listed(&planted, "and")));
    }
    let lost = losers_of_data(analysis);
    if !lost.is_empty() {
        said.push_str(&format!(". {} LOST DATA, whatever the speed", listed(&lost, "and")));
    }
    let broken = analysis
        .own_blocks
        .as_ref()
        .map(OwnBlocks::broken_by)
        .unwrap_or_default();
    if !broken.is_empty() {
        let broken = listed(&broken, "and");
        said.push_str(&format!(". The blocks of {broken} break a condition of the verdicts"));
    }
    said.push('.');
    Clause::of(said, claims)
}

fn losers_of_data(analysis: &Analysis) -> Vec<&str> {
    let bad = |c: &&crate::Check| c.subject == "data loss" && c.status == Status::Invalid;
    let lost = analysis.checks.iter().filter(bad);
    distinct(lost.map(|check| check.stack.as_deref().unwrap_or("a stack")))
}

/// Stacks that were not skipped.
fn came(analysis: &Analysis) -> Vec<&str> {
    let came = analysis.stacks.iter().filter(|s| s.skipped_reason.is_none());
    came.map(|s| s.name.as_str()).collect()
}

fn nothing_ranked(analysis: &Analysis) -> String {
    let ran = came(analysis);
    if analysis.phases.iter().all(|phase| phase.cells.is_empty()) {
        if let Some(first) = analysis.imported.first() {
            return format!(
                "Nothing was measured here: this file holds only imported figures ({}), and imported figures are not \
                 ranked",
                first.stack
            );
        }
        return match analysis.unranked.first() {
            Some(first) => format!("There is no answer: {}: {}", first.stack, first.reason),
            None => "There is no answer yet: no stack has finished its phases".into(),
        };
    }
    if let Some(first) = analysis.unranked.first() {
        return format!("Nothing can be ranked here: {}: {}", first.stack, first.reason);
    }
    match ran.as_slice() {
        [only] => format!("Only {only} was measured, so there is nothing to compare it with"),
        _ => "No phase of this study is ranked, so read its figures as they are".into(),
    }
}

/// Before the first look.
fn no_look(analysis: &Analysis) -> String {
    let study = &analysis.study;
    let tail = match analysis.go_on {
        GoOn::Stop(StopReason::TooManyDropped) => "Too many blocks had to be dropped",
        _ => "Let the study go on (`assay run --resume`)",
    };
    format!(
        "Not enough data yet: {} of {} planned blocks count, and no look at the data was due. {tail}",
        study.blocks_valid, study.blocks_planned
    )
}

/// Nothing but changes from phase to phase is compared, and of none of them may anything be said.
fn unchanged_so_far(analysis: &Analysis) -> String {
    if analysis.looks.is_empty() {
        return no_look(analysis);
    }
    format!(
        "Not enough data to say which stack changed more from phase to phase: {}",
        more(analysis)
    )
}

fn ranked<'a>(analysis: &'a Analysis) -> Clause {
    if analysis.looks.is_empty() {
        return no_look(analysis).into();
    }
    let by_base = grouped(analysis.comparisons.iter().map(|one| (one.base.as_str(), one)));
    let group = |(base, all): (_, Vec<&'a Comparison>)| Group::of(base, all);
    let mut groups: Vec<Group<'_>> = by_base.into_iter().map(group).collect();
    // What was decided comes first.
    groups.sort_by_key(Group::is_undecided);
    let mut clauses: Vec<Clause> = Vec::new();
    let lost = losers_of_data(analysis);
    for group in &groups {
        clauses.extend(group.clauses(analysis, &lost, groups.len() > 1));
    }
    // What the study asks of a stack alone stands right after the answer and what is open in it.
    let open = clauses.iter().skip(1).take_while(|one| one.always).count();
    let after = clauses.len().min(1 + open);
    let beside = contrasted(&analysis.contrasts, analysis.study.margin);
    let beside = beside.into_iter().chain(ran_out(analysis));
    clauses.splice(after..after, beside.map(Clause::from));
    clauses.extend(left_out(analysis).map(Clause::from));
    fitted(clauses)
}

/// "btrfs ran out of space in ageing".
fn ran_out(analysis: &Analysis) -> Option<String> {
    let first = analysis
        .phases
        .iter()
        .find(|phase| !phase.ran_out_of_space.is_empty())?;
    let stacks: Vec<&str> = first.ran_out_of_space.iter().map(|one| one.stack.as_str()).collect();
    Some(format!("{} ran out of space in {}", listed(&stacks, "and"), first.name))
}

/// As many clauses as fit, a sentence each. The first always stands; room for what is open is kept before all else.
fn fitted(clauses: Vec<Clause>) -> Clause {
    let must = |nth: usize, clause: &Clause| nth == 0 || clause.always;
    let length = |clause: &Clause| clause.words.chars().count() + BETWEEN.len();
    let kept = clauses.iter().enumerate().filter(|(nth, one)| must(*nth, one));
    let kept: usize = kept.map(|(_, one)| length(one)).sum();
    let mut left = (LENGTH_MAX + BETWEEN.len()).saturating_sub(kept);
    let (mut said, mut claims) = (String::new(), Vec::new());
    for (nth, clause) in clauses.into_iter().enumerate() {
        if !must(nth, &clause) {
            let Some(rest) = left.checked_sub(length(&clause)) else {
                continue;
            };
            left = rest;
        }
        if nth == 0 {
            let mut letters = clause.words.chars();
            said.extend(letters.next().map(|first| first.to_ascii_uppercase()));
            said.push_str(letters.as_str());
        } else {
            said.push_str(BETWEEN);
            said.push_str(&clause.words);
        }
        claims.extend(clause.claims);
    }
    Clause::of(said, claims)
}

/// A base and the stacks compared with it.
struct Group<'a> {
    base: &'a str,
    stacks: Vec<&'a str>,
    all: Vec<&'a Comparison>,
    of_stack: BTreeMap<&'a str, Vec<&'a Comparison>>,
}

impl<'a> Group<'a> {
    fn of(base: &'a str, all: Vec<&'a Comparison>) -> Group<'a> {
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

    fn is_undecided(&self) -> bool {
        self.all.iter().all(|one| one.verdict == Verdict::NotEnoughData)
    }

    fn has(&self, stack: &str, verdict: Verdict) -> bool {
        self.of_stack(stack).iter().any(|one| one.verdict == verdict)
    }

    fn members(&self) -> Vec<&'a str> {
        [self.base].into_iter().chain(self.stacks.iter().copied()).collect()
    }

    fn clauses(&self, analysis: &Analysis, lost: &[&str], several: bool) -> Vec<Clause> {
        let members = listed(&self.members(), "and");
        let margin = percent(analysis.study.margin);
        if self.is_undecided() {
            if several {
                return vec![Clause::from(format!("Not enough data to distinguish {members}")).always()];
            }
            let more = more(analysis);
            let after = after(&self.all);
            return vec![format!("Not enough data to distinguish {members}{after}: {more}").into()];
        }
        if self.all.iter().all(|one| one.verdict == Verdict::Equivalent) {
            return self.all_equivalent(analysis, lost);
        }
        let decided = |one: &&Comparison| matches!(one.verdict, Verdict::Better | Verdict::Worse);
        let advised = self.all.iter().any(decided);
        let mut clauses = if advised {
            self.advice(lost)
        } else {
            // Some are equivalent and the rest is open: nothing speaks for one of them, and not all is known.
            let alike = |stack: &&str| self.has(stack, Verdict::Equivalent);
            let alike: Vec<&str> = self.stacks.iter().copied().filter(alike).collect();
            let are = if alike.len() == 1 { "is" } else { "are" };
            let alike = listed(&alike, "and");
            let said = format!(
                "{alike} {are} equivalent to {} within {margin} where decided",
                self.base
            );
            vec![Clause::of(said, self.claims(Verdict::Equivalent))]
        };
        let open = self.open(advised);
        if open.is_empty() && self.all.iter().any(|one| one.verdict == Verdict::Equivalent) {
            let said = format!("All else is equivalent to {} within {margin}", self.base);
            clauses.push(Clause::of(said, self.claims(Verdict::Equivalent)));
        }
        // Right after the advice: the tables say the rest, but an advice without this would say too much.
        clauses.splice(1..1, open);
        clauses
    }

    /// What is undecided; `advised`: beside an advice, which leaves out stacks that nothing speaks for or against.
    fn open(&self, advised: bool) -> Vec<Clause> {
        let open = self.all.iter().copied();
        let open: Vec<_> = open.filter(|one| one.verdict == Verdict::NotEnoughData).collect();
        let stacks = if advised { self.undecided() } else { Vec::new() };
        let are = if stacks.len() == 1 { "is" } else { "are" };
        let named = format!("{} {are} undecided", listed(&stacks, "and"));
        let (many, after) = (open.len(), after(&open));
        let (said, more) = match open.as_slice() {
            [] => return Vec::new(),
            [one] => (
                format!("{} is undecided against {} in {}", one.stack, one.base, one.phase),
                None,
            ),
            open if open.iter().all(|one| stacks.contains(&one.stack.as_str())) => {
                (format!("{named} in {many} comparisons"), None)
            }
            _ => (
                format!("{many} other comparisons are undecided{after}"),
                (!stacks.is_empty()).then_some(named),
            ),
        };
        let more = more.map(Clause::from);
        [Clause::from(said).always()].into_iter().chain(more).collect()
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
    fn all_equivalent(&self, analysis: &Analysis, lost: &[&str]) -> Vec<Clause> {
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
        let said = format!("{take}: {alike} within {margin} in {}", self.phases());
        let pairs = if apart { Vec::new() } else { self.pairs() };
        let mut clauses = vec![Clause::of(said, self.claims(Verdict::Equivalent).chain(pairs))];
        if apart {
            let others = listed(&self.stacks, "and");
            clauses.push(Clause::from(format!("{others} may differ from each other by more")).always());
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
fn more(analysis: &Analysis) -> &'static str {
    match analysis.go_on {
        GoOn::Continue(_) => "let the study go on (`assay run --resume`)",
        GoOn::Stop(StopReason::TooManyDropped) => "too many blocks had to be dropped",
        GoOn::Stop(_) if analysis.study.may_be_extended() => "more blocks may decide it (`assay run --extend FILE`)",
        GoOn::Stop(_) => "all extensions are used. Run a study with longer phases, and report both",
    }
}

/// What was measured and takes no part in the ranking, by cause.
fn left_out(analysis: &Analysis) -> Option<String> {
    let compared = analysis
        .comparisons
        .iter()
        .flat_map(|one| [one.stack.as_str(), one.base.as_str()]);
    let compared: BTreeSet<&str> = compared.collect();
    let is_compared = |stack: &str| compared.contains(stack);
    // A stack of another group is still compared inside its own.
    let left = (analysis.unranked.iter()).filter(|one| one.phase.is_some() || !is_compared(&one.stack));
    let named = distinct(left.map(|one| one.stack.as_str()));
    let tail = if named.iter().any(|stack| is_compared(stack)) {
        " in some phases"
    } else {
        ""
    };
    (!named.is_empty()).then(|| format!("Not ranked{tail}: {}", listed(&named, "and")))
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
