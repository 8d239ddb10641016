//! What stands beside the measured figures: imported ones and published ones, in every form, and never in a verdict.

use crate::fixture::{MADE_UNIX_NS, Scene, actor, scene};
use ledger::{Ending, ImportNote, ImportedFigure, ImportedText, Measure, PhaseKind, Setting};
use report::published::Agreement;
use report::{Style, json, markdown, schema, terminal};

fn text(file: &str, reads: f64, printed: &str) -> ImportedText {
    ImportedText {
        at_unix_ns: 1,
        stack: "oracle".into(),
        phase: "50 % update".into(),
        file: file.into(),
        sha256: file.into(),
        bytes: 10,
        format: "awr".into(),
        layout: "AWR text, statistics".into(),
        facts: Vec::new(),
        figures: vec![ImportedFigure {
            report: String::new(),
            name: "statistic.physical read IO requests.per_s".into(),
            value: reads,
            text: printed.into(),
            unit: "requests/s".into(),
            line: 3,
            comparable: Some(("reads_per_s".into(), reads)),
        }],
        notes: vec![ImportNote {
            line: 4,
            text: "left out".into(),
        }],
    }
}

fn shown(scene: &Scene) -> (report::Analysis, String, String) {
    let analysis = scene.film().analysis();
    let style = Style {
        width: 100,
        colour: false,
        utf8: false,
    };
    let validator = jsonschema::validator_for(&schema()).unwrap();
    assert!(validator.is_valid(&json(&analysis)));
    let said = (terminal(&analysis, &style), markdown(&analysis));
    (analysis, said.0, said.1)
}

#[test]
fn imported_figures_stand_beside_and_change_no_verdict() {
    let plain = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]);
    let mut with = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]);
    with.imported = vec![text("awr.txt", 80_744.1, "80,744.1")];
    let (before, ..) = shown(&plain);
    let (after, said, short) = shown(&with);
    assert_eq!(before.comparisons, after.comparisons);
    assert_eq!(before.sentence, after.sentence);
    assert_eq!(before.stacks, after.stacks);
    let one = &after.imported[0];
    assert_eq!(one.sources[0].figures[0].text, "80,744.1");
    assert_eq!(one.sources[0].notes, ["line 4: left out"]);
    let beside: Vec<&str> = one.quantities[0].measured.iter().map(|m| m.stack.as_str()).collect();
    assert_eq!(beside, ["ext4", "btrfs"]);
    assert!(said.contains("imported, not measured here and not ranked"), "{said}");
    assert!(said.contains("80,744.1") && said.contains("oracle: awr.txt"), "{said}");
    assert!(
        short.contains("imported, not measured here and not ranked") && short.contains("| oracle | 80,744.1 |"),
        "{short}"
    );
}

#[test]
fn several_reports_show_their_spread_and_no_interval() {
    let mut with = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]);
    with.imported = vec![
        text("a", 100.0, "100"),
        text("b", 120.0, "120"),
        text("c", 110.0, "110"),
    ];
    // Another tool that watched one of the runs is no run of its own.
    let mut other = text("d", 999.0, "999");
    other.format = "iostat".into();
    with.imported.push(other);
    let (analysis, said, _) = shown(&with);
    let quantity = &analysis.imported[0].quantities[0];
    let figure = quantity.figure;
    assert_eq!(
        (figure.median, figure.low, figure.high, figure.n),
        (110.0, 100.0, 120.0, 3)
    );
    assert_eq!(quantity.text, None);
    assert_eq!(quantity.left_out, ["d"]);
    assert!(said.contains("110 (100 to 120)"), "{said}");
}

/// Data writes of a phase, its redo, and the copies among its data writes.
fn with_writes(copies: f64) -> Vec<(Measure, f64)> {
    vec![
        (Measure::EngineWrites, 2_000.0),
        (Measure::EngineWriteBytes, 16_384_000.0),
        (Measure::EngineRedoWrites, 6_000.0),
        (Measure::EngineRedoBytes, 3_000_000.0),
        (Measure::EngineDoublewriteBytes, copies),
    ]
}

