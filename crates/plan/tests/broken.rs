//! Broken studies: each file under `broken/` is refused with the message that stands in its snapshot.
//!
//! Prevents: an error without its place, an error without a cure, and a message that changes without anyone reading it.

use plan::PlanError;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken")
}

fn broken() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).expect("the broken studies are there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    paths.sort();
    paths
}

/// What a user would see, with the file's name instead of its whole path.
fn refused(path: &Path) -> PlanError {
    let text = std::fs::read_to_string(path).expect("a broken study is text");
    let name = path.file_name().expect("a file has a name");
    match plan::parse(&text, Path::new(name)) {
        Ok(_) => panic!("{} is broken, but was accepted", path.display()),
        Err(e) => e,
    }
}

#[test]
fn broken_studies_are_refused_with_place_and_cure() {
    let paths = broken();
    assert!(paths.len() >= 40, "only {} broken studies are left", paths.len());
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("broken/snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for path in paths {
        let stem = path
            .file_stem()
            .expect("a file has a name")
            .to_string_lossy()
            .into_owned();
        let error = refused(&path);
        settings.bind(|| insta::assert_snapshot!(stem, error.to_string()));
    }
}

#[test]
fn each_problem_has_a_place_in_the_file_and_a_cure() {
    for path in broken() {
        let text = std::fs::read_to_string(&path).expect("a broken study is text");
        let lines: Vec<&str> = text.lines().collect();
        let error = refused(&path);
        assert!(!error.problems().is_empty(), "{}", path.display());
        let mut before = (0, 0);
        for problem in error.problems() {
            assert!(
                problem.line <= lines.len().max(1),
                "{}: line {}",
                path.display(),
                problem.line
            );
            assert!(problem.column >= 1, "{}", path.display());
            assert!(
                before <= (problem.line, problem.column),
                "{}: not in order of position",
                path.display()
            );
            assert!(
                !problem.message.is_empty() && !problem.cure.is_empty(),
                "{}",
                path.display()
            );
            before = (problem.line, problem.column);
        }
        let said = error.to_string();
        assert!(
            said.lines().last().is_some_and(|line| line.starts_with("cure: ")),
            "the last line is what to do: {said}"
        );
    }
}

#[test]
fn independent_problems_are_reported_together() {
    let error = refused(&folder().join("several.toml"));
    assert!(error.problems().len() >= 4, "{error}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = plan::load(Path::new("/nowhere/at all/study.toml")).expect_err("there is no such file");
    let said = error.to_string();
    assert!(
        said.contains("/nowhere/at all/study.toml") && said.contains("\ncure: "),
        "{said}"
    );
}
