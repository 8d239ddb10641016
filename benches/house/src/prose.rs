//! How hard the documents are to read: sentences by page, how long they are, how many are passive.
//!
//! Takes the Markdown pages of a work tree and the help of the command line, which is made of doc comments. Gives one
//! line a page and the places of sentences that are too long. Code, tables and headings are no sentences. Prevents: a
//! page that is called plain because its author understands it.

use anyhow::Context;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::path::{Path, PathBuf};

/// A sentence outside tables may have so many words.
pub(crate) const WORDS_MAX: usize = 30;
/// The median of a page's sentences may be so long.
pub(crate) const WORDS_MEDIAN: usize = 15;

/// One page.
pub(crate) struct Page {
    /// Its path from the root.
    pub(crate) name: String,
    sentences: Vec<Sentence>,
}

struct Sentence {
    line: usize,
    text: String,
}

impl Sentence {
    fn words(&self) -> usize {
        let words = self.text.split_whitespace();
        words.filter(|word| word.contains(char::is_alphanumeric)).count()
    }

    /// A form of "to be" before a participle, with at most one word between them.
    fn is_passive(&self) -> bool {
        const TO_BE: [&str; 8] = ["is", "are", "was", "were", "be", "been", "being", "gets"];
        let words: Vec<String> = self
            .text
            .split_whitespace()
            .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
            .collect();
        let after = |nth: usize| words[nth + 1..].iter().take(2);
        let forms = words.iter().enumerate().filter(|(_, word)| TO_BE.contains(&&***word));
        forms
            .into_iter()
            .any(|(nth, _)| after(nth).any(|word| is_participle(word)))
    }
}

fn is_participle(word: &str) -> bool {
    const IRREGULAR: [&str; 24] = [
        "built", "chosen", "cut", "done", "drawn", "driven", "found", "given", "held", "kept", "known", "left", "lost",
        "made", "meant", "put", "read", "run", "said", "seen", "sent", "shown", "taken", "written",
    ];
    IRREGULAR.contains(&word) || (word.len() > 4 && word.ends_with("ed"))
}

impl Page {
    /// Length of the sentence in the middle.
    pub(crate) fn median(&self) -> usize {
        let mut words: Vec<usize> = self.sentences.iter().map(Sentence::words).collect();
        words.sort_unstable();
        words.get(words.len() / 2).copied().unwrap_or_default()
    }

    /// One line of the table.
    pub(crate) fn line(&self) -> String {
        let count = self.sentences.len().max(1);
        let passive = self.sentences.iter().filter(|sentence| sentence.is_passive()).count();
        let longest = self.sentences.iter().map(Sentence::words).max().unwrap_or_default();
        format!(
            "{:<34} {:>9} {:>7} {:>8} {:>8} {:>7} %\n",
            self.name,
            self.sentences.len(),
            self.median(),
            longest,
            self.too_long().len(),
            passive * 100 / count,
        )
    }

    /// Sentences with more words than a sentence may have: place, words, beginning.
    pub(crate) fn too_long(&self) -> Vec<String> {
        let long = self.sentences.iter().filter(|sentence| sentence.words() > WORDS_MAX);
        long.map(|sentence| {
            let beginning: String = sentence.text.chars().take(70).collect();
            format!(
                "{}:{}: {} words: {beginning}",
                self.name,
                sentence.line,
                sentence.words()
            )
        })
        .collect()
    }
}

/// The head of the table.
pub(crate) fn head() -> String {
    format!(
        "{:<34} {:>9} {:>7} {:>8} {:>8} {:>9}\n",
        "page", "sentences", "median", "longest", "over 30", "passive"
    )
}

/// The pages for people: at the root, in docs, beside the benches, and the help. Records of single runs are left out.
pub(crate) fn read(root: &Path) -> anyhow::Result<Vec<Page>> {
    let mut paths = Vec::new();
    for folder in ["", "docs"] {
        paths.extend(files_in(&root.join(folder), "md")?);
    }
    for bench in paths_in(&root.join("benches"))? {
        paths.extend(files_in(&bench, "md")?);
    }
    let flags = root.join("crates/assay/src");
    paths.extend(files_in(&flags.join("cli"), "rs")?);
    paths.push(flags.join("cli.rs"));
    paths.sort();
    let mut pages = Vec::new();
    for path in paths {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let text = std::fs::read_to_string(&path).with_context(|| format!("{name}: read"))?;
        let is_source = path.extension().is_some_and(|end| end == "rs");
        let sentences = sentences(&if is_source { doc_comments(&text) } else { text });
        pages.push(Page { name, sentences });
    }
    Ok(pages)
}

