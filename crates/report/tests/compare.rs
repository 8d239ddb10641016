//! Result files beside each other: what differs is said first, ratios only where the base is the same, and no verdict.
//!
//! Prevents: a change between two runs read as a verdict, a ratio of two things, and files that share blocks compared
//! as if they did not.

use crate::fixture::{Filmed, Scene, actor, fact, scene};
use ledger::{PhaseKind, Setting, Skipped};
use report::{About, CompareError, FileTaken, FilesCompared, Style, Verdict};
use std::path::Path;

fn setting(key: &str, value: &str) -> Setting {
    Setting {
        key: key.into(),
        value: value.into(),
        written: true,
    }
}

/// A study of ext4 and btrfs on a kernel.
fn of_kernel(run: &'static str, kernel: &str, btrfs: f64) -> Scene {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", btrfs)]);
    scene.run = run;
    scene.blocks = 6;
    scene.facts = vec![
        fact("host", "kernel", kernel),
        fact("host", "cpu", "the same"),
        fact("stack:ext4", "mkfs version", "1.47"),
        fact("stack:btrfs", "lowest visible devices", "loop3, loop4"),
        fact("device:loop3", "scheduler", "none"),
    ];
    scene.settings = vec![
        setting("stack.btrfs.compress", "\"none\""),
        setting("database.cache", "\"16MiB\""),
    ];
    scene
}

fn taken(file: &str, filmed: &Filmed) -> FileTaken {
    FileTaken::of(file, &filmed.ledger).unwrap()
}

fn compared(scenes: &[&Scene]) -> FilesCompared {
    let files = scenes
        .iter()
        .zip('a'..)
        .map(|(scene, name)| taken(&format!("{name}.assay"), &scene.film()));
    FilesCompared::of(&files.collect::<Vec<_>>()).unwrap()
}

/// June and July: another kernel, another seed of noise, a slower btrfs.
fn june_and_july() -> FilesCompared {
    let june = of_kernel("june", "6.1.0-18", 0.9);
    let mut july = of_kernel("july", "6.12.5", 0.72);
    july.in_block = |block, stack| if stack == "btrfs" && block % 2 == 0 { 1.02 } else { 1.0 };
    july.facts.push(fact("stack:btrfs", "mkfs version", "6.6"));
    july.facts[3] = fact("stack:btrfs", "lowest visible devices", "loop7, loop9");
    july.facts[4] = fact("device:loop7", "scheduler", "mq-deadline");
    compared(&[&june, &july])
}

fn values<'a>(compared: &'a FilesCompared, what: &str) -> Option<Vec<Option<&'a str>>> {
    let found = compared.differences.iter().find(|one| one.what == what)?;
    Some(found.values.iter().map(Option::as_deref).collect())
}

#[test]
fn one_screen_and_the_whole() {
    let compared = june_and_july();
    let style = Style::default();
    insta::assert_snapshot!("compare_brief", report::compare_brief(&compared, &style));
    insta::assert_snapshot!("compare_full", report::compare_terminal(&compared, &style));
    insta::assert_snapshot!("compare_markdown", report::compare_markdown(&compared));
    let page = report::compare_html(&compared);
    assert!(page.contains("6.12.5") && page.contains("mq-deadline") && page.contains("No verdict between the files"));
}

#[test]
fn what_differs_is_said_by_its_kind_and_the_rest_is_named_as_the_same() {
    let compared = june_and_july();
    assert_eq!(
        values(&compared, "kernel"),
        Some(vec![Some("6.1.0-18"), Some("6.12.5")])
    );
    assert_eq!(
        values(&compared, "scheduler"),
        Some(vec![Some("none"), Some("mq-deadline")])
    );
    // The number of a loop device is chance.
    assert_eq!(values(&compared, "lowest visible devices"), None);
    let of = |about: About| compared.equal.iter().find(|one| one.about == about).unwrap();
    assert_eq!(of(About::Host).names, ["cpu"]);
    assert!(of(About::Key).names.contains(&"database.cache".to_string()));
}

