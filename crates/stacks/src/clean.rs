//! `assay clean`: undoing what killed runs left behind.
//!
//! Takes the state directory, gives what was undone and what was not. Journals of runs that live are left alone.
//! Prevents a clean-up that disturbs a run, or one that starts while an orphaned child of the killed run still works:
//! it waits, and says so where that child takes longer.

use crate::error::StackError;
use crate::host::process;
use crate::journal::{Content, ENDING, Journal, NEW_ENDING, NotUndone, OpenStep, open_state_dir};
use crate::undo::Undo;
use rustix::fs::FlockOperation;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest wait for children of a killed run.
const PATIENCE: Duration = Duration::from_secs(60);

/// A journal that is still there.
#[derive(Clone, Debug)]
pub struct Leftover {
    /// The run.
    pub run_id: String,
    /// Its process.
    pub pid: u32,
    /// The journal file.
    pub journal: PathBuf,
    /// The run (or a child of it) is at work: nothing is to be cleaned.
    pub live: bool,
    /// What an undo would do, in that order.
    pub steps: Vec<String>,
}

/// A run that is dead while a tool that it started still works: nothing of it was undone.
#[derive(Clone, Debug)]
pub struct Orphaned {
    /// The run, and what is still to be undone.
    pub run: Leftover,
    /// Processes that hold its journal, each by its number and name, as far as they may be looked at.
    pub holders: Vec<String>,
}

/// One run that was cleaned up after.
#[derive(Clone, Debug)]
pub struct CleanedRun {
    /// The run.
    pub run_id: String,
    /// Its process.
    pub pid: u32,
    /// The journal file; it is gone when nothing failed.
    pub journal: PathBuf,
    /// What was undone (of a dry run: what would be), in that order.
    pub undone: Vec<String>,
    /// What could not be undone.
    pub failed: Vec<NotUndone>,
}

/// What `clean` did.
#[derive(Clone, Debug, Default)]
pub struct CleanReport {
    /// Runs cleaned up after.
    pub runs: Vec<CleanedRun>,
    /// Runs at work, left alone.
    pub live: Vec<Leftover>,
    /// Runs that are dead, but whose tools still work.
    pub orphaned: Vec<Orphaned>,
    /// Journals that could not be read or locked: the whole message.
    pub unreadable: Vec<String>,
}

impl CleanReport {
    /// Nothing is left to undo, but for runs at work.
    pub fn is_clean(&self) -> bool {
        self.unreadable.is_empty() && self.orphaned.is_empty() && self.runs.iter().all(|r| r.failed.is_empty())
    }

    /// Takes in a run whose journal somebody holds: itself, or a tool that outlived it.
    fn in_use(&mut self, run: Leftover, is_alive: bool) {
        if is_alive {
            self.live.push(run);
        } else {
            let holders = process::holders_of(&run.journal);
            self.orphaned.push(Orphaned { run, holders });
        }
    }
}

impl Journal {
    /// Its file, locked: as long as a child has it, nobody cleans up after this run.
    pub fn lock(&self) -> &File {
        &self.run().lock
    }
}

/// The journals in the state directory, the oldest name first. A directory that does not exist has none.
pub fn leftovers(state_dir: &Path) -> Result<Vec<Leftover>, StackError> {
    leftovers_with(state_dir, |_| true)
}

/// Whether the journal of this run is still there; also where nobody can tell. Journals of other runs do not matter.
pub fn is_left(state_dir: &Path, run_id: &str) -> bool {
    let journal = state_dir.join(format!("{run_id}{ENDING}"));
    match std::fs::symlink_metadata(journal) {
        Ok(_) => true,
        // A state directory that is none holds no journal.
        Err(e) => !matches!(
            e.kind(),
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
        ),
    }
}

/// Runs other than this one that still have a step like that to undo, whether they are at work or dead.
pub(crate) fn others_with(own: &Journal, is_it: fn(&Undo) -> bool) -> Result<Vec<Leftover>, StackError> {
    let Some(state_dir) = own.path().parent() else {
        return Ok(Vec::new());
    };
    let mut found = leftovers_with(state_dir, |open| open.iter().any(|step| is_it(&step.undo)))?;
    found.retain(|one| one.journal.as_path() != own.path());
    Ok(found)
}

fn leftovers_with(state_dir: &Path, is_it: impl Fn(&[OpenStep]) -> bool) -> Result<Vec<Leftover>, StackError> {
    let mut found = Vec::new();
    for journal in journals(state_dir, ENDING)? {
        let content = match Content::read(&journal) {
            Ok(content) => content,
            // A run that ended between the listing and the reading.
            Err(_) if !journal.exists() => continue,
            Err(e) => return Err(e),
        };
        if !is_it(&content.open) {
            continue;
        }
        found.push(Leftover {
            run_id: content.owner.run_id.clone(),
            pid: content.owner.pid,
            live: is_held(&journal),
            steps: content.open.iter().rev().map(|open| open.undo.to_string()).collect(),
            journal,
        });
    }
    Ok(found)
}

