//! What a run of `assay quick` found of its comparisons, and how to go on: takes its result file, gives lines.
//!
//! Prevents: an undecided comparison that is read as "there is no difference", and a command that refuses.

use super::lines::Line;
use ledger::Ledger;
use report::{Analysis, Comparison, GoOn, StopReason, Verdict};
use std::path::{Path, PathBuf};

/// What was asked for on the command line.
pub(super) struct Asked {
    pub(super) places: Vec<PathBuf>,
    pub(super) no_luns: bool,
    /// The result file, where it is kept.
    pub(super) output: Option<PathBuf>,
}

/// How many comparisons were decided, and which difference such runs find; `None` where nothing is compared. Where
/// one is open: the commands that give it more blocks.
pub(super) fn told(file: &Path, asked: &Asked) -> Option<Vec<Line>> {
    let ledger = Ledger::open(file).ok()?;
    let analysis = Analysis::of(&ledger).ok()?;
    let (study, found) = (&analysis.study, analysis.detectable());
    let comparisons: Vec<_> = analysis.comparisons.iter().zip(found).collect();
    let mut lines = vec![Line::Words(words(&comparisons, study.blocks_begun, study.margin)?)];
    if analysis.comparisons.iter().any(is_open) {
        lines.extend(more(analysis.go_on, study.may_be_extended(), asked));
    }
    Some(lines)
}

fn is_open(one: &Comparison) -> bool {
    one.verdict == Verdict::NotEnoughData
}

/// Blocks of the first look.
const FEWEST: u32 = 4;

/// How a run that ended for this reason gets more blocks. It ended before its own end by the clock alone.
fn more(go_on: GoOn, may_be_extended: bool, asked: &Asked) -> Vec<Line> {
    let quick = Line::shell(&asked.quick(&["--output", "FILE"]));
    let output = match &asked.output {
        Some(path) => path.display().to_string(),
        None => "FILE".to_string(),
    };
    let (first, last) = match go_on {
        GoOn::Stop(StopReason::BlocksUsed) if may_be_extended => (
            [
                "To add blocks:",
                "No result file is kept, so no blocks can be added. To keep one, and to add blocks to it:",
            ],
            vec![Line::shell(&["assay", "run", "--extend", &output])],
        ),
        GoOn::Continue(_) => (
            [
                "The time ended this run before its last block. To go on with it:",
                "The time ended this run before its last block, and no result file is kept. To keep one, and to go on:",
            ],
            vec![
                Line::shell(&asked.quick(&["--print"])).into_file("quick.toml"),
                Line::shell(&["assay", "run", "quick.toml", "--resume", "--output", &output]),
            ],
        ),
        GoOn::Stop(_) => return Vec::new(),
    };
    let [kept, not_kept] = first;
    match asked.output {
        Some(_) => [vec![Line::Words(kept.into())], last].concat(),
        None => [vec![Line::Words(not_kept.into()), quick], last].concat(),
    }
}

impl Asked {
    /// The words of the same command with other options.
    fn quick(&self, options: &[&str]) -> Vec<String> {
        let no_luns = self.no_luns.then_some("--no-luns");
        let words = ["assay", "quick"]
            .into_iter()
            .chain(no_luns)
            .chain(options.iter().copied());
        let places = self.places.iter().map(|place| place.display().to_string());
        words.map(str::to_string).chain(places).collect()
    }
}

