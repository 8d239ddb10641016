//! What every part of the meaning settles alike: numbers within their limits, names, paths, sizes at the scale of the
//! run.
//!
//! Takes written values; gives what holds, and a finding for what cannot. Prevents: two sections that refuse the
//! same mistake in different words.

use crate::error::Findings;
use crate::plain;
use crate::units::Duration;
use crate::written::{At, Limits, Said};
use std::collections::BTreeMap;

pub(super) const SECOND: u64 = 1_000_000_000;
pub(super) const MINUTE: u64 = 60 * SECOND;
pub(super) const MIB: u64 = 1 << 20;

/// Turns written values into settled ones.
pub(super) struct Settle<'f> {
    factor: f64,
    pub(super) findings: &'f mut Findings,
}

impl<'f> Settle<'f> {
    pub(super) fn new(factor: f64, findings: &'f mut Findings) -> Self {
        Settle { factor, findings }
    }

    /// How many times as large as written the data of this run are.
    pub(super) fn factor(&self) -> f64 {
        self.factor
    }

    /// `bytes` at the scale of this run, on a round number of bytes.
    pub(super) fn scaled(&self, bytes: u64) -> u64 {
        scaled(bytes, self.factor)
    }

    /// A whole number within the limits of its key, as the default is.
    pub(super) fn count(&mut self, key: &Said<'_, u64>) -> u32 {
        let said = key.written.and_then(|at| self.within(key.key, at, &key.limits));
        said.unwrap_or(key.usual as u32)
    }

    /// A whole number within the limits of its key, if it was said.
    pub(super) fn count_if_said(&mut self, key: &Said<'_, u64, u64, ()>) -> Option<u32> {
        let said = self.within(key.key, key.written?, &key.limits);
        said.or(key.limits.least.map(|least| least as u32))
    }

    /// A whole number within these limits.
    pub(super) fn within(&mut self, key: &str, at: &At<u64>, limits: &Limits<u64>) -> Option<u32> {
        let value = u32::try_from(at.value).ok().filter(|_| limits.hold(&at.value));
        if value.is_none() {
            let cure = format!("write a whole number from {limits}");
            self.findings
                .add(&at.span, format!("`{key}` cannot be {}", at.value), cure);
        }
        value
    }

    /// How long a stack works at a time.
    pub(super) fn stint(&mut self, key: &Said<'_, Duration>) -> Duration {
        let Some(at) = key.outside() else { return key.value() };
        let message = format!("a stint cannot last {}", at.value);
        let cure = format!("write {}: {}", key.limits, key.example());
        self.findings.add(&at.span, message, cure);
        key.usual
    }

    /// How many times slower than its device a model runs; `None`: a probe finds it.
    pub(super) fn slow_motion(&mut self, key: &Said<'_, u64, Option<u64>>) -> Option<u32> {
        let at = key.written?;
        let times = at.value?;
        if !key.limits.hold(&times) {
            let cure = format!("write {}, or \"auto\"", key.limits);
            self.findings
                .add(&at.span, format!("`slow_motion` cannot be {times}"), cure);
        }
        Some(key.limits.nearest(times) as u32)
    }

    /// A name that can stand in a table, in a path and in a terminal.
    pub(super) fn name(&mut self, written: &Option<At<String>>, what: &str) -> String {
        let Some(at) = written else { return String::new() };
        let name = at.value.as_str();
        // Result and LUN files are named after these two; a stack may well be called after its directory.
        let filed = matches!(what, "study" | "LUN set");
        let cure = match filed {
            true => "use up to 64 letters, digits, spaces, `-`, `_` or `.`, a letter or digit first",
            false => "use up to 64 letters, digits and signs that show, no `-` first",
        };
        let wrong = if name.is_empty() {
            "is empty".to_string()
        } else if name.chars().count() > 64 {
            format!("has {} characters", name.chars().count())
        } else if name.chars().any(char::is_control) {
            "holds a control character".to_string()
        } else if !name.chars().all(plain::shows) {
            "holds a character that does not show".to_string()
        } else if filed && name.len() > plain::NAME_BYTES_MAX {
            format!("has {} bytes", name.len())
        } else if name.trim() != name {
            "starts or ends with a space".to_string()
        } else if filed && (name.contains('/') || name.starts_with(['.', '-'])) {
            "holds a `/` or starts with `.` or `-`, and files are named after it".to_string()
        } else if let Some(c) = name.chars().find(|c| filed && !plain::files(*c)) {
            format!("holds a `{c}`, and files are named after it")
        } else if name.starts_with('-') {
            "starts with `-`, as options of tools do".to_string()
        } else {
            return at.value.clone();
        };
        self.findings
            .add(&at.span, format!("the name of this {what} {wrong}"), cure);
        String::new()
    }

    /// The path of a directory or file that lies where it says.
    pub(super) fn path(&mut self, at: &At<String>, key: &str, cure: &str) {
        if let Some(fault) = plain::path_fault(&at.value) {
            self.findings.add(&at.span, format!("`{key}` {fault}"), cure);
        }
    }

    /// The question, its line breaks made spaces.
    pub(super) fn question(&mut self, key: &Said<'_, String>) -> String {
        let folded = key.value().split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(at) = key.written.filter(|_| !folded.chars().all(plain::shows)) {
            let message = "the question holds a character that does not show";
            self.findings.add(&at.span, message, "write it as plain text");
        }
        folded
    }

    pub(super) fn published(&mut self, key: &Said<'_, String, Option<String>>) -> Option<String> {
        let span = key.written?.span.clone();
        let named = At {
            value: key.value()?,
            span,
        };
        Some(self.name(&Some(named), "publication"))
    }

    /// Reports names that stand more than once; the second is pointed at.
    pub(super) fn unique<'w>(&mut self, names: impl Iterator<Item = &'w Option<At<String>>>, what: &str) {
        let mut first: BTreeMap<&str, ()> = BTreeMap::new();
        for at in names.flatten() {
            if first.insert(&at.value, ()).is_some() {
                let message = format!("a second {what} is named {:?}", at.value);
                self.findings
                    .add(&at.span, message, format!("give each {what} a name of its own"));
            }
        }
    }
}

/// `bytes` times `factor`, rounded down to a round number of bytes: a whole MiB, or 64 KiB below 16 MiB.
fn scaled(bytes: u64, factor: f64) -> u64 {
    if factor == 1.0 {
        return bytes;
    }
    let product = (bytes as f64 * factor).min((1u64 << 60) as f64) as u64;
    let grain = if product >= 16 * MIB { MIB } else { 64 << 10 };
    product / grain * grain
}
