//! Options of tools, mounts and servers that a study may say: one table for each, and nothing passes that is not in it.
//!
//! A [`Rule`] declares an option once: its name, the type and range of its value, a phrase. The check, the words of a refusal, the
//! arguments of the tool and the tables of docs/study.md follow from it. Prevents: an option that names a device, a file or a
//! program, and through which a study would harm what it does not name.

mod btrfs;
mod document;
mod ext4;
mod mounts;
mod postgres;
mod read;
mod refused;
mod server;
mod takes;
mod xfs;

pub use document::markdown as options_markdown;
pub(crate) use read::{Placed, Reading, mkfs, mount};
pub(crate) use server::setting;
pub use takes::{Step, Takes, Value};

use crate::error::Findings;

/// Who takes an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// `mkfs.ext4`.
    MkfsExt4,
    /// `mkfs.xfs`.
    MkfsXfs,
    /// `mkfs.btrfs`.
    MkfsBtrfs,
    /// The mount of ext4.
    MountExt4,
    /// The mount of XFS.
    MountXfs,
    /// The mount of btrfs.
    MountBtrfs,
    /// The configuration of a PostgreSQL server.
    Postgres,
}

/// One option that a study may say.
#[derive(Debug, PartialEq)]
pub struct Rule {
    /// As the tool's command line has it (`-E`); empty for options of a mount and settings of a server.
    pub flag: &'static str,
    /// Another spelling of the flag (`--nodesize`); empty where there is none.
    pub long: &'static str,
    /// The option inside the flag's list (`stride`), or of a mount or server; empty where the flag is the whole option.
    pub name: &'static str,
    /// What its value may be.
    pub takes: Takes,
    /// Words that it takes beside these.
    pub also: &'static [&'static str],
    /// A value; empty where it takes none.
    pub example: &'static str,
    /// What it does.
    pub phrase: &'static str,
    /// Major versions that have it, of a server: the first, and the last.
    pub versions: (u32, u32),
}

/// An option that a study says, by its rule and with a typed value.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// What it is.
    pub rule: &'static Rule,
    /// Its value.
    pub value: Value,
}

/// An option, or a family of them, that a study may not say, and why.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    /// As it would be written; a `*` stands for anything at one end.
    pub option: &'static str,
    /// The reason.
    pub why: &'static str,
    /// What to do.
    pub cure: &'static str,
}

impl Tool {
    /// All.
    pub const ALL: [Tool; 7] = [
        Tool::MkfsExt4,
        Tool::MkfsXfs,
        Tool::MkfsBtrfs,
        Tool::MountExt4,
        Tool::MountXfs,
        Tool::MountBtrfs,
        Tool::Postgres,
    ];

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Tool::MkfsExt4 => "mkfs.ext4",
            Tool::MkfsXfs => "mkfs.xfs",
            Tool::MkfsBtrfs => "mkfs.btrfs",
            Tool::MountExt4 => "a mount of ext4",
            Tool::MountXfs => "a mount of XFS",
            Tool::MountBtrfs => "a mount of btrfs",
            Tool::Postgres => "PostgreSQL",
        }
    }

    /// What a study may say of it.
    pub fn rules(self) -> &'static [Rule] {
        match self {
            Tool::MkfsExt4 => ext4::MKFS,
            Tool::MkfsXfs => xfs::MKFS,
            Tool::MkfsBtrfs => btrfs::MKFS,
            Tool::MountExt4 => mounts::EXT4,
            Tool::MountXfs => mounts::XFS,
            Tool::MountBtrfs => mounts::BTRFS,
            Tool::Postgres => postgres::SETTINGS,
        }
    }

    /// What it may not, with a reason of its own. Whatever is in neither list is refused as unknown.
    pub fn refused(self) -> &'static [Refused] {
        refused::of(self)
    }

    fn is_mkfs(self) -> bool {
        matches!(self, Tool::MkfsExt4 | Tool::MkfsXfs | Tool::MkfsBtrfs)
    }
}

impl Rule {
    /// As messages and documents call it: `-E stride`, `-b`, `commit`.
    pub fn title(&self) -> String {
        match (self.flag, self.name) {
            (flag, "") => flag.to_string(),
            ("", name) => name.to_string(),
            (flag, name) => format!("{flag} {name}"),
        }
    }

