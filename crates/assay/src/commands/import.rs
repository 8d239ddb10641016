//! `assay import`: figures that other tools measured, shown, and recorded beside measured ones when asked.

use super::answer::{answer, wrapped};
use crate::cli::import::Import;
use crate::exit::Failure;
use crate::printed::say;
use anyhow::anyhow;
use import::{Imported, Options};
use lab::unix_ns;
use ledger::{ImportNote, ImportedFact, ImportedFigure, ImportedText, Ledger};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

/// A file with what was read from it.
struct Text {
    file: String,
    sha256: String,
    bytes: u64,
    imported: Imported,
}

pub(crate) fn import(flags: &Import) -> Result<(), Failure> {
    let options = options(flags)?;
    let mut texts = Vec::new();
    for path in &flags.files {
        texts.push(read(path, &options)?);
    }
    if flags.into.is_some() || flags.output.is_some() {
        record(flags, &texts)?;
    }
    let all = flags.into.is_none() && flags.output.is_none();
    answer(flags.json, || as_json(&texts), || words(&texts, all))
}

fn options(flags: &Import) -> Result<Options, Failure> {
    let mut rows = Vec::new();
    for row in &flags.rows {
        let (column, value) = row.split_once('=').ok_or_else(|| {
            Failure::Usage(anyhow!(
                "--where {row:?} has no `=`\n  write it as --where comp=no, the column by its title"
            ))
        })?;
        rows.push((column.to_string(), value.to_string()));
    }
    Ok(Options {
        format: flags.format,
        tablespace: flags.tablespace.clone(),
        devices: flags.devices.clone(),
        keep_first: flags.keep_first,
        rows,
    })
}

