//! What a run of `assay quick` could detect: takes its result file, gives lines, each command on one of its own.
//!
//! Prevents: an undecided comparison that is read as "there is no difference".

use ledger::Ledger;
use report::{Analysis, Comparison, Verdict};
use std::path::Path;

/// How many comparisons were decided, and from which difference on it could detect one; `None` where nothing is
/// compared. Where one is open and the result file is not `kept`: how to get a file that takes more blocks.
pub(super) fn told(file: &Path, kept: bool) -> Option<Vec<String>> {
    let ledger = Ledger::open(file).ok()?;
    let analysis = Analysis::of(&ledger).ok()?;
    let (comparisons, blocks) = (&analysis.comparisons, analysis.study.blocks_begun);
    let more = more(comparisons, kept).iter().map(|line| (*line).to_string());
    Some(
        [words(comparisons, blocks, analysis.study.margin)?]
            .into_iter()
            .chain(more)
            .collect(),
    )
}

fn is_open(one: &Comparison) -> bool {
    one.verdict == Verdict::NotEnoughData
}

/// Blocks of the first look.
const FEWEST: u32 = 4;

fn more(comparisons: &[Comparison], kept: bool) -> &'static [&'static str] {
    match !kept && comparisons.iter().any(is_open) {
        true => &[
            "No result file is kept, so no blocks can be added. To keep one, and to add blocks to it:",
            "assay quick --output FILE",
            "assay run --extend FILE",
        ],
        false => &[],
    }
}

/// `blocks`: those that were run. `margin`: as a share.
fn words(comparisons: &[Comparison], blocks: u32, margin: f64) -> Option<String> {
    let of = comparisons.len();
    let decided = of - comparisons.iter().filter(|one| is_open(one)).count();
    let widths = comparisons
        .iter()
        .filter_map(|one| width(one).map(|width| (width, one)));
    let widest = widths.max_by(|one, other| one.0.total_cmp(&other.0));
    let of_what = |one: &Comparison| format!("{} in {}", report::escaped(&one.stack), report::escaped(&one.phase));
    let without: Vec<String> = comparisons
        .iter()
        .filter(|one| width(one).is_none())
        .map(of_what)
        .collect();
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
        (_, Some((width, one))) => {
            let mut said = format!(
                "{found}. This run could detect differences above {:.0} % (widest interval: {}).",
                (width.max(margin) * 100.0).max(1.0),
                of_what(one)
            );
            if width < margin {
                said += &format!(" Smaller ones count as equal: the margin is {:.0} %.", margin * 100.0);
            }
            if !without.is_empty() {
                said += &format!(
                    " It could detect none of {}: there is no interval.",
                    without.join(" and ")
                );
            }
            Some(said)
        }
    }
}

/// Half the width of its interval as a share of the ratio.
fn width(one: &Comparison) -> Option<f64> {
    let (low, high) = (one.low?, one.high?);
    (low > 0.0 && high.is_finite()).then(|| (high / low).sqrt() - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::Metric;

    fn comparison(verdict: Verdict, interval: Option<(f64, f64)>) -> Comparison {
        Comparison {
            stack: "xfs".into(),
            base: "ext4".into(),
            phase: "update".into(),
            metric: Metric::OperationsPerSecond,
            verdict,
            ratio: interval.map(|(low, high)| (low * high).sqrt()),
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            n: None,
            look: None,
            alpha: 0.0,
            words: String::new(),
        }
    }

    fn alone_of(low: f64, high: f64) -> Comparison {
        comparison(Verdict::Equivalent, Some((low, high)))
    }

    #[test]
    fn the_widest_interval_says_what_could_be_detected() {
        let narrow = comparison(Verdict::Equivalent, Some((0.99, 1.01)));
        let wide = comparison(Verdict::NotEnoughData, Some((1.0 / 1.12, 1.12)));
        let said = words(&[narrow.clone(), wide], 8, 0.01).expect("there are comparisons");
        assert!(said.starts_with("1 of 2") && said.contains("above 12 %"), "{said}");
        let open = comparison(Verdict::NotEnoughData, None);
        let none = words(std::slice::from_ref(&open), 3, 0.01).expect("there is one");
        assert!(none.contains("fewer than four blocks"), "{none}");
        let none = words(std::slice::from_ref(&open), 12, 0.01).expect("there is one");
        assert!(
            none.starts_with("The comparison is undecided: ") && none.contains("four of 12 blocks count"),
            "{none}"
        );
        let alone = words(std::slice::from_ref(&narrow), 8, 0.01).expect("there is one");
        assert!(alone.starts_with("The comparison is decided. "), "{alone}");
        // Inside the margin all are equal by design.
        let by_margin = words(std::slice::from_ref(&alone_of(0.97, 1.03)), 8, 0.1).expect("there is one");
        assert!(
            by_margin.contains("differences above 10 %") && by_margin.ends_with("the margin is 10 %."),
            "{by_margin}"
        );
        let none = words(&[open.clone(), open.clone()], 12, 0.01).expect("there are two");
        assert!(none.starts_with("None of 2 comparisons is decided: "), "{none}");
        let part = words(&[narrow, open], 8, 0.01).expect("there are two");
        assert!(part.contains("none of xfs in update: there is no interval"), "{part}");
        assert_eq!(words(&[], 8, 0.01), None);
    }

    #[test]
    fn where_one_is_open_and_no_file_is_kept_it_says_how_to_keep_one() {
        let open = [comparison(Verdict::NotEnoughData, Some((0.8, 1.3)))];
        let decided = [comparison(Verdict::Equivalent, Some((0.99, 1.01)))];
        let said = more(&open, false);
        assert!(said.contains(&"assay quick --output FILE"), "{said:?}");
        assert!(more(&open, true).is_empty() && more(&decided, false).is_empty());
    }
}
