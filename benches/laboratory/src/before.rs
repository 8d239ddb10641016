//! `laboratory before`: what the first version of the procedure would have said of a result file, beside today's.
//!
//! The first version spent all of its error in the first run and asked *equivalent* of the two-sided interval. It took
//! the interval of one look alone, and dropped a block in all phases. Its blocks came in mirrored pairs; here they are
//! those of the file. Takes result files, gives both verdicts of each comparison, and both answers. Prevents: a change
//! of the procedure of which nobody can say what it changed.

mod sentence;

use crate::flags;
use crate::outcome::{Failure, print, print_json};
use crate::result_file::ResultFile;
use report::Verdict;
use serde_json::{Value, json};
use stats::{Design, LookRule, mean, sd};
use std::fmt::Write;

/// Where the first version looked, besides at its last block.
const LOOKS_AT: [u32; 4] = [4, 6, 8, 12];

/// What it said of one comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Said {
    verdict: stats::Verdict,
    ratio: f64,
    low: f64,
    high: f64,
    n: u32,
}

pub(crate) fn run(flags: &flags::Before) -> Result<(), Failure> {
    let files = flags
        .files
        .iter()
        .map(|file| ResultFile::open(file).map_err(Failure::usage));
    let files: Vec<ResultFile> = files.collect::<Result<_, _>>()?;
    match flags.json {
        true => print_json(&json!({ "schema": 1, "files": files.iter().map(data).collect::<Vec<_>>() })),
        false => print(&files.iter().map(text).collect::<Vec<_>>().join("\n")),
    }
    Ok(())
}

/// The looks of the first version for so many blocks and comparisons: the look at n spends (alpha / m) (n / N)^2.
fn looks(design: &Design, comparisons: u32) -> Vec<LookRule> {
    let each = design.alpha / f64::from(comparisons.max(1));
    let mut spent = 0.0;
    let at = LOOKS_AT
        .into_iter()
        .filter(|n| *n < design.blocks)
        .chain([design.blocks]);
    at.filter(|n| *n >= 2)
        .zip(1..)
        .map(|(n, number)| {
            let total = each * (f64::from(n) / f64::from(design.blocks)).powi(2);
            let rule = LookRule::new(number, n, total - spent, total);
            spent = total;
            rule
        })
        .collect()
}

/// The verdicts of the first look that decides all comparisons, else of the last that the blocks reach; none before the
/// first look.
fn judged(design: &Design, comparisons: &[Vec<Option<f64>>]) -> Vec<Option<Said>> {
    let blocks = comparisons.iter().map(Vec::len).min().unwrap_or(0);
    let valid: Vec<usize> = (0..blocks)
        .filter(|block| comparisons.iter().all(|ys| ys[*block].is_some()))
        .collect();
    let mut said = vec![None; comparisons.len()];
    for rule in looks(design, comparisons.len() as u32) {
        let Some(seen) = valid.get(..rule.n as usize) else {
            break;
        };
        for (said, ys) in said.iter_mut().zip(comparisons) {
            let ys: Vec<f64> = seen.iter().filter_map(|block| ys[*block]).collect();
            *said = Some(at_look(design.margin, &rule, &ys));
        }
        let open = |one: &Option<Said>| one.is_none_or(|one| one.verdict == stats::Verdict::NotEnoughData);
        if !said.iter().any(open) {
            break;
        }
    }
    said
}

fn at_look(margin: f64, rule: &LookRule, ys: &[f64]) -> Said {
    let (middle, half) = (mean(ys), rule.t * sd(ys) / f64::from(rule.n).sqrt());
    let (low, high, edge) = (middle - half, middle + half, margin.ln_1p());
    let verdict = match () {
        () if low > -edge && high < edge => stats::Verdict::Equivalent,
        () if low > 0.0 => stats::Verdict::Better,
        () if high < 0.0 => stats::Verdict::Worse,
        () => stats::Verdict::NotEnoughData,
    };
    Said {
        verdict,
        ratio: middle.exp(),
        low: low.exp(),
        high: high.exp(),
        n: rule.n,
    }
}

