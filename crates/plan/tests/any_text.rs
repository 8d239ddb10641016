//! Any text at all: it is a study or it is refused with a place and a cure; it never stops the program.
//!
//! Prevents: a panic on what a user, a broken editor or a cut transfer hands over.

use plan::{PlanError, parse};
use proptest::prelude::*;
use std::path::Path;

const STUDIES: [&str; 3] = [
    include_str!("../../../studies/overwrite-vs-cow.toml"),
    include_str!("../../../studies/model.toml"),
    include_str!("../../../studies/diskgroup-vs-filesystems.toml"),
];

/// Words that mean something in a study, and some that mean something elsewhere.
const WORDS: &str = "\\[\\[stack\\]\\]|\\[luns\\.[a-z]{1,3}\\]|\\[study\\]|\\[\\[phase\\]\\]|\\[memory\\]|\
     \\[database\\]|name|kind|\"[a-z0-9é%]{0,6}\"|= |\n|[0-9]{1,20}|\\{|\\}|\\[|\\]|,|files|devices|size|scale|\
     inject|hotspot|true|update_pct|time|none|\"none\"|\"1GiB\"|\"5%\"|\"10s\"|\"\"\"|#|\\.|-|\u{1b}|\u{0}|\
     \r\n";

/// Values of every type, right and wrong.
const VALUES: &str = "true|-?[0-9]{1,21}|[0-9]{1,3}\\.[0-9]e[0-9]{1,3}|\"[0-9]{0,4}(GiB|ms|s|%|/s|x)?\"|\"\"|\
     \\[\\]|\\{\\}|\\[\"a\"\\]|inf|nan|1979-05-27";

fn look(text: &str) -> Result<(), TestCaseError> {
    match parse(text, Path::new("any.toml")) {
        Ok(study) => {
            let again = parse(&study.to_toml(), Path::new("again.toml"));
            prop_assert!(again.is_ok(), "what was accepted must print as a study: {:?}", again);
        }
        Err(error) => {
            prop_assert!(matches!(error, PlanError::Broken { .. }), "not the text is at fault");
            prop_assert!(!error.problems().is_empty());
            let said = error.to_string();
            prop_assert!(
                said.chars().all(|c| c == '\n' || !c.is_control()),
                "control characters reach the terminal: {said:?}"
            );
            prop_assert!(
                said.lines().last().is_some_and(|line| line.starts_with("cure: ")),
                "{said}"
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn noise(text in "\\PC{0,200}") {
        look(&text)?;
    }

    #[test]
    fn controls(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        look(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn words(text in prop::collection::vec(WORDS, 0..60)) {
        look(&text.concat())?;
    }

    #[test]
    fn cut_and_spliced_studies(
        which in 0usize..2,
        from: prop::sample::Index,
        until: prop::sample::Index,
        put in WORDS,
    ) {
        let chars: Vec<char> = STUDIES[which].chars().collect();
        let (a, b) = (from.index(chars.len()), until.index(chars.len()));
        let (a, b) = (a.min(b), a.max(b).min(a.min(b) + 40));
        let text: String = chars[..a].iter().copied().chain(put.chars()).chain(chars[b..].iter().copied()).collect();
        look(&text)?;
    }

    #[test]
    fn values_swapped(which in 0usize..2, at: prop::sample::Index, put in VALUES) {
        let lines: Vec<&str> = STUDIES[which].lines().collect();
        let is_keyed = |line: &str| line.contains(" = ") && !line.starts_with('#');
        let keyed: Vec<usize> = (0..lines.len()).filter(|i| is_keyed(lines[*i])).collect();
        let chosen = keyed[at.index(keyed.len())];
        let text: Vec<String> = lines.iter().enumerate().map(|(i, line)| match line.split_once(" = ") {
            Some((key, _)) if i == chosen => format!("{key} = {put}"),
            _ => (*line).to_string(),
        }).collect();
        look(&text.join("\n"))?;
    }

    #[test]
    fn scaled_studies_fit_or_are_refused(which in 0usize..2, factor in prop_oneof![Just(1.0), 0.01f64..100.0]) {
        match plan::parse_scaled(STUDIES[which], Path::new("scaled.toml"), factor) {
            Ok(study) => {
                prop_assert_eq!(study.scaled, factor);
                // A factor near 1 may round every size to what it was.
                let scaled = study.resolved.iter().any(|row| row.unscaled.is_some());
                let is_near = factor != 1.0 && (0.9..1.1).contains(&factor);
                prop_assert!(is_near || scaled == (factor != 1.0));
                look(&study.to_toml())?;
            }
            Err(error) => prop_assert!(factor < 1.0, "what fits fits at {factor}: {error}"),
        }
    }
}

#[test]
fn nesting_without_end_is_refused() {
    for text in [
        "[".repeat(20_000),
        format!("a = {}", "[".repeat(20_000)),
        format!("a = {}", "{a=".repeat(20_000)),
    ] {
        assert!(parse(&text, Path::new("deep.toml")).is_err());
    }
}

#[test]
fn more_than_a_report_is_made_of_is_refused() {
    let head = "[study]\nname = \"s\"\n[database]\nscale = \"1MiB\"\n";
    let stacks: String = (0..65)
        .map(|nth| format!("[[stack]]\nname = \"s{nth}\"\nkind = \"model\"\nsize = \"1GiB\"\n"))
        .collect();
    let phases: String = (0..513)
        .map(|nth| format!("[[phase]]\nname = \"p{nth}\"\nkind = \"random\"\ntime = \"1s\"\n"))
        .collect();
    let ageing: String = (0..6)
        .map(|nth| format!("[[phase]]\nname = \"p{nth}\"\nkind = \"age\"\npasses = 100\nafter_each = []\n"))
        .collect();
    for (text, says) in [
        (format!("{head}{stacks}"), "65 stacks, at most 64"),
        (format!("{head}{phases}"), "more than 512 phases"),
        (format!("{head}{ageing}"), "more than 512 phases"),
    ] {
        let said = parse(&text, Path::new("many.toml")).unwrap_err().to_string();
        assert!(said.contains(says), "{said}");
    }
    // However many problems a text has, somebody reads them.
    let said = parse(&"x = 1\n".repeat(100_000), Path::new("wrong.toml"))
        .unwrap_err()
        .to_string();
    assert!(said.len() < 100_000, "{} bytes of problems", said.len());
    let wrong: String = (0..20_000).map(|nth| format!("x{nth} = 1\n")).collect();
    assert_eq!(
        parse(&wrong, Path::new("wrong.toml")).unwrap_err().problems().len(),
        100
    );
}
