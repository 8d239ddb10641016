//! `assay quick`: a study written on the spot, run like any other, and taken away again.
//!
//! Takes places and whether LUNs can be built; gives a study *text*, so that what quick did can be read, kept and run
//! again with other numbers.

use super::answer::wrapped;
use super::run::{self, Wanted};
use crate::cli;
use crate::exit::Failure;
use crate::printed::say;
use anyhow::{Context, anyhow};
use sandbox::Directory;
use stacks::Journal;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const DATA: &str = "256MiB";
const LUN: &str = "640MiB";
const SPACE_NEEDED: u64 = 2 << 30;

pub(crate) fn quick(flags: &cli::Quick) -> Result<(), Failure> {
    let places = places(&flags.places).map_err(Failure::Usage)?;
    let luns = !flags.no_luns && flags.places.len() < 2 && rustix_root();
    let group = !flags.no_luns && flags.places.len() < 2;
    let text = study_text(&places, luns, group);
    let study = plan::parse(&text, Path::new("quick.toml")).map_err(|e| Failure::Run(anyhow!("{e}")))?;
    announce(&places, luns, group);
    let kept = flags.output.clone();
    let scratch = Scratch::make().context("a place for the result file")?;
    let output = kept.clone().unwrap_or_else(|| scratch.dir.join("quick.assay"));
    let wanted = Wanted {
        output: output.clone(),
        kept: kept.is_some(),
        resume: false,
        yes: false,
        quiet: false,
        fail_on: Vec::new(),
    };
    let ended = run::study(study, &wanted, &flags.format);
    drop(scratch);
    ended?;
    if let Some(path) = kept {
        say!("result file: {}", path.display());
    }
    Ok(())
}

/// A directory for a result file that is not kept. A run that is killed leaves it to `assay clean`.
struct Scratch {
    dir: PathBuf,
    journal: Journal,
}

impl Scratch {
    fn make() -> anyhow::Result<Scratch> {
        let id = format!("{}-result", run::run_id());
        let above = Directory::open(&std::env::temp_dir())?;
        let mut journal = Journal::create(&stacks::state_dir()?, &id)?;
        let dir = journal.make_directory(&above, &format!("assay-{id}"), 0o700, true)?;
        let dir = dir.path().to_owned();
        Ok(Scratch { dir, journal })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What could not be removed stays in the journal.
        let _ = self.journal.undo_all();
    }
}

fn rustix_root() -> bool {
    stacks::is_root()
}

/// The places asked for, each an existing directory that can be written to.
fn places(asked: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let asked = if asked.is_empty() {
        vec![PathBuf::from(".")]
    } else {
        asked.to_vec()
    };
    asked
        .iter()
        .map(|place| {
            // The cause first: the last line of an error is what to do.
            let place = place
                .canonicalize()
                .map_err(|e| anyhow!("{}: not a place that exists ({e})\n  name a directory", place.display()))?;
            anyhow::ensure!(
                place.is_dir(),
                "{}: not a directory\n  name a directory",
                place.display()
            );
            // Before anything is announced: root does not work where another user can change what it makes.
            Ok(Directory::open(&place)?.path().to_owned())
        })
        .collect()
}

fn announce(places: &[PathBuf], luns: bool, group: bool) {
    let say = |what: &str| say!("{}", wrapped("quick:", 7, what));
    for place in places {
        say(&format!(
            "a database of {DATA} in a directory of its own under {}, removed at the end",
            place.display()
        ));
    }
    if luns {
        say(&format!(
            "one LUN file of {LUN} there, attached as a loop device with direct I/O, for each file system and the \
             disk group in turn"
        ));
    } else if group {
        say(&format!("one LUN file of {LUN} there, for a disk group"));
    }
    say(&format!(
        "about {} of free space is needed; nothing else is touched",
        human(SPACE_NEEDED)
    ));
}

fn human(bytes: u64) -> String {
    plan::Bytes(bytes).to_string()
}

/// The study. Names are those of the places; the question says what is compared.
fn study_text(places: &[PathBuf], luns: bool, group: bool) -> String {
    let mut text = String::new();
    let question = if places.len() > 1 {
        "Which of these places serves a database better?"
    } else if luns {
        "What does this place give a database, around and through the page cache, and would a file system or a disk \
         group of its own do better?"
    } else {
        "What does this place give a database, around and through the page cache?"
    };
    let _ = writeln!(
        text,
        "[study]\nname = \"quick\"\nquestion = {}\nmargin = \"10%\"\ntime_limit = \"170s\"\nblocks = 4\n",
        quoted(question)
    );
    if luns || group {
        let _ = writeln!(
            text,
            "[luns.lun]\nfiles = {{ count = 1, size = \"{LUN}\", dir = {} }}\n",
            quoted_path(&places[0])
        );
    }
    text.push_str("[memory]\nbudget = \"192MiB\"\n\n");
    if let [place] = places {
        stack(&mut text, "direct", "directory", Some(place), "direct");
        stack(&mut text, "page cache", "directory", Some(place), "buffered");
    } else {
        for place in places {
            stack(
                &mut text,
                &place.display().to_string(),
                "directory",
                Some(place),
                "direct",
            );
        }
    }
    if luns {
        for kind in ["ext4", "xfs", "btrfs"] {
            stack(&mut text, kind, kind, None, "direct");
        }
    }
    if group {
        text.push_str("[[stack]]\nname = \"disk group\"\nkind = \"diskgroup\"\ndata = \"lun\"\n\n");
    }
    let _ = writeln!(
        text,
        "[database]\ncache = \"32MiB\"\nschemas = 16\nscale = \"{DATA}\"\nredo_size = \"64MiB\"\n\
         checkpoint = \"300ms\"\n"
    );
    let _ = writeln!(
        text,
        "[[phase]]\nname = \"random read\"\nkind = \"random\"\nupdate_pct = 0\nsessions = 64\nwork_unit = 16\n\
         time = \"1200ms\"\n"
    );
    let _ = writeln!(
        text,
        "[[phase]]\nname = \"50 % update\"\nkind = \"random\"\nupdate_pct = 50\nsessions = 64\nwork_unit = 16\n\
         time = \"1500ms\"\n"
    );
    let _ = writeln!(
        text,
        "[[phase]]\nname = \"full scan\"\nkind = \"scan\"\nusers = 16\ntime = \"1s\"\n"
    );
    text
}

fn stack(text: &mut String, name: &str, kind: &str, path: Option<&Path>, access: &str) {
    let _ = writeln!(
        text,
        "[[stack]]\nname = {}\nkind = \"{kind}\"\naccess = \"{access}\"",
        quoted(name)
    );
    match path {
        Some(path) => {
            let _ = writeln!(text, "path = {}\n", quoted_path(path));
        }
        None => text.push_str("data = \"lun\"\n\n"),
    }
}

fn quoted_path(path: &Path) -> String {
    quoted(&path.display().to_string())
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(c);
            }
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_study_that_quick_writes_is_a_study() {
        let one = vec![PathBuf::from("/tmp/a \"quoted\" place")];
        let two = vec![PathBuf::from("/tmp/a"), PathBuf::from("/tmp/b")];
        let cases = [
            (&one, false, false, 2),
            (&one, false, true, 3),
            (&one, true, true, 6),
            (&two, false, false, 2),
        ];
        for (places, luns, group, stacks) in cases {
            let text = study_text(places, luns, group);
            let study = plan::parse(&text, Path::new("quick.toml")).unwrap_or_else(|e| panic!("{e}\n{text}"));
            assert_eq!(study.stacks.len(), stacks);
            assert_eq!(study.blocks, Some(4));
        }
    }
}