/// Each comparison with the ratio that 9 of 10 such runs find. `blocks`: those that were run. `margin`: as a share.
fn words(comparisons: &[(&Comparison, Option<f64>)], blocks: u32, margin: f64) -> Option<String> {
    let of = comparisons.len();
    let decided = of - comparisons.iter().filter(|(one, _)| is_open(one)).count();
    let found = comparisons.iter().filter_map(|(one, ratio)| Some((*one, (*ratio)?)));
    let widest = found.max_by(|one, other| one.1.total_cmp(&other.1));
    let of_what = |one: &Comparison| format!("{} in {}", report::escaped(&one.stack), report::escaped(&one.phase));
    let without = comparisons.iter().filter(|(_, ratio)| ratio.is_none());
    let without: Vec<String> = without.map(|(one, _)| of_what(one)).collect();
    let found = match (of, decided) {
        (1, 0) => "The comparison is undecided".to_string(),
        (1, _) => "The comparison is decided".to_string(),
        (_, 0) if widest.is_none() => format!("None of {of} comparisons is decided"),
        _ => format!("{decided} of {of} comparisons are decided"),
    };
    match (of, widest) {
        (0, _) => None,
        (_, None) if blocks < FEWEST => Some(format!("{found}: fewer than four blocks fitted into the time.")),
        (_, None) => Some(format!(
            "{found}: fewer than four of {blocks} blocks count. See what speaks against it."
        )),
        (_, Some((one, ratio))) => {
            let mut said = format!(
                "{found}. With this scatter, 9 of 10 such runs find a difference of {:.0} % (widest comparison: {}).",
                (ratio - 1.0) * 100.0,
                of_what(one)
            );
            // What is found is never less than the margin.
            if ratio <= 1.0 + margin {
                said += &format!(" Smaller ones count as equal: the margin is {:.0} %.", margin * 100.0);
            }
            if !without.is_empty() {
                said += &format!(" Nothing is known of {}: there is no interval.", without.join(" and "));
            }
            Some(said)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::Metric;

    fn comparison(verdict: Verdict) -> Comparison {
        Comparison {
            stack: "xfs".into(),
            base: "ext4".into(),
            phase: "update".into(),
            metric: Metric::OperationsPerSecond,
            verdict,
            ratio: None,
            low: None,
            high: None,
            n: None,
            look: None,
            alpha: 0.0,
            words: String::new(),
        }
    }

    #[test]
    fn the_widest_comparison_says_what_such_runs_find() {
        let (equal, open) = (comparison(Verdict::Equivalent), comparison(Verdict::NotEnoughData));
        let said = |all: &[(&Comparison, Option<f64>)], blocks| words(all, blocks, 0.1).expect("there are comparisons");
        let two = said(&[(&equal, Some(1.1)), (&open, Some(1.174))], 8);
        assert!(
            two.starts_with("1 of 2") && two.contains("9 of 10 such runs find a difference of 17 %"),
            "{two}"
        );
        let none = said(&[(&open, None)], 3);
        assert!(none.contains("fewer than four blocks"), "{none}");
        let none = said(&[(&open, None)], 12);
        assert!(
            none.starts_with("The comparison is undecided: ") && none.contains("four of 12 blocks count"),
            "{none}"
        );
        // Inside the margin all are equal by design.
        let alone = said(&[(&equal, Some(1.1))], 8);
        assert!(
            alone.starts_with("The comparison is decided. ")
                && alone.contains("a difference of 10 %")
                && alone.ends_with("the margin is 10 %."),
            "{alone}"
        );
        let none = said(&[(&open, None), (&open, None)], 12);
        assert!(none.starts_with("None of 2 comparisons is decided: "), "{none}");
        let part = said(&[(&equal, Some(1.2)), (&open, None)], 8);
        assert!(part.contains("of xfs in update: there is no interval"), "{part}");
        assert_eq!(words(&[], 8, 0.1), None);
    }

    #[test]
    fn each_end_has_the_commands_that_go_on_from_it() {
        let mut asked = Asked {
            places: vec!["/a b".into()],
            no_luns: true,
            output: None,
        };
        let commands = |go_on, may_be_extended, asked: &Asked| -> Vec<String> {
            let lines = more(go_on, may_be_extended, asked).into_iter();
            let commands = lines.filter_map(|line| match line {
                Line::Command(words) => Some(words),
                Line::Words(_) => None,
            });
            commands.collect()
        };
        let used = GoOn::Stop(StopReason::BlocksUsed);
        let keeps = "assay quick --no-luns --output FILE '/a b'";
        let prints = "assay quick --no-luns --print '/a b' > quick.toml";
        let goes_on = "assay run quick.toml --resume --output";
        assert_eq!(commands(used, true, &asked), [keeps, "assay run --extend FILE"]);
        let of_time = [keeps.to_string(), prints.to_string(), format!("{goes_on} FILE")];
        assert_eq!(commands(GoOn::Continue(4), true, &asked), of_time);
        asked.output = Some("it's.assay".into());
        assert_eq!(commands(used, true, &asked), ["assay run --extend 'it'\\''s.assay'"]);
        let of_time = [prints.to_string(), format!("{goes_on} 'it'\\''s.assay'")];
        assert_eq!(commands(GoOn::Continue(12), true, &asked), of_time);
        for (go_on, may_be_extended) in [(used, false), (GoOn::Stop(StopReason::TooManyDropped), true)] {
            assert!(more(go_on, may_be_extended, &asked).is_empty(), "{go_on:?}");
        }
    }
}