/// Undoes what dead runs left, run by run, the last step first. `dry_run` only says what it would do.
pub fn clean(state_dir: &Path, dry_run: bool) -> Result<CleanReport, StackError> {
    clean_within(state_dir, dry_run, PATIENCE)
}

/// Undoes what this dead run left, and nothing of any other run.
pub fn clean_run(state_dir: &Path, run_id: &str) -> Result<CleanReport, StackError> {
    let name = format!("{run_id}{ENDING}");
    clean_those(state_dir, false, PATIENCE, |journal| {
        journal.file_name() == Some(name.as_ref())
    })
}

/// `patience`: how long it waits for tools of a dead run.
fn clean_within(state_dir: &Path, dry_run: bool, patience: Duration) -> Result<CleanReport, StackError> {
    let report = clean_those(state_dir, dry_run, patience, |_| true)?;
    if !dry_run {
        remove_unborn(state_dir)?;
    }
    Ok(report)
}

fn clean_those(
    state_dir: &Path,
    dry_run: bool,
    patience: Duration,
    is_it: impl Fn(&Path) -> bool,
) -> Result<CleanReport, StackError> {
    let mut report = CleanReport::default();
    for journal in journals(state_dir, ENDING)?
        .into_iter()
        .filter(|journal| is_it(journal))
    {
        if let Err(e) = clean_one(&journal, dry_run, patience, &mut report) {
            report.unreadable.push(e.to_string());
        }
    }
    Ok(report)
}

fn clean_one(path: &Path, dry_run: bool, patience: Duration, report: &mut CleanReport) -> Result<(), StackError> {
    let content = match Content::read(path) {
        Ok(content) => content,
        Err(_) if !path.exists() => return Ok(()),
        Err(e) => return Err(e),
    };
    let owner = content.owner;
    let steps: Vec<String> = content.open.iter().rev().map(|open| open.undo.to_string()).collect();
    let (run_id, pid) = (owner.run_id.clone(), owner.pid);
    let leftover = |steps| Leftover {
        run_id: owner.run_id.clone(),
        pid,
        journal: path.to_owned(),
        live: true,
        steps,
    };
    let is_alive = || process::is_alive(pid, owner.started);
    if dry_run {
        if is_held(path) {
            report.in_use(leftover(steps), is_alive());
        } else {
            let journal = path.to_owned();
            report.runs.push(CleanedRun {
                run_id,
                pid,
                journal,
                undone: steps,
                failed: Vec::new(),
            });
        }
        return Ok(());
    }
    let start = Instant::now();
    let mut journal = loop {
        if let Some(journal) = Journal::adopt(path)? {
            break journal;
        }
        if !path.exists() {
            return Ok(());
        }
        let is_alive = is_alive();
        if is_alive || start.elapsed() > patience {
            report.in_use(leftover(steps), is_alive);
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    debug_assert_eq!(journal.owner().pid, pid);
    let steps = journal.open_steps();
    let failed = journal.undo_all();
    let undone = steps
        .into_iter()
        .filter(|step| failed.iter().all(|f| f.step != *step))
        .collect();
    report.runs.push(CleanedRun {
        run_id,
        pid,
        journal: path.to_owned(),
        undone,
        failed,
    });
    Ok(())
}

fn journals(state_dir: &Path, ending: &str) -> Result<Vec<PathBuf>, StackError> {
    let list = |e| StackError::path("list", state_dir, e, "run as the user whose runs they were");
    match std::fs::symlink_metadata(state_dir) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        found => found.map_err(list)?,
    };
    let dir = open_state_dir(state_dir)?;
    let names = dir.names()?.into_iter();
    let mut found: Vec<PathBuf> = names
        .filter(|name| name.to_string_lossy().ends_with(ending))
        .map(|name| dir.path().join(name))
        .collect();
    found.sort();
    Ok(found)
}

/// Whether somebody holds the lock. Asked with a shared lock, which is let go at once.
fn is_held(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared).is_err()
}

