//! An ageing with a control: which phases a study has by it, and what they are.
//!
//! Prevents: a control that measures something else than the phases which it is held beside.

use plan::{PhaseKind, Study};
use std::path::Path;

fn parse(text: &str) -> Study {
    plan::parse(text, Path::new("control.toml")).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn an_ageing_with_a_control_is_measured_before_it_too() {
    let text = r#"
[study]
name = "control"
[luns.data]
files = { size = "1GiB" }
[[stack]]
name = "ext4"
kind = "ext4"
data = "data"
[[phase]]
name = "fresh scan"
kind = "scan"
[[phase]]
name = "ageing"
kind = "age"
control = "20s"
ranked = false
[[phase]]
name = "aged scan"
kind = "scan"
users = 7
against = "fresh scan"
"#;
    let study = parse(text);
    let names: Vec<&str> = study.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "fresh scan",
            "ageing control",
            "aged scan control",
            "ageing",
            "aged scan"
        ]
    );
    let [_, rest, measured, _, aged] = &study.phases[..] else {
        panic!("{names:?}")
    };
    assert_eq!(rest.time.map(|time| time.0), Some(20_000_000_000));
    assert!(
        matches!(&rest.kind, PhaseKind::Random(random) if random.update_pct == 0 && random.sessions == 1),
        "{rest:?}"
    );
    assert!(!rest.ranked && !measured.ranked && aged.ranked);
    assert_eq!((&measured.kind, &measured.against), (&aged.kind, &aged.against));
    let row = |key: &str| study.resolved.iter().find(|row| row.key == key).unwrap();
    assert!(row("phase.aged scan control.users").written && !row("phase.aged scan control.degree").written);
    assert_eq!(parse(&study.to_toml()).phases, study.phases);
    // Without it, and twice over.
    let without = parse(&text.replace("control = \"20s\"\n", ""));
    assert_eq!(without.phases.len(), 3);
    let passes = "passes = 2\nafter_each = [\"aged scan\"]\ncontrol";
    let twice = parse(&text.replace("control =", &format!("{passes} =")));
    let names: Vec<&str> = twice.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names[1..4], ["ageing control", "aged scan control", "ageing 1"]);
    assert_eq!(names.len(), 7);
}
