//! Words of the file that stand for one of a few things: each enum with its committed words, said once.
//!
//! Takes a list of variants and words, gives the enum and both ways between it and the file. A word that is not in the
//! list is an error. Prevents: a writer and a reader that spell a word in two ways, and a sentence that a program
//! compares.

macro_rules! committed_words {
    ($(#[$about:meta])* $name:ident { $($(#[$each:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$each])* $variant,)* }

        impl $name {
            /// All of them, in the order of the list.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The word in the file.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            /// What a word of the file stands for, if this version knows it.
            pub fn from_word(word: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|one| one.as_str() == word)
            }
        }

        impl rusqlite::ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
                Ok(self.as_str().into())
            }
        }

        impl rusqlite::types::FromSql for $name {
            fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<$name> {
                let word = value.as_str()?;
                $name::from_word(word).ok_or_else(|| crate::rows::columns::no_meaning(word))
            }
        }
    };
}

pub(crate) use committed_words;
