//! Reading one TOML value as a type of ours.
//!
//! Takes a value as parsed; gives the typed value or a [`Refusal`] that says what it should have been. Prevents: a
//! number accepted without its unit, and a type error that does not show how the value is written.

use crate::error::Span;
use crate::shown::Shown;
use crate::study::Scale;
use crate::units::{ByteRate, Bytes, Duration, Rate, Share, UnitError};
pub(crate) use crate::word::Word;
use toml::Spanned;
use toml::de::DeValue;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct At<T> {
    /// What was written.
    pub(crate) value: T,
    /// Where.
    pub(crate) span: Span,
}

/// Why a value was not taken.
pub(crate) enum Refusal {
    /// Of another type altogether; the reader names both.
    Type,
    /// Of the right type, but not a value of it.
    Value {
        /// What is wrong.
        what: String,
        /// What to do.
        cure: String,
    },
}

impl From<UnitError> for Refusal {
    fn from(e: UnitError) -> Self {
        Refusal::Value {
            what: e.what,
            cure: e.form.to_string(),
        }
    }
}

/// A type that a study file can hold.
pub(crate) trait Written: Sized {
    /// With its article: "a size".
    const WHAT: &'static str;
    /// A value as a file would write it.
    const EXAMPLE: &'static str;
    /// In the tables of the documents: what it is, without its article.
    const TYPE: &'static str = {
        let (_, plain) = Self::WHAT.split_at(2);
        plain
    };
    /// Reads it.
    fn read(value: &DeValue<'_>) -> Result<Self, Refusal>;
    /// Reads it where the places of its parts matter.
    fn placed(value: &Spanned<DeValue<'_>>) -> Result<Self, Refusal> {
        Self::read(value.get_ref())
    }
}

/// What a value is, for messages.
pub(crate) fn type_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// A whole number that is not negative.
fn whole(value: &DeValue<'_>) -> Result<u64, Refusal> {
    let DeValue::Integer(integer) = value else {
        return Err(Refusal::Type);
    };
    u64::from_str_radix(integer.as_str(), integer.radix())
        .ok()
        .filter(|v| *v <= i64::MAX as u64)
        .ok_or_else(|| Refusal::Value {
            what: format!("{} is out of range", integer.as_str()),
            cure: "write a whole number from 0 to 9223372036854775807".to_string(),
        })
}

/// A number, with or without a fraction.
fn number(value: &DeValue<'_>) -> Result<f64, Refusal> {
    let (text, parsed) = match value {
        DeValue::Integer(_) => return whole(value).map(|v| v as f64),
        DeValue::Float(float) => (float.as_str(), float.as_str().parse::<f64>().ok()),
        _ => return Err(Refusal::Type),
    };
    parsed
        .filter(|v| v.is_finite() && *v >= 0.0)
        .map(f64::abs)
        .ok_or_else(|| Refusal::Value {
            what: format!("{text} is out of range"),
            cure: "write a finite number that is not negative".to_string(),
        })
}

impl Written for u64 {
    const WHAT: &'static str = "a whole number";
    const TYPE: &'static str = "number";
    const EXAMPLE: &'static str = "4";
    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        whole(value)
    }
}

impl Written for f64 {
    const WHAT: &'static str = "a number";
    const EXAMPLE: &'static str = "1.5";
    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        number(value)
    }
}

impl Written for bool {
    const WHAT: &'static str = "true or false";
    const TYPE: &'static str = "boolean";
    const EXAMPLE: &'static str = "true";
    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        value.as_bool().ok_or(Refusal::Type)
    }
}

impl Written for String {
    const WHAT: &'static str = "a string";
    const EXAMPLE: &'static str = "\"...\"";
    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        value.as_str().map(str::to_string).ok_or(Refusal::Type)
    }
}

impl Written for Bytes {
    const WHAT: &'static str = "a size";
    const EXAMPLE: &'static str = "\"8KiB\"";
    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        match value {
            DeValue::String(text) => Ok(text.parse()?),
            _ => whole(value).map(Bytes),
        }
    }
}

impl Written for Duration {
    const WHAT: &'static str = "a duration";
    const EXAMPLE: &'static str = "\"60s\"";
    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        match value {
            DeValue::String(text) => Ok(text.parse()?),
            DeValue::Integer(_) | DeValue::Float(_) => {
                let text = match value {
                    DeValue::Integer(integer) => integer.as_str().to_string(),
                    DeValue::Float(float) => float.as_str().to_string(),
                    _ => String::new(),
                };
                let cure = format!("say the unit, in quotes: \"{text}s\" for seconds, \"{text}ms\" for milliseconds");
                Err(Refusal::Value {
                    what: format!("{text} has no unit"),
                    cure,
                })
            }
            _ => Err(Refusal::Type),
        }
    }
}

impl Written for Share {
    const WHAT: &'static str = "a share";
    const EXAMPLE: &'static str = "\"5%\"";
    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        match value {
            DeValue::String(text) => Ok(text.parse()?),
            _ => number(value).map(Share),
        }
    }
}

impl Written for Rate {
    const WHAT: &'static str = "a rate";
    const EXAMPLE: &'static str = "\"500/s\"";
    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        match value {
            DeValue::String(text) => Ok(text.parse()?),
            _ => number(value).map(Rate),
        }
    }
}

