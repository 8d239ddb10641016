//! What a stack asks of the machine's cache and read-ahead, which belong to the kernel's module.
//!
//! A bound that a stack sets is written down before, with what was there. Prevents: a machine whose ARC stays small
//! after a run, a bound that the module ignores, and two runs that each put back what the other one set.

use super::{counts, module};
use crate::clean::others_with;
use crate::error::StackError;
use crate::journal::Journal;
use crate::undo::Undo;
use plan::Zfs;
use std::io;
use std::path::Path;

/// Sets what the stack asks of the machine's cache and read-ahead; journalled before.
pub(crate) fn set(zfs: &Zfs, journal: &mut Journal) -> Result<(), StackError> {
    claim(journal)?;
    let in_force = |name: &str| counts::entry(&module::table(), name);
    // First the minimum: a maximum below it would be ignored. The module's own is up to a thirty-second of the memory.
    let mut wanted = vec![
        (
            "zfs_arc_min",
            zfs.arc_min.map_or(32 << 20, |bytes| bytes.0),
            in_force("c_min"),
        ),
        ("zfs_arc_max", zfs.arc_max.0, in_force("c_max")),
        ("zfs_prefetch_disable", u64::from(!zfs.prefetch), None),
    ];
    let distance = zfs.prefetch_distance;
    wanted.extend(distance.map(|bytes| ("zfetch_max_distance", bytes.0, None)));
    for (name, value, in_force) in wanted {
        let file = Path::new(module::MODULE).join("parameters").join(name);
        let cure = "use a module that has this parameter, and a container that may write it";
        let failed = |e: io::Error| StackError::path("set the module's", &file, e, cure);
        let before = std::fs::read_to_string(&file).map_err(failed)?.trim().to_owned();
        let in_force = in_force.map(|bytes| bytes.to_string());
        if before == value.to_string() && in_force.as_ref().is_none_or(|bytes| *bytes == before) {
            continue;
        }
        journal.before(Undo::RestoreSetting {
            file: file.clone(),
            first: in_force.filter(|bytes| *bytes != before),
            value: before,
        })?;
        std::fs::write(&file, value.to_string()).map_err(failed)?;
    }
    // What is out of its range the module ignores without a word.
    match counts::entry(&module::table(), "c_max") {
        Some(bytes) if bytes != zfs.arc_max.0 => {
            let kept = io::Error::other(format!("the ARC's maximum stays at {}", plan::Bytes(bytes)));
            let cure = "write an `arc_max` from 64 MiB to less than the machine's memory";
            Err(StackError::path(
                "set the module's",
                Path::new(module::ARC_STATS),
                kept,
                cure,
            ))
        }
        _ => Ok(()),
    }
}

/// Of two runs, who comes second would hold the bounds of the first for the machine's own. The lock is on the directory
/// of the journals: any user can open the module's, and a lock of theirs would keep us out.
fn claim(journal: &Journal) -> Result<(), StackError> {
    let module = Path::new(module::MODULE);
    let taken = |why: String, cure: &str| StackError::path("set the bounds of", module, io::Error::other(why), cure);
    let others = others_with(journal, |undo| matches!(undo, Undo::RestoreSetting { .. }))?;
    if let Some(dead) = others.iter().find(|one| !one.live) {
        let why = format!("the run {} has set them and not set them back", dead.run_id);
        return Err(taken(why, "run `assay clean`, then this run again"));
    }
    let cure = "wait until that run has ended: a module has one cache for all";
    if let Some(live) = others.first() {
        return Err(taken(format!("the run {} has set them", live.run_id), cure));
    }
    let state_dir = journal.path().parent().unwrap_or(Path::new("/"));
    match journal.run().is_alone_with(state_dir) {
        Ok(true) => Ok(()),
        Ok(false) => Err(taken("another run has set them".to_owned(), cure)),
        Err(e) => Err(StackError::path("lock", state_dir, e, "name another ASSAY_STATE_DIR")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_run_sets_the_bounds_and_none_after_a_dead_one() {
        let state = tempfile::tempdir().expect("a directory");
        let create = |run: &str| Journal::create(state.path(), run).expect("a journal");
        let (mut first, second) = (create("first"), create("second"));
        claim(&first).expect("nobody has it");
        claim(&first).expect("it has it already");
        let refused = claim(&second).expect_err("the first one has it").to_string();
        assert!(
            refused.contains("another run") && refused.contains("wait until"),
            "{refused}"
        );

        let file = state.path().join("zfs_arc_max, which is not there");
        let undo = Undo::RestoreSetting {
            file,
            first: None,
            value: "0".to_owned(),
        };
        first.before(undo).expect("journalled");
        let refused = claim(&second).expect_err("the first one has set it").to_string();
        assert!(refused.contains("the run first has set them"), "{refused}");

        // As after a kill: the journal is there, and nobody holds it.
        let (journal, kept) = (first.path().to_owned(), state.path().join("kept"));
        std::fs::copy(&journal, &kept).expect("copied");
        assert!(first.undo_all().is_empty());
        drop(first);
        std::fs::rename(&kept, &journal).expect("named");
        let refused = claim(&second).expect_err("it was not set back").to_string();
        assert!(refused.contains("assay clean"), "{refused}");
        std::fs::remove_file(&journal).expect("removed");
        claim(&second).expect("nobody has it");
    }
}
