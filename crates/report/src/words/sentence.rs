//! The last line: one sentence that a person can decide on, honest when there is nothing to decide.
//!
//! Takes the analysis, gives the sentence, short: what to take, the strongest reason, and what could not be told.
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
        said = format!("On a modelled device, not a real one: {said}");
    }
    let on_models = |stack: &crate::StackHead| stack.on_model;
    if !analysis.stacks.is_empty() && analysis.stacks.iter().all(on_models) {
        said = match analysis.study.slow_motion.filter(|times| *times > 1) {
            Some(times) => format!("On modelled devices {times} times slower than real ones: {said}"),
            None => format!("On modelled devices, not real ones: {said}"),
        };
    }
    let planted: Vec<&str> = analysis
        .stacks
        .iter()
        .filter(|s| s.injected.is_some())
        .map(|s| s.name.as_str())
        .collect();
    if !planted.is_empty() {
        said.push_str(&format!(" (with a disadvantage planted on {})", planted.join(", ")));
    }
    let lost = losers_of_data(analysis);
    if !lost.is_empty() {
        said.push_str(&format!("; but {} LOST DATA, whatever the speed", listed(&lost, "and")));
    }
    let broken = analysis
        .own_blocks
        .as_ref()
        .map(OwnBlocks::broken_by)
        .unwrap_or_default();
    if !broken.is_empty() {
        let broken = listed(&broken, "and");
        said.push_str(&format!(
            "; but the blocks of {broken} break a condition of the verdicts"
        ));
    }
    said.push('.');
    Clause { words: said, claims }
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
            None => "There is no answer yet: no stack has come through its phases".into(),
        };
    }
    if let Some(first) = analysis.unranked.first() {
        return format!("Nothing can be ranked here: {}: {}", first.stack, first.reason);
    }
    match ran.as_slice() {
        [only] => format!("Only {only} was measured, so there is nothing to compare it with"),
        _ => "No phase of this study is ranked, so its numbers are to be read as they are".into(),
    }
}

