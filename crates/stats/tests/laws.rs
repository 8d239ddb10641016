//! Laws that every verdict must obey, and histories written out by hand.

use proptest::prelude::*;
use stats::{Design, GoOn, History, Orientation, Reason, Verdict, decide, log_ratio};

fn history(ys: &[f64]) -> History {
    History {
        stack: "b".into(),
        phase: "p".into(),
        ys: ys.iter().copied().map(Some).collect(),
    }
}

fn turned(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Better => Verdict::Worse,
        Verdict::Worse => Verdict::Better,
        same => same,
    }
}

proptest! {
    #[test]
    fn alphas_sum_to_alpha(blocks in 2u32..40, comparisons in 1u32..20) {
        let looks = Design::new(blocks, comparisons, 0.05).looks();
        let each = 0.04 / f64::from(comparisons);
        prop_assert!((looks.iter().map(|look| look.alpha).sum::<f64>() - each).abs() < 1e-15);
        prop_assert!((looks.last().expect("looks").alpha_total - each).abs() < 1e-15);
        prop_assert!(looks.windows(2).all(|two| two[0].n < two[1].n && two[0].alpha_total < two[1].alpha_total));
    }

    #[test]
    fn exchanging_the_stacks_turns_the_verdict(
        ys in prop::collection::vec(-0.3f64..0.3, 0..14),
        shift in -0.3f64..0.3,
    ) {
        let design = Design::new(12, 1, 0.05);
        let ys: Vec<f64> = ys.iter().map(|y| y * 0.2 + shift).collect();
        let negative: Vec<f64> = ys.iter().map(|y| -y).collect();
        let (one, other) = (decide(&design, &[history(&ys)]), decide(&design, &[history(&negative)]));
        prop_assert_eq!(one.go_on, other.go_on);
        prop_assert_eq!(turned(one.comparisons[0].verdict), other.comparisons[0].verdict);
        if let (Some(a), Some(b)) = (one.comparisons[0].estimate, other.comparisons[0].estimate) {
            prop_assert!((a.ratio * b.ratio - 1.0).abs() < 1e-12 && (a.low * b.high - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn the_unit_of_the_metric_does_not_matter(x in 1e-3f64..1e9, base in 1e-3f64..1e9, scale in 1e-6f64..1e6) {
        let plain = log_ratio(x, base, Orientation::HigherIsBetter).expect("positive");
        let scaled = log_ratio(x * scale, base * scale, Orientation::HigherIsBetter).expect("positive");
        prop_assert!((plain - scaled).abs() < 1e-12);
        let swapped = log_ratio(base, x, Orientation::HigherIsBetter).expect("positive");
        prop_assert!((plain + swapped).abs() < 1e-12);
    }

    #[test]
    fn what_was_said_stands(
        ys in prop::collection::vec(-0.2f64..0.2, 12),
        others in prop::collection::vec(-0.2f64..0.2, 12),
    ) {
        // Asked after every block or once at the end: the looks are the same, and no verdict is taken back.
        let design = Design::new(12, 2, 0.05);
        let study = |n: usize| decide(&design, &[history(&ys[..n]), history(&others[..n])]);
        let last = study(12);
        for n in 0..12 {
            let early = study(n);
            prop_assert_eq!(&early.looks[..], &last.looks[..early.looks.len()]);
            for (was, is) in early.comparisons.iter().zip(&last.comparisons) {
                if was.verdict != Verdict::NotEnoughData {
                    prop_assert_eq!((was.verdict, was.look, was.alpha), (is.verdict, is.look, is.alpha));
                }
            }
            if matches!(early.go_on, GoOn::Stop(_)) {
                prop_assert_eq!(&early, &last);
            }
        }
    }

    #[test]
    fn an_extension_takes_nothing_back(ys in prop::collection::vec(-0.2f64..0.2, 40), split in -0.1f64..0.1) {
        // Eight blocks and up to four times as many again, one comparison clearer than the other.
        let others: Vec<f64> = ys.iter().map(|y| y * 0.3 + split).collect();
        let study = |extensions: u32| {
            let n = 8 * (1 + extensions as usize);
            let design = Design::new(8, 2, 0.05).extended(extensions);
            decide(&design, &[history(&ys[..n]), history(&others[..n])])
        };
        for extensions in 0..4 {
            let (before, after) = (study(extensions), study(extensions + 1));
            prop_assert_eq!(&before.looks[..], &after.looks[..before.looks.len()]);
            prop_assert!(after.looks.len() <= before.looks.len() + 1);
            for (was, is) in before.comparisons.iter().zip(&after.comparisons) {
                if was.verdict != Verdict::NotEnoughData {
                    prop_assert_eq!((was.verdict, was.look, was.alpha), (is.verdict, is.look, is.alpha));
                }
            }
            if before.go_on == GoOn::Stop(Reason::AllDecided) {
                prop_assert_eq!(&before, &after);
            }
        }
    }

    #[test]
    fn dropped_blocks_say_nothing(ys in prop::collection::vec(-0.2f64..0.2, 12), at in 0usize..12) {
        let design = Design::new(12, 1, 0.05);
        let mut gap = history(&ys);
        gap.ys.insert(at, None);
        let (plain, gapped) = (decide(&design, &[history(&ys)]), decide(&design, &[gap]));
        prop_assert_eq!(&plain.comparisons, &gapped.comparisons);
        prop_assert_eq!(gapped.blocks_dropped, u32::from(at < gapped.looks.last().expect("a \
            look").blocks_run as usize));
    }

    #[test]
    fn a_wider_spread_never_narrows_the_interval(ys in prop::collection::vec(-0.2f64..0.2, 4), wider in 1.0f64..3.0) {
        let design = Design::new(4, 1, 0.0);
        let mean = ys.iter().sum::<f64>() / 4.0;
        let stretched: Vec<f64> = ys.iter().map(|y| mean + (y - mean) * wider).collect();
        let width = |ys: &[f64]| {
            let estimate = decide(&design, &[history(ys)]).comparisons[0].estimate.expect("one look");
            estimate.high / estimate.low
        };
        prop_assert!(width(&stretched) >= width(&ys) * (1.0 - 1e-12));
    }
}

#[test]
fn a_clear_difference_stops_at_the_first_look() {
    let design = Design::new(12, 1, 0.05);
    let found = decide(&design, &[history(&[-0.21, -0.19, -0.20, -0.20, 9.0])]);
    assert_eq!(found.go_on, GoOn::Stop(Reason::AllDecided));
    assert_eq!(
        (found.looks.len(), found.blocks_valid),
        (1, 4),
        "the block after the end is ignored"
    );
    let judged = &found.comparisons[0];
    assert_eq!((judged.verdict, judged.look), (Verdict::Worse, Some(1)));
    assert!((judged.alpha - 0.04 / 9.0).abs() < 1e-12);
    // By hand: s^2 = 2e-4 / 3; t(1 - 0.04 / 18; 3) by scipy; h = t s / 2.
    let (s, t) = ((2e-4f64 / 3.0).sqrt(), 7.764306797610994);
    let estimate = judged.estimate.expect("a look");
    assert!((estimate.ratio.ln() + 0.2).abs() < 1e-12 && (estimate.sd - s).abs() < 1e-12);
    assert!(
        (estimate.low.ln() + 0.2 + t * s / 2.0).abs() < 1e-9 && (estimate.high.ln() + 0.2 - t * s / 2.0).abs() < 1e-9
    );
}

#[test]
fn two_comparisons_wait_for_each_other_but_keep_their_look() {
    let design = Design::new(6, 2, 0.05);
    let clear = [-0.21, -0.19, -0.20, -0.20, -0.2, -0.2];
    let vague = [0.3, -0.3, 0.2, -0.2, 0.1, -0.1];
    let four = decide(&design, &[history(&clear[..4]), history(&vague[..4])]);
    assert_eq!(four.go_on, GoOn::Continue { next_look: 6 });
    assert_eq!(four.comparisons[0].verdict, Verdict::Worse);
    let six = decide(&design, &[history(&clear), history(&vague)]);
    assert_eq!(six.go_on, GoOn::Stop(Reason::BlocksUsed));
    assert_eq!((six.comparisons[0].look, six.comparisons[1].look), (Some(1), Some(2)));
    assert_eq!(six.comparisons[1].verdict, Verdict::NotEnoughData);
}

#[test]
fn equal_figures_are_equivalent_and_margins_come_first() {
    let design = Design::new(12, 1, 0.05);
    let verdict = |ys: &[f64]| decide(&design, &[history(ys)]).comparisons[0].verdict;
    assert_eq!(verdict(&[0.0; 4]), Verdict::Equivalent);
    // 1 % better beyond doubt, and inside the margin.
    assert_eq!(verdict(&[0.010, 0.0101, 0.0099, 0.01]), Verdict::Equivalent);
    assert_eq!(verdict(&[0.1, 0.101, 0.099, 0.1]), Verdict::Better);
    assert_eq!(
        verdict(&[0.1, 0.1, 0.1]),
        Verdict::NotEnoughData,
        "no look before four blocks"
    );
}

#[test]
fn a_block_dropped_for_one_is_dropped_for_all() {
    let design = Design::new(4, 2, 0.05);
    let mut one = history(&[0.0, 0.0, 0.0, 0.0, 0.0]);
    one.ys[1] = None;
    let other = history(&[0.1, 7.0, 0.1, 0.1, 0.1]);
    let found = decide(&design, &[one, other]);
    assert_eq!((found.blocks_valid, found.blocks_dropped), (4, 1));
    let ratio = found.comparisons[1].estimate.expect("a look").ratio;
    assert!((ratio.ln() - 0.1).abs() < 1e-12, "the 7.0 is gone");
}

#[test]
fn what_was_open_is_decided_by_an_extension_and_by_no_part_of_one() {
    let ys: Vec<f64> = (0..24).map(|block| [0.16, 0.04, 0.12, -0.02][block % 4]).collect();
    let study = |extensions: u32, blocks: usize| {
        let design = Design::new(4, 1, 0.05).extended(extensions);
        decide(&design, &[history(&ys[..blocks])])
    };
    assert_eq!(study(0, 4).go_on, GoOn::Stop(Reason::BlocksUsed));
    assert_eq!(study(0, 4).comparisons[0].verdict, Verdict::NotEnoughData);
    assert_eq!(study(0, 12), study(0, 4), "blocks that nobody asked for say nothing");
    for blocks in 4..8 {
        assert_eq!(study(1, blocks).go_on, GoOn::Continue { next_look: 8 });
        assert_eq!(study(1, blocks).looks, study(0, 4).looks);
    }
    let decided = (1..=4).find(|extensions| {
        let found = study(*extensions, 4 * (1 + *extensions as usize));
        found.comparisons[0].verdict == Verdict::Better
    });
    assert!(decided.is_some(), "blocks whose mean is 7 % above say so in the end");
}

#[test]
fn a_machine_without_valid_blocks_ends_the_study() {
    let none = History {
        ys: vec![None; 4],
        ..history(&[])
    };
    assert_eq!(
        decide(&Design::new(4, 1, 0.05), &[none]).go_on,
        GoOn::Stop(Reason::TooManyDropped)
    );
    assert_eq!(
        decide(&Design::new(4, 1, 0.05), &[]).go_on,
        GoOn::Stop(Reason::NothingToCompare)
    );
}
