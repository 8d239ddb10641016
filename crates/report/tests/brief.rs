//! The short form: the answer on one screen, in every number the same as the long one.

use crate::fixture::{Scene, actor, scene};
use ledger::{Access, PhaseKind, Skipped};
use report::{Analysis, Style, brief, terminal};
use std::collections::HashSet;

const FILE: Option<&str> = Some("study.assay");

fn two() -> Scene {
    scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]).with_phases(1)
}

fn three() -> Scene {
    let mut one = scene(vec![actor("ext4", 1.0), actor("xfs", 1.0), actor("btrfs", 0.8)]).with_phases(4);
    one.blocks = 2;
    one
}

fn six() -> Scene {
    let mut cached = actor("buffered", 5.0);
    cached.device = Some(0.02);
    cached.stack.access = Access::Buffered;
    let mut skipped = actor("xfs", 1.0);
    skipped.stack.skipped = Some(Skipped {
        reason: "mkfs.xfs not found".into(),
        cure: "install xfsprogs".into(),
    });
    let mut one = scene(vec![
        actor("ext4", 1.0),
        actor("btrfs", 0.8),
        actor("disk group", 1.3),
        actor("zfs", 0.5),
        actor("raw", 1.01),
        actor("directory on ext4", 0.99),
        cached,
        skipped,
    ])
    .with_phases(3);
    one.noise = 0.05;
    one.blocks = 6;
    one.invalid = Some((2, "btrfs".into()));
    one
}

impl Scene {
    fn with_phases(mut self, many: usize) -> Scene {
        let usual = [
            (PhaseKind::Random, "50 % update"),
            (PhaseKind::Scan, "fresh scan"),
            (PhaseKind::Scan, "scan of aged files"),
        ];
        let named = |nth: usize| match usual.get(nth) {
            Some((kind, name)) => (*kind, name.to_string()),
            None => (PhaseKind::Random, format!("random {nth}")),
        };
        self.phases = (0..many).map(named).collect();
        self
    }

    fn brief(&self, width: usize) -> String {
        in_short(&self.film().analysis(), width)
    }
}

fn in_short(analysis: &Analysis, width: usize) -> String {
    let style = Style {
        width,
        ..Style::default()
    };
    brief(analysis, &style, FILE)
}

#[test]
fn two_stacks_in_one_phase() {
    insta::assert_snapshot!(two().brief(80));
}

#[test]
fn three_stacks_in_four_phases() {
    insta::assert_snapshot!(three().brief(80));
}

#[test]
fn six_stacks_in_three_phases() {
    insta::assert_snapshot!(six().brief(80));
}

#[test]
fn it_fits_on_one_screen() {
    let mut many = six().with_phases(10);
    many.actors.truncate(3);
    for (name, scene) in [("2x1", two()), ("3x4", three()), ("6x3", six()), ("3x10", many)] {
        let said = scene.brief(80);
        assert!(said.lines().count() <= 40, "{name}: {}\n{said}", said.lines().count());
    }
}

/// Numbers as they are written; the name of the file and of the command hold none.
fn numbers(text: &str) -> HashSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == ','));
    let words = words.map(|word| word.trim_matches(['.', ',']));
    words.filter(|word| !word.is_empty()).map(String::from).collect()
}

#[test]
fn every_number_is_in_the_long_form_too() {
    for scene in [two(), three(), six()] {
        let analysis = scene.film().analysis();
        let said = brief(&analysis, &Style::default(), FILE);
        // Counts of verdicts, checks and phases are of what the long form lists.
        let decided = |verdict| verdict != report::Verdict::NotEnoughData;
        let counted = [
            analysis.comparisons.len(),
            analysis.comparisons.iter().filter(|one| decided(one.verdict)).count(),
            analysis
                .checks
                .iter()
                .filter(|one| one.status == report::Status::Note)
                .count(),
            analysis.phases.len(),
        ];
        let long = terminal(&analysis, &Style::default());
        let mut known = numbers(&long);
        known.extend(counted.map(|count| count.to_string()));
        let unknown: Vec<String> = numbers(&said).difference(&known).cloned().collect();
        assert!(unknown.is_empty(), "{unknown:?}\n{said}\n{long}");
        let ratios = analysis.comparisons.iter().filter_map(|one| one.ratio);
        let shown = ratios.filter(|ratio| said.contains(&format!("{ratio:.2}"))).count();
        assert_eq!(
            shown,
            analysis.comparisons.iter().filter(|one| one.ratio.is_some()).count()
        );
    }
}