/// The doc comments of a source file, each on its own line; every other line is empty.
fn doc_comments(source: &str) -> String {
    let lines = source
        .lines()
        .map(|line| line.trim().strip_prefix("///").unwrap_or_default());
    lines.map(|line| format!("{}\n", line.trim())).collect()
}

fn paths_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let all = std::fs::read_dir(folder).with_context(|| format!("{}: list", folder.display()))?;
    Ok(all.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?)
}

fn files_in(folder: &Path, end: &str) -> anyhow::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = paths_in(folder)?;
    paths.retain(|path| path.extension().is_some_and(|found| found == end));
    Ok(paths)
}

/// Sentences of paragraphs and list items.
fn sentences(text: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    let (mut block, mut began, mut skipped) = (String::new(), 0, 0_u32);
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::Table(_) | Tag::CodeBlock(_) | Tag::Heading { .. }) => skipped += 1,
            Event::End(TagEnd::Table | TagEnd::CodeBlock | TagEnd::Heading(_)) => skipped -= 1,
            Event::Text(part) | Event::Code(part) if skipped == 0 => {
                if block.is_empty() {
                    began = text[..range.start].lines().count().max(1);
                }
                block.push_str(&part);
            }
            Event::SoftBreak | Event::HardBreak => block.push(' '),
            Event::Start(Tag::Item) | Event::End(TagEnd::Item | TagEnd::Paragraph) => {
                split(&std::mem::take(&mut block), began, &mut found);
            }
            _ => {}
        }
    }
    split(&block, began, &mut found);
    found
}

/// A sentence ends with a full stop or a mark, where a space follows.
fn split(block: &str, line: usize, found: &mut Vec<Sentence>) {
    let mut rest = block.trim();
    while !rest.is_empty() {
        let end = rest
            .char_indices()
            .find(|(at, c)| ".?!".contains(*c) && rest[at + 1..].starts_with(' '));
        let (text, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at + 1));
        let sentence = Sentence {
            line,
            text: text.trim().to_string(),
        };
        if sentence.words() > 1 {
            found.push(sentence);
        }
        rest = after.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_tables_are_no_sentences() {
        let text = "# A head of a page\n\nOne two three. Four five: six seven!\n\n```\nlet a = 1;\n```\n\n\
             | a | b |\n| --- | --- |\n| a long cell | another cell |\n\n* An item `with code`\n* Another item\n";
        let all = sentences(text);
        let words: Vec<usize> = all.iter().map(Sentence::words).collect();
        assert_eq!(words, [3, 4, 4, 2]);
        assert_eq!(all[0].line, 2);
    }

    #[test]
    fn help_is_read_from_doc_comments() {
        let source = "//! A file about flags\nstruct Flags {\n    /// Print the long form\n    long: bool,\n}\n";
        let all = sentences(&doc_comments(source));
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].line, all[0].words()), (2, 4));
    }

    /// A page is read by engineers whose first language is another.
    #[test]
    fn every_page_has_short_sentences() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let pages = read(root).expect("the pages");
        assert!(pages.len() > 20, "only {} pages were found", pages.len());
        let long: Vec<String> = pages.iter().flat_map(Page::too_long).collect();
        assert!(
            long.is_empty(),
            "sentences over {WORDS_MAX} words:\n{}",
            long.join("\n")
        );
        let hard = pages.iter().filter(|page| page.median() > WORDS_MEDIAN);
        let hard: Vec<String> = hard.map(Page::line).collect();
        assert!(
            hard.is_empty(),
            "a median over {WORDS_MEDIAN} words:\n{}{}",
            head(),
            hard.concat()
        );
    }

    #[test]
    fn passive_sentences_are_seen() {
        let is = |text: &str| {
            Sentence {
                line: 1,
                text: text.into(),
            }
            .is_passive()
        };
        assert!(is("The file is written twice."));
        assert!(is("It was never tested."));
        assert!(!is("Assay writes the file."));
        assert!(!is("The file is large."));
    }
}
