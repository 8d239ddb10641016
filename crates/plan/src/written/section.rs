//! One table of the file, read key by key; what nobody asked for is an error.
//!
//! Takes a parsed table; gives typed values with their places, and a finding for each key that is unknown, mistyped or
//! missing. Prevents: a misspelt key that is silently ignored, so that a default is measured instead.

use super::nearest;
use super::value::{At, Refusal, Written, type_of};
use crate::error::{Findings, Span};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A key with its value, and whether someone asked for it.
struct Entry<'d> {
    key: &'d str,
    span: Span,
    value: &'d Spanned<DeValue<'d>>,
    taken: bool,
}

/// A table being read.
pub(crate) struct Section<'d> {
    /// As the file writes it: `[database]`, `[[phase]]`; empty for the file as a whole.
    title: String,
    /// The header, or the table itself where it is written inline.
    pub(crate) span: Span,
    entries: Vec<Entry<'d>>,
    asked: Vec<&'static str>,
}

impl<'d> Section<'d> {
    /// A table with the title and place that messages give it.
    pub(crate) fn new(title: impl Into<String>, span: Span, table: &'d DeTable<'d>) -> Self {
        let mut entries: Vec<Entry<'d>> = table
            .iter()
            .map(|(key, value)| Entry {
                key: key.get_ref(),
                span: key.span(),
                value,
                taken: false,
            })
            .collect();
        // The map sorts by name; people expect the order of the file.
        entries.sort_by_key(|entry| entry.span.start);
        Section {
            title: title.into(),
            span,
            entries,
            asked: Vec::new(),
        }
    }

    /// Keys in the order written.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (&'d str, Span)> + '_ {
        self.entries.iter().map(|entry| (entry.key, entry.span.clone()))
    }

    /// Whether the key stands there, readable or not; does not count as asking for it.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    /// Leaves keys out of what is offered in place of an unknown one.
    pub(crate) fn forget(&mut self, offered: impl Fn(&str) -> bool) {
        self.asked.retain(|key| offered(key));
    }

    fn ask(&mut self, key: &'static str) {
        if !self.asked.contains(&key) {
            self.asked.push(key);
        }
    }

    /// The key's place and its value as parsed.
    pub(crate) fn raw(&mut self, key: &'static str) -> Option<(Span, &'d Spanned<DeValue<'d>>)> {
        self.ask(key);
        let entry = self.entries.iter_mut().find(|entry| entry.key == key)?;
        entry.taken = true;
        Some((entry.span.clone(), entry.value))
    }

    /// The value of a key, if it stands there and is of its type.
    pub(crate) fn get<T: Written>(&mut self, key: &'static str, findings: &mut Findings) -> Option<At<T>> {
        let (_, value) = self.raw(key)?;
        match T::placed(value) {
            Ok(read) => {
                return Some(At {
                    value: read,
                    span: value.span(),
                });
            }
            Err(Refusal::Value { what, cure }) => findings.add(&value.span(), format!("`{key}`: {what}"), cure),
            Err(Refusal::Type) => {
                let message = format!("`{key}` takes {}, found {}", T::WHAT, type_of(value.get_ref()));
                findings.add(&value.span(), message, format!("write it as `{key} = {}`", T::EXAMPLE));
            }
        }
        None
    }

    /// The value of a key that may also be `word` ("none", "auto"), which is given as `None`.
    pub(crate) fn get_or<T: Written>(
        &mut self,
        key: &'static str,
        word: &str,
        findings: &mut Findings,
    ) -> Option<At<Option<T>>> {
        let (_, value) = self.raw(key)?;
        if value.get_ref().as_str() == Some(word) {
            return Some(At {
                value: None,
                span: value.span(),
            });
        }
        self.get(key, findings).map(|at| At {
            value: Some(at.value),
            span: at.span,
        })
    }

    /// The value of a key that must be there.
    pub(crate) fn require<T: Written>(
        &mut self,
        key: &'static str,
        cure: &str,
        findings: &mut Findings,
    ) -> Option<At<T>> {
        if !self.has(key) {
            self.ask(key);
            findings.add(&self.span, format!("{} has no `{key}`", self.title), cure);
            return None;
        }
        self.get(key, findings)
    }

    /// `[luns.NAME]`: a table under a name of the user's own.
    pub(crate) fn set(&mut self, name: &str) -> Option<Section<'d>> {
        let entry = self.entries.iter_mut().find(|entry| entry.key == name)?;
        entry.taken = true;
        let span = if entry.value.span().is_empty() {
            entry.span.clone()
        } else {
            entry.value.span()
        };
        let table = entry.value.get_ref().as_table()?;
        Some(Section::new(format!("[luns.{}]", name.escape_debug()), span, table))
    }

    /// A table inside this one.
    pub(crate) fn table(&mut self, key: &'static str, example: &str, findings: &mut Findings) -> Option<Section<'d>> {
        let (_, value) = self.raw(key)?;
        match value.get_ref() {
            DeValue::Table(table) => Some(Section::new(format!("`{key}` of {}", self.title), value.span(), table)),
            other => {
                let message = format!("`{key}` takes a table, found {}", type_of(other));
                findings.add(&value.span(), message, format!("write it as `{example}`"));
                None
            }
        }
    }

    /// Reports what nobody asked for. `elsewhere` explains keys that are known, but not here: (key, why, cure).
    pub(crate) fn finish(self, elsewhere: &[(&str, &str, &str)], findings: &mut Findings) {
        for entry in self.entries.iter().filter(|entry| !entry.taken) {
            let key = entry.key;
            if let Some((_, why, cure)) = elsewhere.iter().find(|(name, _, _)| name.eq_ignore_ascii_case(key)) {
                findings.add(&entry.span, format!("`{key}` in {}: {why}", self.title), *cure);
                continue;
            }
            if self.title.is_empty() {
                let cure = match nearest(key, self.asked.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("remove it; a study is made of {}", self.asked.join(", ")),
                };
                findings.add(&entry.span, format!("unknown section `{}`", key.escape_debug()), cure);
                continue;
            }
            let cure = match nearest(key, self.asked.iter().copied()) {
                Some(near) if near == key.to_lowercase() => format!("names are written in lower case: `{near}`"),
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("remove it, or use one of: {}", self.asked.join(", ")),
            };
            findings.add(
                &entry.span,
                format!("unknown key `{}` in {}", key.escape_debug(), self.title),
                cure,
            );
        }
    }
}