/// Journals that were never begun: their run was killed before its first step. A minute old at least, so that one that
/// is just being made is not taken for dead.
fn remove_unborn(state_dir: &Path) -> Result<(), StackError> {
    for path in journals(state_dir, NEW_ENDING)? {
        let age = std::fs::metadata(&path)
            .and_then(|s| s.modified())
            .ok()
            .and_then(|t| t.elapsed().ok());
        if age.is_some_and(|a| a > Duration::from_secs(60)) && !is_held(&path) {
            let _ = std::fs::remove_file(&path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    use std::process::Stdio;

    /// No process has this number: `/proc/sys/kernel/pid_max` is 4194304 at most.
    const NOBODY: u32 = u32::MAX;

    #[test]
    fn a_tool_that_outlives_its_run_is_said_and_nothing_is_undone_until_it_ends() {
        let dir = tempfile::tempdir().expect("a directory");
        let state = dir.path().canonicalize().expect("its path").join("state");
        std::fs::DirBuilder::new().mode(0o700).create(&state).expect("made");
        let path = state.join("r.journal");
        let begin = format!(r#"{{"begin":{{"version":1,"run_id":"r","pid":{NOBODY},"started":1,"boot":""}}}}"#);
        let mut options = std::fs::OpenOptions::new();
        let file = options.create_new(true).append(true).mode(0o600).open(&path);
        let mut file = file.expect("a journal");
        std::io::Write::write_all(&mut file, format!("{begin}\n").as_bytes()).expect("written");
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).expect("locked");
        let mut tool = sandbox::command(&sandbox::find_program("sleep").expect("sleep"))
            .arg("600")
            .stdin(Stdio::from(file))
            .spawn()
            .expect("sleep");
        for dry_run in [true, false] {
            let found = clean_within(&state, dry_run, Duration::from_millis(1)).expect("cleaned");
            assert!(
                !found.is_clean() && found.live.is_empty() && found.runs.is_empty(),
                "{found:?}"
            );
            let holders = &found.orphaned[0].holders;
            assert!(holders.contains(&format!("{} (sleep)", tool.id())), "{holders:?}");
        }
        tool.kill().expect("killed");
        tool.wait().expect("its end");
        let found = clean_within(&state, false, PATIENCE).expect("cleaned");
        assert!(found.is_clean() && found.runs.len() == 1 && !path.exists(), "{found:?}");
    }

    #[test]
    fn a_run_is_left_where_its_journal_is_or_nobody_can_tell() {
        let dir = tempfile::tempdir().expect("a directory");
        let state = dir.path().join("state");
        assert!(!is_left(&state, "r"), "no directory, no journal");
        let mut journal = Journal::create(&state, "r").expect("a journal");
        assert!(is_left(&state, "r") && !is_left(&state, "other"));
        // A journal of another run that means nothing hides nothing.
        std::fs::write(state.join("broken.journal"), "nonsense").expect("written");
        assert!(leftovers(&state).is_err() && is_left(&state, "r"));
        assert_eq!(journal.undo_all(), []);
        assert!(!is_left(&state, "r"));
        // A name that no directory can hold: nobody can look.
        assert!(is_left(&state, &"r".repeat(300)));
    }

    /// A keeper may be that of one study while another one of the same user was killed, and its stack is looked at.
    #[test]
    fn to_clean_one_run_leaves_the_remains_of_all_others() {
        let dir = tempfile::tempdir().expect("a directory");
        let state = dir.path().canonicalize().expect("its path").join("state");
        std::fs::DirBuilder::new().mode(0o700).create(&state).expect("made");
        let journal = |run: &str| {
            let begin = format!(r#"{{"begin":{{"version":1,"run_id":"{run}","pid":{NOBODY},"started":1,"boot":""}}}}"#);
            let path = state.join(format!("{run}.journal"));
            let mut options = std::fs::OpenOptions::new();
            let file = options.create_new(true).append(true).mode(0o600).open(&path);
            std::io::Write::write_all(&mut file.expect("a journal"), format!("{begin}\n").as_bytes()).expect("written");
            path
        };
        let (own, other) = (journal("own"), journal("own-2"));
        std::fs::write(state.join("broken.journal"), "nonsense").expect("written");
        let found = clean_run(&state, "own").expect("cleaned");
        let cleaned: Vec<&str> = found.runs.iter().map(|run| run.run_id.as_str()).collect();
        assert!(found.is_clean() && cleaned == ["own"], "{found:?}");
        assert!(!own.exists() && other.exists());
        let found = clean_run(&state, "own").expect("nothing is left");
        assert!(found.is_clean() && found.runs.is_empty(), "{found:?}");
        assert!(
            !clean_run(&state, "broken").expect("looked at").is_clean(),
            "it cannot be read"
        );
        let found = clean(&state, false).expect("cleaned");
        assert!(
            !found.is_clean() && found.runs.len() == 1 && !other.exists(),
            "{found:?}"
        );
    }

    /// A journal is made without a name, and `/proc` never shows the one that it gets.
    #[test]
    fn who_holds_the_journal_of_a_run_is_found() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut journal = Journal::create(&dir.path().join("state"), "r").expect("a journal");
        let lock = journal.run().lock.try_clone().expect("its lock");
        let mut tool = sandbox::command(&sandbox::find_program("sleep").expect("sleep"))
            .arg("600")
            .stdin(Stdio::from(lock))
            .spawn()
            .expect("sleep");
        let holders = process::holders_of(journal.path());
        tool.kill().expect("killed");
        tool.wait().expect("its end");
        assert_eq!(holders, [format!("{} (sleep)", tool.id())]);
        assert_eq!(journal.undo_all(), []);
    }
}