/// A comparison as the first version asked it.
#[derive(Clone, Debug)]
struct Question {
    stack: String,
    /// The stack's base; `None`: the same stack in an earlier phase.
    base: Option<String>,
    phase: String,
    /// That phase.
    against: Option<String>,
    ys: Vec<Option<f64>>,
}

/// Stacks against their base, in the report's order, and then each stack's later phases against its earlier ones.
fn questions(file: &ResultFile) -> Vec<Question> {
    let stacks = file.basis.comparisons.iter().map(|one| Question {
        stack: one.stack.clone(),
        base: Some(one.base.clone()),
        phase: one.phase.clone(),
        against: None,
        ys: one.ys.clone(),
    });
    let mut asked: Vec<Question> = stacks.collect();
    for one in &file.analysis.contrasts {
        for (stack, figure) in [(&one.base, 0), (&one.stack, 1)] {
            let of_phase = |phase: &String| {
                let pair =
                    |c: &&report::BlocksCompared| c.phase == *phase && (&c.base, &c.stack) == (&one.base, &one.stack);
                file.basis.comparisons.iter().find(pair)
            };
            let known = |q: &Question| q.base.is_none() && (&q.stack, &q.phase) == (stack, &one.phase);
            let (Some(later), Some(earlier), false) =
                (of_phase(&one.phase), of_phase(&one.against), asked.iter().any(known))
            else {
                continue;
            };
            let both = later.figures[figure].iter().zip(&earlier.figures[figure]);
            let ratio = |(later_x, earlier_x): (&Option<f64>, &Option<f64>)| {
                stats::log_ratio((*later_x)?, (*earlier_x)?, later.orientation)
            };
            asked.push(Question {
                stack: stack.clone(),
                base: None,
                phase: one.phase.clone(),
                against: Some(one.against.clone()),
                ys: both.map(ratio).collect(),
            });
        }
    }
    asked
}

fn of(file: &ResultFile, asked: &[Question]) -> Vec<Option<Said>> {
    let first_run = Design {
        extensions: 0,
        ..file.basis.design
    };
    let ys: Vec<_> = asked.iter().map(|one| one.ys.clone()).collect();
    judged(&first_run, &ys)
}

fn word(verdict: stats::Verdict) -> &'static str {
    match verdict {
        stats::Verdict::Better => "better",
        stats::Verdict::Worse => "worse",
        stats::Verdict::Equivalent => "equivalent",
        stats::Verdict::NotEnoughData => "not enough data",
    }
}

fn now(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Equivalent => "equivalent",
        Verdict::NotEnoughData => "not enough data",
    }
}

/// What is said today of a question: the comparison, or the difference of a change between stacks.
fn today(file: &ResultFile, asked: &Question) -> Option<(Verdict, [Option<f64>; 3], Option<u32>)> {
    let base = asked.base.as_ref()?;
    let is = |one: &&report::Comparison| (&one.stack, &one.base, &one.phase) == (&asked.stack, base, &asked.phase);
    let one = file.analysis.comparisons.iter().find(is)?;
    Some((one.verdict, [one.ratio, one.low, one.high], one.n))
}

