//! Good studies: those that ship parse, print themselves whole, and read back as themselves.
//!
//! Prevents: a reference study that the tool refuses, and a default that is used but not printed.

use plan::Study;
use std::path::{Path, PathBuf};

fn parse(text: &str) -> Study {
    plan::parse(text, Path::new("study.toml")).unwrap_or_else(|e| panic!("{e}\n--- the study:\n{text}"))
}

/// Two studies that mean the same, however they were written.
fn assert_same(a: &Study, b: &Study) {
    let plain = |study: &Study| {
        let mut study = study.clone();
        study.text.clear();
        study.scaled = 1.0;
        study.resolved.clear();
        study
    };
    assert_eq!(plain(a), plain(b));
    let rows = |study: &Study| -> Vec<(String, String)> {
        let rows = study.resolved.iter().filter(|row| row.key != "run.scale");
        rows.map(|row| (row.key.clone(), row.value.clone())).collect()
    };
    assert_eq!(rows(a), rows(b));
}

fn shipped() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the shipped studies are there")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    paths.sort();
    paths
}

#[test]
fn shipped_studies_parse_and_print_themselves() {
    let paths = shipped();
    assert!(paths.len() >= 2, "the studies folder lost its studies: {paths:?}");
    for path in paths {
        let study = plan::load(&path).unwrap_or_else(|e| panic!("{e}"));
        let again = parse(&study.to_toml());
        assert_same(&study, &again);
        assert!(
            again.resolved.iter().all(|row| row.written),
            "all is written in {}",
            study.to_toml()
        );
        assert!(
            study.resolved.iter().any(|row| !row.written),
            "a study that needs no default is a poor example"
        );
    }
}
