//! The tables of keys in docs/study.md, from the rows.
//!
//! Gives Markdown tables by name; a test of this room compares them with the document. Prevents: a key that the
//! document does not know, and one whose type or kinds it has wrong.

use crate::key::Key;
use crate::written::{
    PhaseWord, StackWord, Word, WrittenCost, WrittenDatabase, WrittenEngine, WrittenFiles, WrittenHeader,
    WrittenInject, WrittenInstances, WrittenLunFiles, WrittenMemory, WrittenPhase, WrittenStack, WrittenVolume,
    WrittenZfs,
};

/// Tables by the name that their place in docs/study.md has.
pub fn keys_markdown() -> Vec<(String, String)> {
    let stack = || WrittenStack::KEYS.iter();
    let is_model = |row: &&Key<StackWord>| row.kinds == [StackWord::Model];
    let rows = stack()
        .filter(|row| !is_model(row))
        .chain(WrittenVolume::KEYS)
        .chain(WrittenZfs::KEYS);
    let of_stacks: String = rows.map(|row| line(row, "", true)).collect();
    let inject: String = WrittenInject::KEYS
        .iter()
        .map(|row| line(row, "inject.", true))
        .collect();
    let of_luns: String = WrittenLunFiles::KEYS
        .iter()
        .map(|row| line(row, "files.", false))
        .collect();
    let of_models: String = stack().filter(is_model).map(|row| line(row, "", false)).collect();
    let of_engines: String = WrittenEngine::KEYS.iter().map(|row| line(row, "", true)).collect();
    let tables = vec![
        ("stack", format!("{}{of_stacks}{inject}", head(true))),
        ("stack model", format!("{}{of_models}", head(false))),
        ("study", plain(WrittenHeader::KEYS)),
        ("luns files", format!("{}{of_luns}", head(false))),
        ("memory", plain(WrittenMemory::KEYS)),
        ("instances", plain(WrittenInstances::KEYS)),
        ("database", format!("{}{of_engines}", head(true))),
        ("database pages", plain(WrittenDatabase::KEYS)),
        ("files", plain(WrittenFiles::KEYS)),
        ("cost", plain(WrittenCost::KEYS)),
        ("phase", phase(is_common)),
    ];
    let tables = tables.into_iter().map(|(name, table)| (name.to_string(), table));
    let of_kind = |kind: &PhaseWord| (format!("phase {}", kind.word()), phase(|row| is_own(row, *kind)));
    tables.chain(PhaseWord::ALL.iter().map(of_kind)).collect()
}

/// Keys in the table of a kind: all that it has, but for those that stand before, and those of work that it has from
/// another kind.
fn is_own(row: &Key<PhaseWord>, kind: PhaseWord) -> bool {
    let is_there = !is_common(row) && row.kinds.contains(&kind);
    let is_lent = of_random(row) || of_files(row);
    is_there && !(is_lent && is_on_random(kind))
}

/// Whether a kind has SLOB's work with all its keys, and something more.
fn is_on_random(kind: PhaseWord) -> bool {
    let lent = WrittenPhase::KEYS.iter().find(|row| row.name == "slob_conf");
    kind != PhaseWord::Random && lent.is_some_and(|row| row.kinds.contains(&kind))
}

/// What phases of several kinds have, and stands before them.
fn is_common(row: &Key<PhaseWord>) -> bool {
    row.kinds.is_empty() || ["against", "faults"].contains(&row.name)
}

/// Keys of random work alone, which other kinds have too.
fn of_random(row: &Key<PhaseWord>) -> bool {
    !is_common(row) && row.kinds.contains(&PhaseWord::Random)
}

/// Keys of file serving, which a power cut and a kill under it have too.
fn of_files(row: &Key<PhaseWord>) -> bool {
    row.kinds.contains(&PhaseWord::Files)
}

fn phase(stands: impl Fn(&Key<PhaseWord>) -> bool) -> String {
    let rows = WrittenPhase::KEYS.iter().filter(|row| stands(row));
    let lines: String = rows.map(|row| line(row, "", false)).collect();
    format!("{}{lines}", head(false))
}

fn plain<K: Word>(rows: &[Key<K>]) -> String {
    let lines: String = rows.iter().map(|row| line(row, "", false)).collect();
    format!("{}{lines}", head(false))
}

fn head(kinds: bool) -> String {
    let (kinds, rule) = if kinds { (" kinds |", " --- |") } else { ("", "") };
    format!("| key |{kinds} type | default | meaning |\n| --- |{rule} --- | --- | --- |\n")
}

fn line<K: Word>(row: &Key<K>, prefix: &str, kinds: bool) -> String {
    let words: Vec<&str> = row.kinds.iter().map(Word::word).collect();
    let kinds = match (kinds, words.is_empty()) {
        (false, _) => String::new(),
        (true, true) => " all |".to_string(),
        (true, false) => format!(" {} |", words.join(" ")),
    };
    let limits = Some((row.limits)()).filter(|limits| !limits.is_empty());
    let of_type = [Some(row.of_type.trim().to_string()), limits].into_iter().flatten();
    let of_type = of_type.collect::<Vec<_>>().join(", ");
    let (name, default, meaning) = (row.name, (row.default)(), row.meaning.trim());
    format!("| `{prefix}{name}` |{kinds} {of_type} | {default} | {meaning} |\n")
}
