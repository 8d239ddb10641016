//! The answer that the first version gave: what to take, by the verdicts of its own looks.
//!
//! Takes questions and what was said of each, gives a sentence. Prevents: two procedures compared by their verdicts
//! alone, where the reader acts on the sentence.

use super::{Question, Said};
use stats::Verdict;

/// By the rule of the first version: a stack that is better somewhere and worse nowhere is taken; where there is none,
/// all that are worse nowhere, the undecided among them.
pub(super) fn sentence(asked: &[Question], said: &[Option<Said>], margin: f64) -> String {
    let stacks: Vec<(&Question, Said)> = asked
        .iter()
        .zip(said)
        .filter_map(|(one, said)| Some((one, (*said)?)))
        .collect();
    if stacks.is_empty() {
        return "Not enough data yet.".into();
    }
    let mut clauses: Vec<String> = Vec::new();
    let mut bases: Vec<&String> = Vec::new();
    for base in asked.iter().filter_map(|one| one.base.as_ref()) {
        if !bases.contains(&base) {
            bases.push(base);
            let of_base = |(one, _): &&(&Question, Said)| one.base.as_ref() == Some(base);
            let group: Vec<(&Question, Said)> = stacks.iter().filter(of_base).copied().collect();
            clauses.extend(answer(base, &group, margin));
        }
    }
    let changes = stacks.iter().filter(|(one, _)| one.base.is_none());
    clauses.extend(changes.filter_map(|(one, said)| change(one, *said)));
    let mut whole = clauses.join("; ") + ".";
    let first = whole.remove(0).to_ascii_uppercase();
    whole.insert(0, first);
    whole
}

/// Of one base and the stacks compared with it.
fn answer(base: &str, group: &[(&Question, Said)], margin: f64) -> Vec<String> {
    let mut members: Vec<&str> = vec![base];
    for (one, _) in group {
        if !members.contains(&one.stack.as_str()) {
            members.push(&one.stack);
        }
    }
    let count = |verdict: Verdict| group.iter().filter(|(_, said)| said.verdict == verdict).count();
    let open = count(Verdict::NotEnoughData);
    let within = format!("within {:.0} %", margin * 100.0);
    if open == group.len() {
        return vec![format!("not enough data to tell {} apart", members.join(", "))];
    }
    if count(Verdict::Equivalent) == group.len() {
        return vec![format!("take {}: equivalent {within}", members.join(" or "))];
    }
    let has = |stack: &str, verdict: Verdict| {
        group
            .iter()
            .any(|(one, said)| one.stack == stack && said.verdict == verdict)
    };
    let mut clauses = Vec::new();
    if count(Verdict::Better) + count(Verdict::Worse) == 0 {
        let all = members.join(", ");
        clauses.push(format!(
            "nothing speaks against {all}: equivalent {within} where it could be told"
        ));
    } else {
        let better = |stack: &&&str| has(stack, Verdict::Better) && !has(stack, Verdict::Worse);
        let worse = |stack: &&str| has(stack, Verdict::Worse) && !has(stack, Verdict::Better);
        let takes_better = members.iter().any(|stack| better(&stack));
        let is_taken = |stack: &&&str| match takes_better {
            true => has(stack, Verdict::Better),
            false => !worse(stack),
        };
        let taken: Vec<&str> = members.iter().filter(is_taken).copied().collect();
        clauses.push(format!("of {}, take {}", members.join(", "), taken.join(" or ")));
        let decided = |said: &Said| matches!(said.verdict, Verdict::Better | Verdict::Worse);
        for (one, said) in group.iter().filter(|(_, said)| decided(said)) {
            clauses.push(format!(
                "{} does {:.2} of {base} in {}",
                one.stack, said.ratio, one.phase
            ));
        }
    }
    if open > 0 {
        clauses.push(format!("{open} open"));
    }
    clauses
}

/// A stack's own change, of which the first version gave a verdict.
fn change(one: &Question, said: Said) -> Option<String> {
    let against = one.against.as_ref()?;
    let stack = &one.stack;
    match said.verdict {
        Verdict::NotEnoughData => None,
        Verdict::Equivalent => Some(format!("{stack} is equivalent in {} and {against}", one.phase)),
        Verdict::Better | Verdict::Worse => {
            Some(format!("{stack} does {:.2} of {against} in {}", said.ratio, one.phase))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(stack: &str, phase: &str) -> Question {
        Question {
            stack: stack.into(),
            base: Some("ext4".into()),
            phase: phase.into(),
            against: None,
            ys: Vec::new(),
        }
    }

    fn said(verdict: Verdict, ratio: f64) -> Option<Said> {
        Some(Said {
            verdict,
            ratio,
            low: ratio * 0.9,
            high: ratio * 1.1,
            n: 4,
        })
    }

    #[test]
    fn what_is_open_was_taken_beside_the_base() {
        let asked = [asked("xfs", "scan"), asked("btrfs", "scan")];
        let before = [said(Verdict::NotEnoughData, 0.9), said(Verdict::Worse, 0.4)];
        assert_eq!(
            sentence(&asked, &before, 0.05),
            "Of ext4, xfs, btrfs, take ext4 or xfs; btrfs does 0.40 of ext4 in scan; 1 open."
        );
    }

    #[test]
    fn a_stack_had_a_verdict_of_its_own_change() {
        let mut aged = asked("btrfs", "aged scan");
        (aged.base, aged.against) = (None, Some("fresh scan".into()));
        let all = [asked("btrfs", "scan"), aged];
        let before = [said(Verdict::Equivalent, 1.0), said(Verdict::Worse, 0.25)];
        assert_eq!(
            sentence(&all, &before, 0.05),
            "Take ext4 or btrfs: equivalent within 5 %; btrfs does 0.25 of fresh scan in aged scan."
        );
        assert_eq!(sentence(&all, &[None, None], 0.05), "Not enough data yet.");
    }
}