fn text(file: &ResultFile) -> String {
    let asked = questions(file);
    let before = of(file, &asked);
    let mut text = format!(
        "{}\n  before it said: {}\n  today it says:  {}\n",
        file.study(),
        sentence::sentence(&asked, &before, file.basis.design.margin),
        file.analysis.sentence
    );
    for (one, before) in asked.iter().zip(before) {
        let against = one.base.as_ref().or(one.against.as_ref());
        let _ = writeln!(
            text,
            "{} against {}, {}",
            one.stack,
            against.map_or("", |name| name),
            one.phase
        );
        if let Some(said) = before {
            let _ = writeln!(
                text,
                "  before: {:.3} ({:.3} to {:.3}), {} blocks: {}",
                said.ratio,
                said.low,
                said.high,
                said.n,
                word(said.verdict)
            );
        }
        match today(file, one) {
            Some((verdict, [Some(ratio), Some(low), Some(high)], Some(n))) => {
                let said = now(verdict);
                let _ = writeln!(text, "  today:  {ratio:.3} ({low:.3} to {high:.3}), {n} blocks: {said}");
            }
            _ if one.base.is_none() => text.push_str("  today:  no verdict; the difference between stacks has one\n"),
            _ => {}
        }
    }
    for one in &file.analysis.contrasts {
        let _ = writeln!(
            text,
            "{} against {}, {} over {}",
            one.stack, one.base, one.phase, one.against
        );
        text.push_str("  before: not asked\n");
        if let (Some(ratio), Some(low), Some(high), Some(n)) = (one.ratio, one.low, one.high, one.n) {
            let said = now(one.verdict);
            let _ = writeln!(text, "  today:  {ratio:.3} ({low:.3} to {high:.3}), {n} blocks: {said}");
        }
    }
    text
}

fn data(file: &ResultFile) -> Value {
    let asked = questions(file);
    let before = of(file, &asked);
    let row = |(one, before): (&Question, &Option<Said>)| {
        let today = today(file, one).map(|(verdict, [ratio, low, high], n)| {
            json!({ "verdict": now(verdict), "ratio": ratio, "low": low, "high": high, "n": n })
        });
        json!({
            "stack": one.stack, "base": one.base, "phase": one.phase, "against": one.against,
            "before": before.map(|said| json!({
                "verdict": word(said.verdict), "ratio": said.ratio, "low": said.low, "high": said.high, "n": said.n,
            })),
            "today": today,
        })
    };
    let contrast = |one: &report::Contrast| {
        json!({
            "stack": one.stack, "base": one.base, "phase": one.phase, "against": one.against, "before": null,
            "today": {
                "verdict": now(one.verdict), "ratio": one.ratio, "low": one.low, "high": one.high, "n": one.n,
            },
        })
    };
    json!({
        "study": file.study(),
        "sentence_before": sentence::sentence(&asked, &before, file.basis.design.margin),
        "sentence": file.analysis.sentence,
        "comparisons": asked.iter().zip(&before).map(row).collect::<Vec<_>>(),
        "contrasts": file.analysis.contrasts.iter().map(contrast).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ys(middle: f64, blocks: u32) -> Vec<Option<f64>> {
        let around = |block: u32| Some(middle + if block.is_multiple_of(2) { 0.01 } else { -0.01 });
        (0..blocks).map(around).collect()
    }

    #[test]
    fn it_spends_everything_in_the_first_run() {
        let rules = looks(&Design::new(12, 2, 0.05), 2);
        assert_eq!(rules.iter().map(|rule| rule.n).collect::<Vec<_>>(), [4, 6, 8, 12]);
        assert!((rules[3].alpha_total - 0.025).abs() < 1e-15);
    }

    #[test]
    fn a_study_ends_at_the_look_that_decides_all_and_a_block_is_dropped_for_all() {
        let design = Design::new(12, 1, 0.05);
        let clear = judged(&design, &[ys(-0.5, 12)])[0].expect("a look");
        assert_eq!((clear.verdict, clear.n), (stats::Verdict::Worse, 4));
        let mut dropped = ys(-0.5, 4);
        dropped[1] = None;
        assert_eq!(judged(&design, &[ys(-0.5, 4), dropped]), [None, None]);
        // Both ends must lie inside the margin.
        let equal = judged(&design, &[ys(0.0, 12)])[0].expect("a look");
        assert_eq!((equal.verdict, equal.n), (stats::Verdict::Equivalent, 4));
        let open = judged(&Design::new(12, 1, 0.001), &[ys(0.0, 12)])[0].expect("a look");
        assert_eq!((open.verdict, open.n), (stats::Verdict::NotEnoughData, 12));
    }
}
