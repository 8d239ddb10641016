//! What grows: time and memory of a report over the size of its file, by stacks, phases and blocks, and from 10 to
//! 10,000 phase runs; of a check over the size of its study.
//!
//! Each is a child of its own, in rounds, all sizes in each round; beside it the same by an earlier binary where one is
//! named. Prevents: a report that is quick for the studies that somebody tried, and a change that makes it quick
//! for one form only.

use super::{Bench, Found, by_child, in_turn, say};
use crate::bounds::Due;
use crate::contender::Row;
use crate::figures::{Column, Table};
use crate::flags::Cost;
use crate::result::{self, Size};
use anyhow::{Context, bail};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const COLUMNS: &[Column] = &[
    Column::new("ms", "ms", 0),
    Column::new("cpu_ms", "CPU ms", 0),
    Column::new("run_us", "CPU us a phase run", 0),
    Column::new("mib", "MiB at the highest", 0),
];
/// Of N, 2 N and 4 N.
const BASE: Size = Size {
    stacks: 4,
    phases: 16,
    blocks: 10,
};
const BASE_QUICK: Size = Size {
    stacks: 2,
    phases: 4,
    blocks: 4,
};
const RUNS_MANY: u32 = 10_000;
/// Ten times as many runs in each, of all three together.
const TENFOLD: [Size; 4] = [size(2, 5, 1), size(2, 10, 5), size(5, 20, 10), size(10, 100, 10)];

/// A result file and its study, and what they are called.
struct Sized {
    name: String,
    size: Size,
    path: PathBuf,
    study: PathBuf,
}

impl Sized {
    fn new(bench: &Bench, size: Size) -> anyhow::Result<Sized> {
        let Size { stacks, phases, blocks } = size;
        let name = format!(
            "{} runs ({stacks} stacks, {phases} phases, {blocks} blocks)",
            crate::figures::grouped(f64::from(runs(size)), 0)
        );
        say(&format!("writing a result of {name}"));
        let path = bench.scratch.join(format!("{stacks}-{phases}-{blocks}.assay"));
        result::write(&path, size)?;
        let study = path.with_extension("toml");
        std::fs::write(&study, result::study_of_models(size)).context("write a study")?;
        Ok(Sized {
            name,
            size,
            path,
            study,
        })
    }
}

const fn size(stacks: u32, phases: u32, blocks: u32) -> Size {
    Size { stacks, phases, blocks }
}

fn runs(size: Size) -> u32 {
    size.stacks * size.phases * size.blocks
}

/// A form of a report; or a check of the study.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Screen,
    Page,
    Check,
}

const FORMS: [Form; 3] = [Form::Screen, Form::Page, Form::Check];

impl Form {
    fn name(self) -> &'static str {
        match self {
            Form::Screen => "screen",
            Form::Page => "page",
            Form::Check => "check",
        }
    }

    /// A study has an even number of blocks, four or more.
    fn is_of(self, file: &Sized) -> bool {
        let blocks = file.size.blocks;
        self != Form::Check || (blocks >= 4 && blocks.is_multiple_of(2))
    }

    fn args(self, file: &Sized, page: &Path) -> Vec<PathBuf> {
        match self {
            Form::Screen => vec!["report".into(), file.path.clone()],
            Form::Page => vec!["report".into(), file.path.clone(), "--html".into(), page.into()],
            Form::Check => vec!["check".into(), file.study.clone()],
        }
    }
}

/// Runs the table.
pub(crate) fn run(bench: &Bench) -> anyhow::Result<Found> {
    let assay = bench.binary()?;
    let mut sides = vec![("", assay)];
    sides.extend(bench.before.iter().map(|path| ("before: ", path.clone())));
    let files = files(bench)?;
    let mut names = Vec::new();
    for (side, form, file) in all(&sides, &files) {
        names.push(named(side.0, form, file));
    }
    let mut table = Table::new("What grows", COLUMNS, &names);
    for round in 0..bench.rounds {
        say(&format!("what grows: round {} of {}", round + 1, bench.rounds));
        for (side, form, file) in in_turn(all(&sides, &files).collect(), round) {
            bench.interrupt.check()?;
            let row = report(bench, &side.1, form, file)?;
            table.add(&named(side.0, form, file), row);
        }
    }
    for file in &files {
        std::fs::remove_file(&file.path).context("remove a synthetic result")?;
        std::fs::remove_file(&file.study).context("remove its study")?;
    }
    Ok(owed(table, &files, bench))
}

type Side = (&'static str, PathBuf);

fn all<'a>(sides: &'a [Side], files: &'a [Sized]) -> impl Iterator<Item = (&'a Side, Form, &'a Sized)> {
    FORMS.into_iter().flat_map(move |form| {
        let of_file = move |file| sides.iter().map(move |side| (side, form, file));
        files.iter().filter(move |file| form.is_of(file)).flat_map(of_file)
    })
}

fn named(side: &str, form: Form, file: &Sized) -> String {
    format!("{side}{}, {}", form.name(), file.name)
}