#[test]
fn the_change_of_a_ratio_has_an_honest_interval_and_no_verdict() {
    let compared = june_and_july();
    assert!(compared.no_verdict.is_some() && compared.sentence.starts_with("No verdict"));
    assert_eq!(compared.ratios.len(), 2);
    for one in &compared.ratios {
        let [Some(june), Some(july)] = one.ratios[..] else {
            panic!("{one:?}")
        };
        assert_eq!((june.verdict, july.verdict), (Verdict::Worse, Verdict::Worse));
        assert_eq!(one.changes[0], None);
        let change = one.changes[1].as_ref().unwrap();
        assert!((change.ratio - july.ratio / june.ratio).abs() < 1e-9, "{one:?}");
        let (low, high) = (change.low.unwrap(), change.high.unwrap());
        assert!(low < change.ratio && change.ratio < high && high < 0.9, "{one:?}");
        assert_eq!(change.against, "A");
    }
}

#[test]
fn a_ratio_has_the_same_stacks_and_the_same_work_in_all_files() {
    let june = of_kernel("june", "6.1", 0.9);
    let reason = |change: &dyn Fn(&mut Scene)| {
        let mut july = of_kernel("july", "6.1", 0.9);
        change(&mut july);
        let compared = compared(&[&june, &july]);
        assert!(compared.ratios.is_empty(), "{:?}", compared.ratios);
        let left = compared
            .left_out
            .iter()
            .map(|one| format!("{}: {}\n", one.what, one.reason));
        (left.collect::<String>(), compared)
    };
    let (said, _) = reason(&|july| july.settings[0] = setting("stack.btrfs.compress", "\"zstd\""));
    assert!(said.contains("stack.btrfs.compress"), "{said}");
    let (said, _) = reason(&|july| july.actors[0].stack.access = ledger::Access::Buffered);
    assert!(said.contains("ext4 is not the same in A and B"), "{said}");
    let (said, compared) = reason(&|july| july.actors[0].stack.name = "xfs".into());
    assert!(said.contains("only A ranks it against this base"), "{said}");
    assert!(compared.sentence.contains("figures are shown without ratios"));
    let figures = report::compare_brief(&compared, &Style::default());
    assert!(figures.contains("Figures of each file"), "{figures}");
}

#[test]
fn a_change_is_over_the_blocks_of_both_ratios() {
    let june = of_kernel("june", "6.1", 0.9);
    // The time ended it one block after its look at six: that block is in no ratio.
    let mut july = of_kernel("july", "6.1", 0.8);
    july.blocks = 7;
    july.in_block = |block, stack| if stack == "btrfs" && block == 6 { 0.2 } else { 1.0 };
    let compared = compared(&[&june, &july]);
    assert_eq!(compared.ratios.len(), 2);
    for one in &compared.ratios {
        let [Some(june), Some(july)] = one.ratios[..] else {
            panic!("{one:?}")
        };
        assert!((4..=6).contains(&july.n), "{one:?}");
        let change = one.changes[1].as_ref().unwrap();
        assert!((change.ratio - july.ratio / june.ratio).abs() < 1e-9, "{one:?}");
    }
}

#[test]
fn a_ratio_is_not_set_beside_that_of_another_model_database_or_number_of_layers() {
    let on = |layers: Vec<ledger::Layer>| {
        move |scene: &mut Scene| {
            for one in &mut scene.actors {
                one.stack.layers = ledger::Layers(layers.clone());
            }
        }
    };
    let model = |what, device: &str| ledger::Layer::Model {
        what,
        device: device.into(),
    };
    let plain = |name: &str| ledger::Layer::Plain(name.into());
    let both = |log: &str| vec![model(ledger::Modelled::Data, "disk"), model(ledger::Modelled::Log, log)];
    let of = |database: Option<&str>| {
        let database = database.map(str::to_string);
        move |scene: &mut Scene| {
            for one in &mut scene.actors {
                one.stack.database = database.clone();
            }
        }
    };
    type Change<'a> = &'a dyn Fn(&mut Scene);
    let said = |june_is: Change<'_>, july_is: Change<'_>| {
        let [mut june, mut july] = ["june", "july"].map(|run| of_kernel(run, "6.1", 0.9));
        june_is(&mut june);
        july_is(&mut july);
        let compared = compared(&[&june, &july]);
        assert!(compared.ratios.is_empty(), "{:?}", compared.ratios);
        compared
            .left_out
            .iter()
            .map(|one| format!("{}\n", one.reason))
            .collect::<String>()
    };
    let disk = on(vec![plain("ext4"), model(ledger::Modelled::All, "disk")]);
    let array = on(vec![plain("ext4"), model(ledger::Modelled::All, "array")]);
    let found = said(&disk, &array);
    assert!(found.contains("(modelled devices)"), "{found}");
    // The first model of both is the same.
    let found = said(&on(both("disk")), &on(both("flash")));
    assert!(found.contains("(modelled devices)"), "{found}");
    let found = said(&on(vec![plain("ext4"), plain("device")]), &on(vec![plain("ext4")]));
    assert!(found.contains("(number of layers)"), "{found}");
    let found = said(&of(None), &of(Some("sqlite")));
    assert!(found.contains("(database)"), "{found}");
}

