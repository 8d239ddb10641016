//! The engineer's time: from a clone of the source to the first answer of `assay quick`, from a changed line to a
//! running binary, and by which crates the binary is as large as it is.
//!
//! Takes the last commit of this source, builds it in directories of its own, gives seconds. Prevents: a build that
//! grows by a little each week, which nobody notices until a first answer takes longer to build than to measure.

use super::{Bench, Found, by_child, in_turn, say};
use crate::bounds::Due;
use crate::contender::Row;
use crate::figures::{Column, Spread, Table};
use crate::flags::Section;
use crate::symbols::{self, OF_C};
use crate::undo::tool;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const COLUMNS: &[Column] = &[
    Column::new("s", "s", 1),
    Column::new("cpu_s", "CPU s", 1),
    Column::new("pct", "% of the way to the answer", 1),
    Column::new("mib", "MiB at the highest", 0),
];
const PARTS: &[Column] = &[Column::new("mb", "MB", 2), Column::new("pct", "% of the file", 1)];
const BUILD: &str = "build, cargo build --release";
const START: &str = "start, assay --help";
const QUICK: &str = "assay quick";
const ANSWER: &str = "from a clone to the first answer";
/// A build from nothing and an answer take minutes.
const BUILD_ROUNDS: usize = 3;
/// Crates that have a row of their own.
const CRATES_SHOWN: usize = 20;
const UNNAMED: &str = "without a name: texts, tables for unwinding, addresses";
const REST: &str = "all other crates";

/// What is built, and in which crates a line is changed.
struct Subject {
    package: &'static str,
    rooms: &'static [&'static str],
    /// It gives a binary that is started, asked and looked into.
    is_program: bool,
}

const PROGRAM: Subject = Subject {
    package: "assay",
    rooms: &["pages", "assay"],
    is_program: true,
};
/// A room that is built in seconds.
const SMALL: Subject = Subject {
    package: "stats",
    rooms: &["stats"],
    is_program: false,
};

/// How it is built.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Release,
    Dev,
}

const WAYS: [Way; 2] = [Way::Release, Way::Dev];

impl Way {
    fn words(self) -> &'static str {
        match self {
            Way::Release => "cargo build --release",
            Way::Dev => "cargo build",
        }
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Way::Release => &["--release"],
            Way::Dev => &[],
        }
    }

    fn directory(self) -> &'static str {
        match self {
            Way::Release => "release",
            Way::Dev => "debug",
        }
    }
}

/// A clone of the source with a target directory of its own. Each way to build has one, so that a line which is changed
/// for one is not a change for the other.
struct Tree {
    way: Way,
    source: PathBuf,
    target: PathBuf,
}

impl Tree {
    fn new(bench: &Bench, way: Way) -> anyhow::Result<Tree> {
        let source = bench.scratch.join(format!("clone-{}", way.directory()));
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let (from, to) = (root.display().to_string(), source.display().to_string());
        tool("git", &["clone", "--quiet", "--shared", &from, &to])?;
        let manifest = source.join("Cargo.toml").display().to_string();
        // What is downloaded is not in the figures. Where nothing can be, the build says whether that matters.
        let _ = tool(
            &cargo(),
            &["fetch", "--quiet", "--locked", "--manifest-path", &manifest],
        );
        Ok(Tree {
            way,
            target: source.join("target"),
            source,
        })
    }

    fn program(&self) -> PathBuf {
        self.target.join(self.way.directory()).join("assay")
    }

    /// Builds what has changed; `more`: before the word `build`.
    fn build(&self, package: &str, more: &[&str]) -> anyhow::Result<Row> {
        let mut target = OsString::from("CARGO_TARGET_DIR=");
        target.push(&self.target);
        let mut args: Vec<OsString> = vec!["env".into(), target, cargo().into()];
        args.extend(more.iter().map(OsString::from));
        args.extend(["build", "--quiet", "--locked", "--package", package].map(OsString::from));
        args.extend(self.way.flags().iter().map(OsString::from));
        args.extend(["--manifest-path".into(), self.source.join("Cargo.toml").into()]);
        let what = format!("{} of {package} in {}", self.way.words(), self.source.display());
        cost(&what, args)
    }