/// N; 2 N and 4 N of each; then from 10 to 10,000 runs.
fn files(bench: &Bench) -> anyhow::Result<Vec<Sized>> {
    let base = if bench.quick { BASE_QUICK } else { BASE };
    let mut sizes = vec![base];
    for times in [2, 4] {
        sizes.extend(grown(base, times));
    }
    if !bench.quick {
        sizes.extend(TENFOLD);
    }
    sizes.into_iter().map(|size| Sized::new(bench, size)).collect()
}

/// More stacks, more phases, more blocks.
fn grown(base: Size, times: u32) -> [Size; 3] {
    let (stacks, phases, blocks) = (base.stacks * times, base.phases * times, base.blocks * times);
    [
        Size { stacks, ..base },
        Size { phases, ..base },
        Size { blocks, ..base },
    ]
}

/// One report, by a child that starts nothing else, so that what its children took is what the report took.
fn report(bench: &Bench, assay: &Path, form: Form, file: &Sized) -> anyhow::Result<Row> {
    let page = bench.scratch.join("page.html");
    let _ = std::fs::remove_file(&page);
    let mut args: Vec<PathBuf> = vec!["cost".into(), assay.to_owned()];
    args.extend(form.args(file, &page));
    let mut row = by_child(&file.name, &args)?;
    let cpu_ms = row.get("cpu_ms").copied().unwrap_or(f64::NAN);
    row.insert("run_us".into(), cpu_ms * 1e3 / f64::from(runs(file.size)));
    Ok(row)
}

/// Runs a program to its end and prints what it took: the hidden command `cost`.
pub(crate) fn cost(cost: &Cost) -> anyhow::Result<()> {
    let began = Instant::now();
    let status = Command::new(&cost.program)
        .args(&cost.args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("start {}", cost.program.display()))?;
    let took = began.elapsed();
    if !status.success() {
        bail!("{} {}: {status}", cost.program.display(), cost.args.join(" "));
    }
    let used = getrusage(UsageWho::RUSAGE_CHILDREN).context("ask what a child took")?;
    let row = Row::from([
        ("ms".to_string(), took.as_secs_f64() * 1e3),
        ("cpu_ms".to_string(), cpu_ms(&used)),
        // The kernel counts it in KiB.
        ("mib".to_string(), used.max_rss() as f64 / 1024.0),
    ]);
    println!("{}", serde_json::to_string(&row)?);
    Ok(())
}

/// User and system time.
pub(crate) fn cpu_ms(used: &Usage) -> f64 {
    let ms = |time: TimeVal| time.tv_sec() as f64 * 1e3 + time.tv_usec() as f64 / 1e3;
    ms(used.user_time()) + ms(used.system_time())
}

/// Each of the sizes that grow tenfold over the one before.
fn tenfold(table: &mut Table, files: &[Sized], found: &mut Found) {
    let of_size = |size: &Size| files.iter().find(|file| file.size == *size);
    for step in TENFOLD.windows(2) {
        let (Some(small), Some(large)) = (of_size(&step[0]), of_size(&step[1])) else {
            continue;
        };
        let of = format!("{} to {} runs", runs(step[0]), runs(step[1]));
        for form in FORMS {
            for (key, head) in [("cpu_ms", "CPU"), ("mib", "memory")] {
                let seen = table.ratio(head, &named("", form, large), &named("", form, small), key);
                found.see_of(Due::GrowsTenfold, &format!("{of}, {head} of the {}", form.name()), seen);
            }
        }
    }
}

/// What was owed, and the table.
fn owed(mut table: Table, files: &[Sized], bench: &Bench) -> Found {
    let mut found = Found::default();
    let base = &files[0];
    let fourfold = grown(base.size, 4);
    for form in FORMS {
        for (what, size) in ["stacks", "phases", "blocks"].into_iter().zip(fourfold) {
            let Some(large) = files.iter().find(|file| file.size == size) else {
                continue;
            };
            let (large, small) = (named("", form, large), named("", form, base));
            for (key, head) in [("cpu_ms", "CPU"), ("mib", "memory")] {
                let seen = table.ratio(head, &large, &small, key);
                found.see_of(
                    Due::GrowsFourfold,
                    &format!("{what}, {head} of the {}", form.name()),
                    seen,
                );
            }
        }
    }
    tenfold(&mut table, files, &mut found);
    for file in files.iter().filter(|file| runs(file.size) == RUNS_MANY) {
        let ms = |form| table.figure(&named("", form, file), "ms");
        found.see(Due::GrowsScreen, ms(Form::Screen));
        found.see(Due::GrowsPage, ms(Form::Page));
        found.see(Due::GrowsCheck, ms(Form::Check));
    }
    if bench.before.is_some() {
        for form in FORMS {
            for file in files {
                let (now, before) = (named("", form, file), named("before: ", form, file));
                table.ratio("CPU", &now, &before, "cpu_ms");
                table.ratio("memory", &now, &before, "mib");
            }
        }
    }
    found.tables.push(table);
    found
}
