//! What a program consists of: the bytes of its functions and constants, by the crate that they are written in.
//!
//! Takes a program that still has its symbols, as `nm` of binutils lists them, gives bytes by crate. What is generic
//! counts for the crate that wrote it, not for the one that asked for it. Prevents: a dependency that nobody knows to
//! weigh more than a room of ours.

use crate::undo::tool;
use std::collections::BTreeMap;
use std::path::Path;

/// What has no crate in its name: SQLite, the allocator, cryptography, the C library's start.
pub(crate) const OF_C: &str = "C, and what has no crate";

/// Bytes by crate, of all that a file holds under a name.
pub(crate) fn by_crate(program: &Path) -> anyhow::Result<BTreeMap<String, u64>> {
    let listed = tool("nm", &["-C", "-S", "--defined-only", &program.display().to_string()])?;
    Ok(sums(&listed))
}

/// Of lines such as `0000000000011234 0000000000000100 t pages::engine::step`.
fn sums(listed: &str) -> BTreeMap<String, u64> {
    // Functions that are alike are one, with several names.
    let mut places: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
    for line in listed.lines() {
        let mut words = line.splitn(4, ' ');
        let (Some(place), Some(size), Some(kind), Some(name)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        let Ok(size) = u64::from_str_radix(size, 16) else {
            continue;
        };
        // Memory that begins as zeros takes no room in a file.
        if !kind.eq_ignore_ascii_case("b") {
            places.entry(place).or_insert((size, name));
        }
    }
    let mut sums = BTreeMap::new();
    for (size, name) in places.into_values() {
        *sums.entry(crate_of(name).to_string()).or_default() += size;
    }
    sums
}

/// The crate in a name of Rust's: of a method that of its type, and of its trait where the type is of no crate.
fn crate_of(name: &str) -> &str {
    let of_path = |text: &'_ str| -> Option<usize> {
        let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
        (end > 0 && text[end..].starts_with("::")).then_some(end)
    };
    let type_part = name.trim_start_matches(['<', '&', '*', '(', '[']);
    let type_part = ["mut ", "const ", "dyn "]
        .iter()
        .fold(type_part, |text, word| text.strip_prefix(word).unwrap_or(text));
    if let Some(end) = of_path(type_part) {
        return &type_part[..end];
    }
    let of_trait = name.split_once(" as ").map(|(_, rest)| rest);
    of_trait
        .and_then(|rest| of_path(rest).map(|end| &rest[..end]))
        .unwrap_or(OF_C)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_crate() {
        for (name, of) in [
            ("pages::engine::worker::step", "pages"),
            ("<lab::run::Clock as core::fmt::Debug>::fmt", "lab"),
            ("<&mut serde_json::Value as core::fmt::Debug>::fmt", "serde_json"),
            ("<u32 as core::fmt::Display>::fmt", "core"),
            ("<[u8] as plan::text::Words>::words", "plan"),
            ("core::ptr::drop_in_place<lab::run::Clock>", "core"),
            ("<dyn std::error::Error>::is", "std"),
            ("sqlite3BtreeInsert", OF_C),
            ("std::sys::start::{closure#0}", "std"),
        ] {
            assert_eq!(crate_of(name), of, "{name}");
        }
    }

    #[test]
    fn what_is_in_the_file_is_counted_once() {
        let listed = "0000000000001000 0000000000000100 t pages::a\n\
                      0000000000001000 0000000000000100 t stats::a\n\
                      0000000000002000 0000000000000010 R pages::TABLE\n\
                      0000000000003000 0000000000001000 b pages::ZEROS\n\
                      0000000000004000 t no_size\n\
                      0000000000005000 0000000000000001 T main\n";
        let expected = BTreeMap::from([("pages".to_string(), 0x110), (OF_C.to_string(), 1)]);
        assert_eq!(sums(listed), expected);
    }
}
