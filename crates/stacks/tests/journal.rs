//! The journal's promises. Other tests of this process start children: between `fork` and `exec` such a child holds
//! the journal's lock a moment longer than its owner, so a test waits until the lock is free.

use stacks::{CleanReport, Journal, StackError, Undo};
use std::fs::OpenOptions;
use std::path::Path;
use std::time::{Duration, Instant};

/// Cleans `state` once no process holds the lock of a journal there.
fn clean_released(state: &Path, dry_run: bool) -> CleanReport {
    let began = Instant::now();
    loop {
        let report = stacks::clean(state, dry_run).expect("cleaned");
        if report.live.is_empty() {
            return report;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "the lock is never freed");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_journal_never_removes_what_was_there_and_keeps_what_it_cant_undo() {
    let dir = tempfile::tempdir().expect("a directory");
    let mine = dir.path().join("mine");
    std::fs::write(&mine, "x").expect("written");
    let mut journal = Journal::create(&dir.path().join("state"), "j").expect("a journal");
    let refused = journal.before(Undo::RemoveFile { path: mine.clone() });
    assert!(matches!(refused, Err(StackError::AlreadyThere { .. })));
    let full = dir.path().join("full");
    journal
        .before(Undo::RemoveDir {
            path: full.clone(),
            contents: false,
        })
        .expect("journalled");
    std::fs::create_dir(&full).expect("made");
    std::fs::write(full.join("x"), "x").expect("written");
    let failed = journal.undo_all();
    assert_eq!(failed.len(), 1);
    assert!(failed[0].step.contains("full") && !failed[0].why.is_empty());
    let path = journal.path().to_owned();
    assert!(path.exists(), "the journal stays");
    let live = &stacks::leftovers(&dir.path().join("state")).expect("listed")[0];
    assert!(live.live && live.steps.len() == 1);
    assert_eq!(
        stacks::clean(&dir.path().join("state"), false)
            .expect("done")
            .live
            .len(),
        1
    );
    drop(journal);
    std::fs::remove_file(full.join("x")).expect("removed");
    // A line cut short by a crash belongs to a step that never was.
    let mut torn = OpenOptions::new().append(true).open(&path).expect("open");
    std::io::Write::write_all(&mut torn, br#"{"step":{"number":9,"un"#).expect("torn");
    drop(torn);
    let dry = clean_released(&dir.path().join("state"), true);
    assert_eq!(dry.runs[0].undone.len(), 1);
    assert!(full.exists());
    let report = clean_released(&dir.path().join("state"), false);
    assert!(report.is_clean() && report.runs.len() == 1, "{report:?}");
    assert!(!full.exists() && !path.exists() && mine.exists());
}

#[test]
fn a_name_that_is_taken_is_refused_and_the_journal_there_stays() {
    let dir = tempfile::tempdir().expect("a directory");
    let first = Journal::create(dir.path(), "same").expect("a journal");
    let refused = Journal::create(dir.path(), "same");
    assert!(matches!(refused, Err(StackError::AlreadyThere { .. })), "{refused:?}");
    assert_eq!(stacks::leftovers(dir.path()).expect("listed").len(), 1);
    let names = std::fs::read_dir(dir.path()).expect("listed").count();
    assert_eq!(names, 1, "only the journal itself");
    drop(first);
}
