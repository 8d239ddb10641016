//! The shape of the source as figures, to compare before and after a change.
//!
//! Takes the root of a work tree and prints one table. Prevents: a house that is called simpler because somebody
//! feels so. It reads source text alone; `--build` and `--tests` also run Cargo and take minutes.

mod circles;
mod duplicates;
mod prose;
mod shape;
mod source;
mod timed;

use anyhow::Context;
use clap::Parser;
use source::{SourceFile, Text};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

/// Columns that a line may have.
const COLUMNS_MAX: usize = 120;
/// From so many parameters on, a function is counted.
const PARAMETERS_MANY: usize = 6;
/// From so many fields on, a struct is counted.
const FIELDS_MANY: usize = 16;
/// Folders with more files than this are named.
const FILES_MANY: usize = 20;
/// Functions longer than this are counted.
const FUNCTION_LINES_MANY: usize = 50;

/// The shape of the source as figures
#[derive(Parser)]
struct Flags {
    /// The root of the work tree
    #[arg(default_value = ".")]
    root: PathBuf,
    /// Name each place that a figure counts
    #[arg(long)]
    places: bool,
    /// How hard the documents are to read instead: length of sentences, passive ones
    #[arg(long)]
    words: bool,
    /// Also build from nothing: time, and size of the binary
    #[arg(long)]
    build: bool,
    /// Also run the tests: time by file, and total
    #[arg(long)]
    tests: bool,
}

fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    if flags.words {
        return printed(&words(&flags)?);
    }
    let files = source::read(&flags.root)?;
    anyhow::ensure!(
        !files.is_empty(),
        "no Rust file under {}/crates\n  name the root of the work tree",
        flags.root.display()
    );
    let mut text = rooms(&files);
    let figures = figures(&files, &source::texts(&flags.root)?)?;
    for figure in &figures {
        let owed = figure.most.map_or(String::new(), |most| format!("  (at most {most})"));
        text.push_str(&format!("{:<58} {:>7}{owed}\n", figure.name, figure.places.len()));
        for place in figure.places.iter().take(if flags.places { usize::MAX } else { 0 }) {
            text.push_str(&format!("    {place}\n"));
        }
    }
    if flags.build {
        text.push_str(&timed::build(&flags.root)?);
    }
    if flags.tests {
        text.push_str(&timed::tests(&flags.root)?);
    }
    printed(&text)
}

fn printed(text: &str) -> anyhow::Result<()> {
    std::io::stdout()
        .write_all(text.as_bytes())
        .context("print the figures")
}

/// The pages for people; with `--places` their sentences that are too long.
fn words(flags: &Flags) -> anyhow::Result<String> {
    let pages = prose::read(&flags.root)?;
    let mut text = prose::head();
    for page in &pages {
        text.push_str(&page.line());
    }
    let count = |chosen: &dyn Fn(&prose::Page) -> bool| pages.iter().filter(|page| chosen(page)).count();
    text.push_str(&format!(
        "\npages with a sentence over {} words: {}; with a median over {}: {}\n",
        prose::WORDS_MAX,
        count(&|page| !page.too_long().is_empty()),
        prose::WORDS_MEDIAN,
        count(&|page| page.median() > prose::WORDS_MEDIAN),
    ));
    for long in pages
        .iter()
        .flat_map(prose::Page::too_long)
        .take(if flags.places { usize::MAX } else { 0 })
    {
        text.push_str(&format!("    {long}\n"));
    }
    Ok(text)
}

/// Something counted, with the places where it was found.
struct Figure {
    name: String,
    /// The most there may be; `None` where no number is owed.
    most: Option<usize>,
    places: Vec<String>,
}