fn read(path: &Path, options: &Options) -> Result<Text, Failure> {
    let bytes = content(path).map_err(Failure::Usage)?;
    // What is not UTF-8 stands in names at most; the figures are ASCII.
    let text = String::from_utf8_lossy(&bytes);
    let imported =
        import::read(&text, options).map_err(|error| Failure::Usage(anyhow!("{}: {error}", path.display())))?;
    let sha256 = Sha256::digest(&bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let file = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned();
    Ok(Text {
        file,
        sha256,
        bytes: bytes.len() as u64,
        imported,
    })
}

/// The file, at most as much as is read of one.
fn content(path: &Path) -> anyhow::Result<Vec<u8>> {
    plan::read_file(path, import::TEXT_BYTES_MAX as u64).map_err(|error| {
        let cure = match error.kind() {
            ErrorKind::FileTooLarge => "cut the part that belongs to the phase out of it",
            ErrorKind::InvalidInput => "give a text file",
            _ => "check the path and that you may read it",
        };
        anyhow!("cannot read {}: {error}\n  {cure}", path.display())
    })
}

fn record(flags: &Import, texts: &[Text]) -> Result<(), Failure> {
    let usage = |error: anyhow::Error| Failure::Usage(error);
    let (Some(stack), Some(phase)) = (&flags.stack, &flags.phase) else {
        return Err(usage(anyhow!(
            "give --stack and --phase\n  they name the source of the figures"
        )));
    };
    for (what, name) in [("stack", stack), ("phase", phase)] {
        check_name(what, name).map_err(usage)?;
    }
    let rows: Vec<ImportedText> = texts.iter().map(|text| row(text, stack, phase)).collect();
    let failed = |error: ledger::LedgerError| usage(anyhow!("{error}"));
    for path in flags.into.iter().chain(&flags.output) {
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        sandbox::Directory::open_closed(above.unwrap_or(Path::new("."))).map_err(|error| usage(anyhow!("{error}")))?;
    }
    let mut ledger = match (&flags.into, &flags.output) {
        (Some(path), _) => {
            let ledger = Ledger::amend(path).map_err(failed)?;
            let (stacks, old) = (ledger.stacks().map_err(failed)?, ledger.imported().map_err(failed)?);
            refuse_unlike(&old, texts, stack, phase).map_err(usage)?;
            refuse_confusion(&stacks, old, &rows).map_err(usage)?;
            ledger
        }
        (None, Some(path)) => {
            // Before the file is made: what is refused leaves none behind.
            refuse_unlike(&[], texts, stack, phase).map_err(usage)?;
            refuse_confusion(&[], Vec::new(), &rows).map_err(usage)?;
            Ledger::create(path, &study(path)).map_err(failed)?
        }
        (None, None) => return Ok(()),
    };
    ledger.import(&rows).map_err(|error| Failure::Run(anyhow!("{error}")))?;
    if flags.output.is_some() {
        let ending = ledger::Ending {
            at_unix_ns: unix_ns(),
            reason: "imported".into(),
        };
        ledger
            .finish(&ending)
            .map_err(|error| Failure::Run(anyhow!("{error}")))?;
    }
    say!(
        "imported into {} as stack {stack:?}, phase {phase:?}: assay report {}",
        ledger.path().display(),
        ledger.path().display()
    );
    Ok(())
}

fn check_name(what: &str, name: &str) -> anyhow::Result<()> {
    let fits = !name.trim().is_empty() && name.chars().count() <= 64 && !name.chars().any(char::is_control);
    anyhow::ensure!(
        fits,
        "--{what} {name:?} is no name\n  use up to 64 characters, none of them a control character"
    );
    Ok(())
}

/// A measured stack's name for imported figures, or the same text twice, would mislead whoever reads the report.
fn refuse_confusion(
    measured: &[ledger::Stack],
    mut old: Vec<ImportedText>,
    rows: &[ImportedText],
) -> anyhow::Result<()> {
    for row in rows {
        anyhow::ensure!(
            !measured.iter().any(|stack| stack.name == row.stack),
            "{:?} is a stack that was measured\n  give what is imported a name of its own, such as --stack \"{} \
             (elsewhere)\"",
            row.stack,
            row.stack
        );
        let reports = |text: &ImportedText| -> Vec<String> {
            let mut all: Vec<String> = text.figures.iter().map(|figure| figure.report.clone()).collect();
            all.dedup();
            all
        };
        let same = |text: &ImportedText| {
            text.sha256 == row.sha256
                && text.stack == row.stack
                && text.phase == row.phase
                && reports(text) == reports(row)
        };
        anyhow::ensure!(
            !old.iter().any(same),
            "{} is already imported as stack {:?}, phase {:?}\n  leave it out, or name another phase",
            row.file,
            row.stack,
            row.phase
        );
        old.push(row.clone());
    }
    Ok(())
}

/// Rows of one stack and phase become a median, and one of different loads would be the rate of no run.
fn refuse_unlike(old: &[ImportedText], texts: &[Text], stack: &str, phase: &str) -> anyhow::Result<()> {
    for format in import::Format::ALL {
        let of = texts.iter().filter(|text| text.imported.format == *format);
        let reports = of.flat_map(|text| &text.imported.reports);
        let new: Vec<(&str, &str)> = reports
            .flat_map(|report| &report.load)
            .map(|fact| (fact.name.as_str(), fact.value.as_str()))
            .collect();
        let titles: BTreeSet<&str> = new.iter().map(|(title, _)| *title).collect();
        let same = |text: &&ImportedText| text.format == format.word() && text.stack == stack && text.phase == phase;
        let kept = old.iter().filter(same).flat_map(|text| &text.facts);
        let kept = kept.map(|fact| (fact.name.as_str(), fact.value.as_str()));
        import::of_one_load(
            kept.filter(|(title, _)| titles.contains(title))
                .chain(new.iter().copied()),
        )?;
    }
    Ok(())
}

/// A file without a study: nothing was run.
fn study(path: &Path) -> ledger::Study {
    ledger::Study {
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        question: "What was measured elsewhere?".into(),
        margin: 0.05,
        alpha: 0.05,
        alpha_reserved: 0.01,
        io_method: "none".into(),
        tool_version: env!("CARGO_PKG_VERSION").into(),
        run_id: format!("import-{}-{}", std::process::id(), unix_ns()),
        created_unix_ns: unix_ns(),
        ..ledger::Study::default()
    }
}

fn row(text: &Text, stack: &str, phase: &str) -> ImportedText {
    let imported = &text.imported;
    let figures = imported.reports.iter().flat_map(|report| {
        report.figures.iter().map(|figure| ImportedFigure {
            report: report.label.clone(),
            name: figure.name.clone(),
            value: figure.value,
            text: figure.text.clone(),
            unit: figure.unit.into(),
            line: figure.line,
            comparable: figure.comparable.map(|c| (c.quantity.name().to_string(), c.value)),
        })
    });
    ImportedText {
        at_unix_ns: unix_ns(),
        stack: stack.into(),
        phase: phase.into(),
        file: text.file.clone(),
        sha256: text.sha256.clone(),
        bytes: text.bytes,
        format: imported.format.word().into(),
        layout: imported.layout.clone(),
        facts: imported
            .facts
            .iter()
            .map(|fact| ImportedFact {
                name: fact.name.clone(),
                value: fact.value.clone(),
                line: fact.line,
            })
            .collect(),
        figures: figures.collect(),
        notes: imported
            .notes
            .iter()
            .map(|note| ImportNote {
                line: note.line,
                text: note.text.clone(),
            })
            .collect(),
    }
}

/// What was read, in 80 columns. `all`: every figure, else those that may be set beside measured ones.
fn words(texts: &[Text], all: bool) -> String {
    let mut out = String::new();
    for text in texts {
        let imported = &text.imported;
        let count: usize = imported.reports.iter().map(|report| report.figures.len()).sum();
        let head = format!(
            "{}: {}, {count} figures",
            report::escaped(&text.file),
            report::escaped(&imported.layout)
        );
        out.push_str(&wrapped("", 0, &head));
        for fact in &imported.facts {
            let said = format!("{}: {}", report::escaped(&fact.name), report::escaped(&fact.value));
            out.push_str(&wrapped(&format!("{:>6}", fact.line), 9, &said));
        }
        for report in &imported.reports {
            if !report.label.is_empty() {
                out.push_str(&wrapped("", 7, &report::escaped(&report.label)));
            }
            for figure in report
                .figures
                .iter()
                .filter(|figure| all || figure.comparable.is_some())
            {
                out.push_str(&row_of(figure));
            }
        }
        for note in &imported.notes {
            let line = if note.line == 0 {
                String::new()
            } else {
                note.line.to_string()
            };
            out.push_str(&wrapped(&format!("{line:>6}"), 9, &report::escaped(&note.text)));
        }
    }
    out.push_str("In front: the line of the text. * may be set beside measured figures.\n");
    out
}

/// Line, mark, name, value, unit.
fn row_of(figure: &import::Figure) -> String {
    let is_beside = figure.comparable.is_some_and(|one| one.quantity.is_measured_here());
    let mark = if is_beside { '*' } else { ' ' };
    let (name, value) = (report::escaped(&figure.name), report::escaped(&figure.text));
    let first = format!("{:>6} {mark} ", figure.line);
    if name.chars().count() <= NAME_COLUMNS {
        return format!("{first}{name:<NAME_COLUMNS$} {value:>15} {}\n", figure.unit);
    }
    format!("{}{:>57} {}\n", wrapped(&first, 9, &name), value, figure.unit)
}

/// Names longer than this stand on a line of their own.
const NAME_COLUMNS: usize = 32;

fn as_json(texts: &[Text]) -> serde_json::Value {
    let facts = |facts: &[import::Fact]| -> Vec<serde_json::Value> {
        let one = |fact: &import::Fact| json!({ "name": fact.name, "value": fact.value, "line": fact.line });
        facts.iter().map(one).collect()
    };
    let one = |text: &Text| {
        let imported = &text.imported;
        json!({
            "file": text.file,
            "sha256": text.sha256,
            "format": imported.format.word(),
            "layout": imported.layout,
            "facts": facts(&imported.facts),
            "reports": imported.reports.iter().map(|report| json!({
                "label": report.label,
                "load": facts(&report.load),
                "figures": report.figures.iter().map(|f| json!({
                    "name": f.name, "value": f.value, "text": f.text, "unit": f.unit, "line": f.line,
                    "quantity": f.comparable.map(|c| c.quantity.name()),
                    "comparable": f.comparable.map(|c| c.value),
                })).collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
            "notes": imported.notes.iter().map(|n| json!({ "line": n.line, "text": n.text })).collect::<Vec<_>>(),
        })
    };
    json!({ "schema": 1, "texts": texts.iter().map(one).collect::<Vec<_>>() })
}
