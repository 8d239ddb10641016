//! The table of keys: what one row says of a key of the study file.
//!
//! `written!` makes of rows the struct of what was written, its reader, and [`Key`]s. These say which kinds have a key,
//! and make the tables of docs/study.md. Prevents: a key that is read and not documented, and one that no kind has.

/// A row of the table; `K` is the kind of section that it may belong to.
pub(crate) struct Key<K: 'static> {
    /// As the file writes it.
    pub(crate) name: &'static str,
    /// In the documents.
    pub(crate) of_type: &'static str,
    /// Kinds that have it; none: all have it.
    pub(crate) kinds: &'static [K],
    /// What it may be of its type, in words; empty: anything.
    pub(crate) limits: fn() -> String,
    /// The default with its reason, as Markdown.
    pub(crate) default: fn() -> String,
    /// One sentence, as Markdown.
    pub(crate) meaning: &'static str,
}

/// What a section says, one row for each key:
/// `/// meaning` `key: Type | "word for nothing" [kinds] = (default, in limits, "case" => its default, else "words");`
/// All but the default may be left out; `(else "words", in limits)` is a default that other keys decide, and a bare
/// `"words"` one that no code takes from here. Each key with a default or limits gets a method of its name, which gives
/// what was [`Said`](crate::written::Said) with both.
/// `key: Type => reader "type in the documents"` has a reader of its own; `with` fields are no keys of a kind.
macro_rules! written {
    ($(#[$about:meta])* struct $name:ident of $kind:ty {
        $($(#[doc = $doc:literal])+ $field:ident: $type:ty $(| $or:literal)? $(=> $reader:ident $of_type:literal)?
            $([$($of:expr),+])? = $said:tt;)*
        $(with { $($(#[$more_about:meta])* $more:ident: $more_type:ty,)* })?
    }) => {
        $(#[$about])*
        #[derive(Clone, Default)]
        pub(crate) struct $name {
            $($(#[doc = $doc])+ pub(crate) $field: written!(@field $type $(, $or)? $(; $of_type)?),)*
            $($($(#[$more_about])* pub(crate) $more: $more_type,)*)?
        }

        impl $name {
            /// The rows.
            pub(crate) const KEYS: &'static [$crate::key::Key<$kind>] = &[$($crate::key::Key {
                name: stringify!($field),
                of_type: written!(@type $type $(; $of_type)?),
                kinds: &[$($($of),+)?],
                limits: || written!(@limits [$type] $said),
                default: || written!(@default [$type] [$($or)?] $said),
                meaning: concat!($($doc),+),
            }),*];

            /// What the section says of them.
            pub(crate) fn read(s: &mut $crate::written::Section<'_>, findings: &mut $crate::error::Findings) -> $name {
                $name {
                    $($field: written!(@read s, findings, stringify!($field) $(, $or)? $(; $reader)?),)*
                    $($($more: Default::default(),)*)?
                }
            }

            $(written! { @said $field [$type] [$($or)?] $said })*
        }

        impl $crate::written::Spans for $name {
            fn span_of(&self, key: &str) -> Option<&$crate::error::Span> {
                $(if key == stringify!($field) { return written!(@span self.$field $(; $of_type)?); })*
                None
            }
        }
    };
    (@span $said:expr) => { $said.as_ref().map(|at| &at.span) };
    (@span $said:expr; $of_type:literal) => { None };
    (@field $type:ty) => { Option<$crate::written::At<$type>> };
    (@field $type:ty, $or:literal) => { Option<$crate::written::At<Option<$type>>> };
    (@field $type:ty; $of_type:literal) => { $type };
    (@type $type:ty) => { <$type as $crate::written::Written>::TYPE };
    (@type $type:ty; $of_type:literal) => { $of_type };
    (@read $s:ident, $findings:ident, $key:expr; $reader:ident) => { $reader($s, $findings) };
    (@read $s:ident, $findings:ident, $key:expr) => { $s.get($key, $findings) };
    (@read $s:ident, $findings:ident, $key:expr, $or:literal) => { $s.get_or($key, $or, $findings) };
    (@value [$type:ty] []) => { $type };
    (@value [$type:ty] [$or:literal]) => { Option<$type> };
    (@between [$type:ty]) => { $crate::written::Limits::<$type>::ANY };
    (@between [$type:ty] $range:expr) => { $crate::written::Limits::<$type>::from($range) };
    (@limits [$type:ty] $words:literal) => { String::new() };
    (@limits [$type:ty] (else $words:literal, in $range:expr)) => { written!(@between [$type] $range).to_string() };
    (@limits [$type:ty] ($usual:expr, in $range:expr $(, $($rest:tt)*)?)) => {
        written!(@between [$type] $range).to_string()
    };
    (@limits [$type:ty] ($($rest:tt)*)) => { String::new() };
    (@default [$type:ty] [$($or:literal)?] $words:literal) => { $words.to_string() };
    (@default [$type:ty] [$($or:literal)?] (else $words:literal, in $range:expr)) => { $words.to_string() };
    (@default [$type:ty] [$($or:literal)?] ($usual:expr $(, in $range:expr)? $(, $when:literal => $case:expr)*
        $(, else $words:literal)?)) => {
        $crate::written::default_words::<written!(@value [$type] [$($or)?])>(
            &$usual, None $(.or(Some($or)))?, &[$(($when, $case)),*], concat!($($words)?))
    };
    (@said $field:ident [$type:ty] [$($or:literal)?] $words:literal) => {};
    (@said $field:ident [$type:ty] [$($or:literal)?] (else $words:literal, in $range:expr)) => {
        /// What was said, and its limits.
        pub(crate) fn $field(&self) -> $crate::written::Said<'_, $type, written!(@value [$type] [$($or)?]), ()> {
            $crate::written::Said {
                key: stringify!($field),
                written: self.$field.as_ref(),
                usual: (),
                limits: written!(@between [$type] $range),
            }
        }
    };
    (@said $field:ident [$type:ty] [$($or:literal)?] ($usual:expr $(, in $range:expr)?
        $(, $when:literal => $case:expr)* $(, else $words:literal)?)) => {
        /// What was said, its default and its limits.
        pub(crate) fn $field(&self) -> $crate::written::Said<'_, $type, written!(@value [$type] [$($or)?])> {
            $crate::written::Said {
                key: stringify!($field),
                written: self.$field.as_ref(),
                usual: $usual,
                limits: written!(@between [$type] $($range)?),
            }
        }
    };
}
