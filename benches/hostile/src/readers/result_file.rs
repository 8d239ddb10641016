//! Result files: values, tables and pages changed, and what lies beside them; and the distributions in them.

use super::result_edits::{edited, journalled};
use super::{Trial, Verdict};
use crate::{Dice, damage};
use anyhow::{Context, anyhow};
use fixture::{actor, scene};
use ledger::{Fact, Ledger, PhaseKind, decode_histogram, encode_histogram};
use report::{Analysis, Style};
use std::fs;
use std::path::{Path, PathBuf};

#[path = "../../../../crates/report/tests/fixture/mod.rs"]
#[allow(
    unreachable_pub,
    clippy::expect_used,
    reason = "the synthetic results that the tests of room `report` read"
)]
mod fixture;

struct Results {
    /// Good files: all that a run of pages writes, databases, imports alone, a run that was killed.
    good: Vec<Vec<u8>>,
    dir: tempfile::TempDir,
}

/// In memory where there is one: an input is written, changed and read.
fn place() -> anyhow::Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    let dir = match memory.is_dir() {
        true => tempfile::Builder::new().prefix("assay-hostile-").tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    dir.context("make a directory")
}

pub(crate) fn make() -> anyhow::Result<Box<dyn Trial>> {
    let dir = place()?;
    let mut rich = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8), actor("raw", 1.1)]);
    rich.rich = true;
    rich.blocks = 1;
    rich.phases = [
        (PhaseKind::Load, "load"),
        (PhaseKind::Random, "50 % update"),
        (PhaseKind::Scan, "scan"),
        (PhaseKind::Age, "age"),
        (PhaseKind::Random, "aged 50 % update"),
    ]
    .map(|(kind, name)| (kind, name.to_string()))
    .to_vec();
    rich.imported = vec![imported()];
    rich.published = Some("slob-2013".into());
    let ranked = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]);
    let mut served = scene(vec![actor("ext4", 1.0), actor("btrfs", 0.8)]);
    served.blocks = 2;
    served.phases = [
        (PhaseKind::TpccOpen, "orders, open"),
        (PhaseKind::Tpcc, "orders"),
        (PhaseKind::Bulk, "load rows"),
    ]
    .map(|(kind, name)| (kind, name.to_string()))
    .to_vec();
    served.facts = vec![Fact {
        scope: ledger::Scope::Host,
        key: ledger::FactName::Kernel.into(),
        value: "6.1".into(),
    }];
    let mut good = Vec::new();
    for scene in [rich, ranked, served] {
        let filmed = scene.film();
        good.push(fs::read(filmed.ledger.path()).context("read what was written")?);
    }
    let results = Results { good, dir };
    // What this searches from must be good itself.
    for bytes in &results.good {
        let read = results.read_file(bytes, None).map_err(|why| anyhow!(why))?;
        anyhow::ensure!(read == Verdict::Accepted, "a good result file is refused");
    }
    Ok(Box::new(results))
}

fn imported() -> ledger::ImportedText {
    ledger::ImportedText {
        at_unix_ns: 1,
        stack: "elsewhere".into(),
        phase: "scan".into(),
        file: "iostat.txt".into(),
        sha256: "0".repeat(64),
        bytes: 100,
        format: "iostat".into(),
        layout: "sysstat".into(),
        facts: vec![ledger::ImportedFact {
            name: "host".into(),
            value: "h".into(),
            line: 1,
        }],
        figures: vec![ledger::ImportedFigure {
            report: String::new(),
            name: "sda.r/s".into(),
            value: 12.0,
            text: "12.0".into(),
            unit: "1/s".into(),
            line: 3,
            comparable: Some(("read_iops".into(), 12.0)),
        }],
        notes: vec![ledger::ImportNote {
            line: 0,
            text: "the first report is since boot".into(),
        }],
    }
}

/// An input: length of the file, the file, then the journal beside it, if any.
fn packed(file: &[u8], journal: &[u8]) -> Vec<u8> {
    [&(file.len() as u64).to_le_bytes()[..], file, journal].concat()
}

impl Results {
    fn at(&self) -> PathBuf {
        self.dir.path().join("x.assay")
    }

    fn read_file(&self, file: &[u8], journal: Option<&[u8]>) -> Result<Verdict, String> {
        let path = self.at();
        let beside = self.dir.path().join("x.assay-journal");
        let _ = fs::remove_file(&beside);
        fs::write(&path, file).map_err(|error| error.to_string())?;
        if let Some(journal) = journal {
            fs::write(&beside, journal).map_err(|error| error.to_string())?;
        }
        // What a new study looks at in the files beside it; one that cannot be read is passed over.
        let _ = Ledger::glance(&path).and_then(|ledger| ledger.study().and(ledger.settings()));
        let ledger = match Ledger::open(&path) {
            Ok(ledger) => ledger,
            Err(error) => return cured(&error.to_string()),
        };
        match reported(&ledger) {
            Ok(()) => Ok(Verdict::Accepted),
            Err(Odd::Refused(error)) => cured(&error),
            Err(Odd::Wrong(why)) => Err(why),
        }
    }
}

enum Odd {
    Refused(String),
    Wrong(String),
}

