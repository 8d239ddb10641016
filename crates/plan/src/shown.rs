//! How a settled study prints itself: each field of a `settled!` struct is a key, by its own name, with its own value.
//!
//! Gives [`Keys`] of TOML values, from which [`crate::Study::resolved`] and the study printed whole are made.
//! Prevents: a key that is used and not shown, and a value that breaks out of its quotes.

use crate::units::{ByteRate, Bytes, Duration, Rate, Share};
use crate::word::Word;
use std::fmt::Display;
use std::path::PathBuf;

/// Keys of one section with their values, in order.
pub(crate) type Keys = Vec<(&'static str, String)>;

/// What a study holds as the value of a key.
pub(crate) trait Shown {
    /// As a study writes it; `None`: it does not stand there.
    fn shown(&self) -> Option<String>;
}

/// A part of a study, settled: one field for each key that it has, in the order in which they are printed.
///
/// `field: Type | "word"` shows the word for nothing; `field: Type as |part| ...` has a way of its own, with `None` for
/// a key that is not printed. `with` fields are no keys.
macro_rules! settled {
    ($(#[$about:meta])* pub struct $name:ident {
        $($(#[$doc:meta])* pub $field:ident: $type:ty $(| $or:literal)? $(as $shown:expr)?,)*
        $(with { $($(#[$more_doc:meta])* pub $more:ident: $more_type:ty,)* })?
    }) => {
        $(#[$about])*
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
            $($($(#[$more_doc])* pub $more: $more_type,)*)?
        }

        impl $name {
            /// Its keys with their values.
            pub(crate) fn keys(&self) -> $crate::shown::Keys {
                let all = [$((stringify!($field), settled!(@shown $name, self, $field $(, $or)? $(; $shown)?))),*];
                all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
            }
        }
    };
    (@shown $name:ident, $part:ident, $field:ident) => { $crate::shown::Shown::shown(&$part.$field) };
    (@shown $name:ident, $part:ident, $field:ident, $or:literal) => {
        $crate::shown::Shown::shown(&$part.$field).or_else(|| Some($crate::shown::quoted($or)))
    };
    (@shown $name:ident, $part:ident, $field:ident; $shown:expr) => {{
        let shown: fn(&$name) -> Option<String> = $shown;
        shown($part)
    }};
}

/// A TOML string, escaped, between double quotes whatever stands in it.
pub(crate) fn quoted<T: Display>(value: T) -> String {
    use toml_writer::ToTomlValue;
    toml_writer::TomlStringBuilder::new(&value.to_string())
        .as_basic()
        .to_toml_value()
}

/// Operations a second, or "none".
pub(crate) fn rate_or_none(rate: Option<f64>) -> Option<String> {
    Some(rate.map_or_else(|| quoted("none"), |rate| quoted(Rate(rate))))
}

/// A list of strings.
pub(crate) fn strings(values: impl IntoIterator<Item = String>) -> String {
    list(values.into_iter().map(quoted))
}

/// A list of values.
pub(crate) fn list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(", "))
}

/// A table on one line.
pub(crate) fn table<K: Display>(keys: impl IntoIterator<Item = (K, String)>) -> String {
    let keys = keys.into_iter().map(|(key, value)| format!("{key} = {value}"));
    format!("{{ {} }}", keys.collect::<Vec<_>>().join(", "))
}

/// Writes types by their `Display`, bare or between quotes.
macro_rules! shown_as {
    ($how:expr => $($type:ty),+) => {
        $(impl Shown for $type {
            fn shown(&self) -> Option<String> {
                Some($how(self))
            }
        })+
    };
}

shown_as!(ToString::to_string => u32, u64, bool);
shown_as!(quoted => String, Bytes, Duration, Share, Rate, ByteRate);
// With a point, so that it is not taken for an integer.
shown_as!(|value: &f64| format!("{value:?}") => f64);
shown_as!(|path: &PathBuf| quoted(path.display()) => PathBuf);

impl<W: Word> Shown for W {
    fn shown(&self) -> Option<String> {
        Some(quoted(self.word()))
    }
}

impl<T: Shown> Shown for Option<T> {
    fn shown(&self) -> Option<String> {
        self.as_ref().and_then(Shown::shown)
    }
}

/// One value as itself, several as a list.
impl<T: Shown> Shown for Vec<T> {
    fn shown(&self) -> Option<String> {
        match self.as_slice() {
            [one] => one.shown(),
            all => Some(list(all.iter().filter_map(Shown::shown))),
        }
    }
}