/// Oracle's `physical write IO requests` have no redo, and its pages have no copies.
#[test]
fn data_writes_stand_beside_data_writes() {
    let measured = |copies: f64, quantity: &str| {
        let mut scene = scene(vec![actor("ext4", 1.0)]);
        scene.extra = with_writes(copies);
        let mut one = text("awr.txt", 10.0, "10");
        one.figures[0].comparable = Some((quantity.into(), 10.0));
        scene.imported = vec![one];
        let (analysis, ..) = shown(&scene);
        let engine = analysis.phases[0].cells[0].engine;
        let beside = analysis.imported[0].quantities[0]
            .measured
            .first()
            .map(|one| one.figure.median);
        (beside, engine)
    };
    let (writes, engine) = measured(0.0, "writes_per_s");
    let all = engine.writes_per_s.unwrap().median;
    assert!(
        (writes.unwrap() / all - 2_000.0 / 8_000.0).abs() < 1e-9,
        "{writes:?} of {all}"
    );
    let (writes, _) = measured(4_096_000.0, "writes_per_s");
    assert_eq!(writes, None, "requests of copies are not counted apart");
    let (bytes, engine) = measured(4_096_000.0, "write_bytes_per_s");
    let all = engine.write_bytes_per_s.unwrap().median;
    let share = (16_384_000.0 - 4_096_000.0) / 19_384_000.0;
    assert!((bytes.unwrap() / all - share).abs() < 1e-9, "{bytes:?} of {all}");
}

#[test]
fn runs_are_alike_by_the_name_of_the_figure_and_not_by_the_words_of_the_text() {
    let of = |file: &str, layout: &str, runs: &[f64]| {
        let mut one = text(file, 0.0, "");
        let figure = one.figures.remove(0);
        one.layout = layout.into();
        one.figures = runs
            .iter()
            .enumerate()
            .map(|(nth, reads)| ImportedFigure {
                report: format!("test {nth}"),
                comparable: Some(("reads_per_s".into(), *reads)),
                ..figure.clone()
            })
            .collect();
        one
    };
    let mut with = scene(vec![actor("ext4", 1.0)]);
    let mut other = of("load.txt", "AWR text, load profile", &[999.0]);
    other.figures[0].name = "load.Read IO requests.per_s".into();
    with.imported = vec![
        of("a.txt", "SLOB: a table of 2 runs", &[100.0, 120.0]),
        of("b.txt", "SLOB: a table of 1 runs", &[500.0]),
        other,
    ];
    let (analysis, said, _) = shown(&with);
    let quantity = &analysis.imported[0].quantities[0];
    let figure = quantity.figure;
    assert_eq!(
        (figure.median, figure.low, figure.high, figure.n),
        (120.0, 100.0, 500.0, 3)
    );
    assert_eq!(quantity.left_out, ["load.txt"]);
    let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("load.txt does not count in reads asked/s"), "{said}");
}

#[test]
fn a_file_of_imports_alone_ranks_nothing() {
    let mut alone = scene(Vec::new());
    alone.blocks = 0;
    alone.planned = 0;
    alone.imported = vec![text("awr.txt", 1.0, "1")];
    let (analysis, said, short) = shown(&alone);
    assert!(
        analysis.sentence.contains("imported figures are not ranked"),
        "{}",
        analysis.sentence
    );
    assert!(said.contains("nothing was run") && short.contains("oracle"), "{said}");
    // Nothing was run: no time was spent, no check says that it was done well, and no verdict promises anything.
    let mut film = alone.film();
    let ending = Ending {
        at_unix_ns: MADE_UNIX_NS + 1_000_000,
        reason: "imported".into(),
    };
    film.ledger.finish(&ending).unwrap();
    let analysis = film.analysis();
    assert_eq!((&analysis.time_spent, &analysis.promise), (&None, &None));
    let style = Style {
        width: 100,
        colour: false,
        utf8: false,
    };
    let report = terminal(&analysis, &style);
    for words in ["Measuring took", "are VALID", "confidence"] {
        assert!(!report.contains(words), "{words}: {report}");
    }
}

#[test]
fn names_of_imports_cannot_act_on_the_terminal() {
    let mut evil = scene(vec![actor("ext4", 1.0)]);
    let mut one = text("a\x1b[2J|b", 1.0, "1\x1b[2J");
    one.stack = "x\u{202e}<script>".into();
    one.layout = "y\r\n# z".into();
    evil.imported = vec![one];
    let (_, said, short) = shown(&evil);
    for text in [said, short.clone()] {
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    }
    assert!(!short.contains("<script>"), "{short}");
}

