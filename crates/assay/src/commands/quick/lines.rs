//! Lines that `assay quick` says beside its answer: words, which are folded, and commands, which a user copies.
//!
//! Prevents: a command that a shell takes for another one, because its path has a space or the line was folded.

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Line {
    Words(String),
    /// As it is typed.
    Command(String),
}

impl Line {
    /// A command of these words, each quoted where a shell would read it otherwise.
    pub(super) fn shell(words: &[impl AsRef<str>]) -> Line {
        let words: Vec<String> = words.iter().map(|word| quoted(word.as_ref())).collect();
        Line::Command(words.join(" "))
    }

    /// The same with its answer in a file.
    pub(super) fn into_file(self, name: &str) -> Line {
        match self {
            Line::Command(words) => Line::Command(format!("{words} > {name}")),
            words @ Line::Words(_) => words,
        }
    }
}

/// A word as POSIX shells read it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_take_it_apart() {
        let said = |words: &[&str]| Line::shell(words);
        assert_eq!(
            said(&["run", "--extend", "/a/b-1.assay"]),
            Line::Command("run --extend /a/b-1.assay".into())
        );
        assert_eq!(
            said(&["it's", "$HOME", ""]),
            Line::Command(r"'it'\''s' '$HOME' ''".into())
        );
    }
}
