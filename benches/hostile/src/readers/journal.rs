//! Journals of killed runs. They are only looked at: nothing here takes an undo.

use super::{Trial, Verdict};
use crate::{Dice, damage};
use anyhow::{Context, anyhow};
use stacks::{Journal, Undo};
use std::os::unix::fs::OpenOptionsExt;

const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "null",
    "begin",
    "step",
    "undone",
    "number",
    "undo",
    "kind",
    "path",
    "version",
    "remove_file",
    "remove_dir",
    "unmount",
    "detach_loop",
    "wipe_signature",
    "stop_server",
    "export_pool",
    "restore_setting",
    "/",
    "../..",
    "/dev/sda",
];

struct Journals {
    good: String,
    dir: tempfile::TempDir,
}

pub(crate) fn make() -> anyhow::Result<Box<dyn Trial>> {
    let dir = tempfile::tempdir().context("make a directory")?;
    let made = dir.path().join("made");
    std::fs::create_dir(&made).context("make a directory")?;
    // Nothing is there: what the journal undoes at its end does nothing.
    let none = made.join("none");
    let mut journal = Journal::create(&made, "run-1").map_err(|error| anyhow!("{error}"))?;
    for undo in [
        Undo::RemoveFile { path: none.clone() },
        Undo::RemoveDir {
            path: none.clone(),
            contents: true,
        },
        Undo::Unmount { path: none },
    ] {
        journal.before(undo).map_err(|error| anyhow!("{error}"))?;
    }
    let good = std::fs::read_to_string(journal.path()).context("read the journal")? + "{\"undone\":1}\n";
    journal.undo_all();
    Ok(Box::new(Journals { good, dir }))
}

impl Trial for Journals {
    fn input(&mut self, dice: &mut Dice) -> Vec<u8> {
        match dice.below(10) {
            0 => self.good.clone().into_bytes(),
            1 => {
                let mut bytes = self.good.clone().into_bytes();
                damage::bytes(&mut bytes, dice);
                bytes
            }
            2 => {
                let line = format!("{{\"undone\":{}}}\n", dice.below(5));
                (self.good.clone() + &line.repeat(1 << dice.below(15))).into_bytes()
            }
            _ => damage::text(&self.good, dice, WORDS).into_bytes(),
        }
    }

    fn read(&mut self, input: &[u8]) -> Result<Verdict, String> {
        let state = self.dir.path().join("state");
        let _ = std::fs::create_dir(&state);
        let mut options = std::fs::OpenOptions::new();
        let file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(state.join("x.journal"));
        file.and_then(|mut file| std::io::Write::write_all(&mut file, input))
            .map_err(|error| error.to_string())?;
        let dry_run = true;
        let report = stacks::clean(&state, dry_run).map_err(|error| error.to_string())?;
        Ok(match report.unreadable.is_empty() {
            true => Verdict::Accepted,
            false => Verdict::Refused,
        })
    }
}
