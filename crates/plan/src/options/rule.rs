//! What the tables are made of: an option that a study may say, one that it may not, and one that it says.
//!
//! Prevents: a check, a refusal, an argument and a document that each know an option from a list of their own.

use super::takes::{Takes, Value};

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

    /// The same under a second spelling of its flag.
    pub(super) const fn long(mut self, long: &'static str) -> Rule {
        self.long = long;
        self
    }

    /// The same, which takes these words too.
    pub(super) const fn or(mut self, also: &'static [&'static str]) -> Rule {
        self.also = also;
        self
    }

    /// The same, which came with a version.
    pub(super) const fn since(mut self, version: u32) -> Rule {
        self.versions.0 = version;
        self
    }
}

/// A rule of the tables: an option inside a flag's list, or of a mount.
pub(super) const fn rule(
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

impl Refused {
    /// Whether it speaks of this option.
    pub fn is_of(&self, option: &str) -> bool {
        let parts: Vec<&str> = self.option.split('*').collect();
        match parts[..] {
            [whole] => whole == option,
            [start, end] => {
                option.len() >= start.len() + end.len() && option.starts_with(start) && option.ends_with(end)
            }
            ["", middle, ""] => option.contains(middle),
            _ => false,
        }
    }
}
