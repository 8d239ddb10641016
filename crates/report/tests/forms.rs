//! The forms of a report: terminal text that fits, JSON that keeps to its schema, Markdown that stays text.

use crate::fixture::{Scene, actor, scene};
use ledger::Skipped;
use report::{Style, json, markdown, schema, terminal};
use std::path::Path;

fn whole() -> Scene {
    let mut cached = actor("buffered", 5.0);
    cached.device = Some(0.02);
    cached.stack.access = ledger::Access::Buffered;
    let mut skipped = actor("xfs", 1.0);
    skipped.stack.skipped = Some(Skipped {
        reason: "mkfs.xfs not found".into(),
        cure: "install xfsprogs".into(),
    });
    let mut scene = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8), cached, skipped]);
    scene.blocks = 6;
    scene.invalid = Some((2, "btrfs".into()));
    scene
}

#[test]
fn eighty_columns() {
    insta::assert_snapshot!(terminal(&whole().film().analysis(), &Style::default()));
}

#[test]
fn sixty_columns() {
    insta::assert_snapshot!(terminal(
        &whole().film().analysis(),
        &Style {
            width: 60,
            colour: false,
            utf8: false,
        }
    ));
}

#[test]
fn two_equivalent_stacks() {
    let analysis = scene(vec![actor("ext4", 1.0), actor("xfs", 1.0)]).film().analysis();
    insta::assert_snapshot!(terminal(&analysis, &Style::default()));
}

#[test]
fn markdown_is_short() {
    insta::assert_snapshot!(markdown(&whole().film().analysis()));
}

#[test]
fn no_line_is_wider_than_asked() {
    let mut wild = actor("a-stack-with-a-name-that-nobody-would-ever-type-by-hand", 0.8);
    wild.stack.layers = ledger::Layers::plain([&*"x".repeat(300)]);
    let analysis = scene(vec![actor("ext4", 1.0), wild, actor("漢字の積み重ね", 0.9)])
        .film()
        .analysis();
    for width in [20, 33, 40, 60, 72, 80, 120, 200] {
        let text = terminal(
            &analysis,
            &Style {
                width,
                colour: false,
                utf8: true,
            },
        );
        for line in text.lines() {
            let columns: usize = line
                .chars()
                .map(|c| if ('\u{2e80}'..).contains(&c) { 2 } else { 1 })
                .sum();
            assert!(columns <= width, "{columns} columns of {width}: {line}");
        }
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    let analysis = whole().film().analysis();
    let painted = terminal(
        &analysis,
        &Style {
            width: 80,
            colour: true,
            utf8: false,
        },
    );
    assert!(painted.contains("\x1b["));
    let mut bare = String::new();
    let mut inside = false;
    for c in painted.chars() {
        match c {
            '\x1b' => inside = true,
            'm' if inside => inside = false,
            c if !inside => bare.push(c),
            _ => {}
        }
    }
    assert_eq!(bare, terminal(&analysis, &Style::default()));
}

#[test]
fn names_cannot_act_on_the_terminal() {
    let mut evil = actor("evil\x1b[2J\r\n\u{202e}", 0.8);
    evil.stack.injected = Some("\x1b]0;title\x07".into());
    let analysis = scene(vec![actor("ext4", 1.0), evil]).film().analysis();
    let text = terminal(&analysis, &Style::default());
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    assert!(!text.contains('\u{202e}'));
    assert!(text.contains("evil\\u{1b}"));
    assert!(markdown(&analysis).chars().all(|c| c == '\n' || !c.is_control()));
}

#[test]
fn the_answer_follows_the_question() {
    for scene in [whole(), scene(vec![actor("ext4", 1.0)])] {
        let analysis = scene.film().analysis();
        let text = terminal(
            &analysis,
            &Style {
                width: 2000,
                colour: false,
                utf8: false,
            },
        );
        assert_eq!(text.lines().nth(1).unwrap(), analysis.sentence);
    }
}

#[test]
fn json_keeps_to_its_schema() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let mut early = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]);
    early.blocks = 1;
    let mut empty = scene(Vec::new());
    empty.blocks = 0;
    let mut blind = actor("blind", 1.0);
    blind.device = None;
    for scene in [whole(), early, empty, scene(vec![blind])] {
        let value = json(&scene.film().analysis());
        let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
        assert_eq!(value["schema"], report::SCHEMA_VERSION);
        assert!(value["report"]["sentence"].is_string());
    }
    assert!(
        !validator.is_valid(&serde_json::json!({ "schema": 1 })),
        "the schema must be able to refuse"
    );
}

#[test]
fn the_schema_in_the_repository_is_this_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/report.schema.json");
    let wanted = format!("{:#}\n", schema());
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert!(
        found == wanted,
        "docs/report.schema.json is old: run `UPDATE_SCHEMA=1 cargo test -p report`, raise SCHEMA_VERSION if a reader \
         could stumble"
    );
}