    /// A line of a room that is another in each round, in code that others may use.
    fn change(&self, room: &str, round: usize) -> anyhow::Result<()> {
        const MARK: &str = "pub static VERSUS_CHANGED";
        let source = self.source.join("crates").join(room).join("src");
        let root = ["lib.rs", "main.rs"].map(|name| source.join(name));
        let path = root.into_iter().find(|path| path.exists());
        let path = path.with_context(|| format!("room {room} has no source"))?;
        let text = std::fs::read_to_string(&path).context("read a source")?;
        let kept = text.find(MARK).map_or(text.as_str(), |at| &text[..at]);
        let changed =
            format!("{kept}{MARK}: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new({round});\n");
        std::fs::write(&path, changed).context("change a source")
    }
}

fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

/// Seconds, CPU and memory of a program.
fn cost(what: &str, program: Vec<OsString>) -> anyhow::Result<Row> {
    let mut args = vec![OsString::from("cost")];
    args.extend(program);
    let took = by_child(what, &args)?;
    let seconds = |key: &str| took.get(key).map_or(f64::NAN, |ms| ms / 1e3);
    let mut row = Row::from([
        ("s".to_string(), seconds("ms")),
        ("cpu_s".to_string(), seconds("cpu_ms")),
    ]);
    row.extend(took.get("mib").map(|mib| ("mib".to_string(), *mib)));
    Ok(row)
}

fn line_name(room: &str, way: Way) -> String {
    format!("one line changed in {room}, {}", way.words())
}

fn nothing_name(way: Way) -> String {
    format!("nothing changed, {}", way.words())
}

/// Runs both tables.
pub(crate) fn run(bench: &Bench) -> anyhow::Result<Found> {
    let subject = if bench.quick { &SMALL } else { &PROGRAM };
    let trees = WAYS.map(|way| Tree::new(bench, way));
    let [release, dev] = trees;
    let (release, dev) = (release?, dev?);
    let mut names = vec![BUILD.to_string()];
    if subject.is_program {
        names.extend([START, QUICK, ANSWER].map(String::from));
    }
    for way in WAYS {
        names.extend(subject.rooms.iter().map(|room| line_name(room, way)));
        names.push(nothing_name(way));
    }
    let mut found = Found::default();
    let mut table = Table::new("The engineer's time", COLUMNS, &names);
    table.notes.push(format!(
        "Clones of the last commit ({}), in target directories of their own; what Cargo downloads is there before. \
         {BUILD_ROUNDS} builds from nothing at most, each with a first answer. A changed line is in a file of the \
         crate's root, and another in each round. Shares are those of the way to the answer. Memory is that of the \
         largest process.",
        subject.package
    ));
    answers(bench, subject, &release, &mut table, &mut found)?;
    say("engineer: a first build without --release");
    dev.build(subject.package, &[])?;
    lines(bench, subject, &[&release, &dev], &mut table)?;
    if subject.is_program {
        let parts = parts(&release)?;
        see_parts(&parts, &mut found);
        found.tables.push(parts);
    } else {
        let why = format!(
            "--quick builds room {} alone: no program, no answer of it",
            subject.package
        );
        found.absent.push((Section::Engineer, why));
    }
    see(&mut table, subject, &mut found);
    found.tables.insert(0, table);
    for tree in [release, dev] {
        std::fs::remove_dir_all(&tree.source).context("remove a clone")?;
    }
    Ok(found)
}

/// Builds from nothing, each with its first start and its first answer.
fn answers(bench: &Bench, subject: &Subject, tree: &Tree, table: &mut Table, found: &mut Found) -> anyhow::Result<()> {
    let (mut measured, mut sizes) = (Vec::new(), Vec::new());
    let rounds = bench.rounds.min(BUILD_ROUNDS);
    for round in 0..rounds {
        bench.interrupt.check()?;
        say(&format!("engineer: build {} of {rounds} from nothing", round + 1));
        if tree.target.exists() {
            std::fs::remove_dir_all(&tree.target).context("remove what was built")?;
        }
        let mut way = vec![(BUILD, tree.build(subject.package, &[])?)];
        if subject.is_program {
            way.push((START, cost(START, vec![tree.program().into(), "--help".into()])?));
            let (row, share) = quick(bench, &tree.program())?;
            way.push((QUICK, row));
            measured.extend(share);
            sizes.push(std::fs::metadata(tree.program()).context("look at the binary")?.len());
        }
        book(table, subject, way);
    }
    found.see(Due::EngineerMeasured, Spread::of(measured));
    found.see(
        Due::EngineerBinary,
        Spread::of(sizes.into_iter().map(|bytes| bytes as f64 / 1e6)),
    );
    Ok(())
}