/// Lines and files by room; inline tests are left out.
fn rooms(files: &[SourceFile]) -> String {
    let mut rooms: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
    for file in files {
        let room = rooms.entry(&file.room).or_default();
        let longest = file.lines.max(room.2);
        *room = (room.0 + file.lines, room.1 + 1, longest);
    }
    let mut text = format!("{:<14} {:>8} {:>6} {:>13}\n", "room", "lines", "files", "longest file");
    for (room, (lines, count, longest)) in &rooms {
        text.push_str(&format!("{room:<14} {lines:>8} {count:>6} {longest:>13}\n"));
    }
    let sums = |benches: bool| {
        let chosen = files.iter().filter(|file| file.is_bench == benches);
        chosen.fold((0, 0), |sum, file| (sum.0 + file.lines, sum.1 + 1))
    };
    for (name, (lines, count)) in [("all crates", sums(false)), ("all benches", sums(true))] {
        text.push_str(&format!("{name:<14} {lines:>8} {count:>6}\n"));
    }
    text.push('\n');
    text
}

/// The figures of the source; the width of lines counts in `all` files.
fn figures(files: &[SourceFile], all: &[Text]) -> anyhow::Result<Vec<Figure>> {
    let product: Vec<&SourceFile> = files.iter().filter(|file| !file.is_bench).collect();
    let mut shapes = shape::Shapes::default();
    for file in &product {
        shapes.read(file);
    }
    let longest = shapes.functions.iter().max_by_key(|function| function.lines);
    let longest = longest.map_or(0, |function| function.lines);
    let counted = |name: String, most: Option<usize>, places: Vec<String>| Figure { name, most, places };
    let functions = |chosen: &dyn Fn(&shape::Function) -> bool| -> Vec<String> {
        let chosen = shapes.functions.iter().filter(|function| chosen(function));
        chosen.map(shape::Function::place).collect()
    };
    let structs = shapes.structs.iter().filter(|found| found.fields >= FIELDS_MANY);
    Ok(vec![
        counted(
            format!("functions over {FUNCTION_LINES_MANY} lines (the longest has {longest})"),
            None,
            functions(&|function| function.lines > FUNCTION_LINES_MANY),
        ),
        counted(
            format!("functions with {PARAMETERS_MANY} or more parameters"),
            Some(20),
            functions(&|function| function.parameters >= PARAMETERS_MANY),
        ),
        counted(
            format!("structs with {FIELDS_MANY} or more fields"),
            None,
            structs.map(shape::Fields::place).collect(),
        ),
        counted(format!("lines over {COLUMNS_MAX} columns"), Some(0), wide(all)),
        counted(
            format!("folders with more than {FILES_MANY} files"),
            Some(0),
            folders(files),
        ),
        counted(
            "files in circles".to_string(),
            Some(0),
            circles::files_in_circles(&product)?,
        ),
        counted(
            format!("pairs with {} or more equal lines", duplicates::RUN_LINES),
            Some(19),
            duplicates::pairs(&product),
        ),
    ])
}

/// Lines that are too wide.
fn wide(files: &[Text]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        for (number, line) in file.text.lines().enumerate() {
            if line.chars().count() > COLUMNS_MAX {
                found.push(format!("{}:{}", file.name, number + 1));
            }
        }
    }
    found
}

fn folders(files: &[SourceFile]) -> Vec<String> {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files {
        let folder = file.name.rsplit_once('/').map_or("", |(folder, _)| folder);
        *folders.entry(folder).or_default() += 1;
    }
    let full = folders.iter().filter(|(_, count)| **count > FILES_MANY);
    full.map(|(folder, count)| format!("{folder}: {count}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A change that makes the house less simple must say why, and raise the figure here.
    #[test]
    fn the_house_keeps_its_shape() {
        let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let files = source::read(&root).expect("the source");
        let all = source::texts(&root).expect("all files");
        for figure in figures(&files, &all).expect("its shape") {
            let (found, most) = (figure.places.len(), figure.most.unwrap_or(usize::MAX));
            assert!(
                found <= most,
                "{}: {found}, at most {most}:\n{}",
                figure.name,
                figure.places.join("\n")
            );
        }
    }
}