/// Before the first look.
fn no_look(analysis: &Analysis) -> String {
    let study = &analysis.study;
    let tail = match analysis.go_on {
        GoOn::Stop(StopReason::TooManyDropped) => "too many blocks had to be dropped",
        _ => "let the study go on (`assay run --resume`)",
    };
    format!(
        "Not enough data yet: {} of {} planned blocks count, and none of the looks was due; {tail}",
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
    // What the study asks of a stack alone stands right after the answer.
    let after = clauses.len().min(1);
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

/// As many clauses as fit; the first always stands.
fn fitted(clauses: Vec<Clause>) -> Clause {
    let (mut said, mut claims) = (String::new(), Vec::new());
    for clause in clauses {
        let words = &clause.words;
        if said.is_empty() {
            let mut letters = words.chars();
            said.extend(letters.next().map(|first| first.to_ascii_uppercase()));
            said.push_str(letters.as_str());
        } else if said.chars().count() + 2 + words.chars().count() <= LENGTH_MAX {
            said.push_str("; ");
            said.push_str(words);
        } else {
            continue;
        }
        claims.extend(clause.claims);
    }
    Clause { words: said, claims }
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
                return vec![format!("not enough data to distinguish {members}").into()];
            }
            let more = more(analysis);
            let after = after(&self.all);
            return vec![format!("not enough data to distinguish {members}{after}: {more}").into()];
        }
        if self.all.iter().all(|one| one.verdict == Verdict::Equivalent) {
            return self.all_equivalent(analysis, lost);
        }
        let decided = |one: &&Comparison| matches!(one.verdict, Verdict::Better | Verdict::Worse);
        let mut clauses = if self.all.iter().any(decided) {
            self.advice(lost)
        } else {
            // Some are equivalent and the rest is open: nothing speaks for one of them, and not all is known.
            let alike = |stack: &&str| self.has(stack, Verdict::Equivalent);
            let alike: Vec<&str> = self.stacks.iter().copied().filter(alike).collect();
            let are = if alike.len() == 1 { "is" } else { "are" };
            let alike = listed(&alike, "and");
            let said = format!(
                "{alike} {are} equivalent to {} within {margin} where it could be told",
                self.base
            );
            vec![Clause::of(said, self.claims(Verdict::Equivalent))]
        };
        let open = self
            .all
            .iter()
            .copied()
            .filter(|one| one.verdict == Verdict::NotEnoughData);
        let open: Vec<_> = open.collect();
        match open.as_slice() {
            [] if self.all.iter().any(|one| one.verdict == Verdict::Equivalent) => {
                let said = format!("otherwise equivalent to {} within {margin}", self.base);
                clauses.push(Clause::of(said, self.claims(Verdict::Equivalent)));
            }
            [] => {}
            [one] => {
                let (stack, base, phase) = (&one.stack, &one.base, &one.phase);
                clauses.push(format!("{stack} could not be distinguished from {base} in {phase}").into());
            }
            open => {
                let after = after(open);
                clauses.push(format!("{} other differences could not be told{after}", open.len()).into());
            }
        }
        clauses
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
            (true, _) => (format!("take {}", listed(&all, "or")), alike),
            // Not all who are alike are taken, so they are named.
            (false, 1) => (taken_or_none(&sound, &all), format!("{members} are equivalent")),
            (false, _) => (taken_or_none(&sound, &all), alike),
        };
        let said = format!("{take}: {alike} within {margin} in {}", self.phases());
        let pairs = if apart { Vec::new() } else { self.pairs() };
        let mut clauses = vec![Clause::of(said, self.claims(Verdict::Equivalent).chain(pairs))];
        if apart {
            let others = listed(&self.stacks, "and");
            clauses.push(format!("{others} may differ from each other by more").into());
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
        let told = |stack: &&str| !better.contains(stack) && !worse.contains(stack) && !mixed.contains(stack);
        let open = self.stacks.iter().copied().filter(told);
        let open: Vec<&str> = open.filter(|stack| self.has(stack, Verdict::NotEnoughData)).collect();
        // One comparison alone is named with its phase, by another clause.
        let count = self
            .all
            .iter()
            .filter(|one| one.verdict == Verdict::NotEnoughData)
            .count();
        if !open.is_empty() && count > 1 {
            let are = if open.len() == 1 { "is" } else { "are" };
            clauses.push(format!("{} {are} undecided", listed(&open, "and")).into());
        }
        let members = self.members();
        let head = match (take.is_empty(), take.len() == members.len(), members.len()) {
            (true, ..) => format!("take none of {}", listed(&members, "and")),
            (_, true, _) => format!("take {} by what you do most", listed(&take, "or")),
            (_, _, 2) => format!("take {}", take[0]),
            _ => format!("of {}, take {}", listed(&members, "and"), listed(&take, "or")),
        };
        let first = clauses.remove(0);
        let said = format!("{head}: {}", first.words);
        clauses.insert(0, Clause::of(said, self.taken(&take, &open).chain(first.claims)));
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
                let word = if sides { first.verdict.words() } else { "decided" };
                said.push_str(&format!(", and is {word} in {} more phases", more.len()));
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

/// What to do when nothing could be told.
fn more(analysis: &Analysis) -> &'static str {
    match analysis.go_on {
        GoOn::Continue(_) => "let the study go on (`assay run --resume`)",
        GoOn::Stop(StopReason::TooManyDropped) => "too many blocks had to be dropped",
        GoOn::Stop(_) if analysis.study.may_be_extended() => "more blocks may tell (`assay run --extend FILE`)",
        GoOn::Stop(_) => "all extensions are used, and only a study with longer phases may tell; report both",
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
        " everywhere"
    } else {
        ""
    };
    (!named.is_empty()).then(|| format!("not ranked{tail}: {}", listed(&named, "and")))
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
        [] => format!("take none of {}", listed(all, "and")),
        sound => format!("take {}", listed(sound, "or")),
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