impl Written for ByteRate {
    const WHAT: &'static str = "a transfer rate";
    const EXAMPLE: &'static str = "\"200MB/s\"";
    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        Ok(value.as_str().ok_or(Refusal::Type)?.parse()?)
    }
}

impl Written for Scale {
    const WHAT: &'static str = "a share of the usable space, or a size";
    const EXAMPLE: &'static str = "\"40%\"";
    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        match value {
            DeValue::String(text) if text.trim_end().ends_with('%') => Ok(Scale::Share(text.parse()?)),
            DeValue::String(text) => Ok(Scale::Bytes(text.parse()?)),
            DeValue::Float(_) => number(value).map(|v| Scale::Share(Share(v))),
            _ => whole(value).map(|v| Scale::Bytes(Bytes(v))),
        }
    }
}

/// Options of a tool: a list of strings, or one string; each with its place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options(pub(crate) Vec<(String, Span)>);

impl Written for Options {
    const WHAT: &'static str = "a list of strings";
    const EXAMPLE: &'static str = "[\"noatime\"]";
    fn read(_: &DeValue<'_>) -> Result<Self, Refusal> {
        Err(Refusal::Type)
    }
    fn placed(value: &Spanned<DeValue<'_>>) -> Result<Self, Refusal> {
        let items = match value.get_ref() {
            DeValue::Array(items) => items.iter().collect(),
            _ => vec![value],
        };
        let one = |item: &Spanned<DeValue<'_>>| {
            let text = item.get_ref().as_str().ok_or(Refusal::Type)?;
            Ok((text.to_string(), inside(&item.span(), text)))
        };
        items.into_iter().map(one).collect::<Result<_, _>>().map(Options)
    }
}

/// The place of a string's text: between its quotes, where nothing in it is escaped.
pub(crate) fn inside(span: &Span, text: &str) -> Span {
    match !text.is_empty() && span.len() == text.len() + 2 {
        true => span.start + 1..span.end - 1,
        false => span.clone(),
    }
}

/// Strings of a list, each with its place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listed(pub(crate) Vec<At<String>>);

impl Written for Listed {
    const WHAT: &'static str = "a list of strings";
    const EXAMPLE: &'static str = "[\"...\"]";
    fn read(_: &DeValue<'_>) -> Result<Self, Refusal> {
        Err(Refusal::Type)
    }
    fn placed(value: &Spanned<DeValue<'_>>) -> Result<Self, Refusal> {
        let items = value.get_ref().as_array().ok_or(Refusal::Type)?;
        let one = |item: &Spanned<DeValue<'_>>| {
            let value = item.get_ref().as_str().ok_or(Refusal::Type)?.to_string();
            let span = item.span();
            Ok(At { value, span })
        };
        items.iter().map(one).collect::<Result<_, _>>().map(Listed)
    }
}

impl Written for Vec<String> {
    const WHAT: &'static str = "a list of strings";
    const EXAMPLE: &'static str = "[\"...\"]";
    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let items = value.as_array().ok_or(Refusal::Type)?;
        items
            .iter()
            .map(|item| item.get_ref().as_str().map(str::to_string).ok_or(Refusal::Type))
            .collect()
    }
}

/// One number, or a list of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbers(pub(crate) Vec<u64>);

impl Shown for Numbers {
    fn shown(&self) -> Option<String> {
        self.0.shown()
    }
}

impl Written for Numbers {
    const WHAT: &'static str = "a whole number, or a list of them";
    const EXAMPLE: &'static str = "[1, 4, 16]";
    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        match value.as_array() {
            Some(items) => items
                .iter()
                .map(|item| whole(item.get_ref()))
                .collect::<Result<_, _>>()
                .map(Numbers),
            None => whole(value).map(|one| Numbers(vec![one])),
        }
    }
}

/// `overwrite`: all devices of the set, none, or those named.
#[derive(Clone, Debug)]
pub(crate) enum Overwrite {
    /// `true` or `false`.
    All(bool),
    /// Paths.
    Named(Listed),
}

impl Written for Overwrite {
    const WHAT: &'static str = "true, false or a list of devices";
    const EXAMPLE: &'static str = "[\"/dev/nvme1n1\"]";
    fn read(_: &DeValue<'_>) -> Result<Self, Refusal> {
        Err(Refusal::Type)
    }
    fn placed(value: &Spanned<DeValue<'_>>) -> Result<Self, Refusal> {
        match value.get_ref() {
            DeValue::Boolean(all) => Ok(Overwrite::All(*all)),
            DeValue::Array(_) => Listed::placed(value).map(Overwrite::Named),
            _ => Err(Refusal::Type),
        }
    }
}

/// A type whose values are words is read by its list.
impl<W: Word> Written for W {
    const WHAT: &'static str = W::WHAT;
    const TYPE: &'static str = "word";
    const EXAMPLE: &'static str = W::EXAMPLE;
    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let text = value.as_str().ok_or(Refusal::Type)?;
        W::of_word(&text.to_ascii_lowercase()).ok_or_else(|| unknown_word(text, W::WHAT, W::WORDS))
    }
}

fn unknown_word(text: &str, what: &str, words: &[&str]) -> Refusal {
    let cure = match crate::written::nearest(text, words.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"? It may be {}", words.join(", ")),
        None => format!("write one of: {}", words.join(", ")),
    };
    Refusal::Value {
        what: format!("{text:?} is not {what}"),
        cure,
    }
}
