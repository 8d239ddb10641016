//! A key of a section: what was written, beside the default and the limits that its row declares.
//!
//! Made by the methods that `written!` gives a section, one for each row; taken by `meaning`. Prevents: a default or a
//! limit that stands a second time where a key is read, and there says something else than the documents.

use super::value::At;
use crate::error::Span;
use crate::shown::{Shown, quoted};
use crate::units::Bytes;
use std::fmt::{Display, Formatter, Result};
use std::ops::{RangeFrom, RangeInclusive, RangeToInclusive};

/// A key; `V` is what a study may say, `U` the default: `()` where other keys decide it.
pub(crate) struct Said<'w, T, V = T, U = V> {
    /// Its name.
    pub(crate) key: &'static str,
    /// What was written, and where.
    pub(crate) written: Option<&'w At<V>>,
    /// What holds where nothing was.
    pub(crate) usual: U,
    /// What it may be.
    pub(crate) limits: Limits<T>,
}

impl<'w, T, V, U> Said<'w, T, V, U> {
    /// With the default of a case that the row names, or of one that other keys decide.
    pub(crate) fn or(self, usual: V) -> Said<'w, T, V> {
        Said {
            key: self.key,
            written: self.written,
            usual,
            limits: self.limits,
        }
    }

    /// Where it stands, or `home`.
    pub(crate) fn span<'s>(&self, home: &'s Span) -> &'s Span
    where
        'w: 's,
    {
        self.written.map_or(home, |at| &at.span)
    }
}

impl<'w, T, V> Said<'w, T, V> {
    /// With the default of a case that the row names, where it is one.
    pub(crate) fn or_if(self, case: bool, usual: V) -> Said<'w, T, V> {
        if case { self.or(usual) } else { self }
    }

    /// With the most of a case that the row's sentence names.
    pub(crate) fn at_most(mut self, most: T) -> Said<'w, T, V> {
        self.limits.most = Some(most);
        self
    }
}

impl<T, V: Clone> Said<'_, T, V> {
    /// What was written, or the default.
    pub(crate) fn value(&self) -> V {
        self.written.map_or(&self.usual, |at| &at.value).clone()
    }
}

impl<T: Clone + Shown> Said<'_, T> {
    /// The default, as a study writes it: what a cure shows.
    pub(crate) fn example(&self) -> String {
        format!("{} = {}", self.key, self.usual.shown().unwrap_or_default())
    }
}

impl<'w, T: PartialOrd, U> Said<'w, T, T, U> {
    /// What was written, where that is outside the limits.
    pub(crate) fn outside(&self) -> Option<&'w At<T>> {
        self.written.filter(|at| !self.limits.hold(&at.value))
    }
}

impl<'w> Said<'w, Bytes> {
    /// What was written, where that is no power of two within the limits.
    pub(crate) fn odd(&self) -> Option<&'w At<Bytes>> {
        let odd = |at: &&At<Bytes>| !at.value.0.is_power_of_two() || !self.limits.hold(&at.value);
        self.written.filter(odd)
    }
}

/// A section that knows where each of its keys stands.
pub(crate) trait Spans {
    /// Where a key stands; `None`: nowhere, or it has a reader of its own.
    fn span_of(&self, key: &str) -> Option<&Span>;
}

/// The least and the most that a key may be.
#[derive(Clone)]
pub(crate) struct Limits<T> {
    /// None: the least that its type has.
    pub(crate) least: Option<T>,
    /// None: the most that its type has.
    pub(crate) most: Option<T>,
}

impl<T> Limits<T> {
    /// Of a key that may be anything of its type.
    pub(crate) const ANY: Limits<T> = Limits {
        least: None,
        most: None,
    };
}

impl<T: PartialOrd> Limits<T> {
    /// Whether it may be this.
    pub(crate) fn hold(&self, value: &T) -> bool {
        self.least.as_ref().is_none_or(|least| least <= value) && self.most.as_ref().is_none_or(|most| value <= most)
    }
}

impl<T: Clone + Ord> Limits<T> {
    /// What it may be that is nearest to this.
    pub(crate) fn nearest(&self, value: T) -> T {
        let value = self.least.clone().map_or(value.clone(), |least| value.max(least));
        self.most.clone().map_or(value.clone(), |most| value.min(most))
    }
}

impl<T> From<RangeInclusive<T>> for Limits<T> {
    fn from(range: RangeInclusive<T>) -> Self {
        let (least, most) = range.into_inner();
        Limits {
            least: Some(least),
            most: Some(most),
        }
    }
}

impl<T> From<RangeFrom<T>> for Limits<T> {
    fn from(range: RangeFrom<T>) -> Self {
        Limits {
            least: Some(range.start),
            most: None,
        }
    }
}

impl<T> From<RangeToInclusive<T>> for Limits<T> {
    fn from(range: RangeToInclusive<T>) -> Self {
        Limits {
            least: None,
            most: Some(range.end),
        }
    }
}

impl<T: Display> Display for Limits<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match (&self.least, &self.most) {
            (Some(least), Some(most)) => write!(f, "{least} to {most}"),
            (Some(least), None) => write!(f, "at least {least}"),
            (None, Some(most)) => write!(f, "at most {most}"),
            (None, None) => Ok(()),
        }
    }
}

/// A default as the documents have it: the value, those of cases by name, and what else decides it.
pub(crate) fn default_words<V: Shown>(usual: &V, nothing: Option<&str>, cases: &[(&str, V)], words: &str) -> String {
    let code = |value: &V| {
        let shown = value.shown().or_else(|| nothing.map(quoted));
        format!("`{}`", shown.unwrap_or_default())
    };
    let cases: String = cases
        .iter()
        .map(|(when, value)| format!("; {when} {}", code(value)))
        .collect();
    format!("{}{cases}{words}", code(usual))
}