/// The steps of one round, with their shares, and all of them together.
fn book(table: &mut Table, subject: &Subject, way: Vec<(&'static str, Row)>) {
    let sum = |key: &str| way.iter().filter_map(|(_, row)| row.get(key)).sum::<f64>();
    let whole = Row::from(["s", "cpu_s"].map(|key| (key.to_string(), sum(key))));
    let all_s = sum("s");
    for (name, mut row) in way {
        if subject.is_program {
            let share = row.get("s").map(|s| 100.0 * s / all_s);
            row.extend(share.map(|pct| ("pct".to_string(), pct)));
        }
        table.add(name, row);
    }
    table.add(ANSWER, whole);
}

/// The first answer, and which share of its time was measuring.
fn quick(bench: &Bench, program: &Path) -> anyhow::Result<(Row, Option<f64>)> {
    let place = bench.scratch.join("quick");
    std::fs::create_dir(&place).context("make a directory for a first answer")?;
    let result = bench.scratch.join("quick.assay");
    let mut state = OsString::from("ASSAY_STATE_DIR=");
    state.push(bench.scratch.join("state"));
    let args = vec![
        "env".into(),
        state,
        program.into(),
        "quick".into(),
        place.clone().into(),
    ];
    let row = cost(QUICK, [args, vec!["--output".into(), result.clone().into()]].concat())?;
    let shown = result.display().to_string();
    let told = tool(&program.display().to_string(), &["report", &shown, "--json"])?;
    let told: Value = serde_json::from_str(&told).context("read the report of a first answer")?;
    let share = told["time_spent"]["measured_share"].as_f64();
    std::fs::remove_file(&result).context("remove the first answer")?;
    std::fs::remove_dir_all(&place).context("remove its directory")?;
    Ok((row, share))
}

/// Changed lines of each room, and nothing changed, by each way to build, in rounds.
fn lines(bench: &Bench, subject: &Subject, trees: &[&Tree], table: &mut Table) -> anyhow::Result<()> {
    let mut cases: Vec<(&Tree, Option<&str>)> = Vec::new();
    for &tree in trees {
        cases.extend(subject.rooms.iter().map(|room| (tree, Some(*room))));
        cases.push((tree, None));
    }
    for round in 0..bench.rounds {
        say(&format!(
            "engineer: changed lines, round {} of {}",
            round + 1,
            bench.rounds
        ));
        for (tree, room) in in_turn(cases.clone(), round) {
            bench.interrupt.check()?;
            let name = match room {
                Some(room) => {
                    tree.change(room, round)?;
                    line_name(room, tree.way)
                }
                None => nothing_name(tree.way),
            };
            let mut row = tree.build(subject.package, &[])?;
            if subject.is_program {
                let start = cost(START, vec![tree.program().into(), "--help".into()])?;
                for key in ["s", "cpu_s"] {
                    let more = start.get(key).copied().unwrap_or(f64::NAN);
                    row.entry(key.to_string()).and_modify(|sum| *sum += more);
                }
            }
            table.add(&name, row);
        }
    }
    Ok(())
}

/// The binary by crates: the same one, linked again without stripping it.
fn parts(tree: &Tree) -> anyhow::Result<Table> {
    say("engineer: the binary by crates");
    let file = std::fs::metadata(tree.program()).context("look at the binary")?.len();
    tree.build("assay", &["--config", "profile.release.package.assay.strip=\"none\""])?;
    let crates = symbols::by_crate(&tree.program())?;
    let named: u64 = crates.values().sum();
    ensure!(
        named > 0 && named <= file,
        "{named} bytes have a name, of {file} in the file"
    );
    let mut sorted: Vec<(String, u64)> = crates.into_iter().collect();
    sorted.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let others = sorted.split_off(CRATES_SHOWN.min(sorted.len()));
    sorted.push((REST.into(), others.iter().map(|(_, bytes)| bytes).sum()));
    sorted.push((UNNAMED.into(), file - named));
    let names: Vec<String> = sorted.iter().map(|(name, _)| name.clone()).collect();
    let mut table = Table::new("What the binary consists of", PARTS, &names);
    table.notes.push(format!(
        "Functions and constants by the crate that they are written in, from the symbols that the release leaves out. \
         What is generic counts for its author: a map of ours is in `core`, `alloc` or `std`. \"{OF_C}\" is SQLite \
         above all. The file has {:.1} MB.",
        file as f64 / 1e6
    ));
    for (name, bytes) in sorted {
        let (mb, pct) = (bytes as f64 / 1e6, 100.0 * bytes as f64 / file as f64);
        table.add(&name, Row::from([("mb".to_string(), mb), ("pct".to_string(), pct)]));
    }
    Ok(table)
}

fn see_parts(parts: &Table, found: &mut Found) {
    let largest = parts
        .lines
        .iter()
        .filter(|line| line.name != UNNAMED && line.name != REST);
    for line in largest.take(3) {
        found.see_of(Due::EngineerPart, &line.name, parts.figure(&line.name, "mb"));
    }
}

fn see(table: &mut Table, subject: &Subject, found: &mut Found) {
    if subject.is_program {
        found.see(Due::EngineerBuild, table.figure(BUILD, "s"));
        found.see(Due::EngineerAnswer, table.figure(ANSWER, "s"));
        for (step, of) in [(BUILD, "build"), (START, "start"), (QUICK, "quick")] {
            found.see_of(Due::EngineerShare, of, table.figure(step, "pct"));
        }
    }
    for way in WAYS {
        for room in subject.rooms {
            let name = line_name(room, way);
            let seen = table.figure(&name, "s");
            match *room {
                "pages" => found.see_of(Due::EngineerLine, way.words(), seen),
                _ => found.see_of(Due::EngineerOther, &format!("{room}, {}", way.words()), seen),
            }
            table.ratio("CPU", &name, &nothing_name(way), "cpu_s");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_to_an_answer_are_shares_of_it() {
        let names = [BUILD, START, QUICK, ANSWER].map(String::from);
        let mut table = Table::new("t", COLUMNS, &names);
        let row = |s: f64| Row::from([("s".to_string(), s), ("cpu_s".to_string(), s)]);
        book(
            &mut table,
            &PROGRAM,
            vec![(BUILD, row(240.0)), (START, row(0.0)), (QUICK, row(160.0))],
        );
        let median = |name: &str, key: &str| table.figure(name, key).unwrap().median;
        assert_eq!((median(BUILD, "pct"), median(QUICK, "pct")), (60.0, 40.0));
        assert_eq!(median(ANSWER, "s"), 400.0);
    }

    #[test]
    fn a_line_is_changed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("crates/stats/src");
        std::fs::create_dir_all(&source).unwrap();
        let path = source.join("lib.rs");
        std::fs::write(&path, "//! A room.\npub mod law;\n").unwrap();
        let tree = Tree {
            way: Way::Dev,
            source: dir.path().to_owned(),
            target: dir.path().join("target"),
        };
        let lines = |round| {
            tree.change("stats", round).unwrap();
            std::fs::read_to_string(&path)
                .unwrap()
                .lines()
                .map(String::from)
                .collect::<Vec<_>>()
        };
        let (first, second) = (lines(0), lines(1));
        assert_eq!((first.len(), second.len()), (3, 3));
        assert_eq!(
            (&first[..2], &second[..2]),
            (
                &second[..2],
                &["//! A room.".to_string(), "pub mod law;".to_string()][..]
            )
        );
        assert_ne!(first[2], second[2]);
        assert!(tree.change("none", 0).is_err());
    }
}