/// Its second scan is held against the first.
fn that_ages(run: &'static str, btrfs_ages: f64) -> Scene {
    let mut scene = of_kernel(run, "6.1", 0.9);
    scene.actors[1].aged = btrfs_ages;
    scene.phases = vec![
        (PhaseKind::Scan, "fresh scan".into()),
        (PhaseKind::Age, "ageing".into()),
        (PhaseKind::Scan, "aged scan".into()),
    ];
    scene.extra = vec![(ledger::Measure::EngineOverwrittenBytes, 1e9)];
    scene
        .settings
        .push(setting("phase.aged scan.against", "\"fresh scan\""));
    scene
}

#[test]
fn changes_from_an_earlier_phase_are_rows_of_their_own() {
    let (june, july) = (that_ages("june", 0.8), that_ages("july", 0.6));
    let both = compared(&[&june, &july]);
    let changes: Vec<_> = both.ratios.iter().filter(|one| one.against.is_some()).collect();
    let [one] = changes[..] else {
        panic!("one stack has a base: {:?}", both.ratios)
    };
    assert_eq!((&*one.phase, one.against.as_deref()), ("aged scan", Some("fresh scan")));
    let own = july.film().analysis().contrasts[0].clone();
    assert_eq!(
        one.ratios[1].map(|own| (own.ratio, own.verdict)),
        own.ratio.zip(Some(own.verdict))
    );
    let change = one.changes[1].as_ref().unwrap();
    assert!((change.ratio - 0.75).abs() < 0.02, "{one:?}");
    let text = report::compare_brief(&both, &Style::default());
    assert!(
        text.contains("Change from an earlier phase, ratio to ext4's") && text.contains("aged scan / fresh"),
        "{text}"
    );
    // What lies between the two phases shapes the change, and not the fresh scan.
    let mut other = that_ages("july", 0.6);
    other.settings.push(setting("phase.ageing.overwrite", "2"));
    let mut june = june;
    june.settings.push(setting("phase.ageing.overwrite", "1"));
    let found = compared(&[&june, &other]);
    assert!(
        found.ratios.iter().all(|one| one.against.is_none()),
        "{:?}",
        found.ratios
    );
    assert!(found.ratios.iter().any(|one| one.phase == "fresh scan"));
    let left = |one: &&report::LeftOut| one.what.contains("aged scan / fresh scan");
    let left = found.left_out.iter().find(left).expect("it is named");
    assert!(left.reason.contains("phase.ageing.overwrite"), "{left:?}");
}

#[test]
fn work_of_other_keys_has_figures_and_no_ratio() {
    let mut june = of_kernel("june", "6.1", 0.9);
    june.settings.push(setting("phase.50 % update.update_pct", "50"));
    let mut july = of_kernel("july", "6.1", 0.9);
    july.settings.push(setting("phase.50 % update.update_pct", "20"));
    let compared = compared(&[&june, &july]);
    let update = &compared.phases[0];
    assert_eq!(update.keys_that_differ, ["phase.50 % update.update_pct"]);
    assert_eq!(compared.ratios.len(), 1);
    assert_eq!(compared.ratios[0].phase, "scan");
}

#[test]
fn states_of_one_run_share_their_blocks() {
    let mut early = of_kernel("june", "6.1", 0.9);
    early.blocks = 4;
    let compared = compared(&[&early, &of_kernel("june", "6.1", 0.9)]);
    assert_eq!(compared.no_verdict, None);
    assert_eq!(
        (
            &*compared.states_of_one_run[0].earlier,
            &*compared.states_of_one_run[0].later
        ),
        ("A", "B")
    );
    assert!(
        compared
            .ratios
            .iter()
            .all(|one| one.changes.iter().all(Option::is_none))
    );
    assert!(
        compared.sentence.contains("assay report b.assay"),
        "{}",
        compared.sentence
    );
    let twice = of_kernel("june", "6.1", 0.9).film();
    let files = [taken("a.assay", &twice), taken("b.assay", &twice)];
    let error = FilesCompared::of(&files).unwrap_err();
    assert_eq!(error, CompareError::Same("a.assay".into(), "b.assay".into()));
    assert_eq!(FilesCompared::of(&files[..1]).unwrap_err(), CompareError::TooFew);
    let many: Vec<FileTaken> = files.iter().cycle().take(17).cloned().collect();
    assert_eq!(FilesCompared::of(&many).unwrap_err(), CompareError::TooMany(17));
}

