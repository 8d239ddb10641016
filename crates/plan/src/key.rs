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
    /// The default with its reason, as Markdown.
    pub(crate) default: &'static str,
    /// One sentence, as Markdown.
    pub(crate) meaning: &'static str,
}

/// What a section says, one row for each key:
/// `/// meaning` `key: Type | "word for nothing" [kinds] = "default, as the documents have it";`
/// `key: Type => reader "type in the documents"` has a reader of its own; `with` fields are no keys of a kind.
macro_rules! written {
    ($(#[$about:meta])* struct $name:ident of $kind:ty {
        $($(#[doc = $doc:literal])+ $field:ident: $type:ty $(| $or:literal)? $(=> $reader:ident $of_type:literal)?
            $([$($of:expr),+])? = $default:literal;)*
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
                default: $default,
                meaning: concat!($($doc),+),
            }),*];

            /// What the section says of them.
            pub(crate) fn read(s: &mut $crate::written::Section<'_>, findings: &mut $crate::error::Findings) -> $name {
                $name {
                    $($field: written!(@read s, findings, stringify!($field) $(, $or)? $(; $reader)?),)*
                    $($($more: Default::default(),)*)?
                }
            }
        }
    };
    (@field $type:ty) => { Option<$crate::written::At<$type>> };
    (@field $type:ty, $or:literal) => { Option<$crate::written::At<Option<$type>>> };
    (@field $type:ty; $of_type:literal) => { $type };
    (@type $type:ty) => { <$type as $crate::written::Written>::TYPE };
    (@type $type:ty; $of_type:literal) => { $of_type };
    (@read $s:ident, $findings:ident, $key:expr; $reader:ident) => { $reader($s, $findings) };
    (@read $s:ident, $findings:ident, $key:expr) => { $s.get($key, $findings) };
    (@read $s:ident, $findings:ident, $key:expr, $or:literal) => { $s.get_or($key, $or, $findings) };
}