    /// The example as a study writes it: `-E stride=16`.
    pub fn written(&self) -> String {
        let joint = if self.name.is_empty() { " " } else { "=" };
        match self.example {
            "" => self.title(),
            example => format!("{}{joint}{example}", self.title()),
        }
    }

    /// Type and range in words, for messages and documents.
    pub fn range(&self) -> String {
        let mut said = self.takes.to_string();
        for word in self.also {
            said.push_str(&format!(" or `{word}`"));
        }
        said
    }

    /// The typed value of `text`; `None`: it is none of this option's.
    pub fn value(&self, text: &str) -> Option<Value> {
        let word = self.also.iter().find(|word| **word == text);
        word.map(|word| Value::Word(word)).or_else(|| self.takes.value(text))
    }

    /// The value alone, made anew from the typed form, as a server's file has it.
    pub fn value_text(&self, value: &Value) -> String {
        self.takes.text(value)
    }

    /// The value, and the option's name before it where it has one, made anew from the typed form.
    pub fn text(&self, value: &Value) -> String {
        match (self.name, self.takes.text(value)) {
            ("", value) => value,
            (name, value) if value.is_empty() => name.to_string(),
            (name, value) => format!("{name}={value}"),
        }
    }
}

/// Options of one tool from words as a study has them, for callers that have no study.
///
/// # Errors
/// The first thing that is wrong with them.
pub fn options(tool: Tool, words: &[&str]) -> Result<Vec<Given>, String> {
    let mut findings = Findings::default();
    let words: Vec<Placed> = words.iter().map(|word| ((*word).to_string(), 0..0)).collect();
    let read: Reading = if tool.is_mkfs() { mkfs } else { mount };
    let given = read(tool, &words, &mut findings);
    findings
        .first()
        .map_or(Ok(given), |(message, cure)| Err(format!("{message}\ncure: {cure}")))
}

/// Options of one flag of a mkfs (`-E`), and all others; for a tool that takes the flag once and is told something by Assay too.
pub fn split_flag(options: &[Given], flag: &str) -> (Vec<String>, Vec<Given>) {
    let (of_flag, others): (Vec<Given>, Vec<Given>) =
        options.iter().cloned().partition(|given| given.rule.flag == flag);
    (mount_words(&of_flag), others)
}

/// Arguments of a mkfs, made anew from the typed form: each flag once, its options joined, in the order of their first mention.
pub fn arguments(options: &[Given]) -> Vec<String> {
    let mut flags: Vec<(&'static str, Vec<String>)> = Vec::new();
    for given in options {
        let text = given.rule.text(&given.value);
        match flags.iter_mut().find(|(flag, _)| *flag == given.rule.flag) {
            Some((_, all)) => all.push(text),
            None => flags.push((given.rule.flag, vec![text])),
        }
    }
    let mut arguments = Vec::new();
    for (flag, all) in flags {
        arguments.push(flag.to_string());
        arguments.extend(Some(all.join(",")).filter(|joined| !joined.is_empty()));
    }
    arguments
}

/// The options of a mount, one by one, made anew from the typed form.
pub fn mount_words(options: &[Given]) -> Vec<String> {
    options.iter().map(|given| given.rule.text(&given.value)).collect()
}

/// A rule of the tables: an option inside a flag's list, or of a mount.
const fn rule(
    flag: &'static str,
    name: &'static str,
    takes: Takes,
    example: &'static str,
    phrase: &'static str,
) -> Rule {
    Rule {
        flag,
        long: "",
        name,
        takes,
        also: &[],
        example,
        phrase,
        versions: (0, u32::MAX),
    }
}

impl Rule {
    /// The same under a second spelling of its flag.
    const fn long(mut self, long: &'static str) -> Rule {
        self.long = long;
        self
    }

    /// The same, which takes these words too.
    const fn or(mut self, also: &'static [&'static str]) -> Rule {
        self.also = also;
        self
    }

    /// The same, which came with a version.
    const fn since(mut self, version: u32) -> Rule {
        self.versions.0 = version;
        self
    }
}