fn reported(ledger: &Ledger) -> Result<(), Odd> {
    let refused = |error: &dyn std::fmt::Display| Odd::Refused(error.to_string());
    let _ = ledger.seal().map_err(|error| refused(&error))?;
    let analysis = Analysis::of(ledger).map_err(|error| refused(&error))?;
    let style = Style {
        width: 80,
        colour: false,
        utf8: true,
    };
    let page = report::html(ledger, &analysis).map_err(|error| refused(&error))?;
    for (form, text) in [
        ("terminal", report::terminal(&analysis, &style)),
        ("one screen", report::brief(&analysis, &style, None)),
        ("Markdown", report::markdown(&analysis)),
        ("HTML", page),
    ] {
        let visible = report::escaped_lines(&text, false);
        if form != "HTML" && visible != text {
            return Err(Odd::Wrong(format!(
                "the report for {form} holds what a terminal would act on"
            )));
        }
    }
    let _ = report::json(&analysis).to_string();
    let load = report::Load {
        reads_per_s: 1e4,
        updates_per_s: 1e3,
        p99_ns: Some(5e6),
        data_bytes: Some(1e12),
    };
    let sizing = report::Sizing::of(ledger, load, &[]).map_err(|error| refused(&error))?;
    let _ = sizing.terminal(&style);
    Ok(())
}

/// Refused in words that end with what to do.
fn cured(error: &str) -> Result<Verdict, String> {
    match error.lines().last().is_some_and(|line| line.starts_with("  ")) && error.len() < 10_000 {
        true => Ok(Verdict::Refused),
        false => Err(format!(
            "no cure, or no end: {}",
            error.chars().take(300).collect::<String>()
        )),
    }
}

impl Trial for Results {
    fn input(&mut self, dice: &mut Dice) -> Vec<u8> {
        let good = dice.pick(&self.good).clone();
        if dice.once_in(40) {
            return packed(&good, &[]);
        }
        let path = self.dir.path().join("made.assay");
        match dice.below(10) {
            // Pages as they lie on the disk.
            0 => {
                let mut bytes = good;
                match dice.below(3) {
                    0 => damage::number(&mut bytes[..100], dice, 0),
                    1 => damage::bytes(&mut bytes, dice),
                    _ => {
                        // The begin of a page: its kind, its cells, where they lie.
                        let page = dice.below(bytes.len() / 4096) * 4096;
                        for _ in 0..dice.few() {
                            damage::number(&mut bytes[page..page + 128], dice, 0);
                        }
                    }
                }
                packed(&bytes, &[])
            }
            1 => {
                let (mut file, mut journal) = journalled(&path, &good).unwrap_or((good, Vec::new()));
                if dice.below(4) > 0 {
                    damage::bytes(&mut journal, dice);
                }
                if dice.once_in(4) {
                    damage::bytes(&mut file, dice);
                }
                packed(&file, &journal)
            }
            // Values, rows and tables, by SQL.
            _ => packed(&edited(&path, &good, dice).unwrap_or(good), &[]),
        }
    }

    fn read(&mut self, input: &[u8]) -> Result<Verdict, String> {
        let (length, rest) = input.split_first_chunk().ok_or("an input without a file")?;
        let (file, journal) = rest.split_at((u64::from_le_bytes(*length) as usize).min(rest.len()));
        self.read_file(file, (!journal.is_empty()).then_some(journal))
    }
}

struct Distributions(Vec<u8>);

pub(crate) fn make_distribution() -> anyhow::Result<Box<dyn Trial>> {
    let mut histogram = hdrhistogram::Histogram::<u64>::new(3).context("a distribution")?;
    for nth in 0..1000_u64 {
        histogram.record(100_000 + nth * nth).context("record")?;
    }
    Ok(Box::new(Distributions(
        encode_histogram(&histogram).map_err(|error| anyhow!("{error}"))?,
    )))
}

impl Trial for Distributions {
    fn input(&mut self, dice: &mut Dice) -> Vec<u8> {
        match dice.below(20) {
            0 => self.0.clone(),
            1 => {
                let mut bytes = self.0.clone();
                damage::bytes(&mut bytes, dice);
                bytes
            }
            _ => distribution(&self.0, dice),
        }
    }

    fn read(&mut self, input: &[u8]) -> Result<Verdict, String> {
        match decode_histogram(input) {
            Ok(histogram) => {
                let _ = (
                    histogram.value_at_quantile(0.99),
                    histogram.max(),
                    histogram.mean(),
                    histogram.len(),
                );
                let mut sum = histogram.clone();
                sum.auto(true);
                let _ = sum.add(&histogram);
                Ok(Verdict::Accepted)
            }
            Err(error) => cured(&error.to_string()),
        }
    }
}

/// What a packed distribution holds is changed, and packed again with its lengths right.
pub(crate) fn distribution(good: &[u8], dice: &mut Dice) -> Vec<u8> {
    use std::io::{Read, Write};
    let mut plain = Vec::new();
    let _ = flate2::read::ZlibDecoder::new(good.get(8..).unwrap_or_default()).read_to_end(&mut plain);
    match dice.below(6) {
        0 => plain.extend(vec![dice.any() as u8; 1 << dice.below(25)]),
        1..=2 if plain.len() > 40 => damage::number(&mut plain[..40], dice, 4),
        _ if plain.len() > 40 => {
            let mut counts = plain.split_off(40);
            damage::bytes(&mut counts, dice);
            plain.extend(counts);
            let length = (plain.len() as u32 - 40).to_be_bytes();
            plain[4..8].copy_from_slice(&length);
        }
        _ => {}
    }
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    let _ = zlib.write_all(&plain);
    let body = zlib.finish().unwrap_or_default();
    [&good[..4], &(body.len() as u32).to_be_bytes(), &body].concat()
}