#[test]
fn the_long_form_opens_with_the_answer() {
    let analysis = six().film().analysis();
    let style = Style {
        width: 2_000,
        ..Style::default()
    };
    for text in [terminal(&analysis, &style), brief(&analysis, &style, FILE)] {
        assert_eq!(text.lines().nth(1), Some(&*analysis.sentence));
    }
}

#[test]
fn each_phase_and_each_stack_has_its_place_in_any_width() {
    let mut scene = six().with_phases(10);
    scene.blocks = 4;
    let analysis = scene.film().analysis();
    for width in [60, 72, 80, 120] {
        let said = in_short(&analysis, width);
        let too_wide = said.lines().find(|line| line.chars().count() > width);
        assert_eq!(too_wide, None, "{width}\n{said}");
        for (_, phase) in &scene.phases[3..] {
            assert!(said.contains(phase.as_str()), "{width}: {phase}\n{said}");
        }
        for stack in ["btrfs", "disk group", "zfs", "raw"] {
            assert!(said.contains(stack), "{width}: {stack}\n{said}");
        }
    }
}

#[test]
fn long_names_stay_apart() {
    let long = |end: &str| format!("a-file-system-with-a-name-that-goes-on-and-on-{end}");
    let mut one = scene(vec![
        actor("ext4", 1.0),
        actor(&long("compressed"), 0.8),
        actor(&long("checksummed"), 0.9),
        actor(&long("mirrored"), 1.2),
    ]);
    one.phases[0].1 = "a phase with a name that nobody would type by hand, half updates".into();
    let said = one.brief(80);
    for end in ["mpressed", "cksummed", "mirrored"] {
        assert!(said.contains(end) && said.contains('~'), "{said}");
    }
    assert!(said.lines().all(|line| line.len() <= 80), "{said}");
}

#[test]
fn a_study_of_very_many_phases_keeps_the_gravest() {
    let mut one = two().with_phases(40);
    one.phases[30].1 = "aged".into();
    one.actors[1].speed = 1.0;
    one.actors[1].aged = 0.4;
    let said = one.brief(80);
    assert!(said.contains("  aged ") && said.contains("28 more phases"), "{said}");
    assert!(said.lines().count() <= 40, "{said}");
}

#[test]
fn without_a_comparison_the_figures_are_shown() {
    let alone = scene(vec![actor("ext4", 1.0)]).brief(80);
    assert!(alone.contains("op/s") && alone.contains("9,9"), "{alone}");
    let mut empty = scene(vec![actor("ext4", 1.0), actor("xfs", 1.0)]);
    empty.blocks = 0;
    assert!(empty.brief(80).lines().count() > 3);
}

#[test]
fn its_names_cannot_act_on_the_terminal() {
    let mut evil = actor("evil\x1b[2J\r\n\u{202e}", 0.8);
    evil.stack.injected = Some("\x1b]0;title\x07".into());
    let mut one = scene(vec![actor("ext4", 1.0), evil, actor("b\tc", 1.1), actor("d", 1.0)]);
    one.phases[1].1 = "scan\x1b[31m\n".into();
    for (colour, file) in [(false, "f\x1b[2J.assay"), (true, "f.assay")] {
        let style = Style {
            colour,
            ..Style::default()
        };
        let said = brief(&one.film().analysis(), &style, Some(file));
        let bare = said.replace("\x1b[0m", "").replace("\x1b[1m", "");
        let bare = ["31", "32", "33", "36"]
            .iter()
            .fold(bare, |text, code| text.replace(&format!("\x1b[{code}m"), ""));
        assert!(bare.chars().all(|c| c == '\n' || !c.is_control()), "{bare:?}");
        assert!(
            !colour || said.contains("\x1b[31mworse") || said.contains("worse\x1b[0m"),
            "{said:?}"
        );
    }
}