#[test]
fn files_that_have_little_say_so() {
    let june = of_kernel("june", "6.1", 0.9);
    let mut dead = of_kernel("dead", "6.1", 0.9);
    dead.invalid_at = |_, _, _| true;
    let mut other = of_kernel("other", "6.1", 0.9);
    other.phases = vec![(PhaseKind::Random, "another".into())];
    let mut killed = of_kernel("killed", "6.1", 0.9);
    killed.blocks = 1;
    killed.actors.push(actor("xfs", 1.0));
    killed.actors[2].stack.skipped = Some(Skipped {
        reason: "mkfs.xfs not found".into(),
        cure: "install xfsprogs".into(),
    });
    let found = compared(&[&june, &dead]);
    assert!(
        found.sentence.contains("only what differs is shown"),
        "{}",
        found.sentence
    );
    assert!(
        found
            .left_out
            .iter()
            .any(|one| one.what == "B" && one.reason.contains("no valid run"))
    );
    let found = compared(&[&june, &other]);
    assert!(
        found
            .left_out
            .iter()
            .any(|one| one.what == "phase another" && one.reason == "only B has it")
    );
    let found = compared(&[&june, &killed]);
    assert!(found.files[1].state.contains("not finished"), "{:?}", found.files[1]);
    let [_, Some(own)] = found.ratios[0].ratios[..] else {
        panic!("{:?}", found.ratios)
    };
    assert_eq!((own.n, own.low, own.verdict), (1, None, Verdict::NotEnoughData));
    assert_eq!(found.ratios[0].changes[1].as_ref().unwrap().low, None);
}

#[test]
fn three_files_are_held_against_the_first() {
    let scenes = [
        of_kernel("a", "6.1", 0.9),
        of_kernel("b", "6.2", 0.8),
        of_kernel("c", "6.3", 0.7),
    ];
    let compared = compared(&[&scenes[0], &scenes[1], &scenes[2]]);
    let against: Vec<_> = compared.ratios[0]
        .changes
        .iter()
        .flatten()
        .map(|one| &*one.against)
        .collect();
    assert_eq!(against, ["A", "A"]);
    for width in [20, 40, 80] {
        let style = Style {
            width,
            ..Style::default()
        };
        for text in [
            report::compare_brief(&compared, &style),
            report::compare_terminal(&compared, &style),
        ] {
            assert!(
                text.lines().all(|line| line.chars().count() <= width),
                "{width}:\n{text}"
            );
        }
    }
}

#[test]
fn words_of_a_file_act_on_nothing() {
    let wild = "\x1b[2J\r\n<script>|\u{202e}".to_string();
    let mut june = of_kernel("june", "6.1", 0.9);
    june.words = Some(wild.clone());
    let mut july = of_kernel("july", &wild, 0.9);
    july.settings
        .push(setting(&format!("stack.{wild}.x"), &"long ".repeat(10_000)));
    let compared = compared(&[&june, &july]);
    let style = Style::default();
    let texts = [
        report::compare_brief(&compared, &style),
        report::compare_terminal(&compared, &style),
        report::compare_markdown(&compared),
    ];
    for text in texts {
        assert!(
            text.chars().all(|c| c == '\n' || !c.is_control()) && !text.contains('\u{202e}'),
            "{text}"
        );
        assert!(text.len() < 20_000, "{} bytes", text.len());
    }
    let page = report::compare_html(&compared);
    assert!(!page.contains("<script>|") && !page.contains('\u{202e}') && !page.contains('\u{1b}'));
}

#[test]
fn json_keeps_to_its_schema_and_the_schema_is_in_the_repository() {
    let validator = jsonschema::validator_for(&report::compare_schema()).unwrap();
    let value = report::compare_json(&june_and_july());
    let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert!(!validator.is_valid(&serde_json::json!({ "schema": 1 })));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compare.schema.json");
    let wanted = format!("{:#}\n", report::compare_schema());
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert!(
        found == wanted,
        "docs/compare.schema.json is old: run `UPDATE_SCHEMA=1 cargo test -p report`"
    );
}