/// Stacks asm and btrfs (for zfs), with the phases of the publication.
fn published(speed: f64, noise: f64) -> Scene {
    let mut scene = scene(vec![actor("asm", 1.0), actor("btrfs", speed)]);
    scene.noise = noise;
    scene.phases = vec![
        (PhaseKind::Random, "fresh read".into()),
        (PhaseKind::Scan, "fresh scan".into()),
        (PhaseKind::Scan, "aged scan".into()),
    ];
    scene.blocks = 12;
    scene.published = Some("xtremio-2014".into());
    let setting = |key: &str, value: &str| Setting {
        key: key.into(),
        value: value.into(),
        written: true,
    };
    scene.settings = vec![
        setting("published.stacks", "{ \"asm\" = \"asm\", \"btrfs\" = \"zfs\" }"),
        setting(
            "published.phases",
            "{ \"fresh read\" = \"read\", \"fresh scan\" = \"scan\", \"aged scan\" = \"aged scan\" }",
        ),
    ];
    scene
}

fn of<'a>(analysis: &'a report::Analysis, theirs: &str) -> &'a report::published::PublishedRatio {
    let ratios = &analysis.published.as_ref().unwrap().ratios;
    let names: Vec<&str> = ratios.iter().map(|r| r.theirs.as_str()).collect();
    ratios
        .iter()
        .find(|r| r.theirs == theirs)
        .unwrap_or_else(|| panic!("{names:?}"))
}

#[test]
fn a_published_ratio_inside_the_measured_interval_agrees() {
    // 22231 / 44391 is 0.5008.
    let (analysis, said, short) = shown(&published(0.5, 0.02));
    let read = of(&analysis, "zfs to asm in read");
    assert!((read.low - 22231.0 / 44391.0).abs() < 1e-12);
    assert_eq!(read.ours.as_deref(), Some("btrfs to asm in fresh read"));
    assert!(read.measured.unwrap().tested);
    assert_eq!(read.agreement, Agreement::DirectionAndSize, "{read:?}");
    // 132.15 / 234.16 is 0.564: the same direction.
    let scan = of(&analysis, "zfs to asm in scan");
    assert_eq!(scan.agreement, Agreement::Direction, "{scan:?}");
    assert!(scan.says.contains("larger here"), "{scan:?}");
    // The change of one stack from phase to phase: none here, 17 % published.
    let aged = of(&analysis, "zfs, aged scan to scan");
    assert!((aged.low - 109.80 / 132.15).abs() < 1e-12);
    assert!(!aged.measured.unwrap().tested);
    assert_eq!(aged.agreement, Agreement::OneSeesNone, "{aged:?}");
    // The seed measured its base before the updates only.
    assert!((of(&analysis, "zfs in aged scan to asm in scan").low - 109.80 / 234.16).abs() < 1e-12);
    // Nothing of ours stands for it.
    assert_eq!(of(&analysis, "zfs in aged read to asm in read").ours, None);
    for text in [&said, &short] {
        let flat: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            flat.contains("asm 44391 reads/s") && flat.contains("zfs 109.8 scan MB/s"),
            "{text}"
        );
        assert!(
            flat.contains("agrees in direction and size") && flat.contains("not to be met"),
            "{text}"
        );
    }
}

#[test]
fn opposite_and_undecided_are_said() {
    let (analysis, ..) = shown(&published(1.5, 0.005));
    assert_eq!(of(&analysis, "zfs to asm in read").agreement, Agreement::Opposite);
    let mut early = published(0.5, 0.005);
    early.blocks = 1;
    let (analysis, said, _) = shown(&early);
    let read = of(&analysis, "zfs to asm in read");
    assert_eq!(
        (read.agreement, read.measured),
        (Agreement::CouldNotBeTold, None),
        "{said}"
    );
}

#[test]
fn an_unknown_publication_prints_nothing() {
    let mut scene = published(0.5, 0.005);
    scene.published = Some("of-a-later-version".into());
    let (analysis, ..) = shown(&scene);
    assert_eq!(analysis.published, None);
    assert_eq!(analysis.study.published.as_deref(), Some("of-a-later-version"));
}
