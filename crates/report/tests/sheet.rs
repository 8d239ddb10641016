//! The rules of the validity sheet against the document that tells them, and against the traps that show them.

use crate::fixture::{actor, fact, scene};
use ledger::{Layer, Layers, Measure};
use report::{Status, sheet};
use std::path::Path;

/// `UPDATE_DOCS=1` writes them.
#[test]
fn the_documents_tables_are_the_rules() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/validity-sheet.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut made = text.clone();
    for (name, table) in [("phase", sheet::rules_of_phases()), ("study", sheet::rules_of_study())] {
        let (begin, end) = (
            format!("<!-- rules of a {name}: begin -->\n"),
            format!("<!-- rules of a {name}: end -->"),
        );
        let from = made.find(&begin).unwrap() + begin.len();
        let until = made.find(&end).unwrap();
        made.replace_range(from..until, &table);
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, made).unwrap();
        return;
    }
    assert!(
        text == made,
        "docs/validity-sheet.md is old: run `UPDATE_DOCS=1 cargo test -p report --test integration sheet::`"
    );
}

/// All text of the tests that set traps.
fn tests() -> String {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut text = String::new();
    for folder in ["assay/tests/traps", "report/tests"] {
        for entry in std::fs::read_dir(crates.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "rs") {
                text += &std::fs::read_to_string(path).unwrap();
            }
        }
    }
    text
}

#[test]
fn every_rule_of_the_document_has_its_traps() {
    let tests = tests();
    let mut rules = 0;
    for (subject, traps) in sheet::traps() {
        rules += 1;
        assert!(!traps.is_empty(), "no trap shows {subject}");
        for trap in traps {
            let set = tests.contains(&format!("\"{trap}\"")) || tests.contains(&format!("fn {trap}()"));
            assert!(set, "{subject}: nobody sets the trap {trap}");
        }
        assert!(tests.contains(&format!("\"{subject}\"")), "no test looks for {subject}");
    }
    assert!(rules > 40, "{rules}");
}

#[test]
fn a_stack_on_an_old_zfs_says_so() {
    let mut old = actor("zfs", 0.9);
    old.stack.layers = Layers(vec![Layer::ZfsFuse("23".into()), Layer::said("device")]);
    let checks = scene(vec![actor("ext4", 1.0), old]).film().analysis().checks;
    let found: Vec<_> = checks.iter().filter(|check| check.subject == "old ZFS").collect();
    assert_eq!(found.len(), 1, "and the other does not");
    assert_eq!(
        (found[0].status, found[0].stack.as_deref()),
        (Status::Note, Some("zfs"))
    );
    assert!(
        found[0].figure.starts_with("is zfs-fuse (pool version 23): "),
        "{found:?}"
    );
}

#[test]
fn processors_that_follow_the_load_are_told() {
    let said = |governor: Option<&str>| {
        let mut scene = scene(vec![actor("ext4", 1.0), actor("xfs", 0.9)]);
        scene.facts = governor
            .map(|name| fact("host", "cpu governor", name))
            .into_iter()
            .collect();
        let checks = scene.film().analysis().checks;
        let found = checks
            .into_iter()
            .find(|check| check.subject == "processors' frequency");
        found.map(|check| (check.status, check.figure))
    };
    let (follows, stays) = ("chosen by schedutil".to_string(), "chosen by performance".to_string());
    assert_eq!(said(Some("schedutil")), Some((Status::Note, follows)));
    assert_eq!(said(Some("performance")), Some((Status::Valid, stays)));
    assert_eq!(said(None), None, "a guest is not told");
}

#[test]
fn a_page_cache_that_nobody_empties_has_a_line() {
    let said = |by: Option<&str>| {
        let mut buffered = actor("ext4", 1.0);
        buffered.stack.access = ledger::Access::Buffered;
        let mut scene = scene(vec![buffered, actor("xfs", 0.9)]);
        scene.facts = by
            .map(|by| fact("study", "caches emptied by", by))
            .into_iter()
            .collect();
        let checks = scene.film().analysis().checks;
        let found = checks.into_iter().filter(|check| check.subject == "cold page cache");
        found
            .map(|check| (check.status, check.stack.unwrap(), check.figure))
            .collect::<Vec<_>>()
    };
    let line = |status, figure: &str| vec![(status, "ext4".to_string(), figure.to_string())];
    let nobody = "nobody empties the page cache before its phases";
    assert_eq!(said(Some("nobody")), line(Status::Note, nobody));
    let root = "root empties the page cache of the whole host before each phase";
    assert_eq!(said(Some("root")), line(Status::Valid, root));
    let group = "the run's memory group gives up its page cache before each phase";
    assert_eq!(said(Some("group")), line(Status::Valid, group));
    assert_eq!(said(None), vec![], "an older file does not say");
}

#[test]
fn a_study_in_a_guest_says_whose_processors_it_counted() {
    let said = |below: Option<&str>| {
        let mut scene = scene(vec![actor("ext4", 1.0), actor("xfs", 0.9)]);
        let facts = below.map(|name| fact("host", "virtualisation", name));
        scene.facts = facts.into_iter().collect();
        let film = scene.film();
        let analysis = film.analysis();
        let whole = report::markdown(&analysis);
        let found = analysis
            .checks
            .into_iter()
            .find(|check| check.subject == "guest's processors");
        found.map(|check| (check.status, check.figure, whole))
    };
    let (status, figure, whole) = said(Some("User-mode Linux")).unwrap();
    assert_eq!(status, Status::Note);
    let words = "the study ran in a guest (User-mode Linux): its CPU figures are not those of a host";
    assert_eq!(figure, words);
    assert!(whole.contains(words), "{whole}");
    assert!(said(Some("a hypervisor (QEMU)")).is_none() && said(None).is_none());
}

#[test]
fn waits_for_memory_are_in_doubt_unless_a_budget_was_kept() {
    let said = |waited_s: Option<f64>, enforced: f64| {
        let mut scene = scene(vec![actor("ext4", 1.0), actor("xfs", 0.9)]);
        scene.extra = vec![(Measure::MemoryBudgetEnforced, enforced)];
        scene
            .extra
            .extend(waited_s.map(|s| (Measure::PsiMemorySomeNs, s * 1e9)));
        let checks = scene.film().analysis().checks;
        let found = checks.into_iter().find(|check| check.subject == "waiting for memory");
        found.map(|check| (check.status, check.figure, check.threshold))
    };
    // The phases of a scene take 20.5 s.
    let line = |status, share: &str| {
        let figure = format!("some task waited for memory in {share} of the time");
        Some((status, figure, Some("at most 10 %".to_string())))
    };
    assert_eq!(said(Some(4.1), 0.0), line(Status::Suspect, "20 %"));
    assert_eq!(said(Some(4.1), 2.0), line(Status::Note, "20 %"), "it may be its own");
    assert_eq!(said(Some(1.025), 0.0), line(Status::Valid, "5 %"));
    assert_eq!(said(Some(1.025), 2.0), line(Status::Valid, "5 %"));
    assert_eq!(said(None, 0.0), None, "a kernel that does not count it");
}
