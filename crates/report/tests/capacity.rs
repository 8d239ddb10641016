//! What arrays keep in the report: before and after a move, over time, beside a publication, held against what the
//! study declares.
//!
//! Prevents: a ratio that nobody can trace to its data, and one of LUNs that are not reduced.

use crate::fixture::{Scene, actor, scene};
use ledger::{Measure, Setting};
use report::{Status, Style};

const MIB: f64 = 1024.0 * 1024.0;

fn setting(key: &str, value: &str) -> Setting {
    Setting {
        key: key.into(),
        value: value.into(),
        written: true,
    }
}

/// Two stacks, of which one is on an array that compresses: 100 MiB in 31.25 MiB, and 80 MiB on LUNs as they are.
fn arrays(packed_mib: f64) -> Scene {
    let mut scene = scene(vec![actor("plain", 1.0), actor("compressed", 0.7)]);
    let of = |measure, value: f64| ("compressed".to_string(), measure, value);
    scene.extra_of = vec![
        of(Measure::ArrayWholeBytes, 80.0 * MIB),
        of(Measure::ArrayAskedBytes, 100.0 * MIB),
        of(Measure::ArrayDistinctBytes, 90.0 * MIB),
        of(Measure::ArrayPackedBytes, packed_mib * MIB),
        of(Measure::ArrayStoredBytes, 31.25 * MIB),
    ];
    scene.published = Some("unity-2017".into());
    scene.settings = vec![
        setting("database.compressibility", "4.0"),
        setting("published.stacks", "{ plain = \"plain\", compressed = \"compressed\" }"),
        setting("published.phases", "{ \"50 % update\" = \"50 % updates\" }"),
    ];
    scene
}

#[test]
fn each_phase_of_an_array_that_reduces_has_a_row_and_no_other_has() {
    let analysis = arrays(24.0).film().analysis();
    let rows: Vec<(&str, &str)> = (analysis.capacity.iter())
        .map(|one| (one.phase.as_str(), one.stack.as_str()))
        .collect();
    assert_eq!(rows, [("50 % update", "compressed"), ("scan", "compressed")]);
    let one = &analysis.capacity[0];
    let median = |figure: Option<report::Figure>| figure.map(|figure| figure.median);
    assert_eq!(median(one.ratio), Some(3.2));
    assert_eq!(median(one.compressed), Some(3.75));
    assert_eq!(median(one.copies_share), Some(0.1));
    assert_eq!(median(one.whole_bytes), Some(80.0 * MIB));
    assert_eq!(one.published, [4.5, 2.85]);
    assert_eq!(one.stored_over_time.len(), 24);
    let rises = one.stored_over_time.is_sorted_by(|a, b| *b >= a - 1.0);
    assert!(rises, "{:?}", one.stored_over_time);
    let last = one.stored_over_time.last().unwrap() / MIB;
    assert!((last - 31.25).abs() < 1e-6, "{last}");
    let none = scene(vec![actor("plain", 1.0)]).film().analysis();
    assert!(none.capacity.is_empty());
}

#[test]
fn every_form_has_the_capacity_beside_the_publication() {
    let film = arrays(24.0).film();
    let analysis = film.analysis();
    let style = Style {
        utf8: true,
        ..Style::default()
    };
    let text = report::terminal(&analysis, &style);
    assert!(text.contains("What arrays keep of what was written"), "{text}");
    assert!(text.contains("4.50, 2.85") || text.contains("4.5, 2.85"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let short = report::markdown(&analysis);
    assert!(short.contains("reduced LUNs"), "{short}");
    let value = report::json(&analysis);
    let validator = jsonschema::validator_for(&report::schema()).unwrap();
    assert!(validator.is_valid(&value));
    assert_eq!(value["report"]["capacity"][0]["ratio"]["median"], 3.2);
    let page = report::html(&film.ledger, &analysis).unwrap();
    assert!(page.contains("id=\"capacity\""), "the page has the section");
    let published = analysis.published.expect("a publication");
    let agrees = published.ratios.iter().filter(|one| one.measured.is_some()).count();
    assert_eq!(agrees, 1, "{:?}", published.ratios);
}

#[test]
fn data_that_are_not_as_declared_are_suspect() {
    let line = |packed_mib: f64| {
        let checks = arrays(packed_mib).film().analysis().checks;
        let mut found = checks.into_iter().filter(|check| check.subject == "compression");
        let line = found.next().expect("a line");
        assert!(found.next().is_none(), "one line, of the stack that reduces");
        assert_eq!(line.stack.as_deref(), Some("compressed"));
        line
    };
    // 3.75 to 1 of 4 declared: headers and rounding.
    assert_eq!(line(24.0).status, Status::Valid, "{:?}", line(24.0));
    let half = line(45.0);
    assert_eq!(half.status, Status::Suspect, "{half:?}");
    assert!(
        half.figure.contains("2.00 to 1 (4.00 declared)") || half.figure.contains("2 to 1 (4 declared)"),
        "{half:?}"
    );
    assert_eq!(line(9.0).status, Status::Suspect, "far more than declared");
}
