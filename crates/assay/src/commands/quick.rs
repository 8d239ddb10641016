//! `assay quick`: a study written on the spot, run like any other, and taken away again.
//!
//! What it asks is a study *text*, planned in `quick/planned.rs`; `--print` shows it, to be kept and changed.
//! Prevents: a first answer that leaves files behind, or takes longer than it said.

mod lines;
mod planned;
mod told;

use super::answer::{self, wrapped};
use super::run::{self, Wanted};
use super::{ranks, runs};
use crate::cli;
use crate::exit::Failure;
use crate::printed::say;
use anyhow::{Context, anyhow, ensure};
use lines::Line;
use planned::{Here, Planned};
use sandbox::Directory;
use stacks::Journal;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use told::Asked;

pub(crate) fn quick(flags: &cli::Quick) -> Result<(), Failure> {
    ranks::must_be_alone()?;
    let places = places(&flags.places, flags.no_luns).map_err(Failure::Usage)?;
    let planned = planned::planned(&Here {
        places: &places,
        luns: !flags.no_luns,
        is_root: stacks::is_root(),
        probed: &stacks::probe(),
        has_room: &|place, bytes| luns::check_space(place, bytes).is_ok(),
    });
    let planned = planned.map_err(|cure| Failure::Run(anyhow!("{cure}")))?;
    let study = plan::parse(&planned.text, Path::new("quick.toml")).map_err(|e| Failure::Run(anyhow!("{e}")))?;
    if flags.print {
        return answer::print(&planned.text);
    }
    announce(&planned);
    let asked = Asked {
        places,
        no_luns: flags.no_luns,
        output: flags.output.clone(),
    };
    let kept = &asked.output;
    let scratch = Scratch::make().context("a place for the result file")?;
    let output = kept.clone().unwrap_or_else(|| scratch.dir.join("quick.assay"));
    let wanted = Wanted {
        output: output.clone(),
        kept: kept.is_some(),
        start: lab::Start::New,
        yes: false,
        quiet: false,
        fail_on: Vec::new(),
    };
    let ended = run::study(study, &wanted, &flags.format, None);
    let told = ended.as_ref().ok().and_then(|()| told::told(&output, &asked));
    drop(scratch);
    ended?;
    say_lines(told.unwrap_or_default());
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
        let id = format!("{}-result", runs::run_id());
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

/// The places asked for, each an existing directory that can be written to, and named once.
fn places(asked: &[PathBuf], no_luns: bool) -> anyhow::Result<Vec<PathBuf>> {
    ensure!(
        !no_luns || asked.len() < 2,
        "--no-luns is about one directory, and {} are named\n  name one directory, or leave out --no-luns: between \
         directories no LUN files are made",
        asked.len()
    );
    let asked = if asked.is_empty() {
        vec![PathBuf::from(".")]
    } else {
        asked.to_vec()
    };
    let places = asked
        .iter()
        .map(|place| {
            // The cause first: the last line of an error is what to do.
            let place = place
                .canonicalize()
                .map_err(|e| anyhow!("{}: not a place that exists ({e})\n  name a directory", place.display()))?;
            ensure!(
                place.is_dir(),
                "{}: not a directory\n  name a directory",
                place.display()
            );
            // Before anything is announced: root does not work where another user can change what it makes.
            Ok(Directory::open(&place)?.path().to_owned())
        })
        .collect::<anyhow::Result<Vec<PathBuf>>>()?;
    let mut known = BTreeSet::new();
    if let Some(twice) = places.iter().find(|place| !known.insert(*place)) {
        anyhow::bail!(
            "{}: named twice, and a directory is not compared with itself\n  name different directories, or one alone",
            twice.display()
        );
    }
    Ok(places)
}

fn announce(planned: &Planned) {
    say_lines(planned.announced().into_iter().map(Line::Words).collect());
}

/// Lines under the command's name, words folded each by themselves.
fn say_lines(lines: Vec<Line>) {
    let mut name = "quick:";
    for line in lines {
        match line {
            Line::Words(words) => say!("{}", wrapped(name, 7, &words)),
            Line::Command(words) => say!("{name:<7}{words}"),
        }
        name = "";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_directory_is_asked_twice_and_no_two_with_no_luns() {
        let here = tempfile::tempdir().expect("a directory");
        let (one, other) = (here.path().join("a"), here.path().join("b"));
        for place in [&one, &other] {
            std::fs::create_dir(place).expect("made");
        }
        let again = here.path().join("b/../a");
        let asked = |asked: &[&PathBuf], no_luns| {
            let asked: Vec<PathBuf> = asked.iter().map(|place| (*place).clone()).collect();
            places(&asked, no_luns).map_err(|error| error.to_string())
        };
        assert_eq!(asked(&[&one, &other], false).map(|found| found.len()), Ok(2));
        let twice = asked(&[&one, &other, &again], false).expect_err("named twice");
        assert!(
            twice.contains("named twice") && twice.contains("\n  name different directories"),
            "{twice}"
        );
        let two = asked(&[&one, &other], true).expect_err("--no-luns is ignored");
        assert!(two.contains("\n  name one directory, or leave out --no-luns"), "{two}");
        assert_eq!(asked(&[&one], true).map(|found| found.len()), Ok(1));
    }
}
