//! Words of `mkfs_options` and `mount_options` as options of the table, each pointed at where it stands.
//!
//! Takes words with their places; gives [`Given`]s, and a finding for each word that is not in the
//! table. Prevents: an argument that reaches a tool although nobody knows what it does, and a value
//! that brings a second option along.

use super::rule::{Given, Rule};
use super::takes::Takes;
use super::tool::Tool;
use crate::error::{Findings, Span};
use crate::written::nearest;

/// A word and where it stands.
pub(crate) type Placed = (String, Span);

/// One of the two readers below.
pub(crate) type Reading = fn(Tool, &[Placed], &mut Findings) -> Vec<Given>;

/// Options of a mount: one or several to a word, with commas between.
pub(crate) fn mount(tool: Tool, words: &[Placed], findings: &mut Findings) -> Vec<Given> {
    let mut reader = Reader::new(tool, "mount_options", findings);
    for (word, span) in words {
        for (part, span) in parts(word, span, ',') {
            reader.one("", part, &span);
        }
    }
    reader.given
}

/// Options of a mkfs: flags, each with its value behind it or in the next word.
pub(crate) fn mkfs(tool: Tool, words: &[Placed], findings: &mut Findings) -> Vec<Given> {
    let mut reader = Reader::new(tool, "mkfs_options", findings);
    let split: Vec<(&str, Span)> = words.iter().flat_map(|(word, span)| parts(word, span, ' ')).collect();
    let mut words = split.into_iter().peekable();
    while let Some((word, span)) = words.next() {
        let Some((flag, value)) = flag_of(word) else {
            reader.no_flag(word, &span);
            // What follows is its company, and would be refused for no reason of its own.
            while words.next_if(|(next, _)| !next.starts_with('-')).is_some() {}
            continue;
        };
        let known = tool
            .rules()
            .iter()
            .find(|rule| rule.flag == flag || (!flag.is_empty() && rule.long == flag));
        let Some(known) = known else {
            reader.unknown(flag, word, &span);
            while words.next_if(|(next, _)| !next.starts_with('-')).is_some() {}
            continue;
        };
        let inside = (!value.is_empty()).then(|| (value, after(&span, word, value)));
        let takes_none = known.name.is_empty() && known.takes == Takes::Nothing;
        let value = match inside {
            None if !takes_none => words.next_if(|(next, _)| !next.starts_with('-')),
            inside => inside,
        };
        match value {
            None if !takes_none => reader.lacks(known, &span),
            value => {
                let (value, place) = value.unwrap_or(("", span));
                reader.flag(known, value, &place);
            }
        }
    }
    reader.given
}

/// A flag and the value written with it: `-b`, `-b4096`, `--csum`, `--csum=xxhash`; `None`: it is no flag.
fn flag_of(word: &str) -> Option<(&str, &str)> {
    if word.starts_with("--") {
        return Some(word.split_once('=').unwrap_or((word, "")));
    }
    let mut letters = word.char_indices();
    let (_, dash) = letters.next()?;
    let (at, letter) = letters.next()?;
    (dash == '-').then(|| word.split_at(at + letter.len_utf8()))
}

/// Where a value stands that ends a word.
fn after(span: &Span, word: &str, value: &str) -> Span {
    match span.len() == word.len() {
        true => span.end - value.len()..span.end,
        false => span.clone(),
    }
}

/// The parts of a word between separators, with their places; empty ones too where a comma separates.
fn parts<'w>(word: &'w str, span: &Span, separator: char) -> Vec<(&'w str, Span)> {
    let mut found = Vec::new();
    let mut at = 0;
    for part in word.split(separator) {
        let place = match span.len() == word.len() {
            true => span.start + at..span.start + at + part.len(),
            false => span.clone(),
        };
        at += part.len() + separator.len_utf8();
        if separator == ' ' && part.is_empty() && word.contains(|c: char| c != ' ') {
            continue;
        }
        found.push((part, place));
    }
    found
}

struct Reader<'f> {
    tool: Tool,
    key: &'static str,
    findings: &'f mut Findings,
    given: Vec<Given>,
}

impl<'f> Reader<'f> {
    fn new(tool: Tool, key: &'static str, findings: &'f mut Findings) -> Self {
        let given = Vec::new();
        Reader {
            tool,
            key,
            findings,
            given,
        }
    }

    /// A flag's value, which is an option or a list of options.
    fn flag(&mut self, known: &'static Rule, value: &str, span: &Span) {
        if known.name.is_empty() {
            self.settle(known, value, value, span);
            return;
        }
        for (part, span) in parts(value, span, ',') {
            self.one(known.flag, part, &span);
        }
    }

    /// `name` or `name=value`, inside a flag's list or of a mount.
    fn one(&mut self, flag: &str, part: &str, span: &Span) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let rule = self
            .tool
            .rules()
            .iter()
            .find(|rule| rule.flag == flag && rule.name == name);
        match rule {
            Some(rule) if part.ends_with('=') => self.wrong(rule, part, span),
            Some(rule) => self.settle(rule, value, part, span),
            None => {
                let joint = if flag.is_empty() { "" } else { " " };
                self.unknown(&format!("{flag}{joint}{name}"), part, span);
            }
        }
    }

    fn settle(&mut self, rule: &'static Rule, value: &str, said: &str, span: &Span) {
        let Some(value) = rule.value(value) else {
            self.wrong(rule, said, span);
            return;
        };
        if self.given.iter().any(|given| given.rule == rule) {
            let message = format!("`{}` says `{}` twice", self.key, rule.title());
            self.findings.add(span, message, "keep one of the two");
            return;
        }
        self.given.push(Given { rule, value });
    }

    fn wrong(&mut self, rule: &Rule, said: &str, span: &Span) {
        let (key, title, tool) = (self.key, rule.title(), self.tool.name());
        let message = format!("`{key}`: `{title}` of {tool} takes {}, found {said:?}", rule.range());
        self.findings
            .add(span, message, format!("write it as `{}`", rule.written()));
    }

    fn lacks(&mut self, rule: &Rule, span: &Span) {
        let message = format!("`{}`: `{}` has no value", self.key, rule.flag);
        self.findings
            .add(span, message, format!("write it as `{}`", rule.written()));
    }

    fn no_flag(&mut self, word: &str, span: &Span) {
        let message = match word {
            "" => format!("`{}` holds an empty word", self.key),
            _ => format!(
                "`{}` may not hold {word:?}: the stack says which LUNs are formatted, and this is no option",
                self.key
            ),
        };
        self.findings
            .add(span, message, "remove it; an option begins with a `-`");
    }

    /// Not in the table: refused for a reason of its own, or as a misspelt word.
    fn unknown(&mut self, option: &str, said: &str, span: &Span) {
        let (key, tool) = (self.key, self.tool);
        if let Some(refused) = tool.refused().iter().find(|refused| refused.is_of(option)) {
            let message = format!("`{key}` may not hold {said:?}: {}", refused.why);
            self.findings.add(span, message, refused.cure);
            return;
        }
        let titles: Vec<String> = tool.rules().iter().map(Rule::title).collect();
        let near = nearest(option, titles.iter().map(String::as_str));
        let cure = match near {
            Some(near) => format!("did you mean `{near}`? docs/study.md lists what a study may say"),
            None => "remove it; docs/study.md lists what a study may say".to_string(),
        };
        let message = format!(
            "`{key}` may not hold {said:?}: a study has no such option of {}",
            tool.name()
        );
        self.findings.add(span, message, cure);
    }
}
