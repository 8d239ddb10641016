//! A type whose values are words of a study, each said in one row.
//!
//! Prevents: a word that is read in one spelling and printed in another, and one that is declared and never read.

/// A type whose values are words.
pub(crate) trait Word: Copy + PartialEq + 'static {
    /// With its article: "a kind of stack".
    const WHAT: &'static str;
    /// A value as a file would write it: the first one.
    const EXAMPLE: &'static str;
    /// All values, in the order in which messages list them.
    const ALL: &'static [Self];
    /// Their words.
    const WORDS: &'static [&'static str];

    /// All of them, as a sentence lists them.
    fn listed() -> String {
        listed(Self::WORDS)
    }

    /// The word of this value.
    fn word(&self) -> &'static str;

    /// The value of a word.
    fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.word() == word)
    }
}

/// Words as a sentence lists them: "one, two and three".
pub(crate) fn listed(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, [])) => (*last).to_string(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Declares a type whose values are words: `enum Name: "a thing of this type" { Value = "word", ... }`.
macro_rules! words {
    ($(#[$about:meta])* $seen:vis enum $name:ident: $what:literal {
        $($(#[$each:meta])* $value:ident = $word:literal,)+
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $seen enum $name {
            $($(#[$each])* $value,)+
        }

        impl $crate::word::Word for $name {
            const WHAT: &'static str = $what;
            const EXAMPLE: &'static str = [$(concat!("\"", $word, "\"")),+][0];
            const ALL: &'static [$name] = &[$($name::$value),+];
            const WORDS: &'static [&'static str] = &[$($word),+];

            fn word(&self) -> &'static str {
                match self {
                    $($name::$value => $word,)+
                }
            }
        }
    };
}
