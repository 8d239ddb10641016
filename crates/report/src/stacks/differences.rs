//! What differs between the stacks: read it before the figures.
//!
//! Takes the stacks, their facts and their keys of the study; gives what is not the same everywhere, and the names of
//! what is. Prevents: a comparison whose configuration was never disclosed.

use crate::analysis::{Difference, FactOfStack};
use crate::grouped::distinct;
use crate::history::Book;
use crate::ranking::rank::taking_part;
use crate::stacks::databases::of_stack;
use ledger::{DatabaseEngine, Fact, FactName, Scope, Stack};
use std::collections::{BTreeMap, BTreeSet};

/// (what differs, what is the same), over the stacks that took part.
pub(crate) fn differences(book: &Book) -> (Vec<Difference>, Vec<String>) {
    let stacks: Vec<&Stack> = taking_part(book).collect();
    let mut known: Vec<Vec<(String, String)>> = stacks.iter().map(|stack| facts_of(book, stack)).collect();
    add_settings_that_differ(book, &stacks, &mut known);
    // The order of the first mention, so that kind and layers come first.
    let names = distinct(known.iter().flatten().map(|(name, _)| name));
    let by_stack: Vec<BTreeMap<&String, &String>> = known
        .iter()
        .map(|facts| facts.iter().map(|(name, value)| (name, value)).collect())
        .collect();
    let mut differ = Vec::new();
    let mut equal = Vec::new();
    for name in names {
        let values: Vec<Option<&&String>> = by_stack.iter().map(|facts| facts.get(name)).collect();
        let masked: Vec<Option<String>> = values.iter().map(|value| value.map(|value| unnamed(value))).collect();
        if masked.windows(2).all(|pair| pair[0] == pair[1]) {
            equal.push(name.clone());
            continue;
        }
        let of = |(stack, value): (&&Stack, &Option<&&String>)| FactOfStack {
            stack: stack.name.clone(),
            value: value.map(|value| (*value).clone()),
        };
        differ.push(Difference {
            fact: name.clone(),
            values: stacks.iter().zip(&values).map(of).collect(),
        });
    }
    // A stable order: inside one importance that of the first mention.
    differ.sort_by_key(|difference: &Difference| importance(&difference.fact));
    (differ, equal)
}

/// A value without names that are made anew for each stack: identities of file systems, and of the devices they are
/// made on when a tool repeats them. Which devices a stack stands on is a fact of its own.
pub(crate) fn unnamed(value: &str) -> String {
    let is_identity = |word: &str| {
        let parts: Vec<usize> = word.split('-').map(str::len).collect();
        parts == [8, 4, 4, 4, 12] && word.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
    };
    let mask = |word: &str| match word {
        word if is_identity(word) => "ID".to_string(),
        word if word.starts_with("/dev/") => "DEVICE".to_string(),
        word => word.to_string(),
    };
    // Separators stay, so that lists of another shape stay different.
    let is_separator = |c: char| c.is_whitespace() || matches!(c, '=' | ',' | ':' | '"' | '(' | ')');
    value
        .split_inclusive(is_separator)
        .map(|part| {
            let word = part.trim_end_matches(is_separator);
            mask(word) + &part[word.len()..]
        })
        .collect()
}

/// Settings of databases, where they are not the same on all stacks of one engine: there are hundreds that are, and
/// what one engine can be told and another can't is no choice of anybody's.
fn add_settings_that_differ(book: &Book, stacks: &[&Stack], known: &mut [Vec<(String, String)>]) {
    let databases: Vec<_> = stacks.iter().map(|stack| of_stack(book, &stack.name)).collect();
    let engines: Vec<Option<DatabaseEngine>> = databases.iter().map(|of| Some(of.as_ref()?.engine)).collect();
    let settings: Vec<BTreeMap<&String, &String>> = databases
        .iter()
        .map(|of| of.iter().flat_map(|of| &of.settings))
        .map(|settings| settings.map(|one| (&one.name, &one.value)).collect())
        .collect();
    let names: BTreeSet<&String> = settings.iter().flat_map(BTreeMap::keys).copied().collect();
    for name in names.into_iter().filter(|name| !OF_THE_PLACE.contains(&name.as_str())) {
        let values: Vec<Option<&String>> = settings.iter().map(|of| of.get(name).copied()).collect();
        let of_engines: BTreeSet<(Option<DatabaseEngine>, Option<&String>)> =
            engines.iter().copied().zip(values.iter().copied()).collect();
        // One engine's values stand side by side, in their order.
        let mut neighbours = of_engines.iter().zip(of_engines.iter().skip(1));
        if neighbours.any(|(one, next)| one.0.is_some() && one.0 == next.0) {
            for (facts, value) in known.iter_mut().zip(values) {
                facts.extend(value.map(|value| (format!("database setting {name}"), value.clone())));
            }
        }
    }
}

/// Settings that say where a server lies: they differ with the place and with nothing else.
pub(crate) const OF_THE_PLACE: [&str; 7] = [
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "log_directory",
    "unix_socket_directories",
];

/// What may decide the result comes first.
fn importance(fact: &str) -> usize {
    const FIRST: [&str; 14] = [
        "planted disadvantage",
        "access",
        "data reads go",
        "data writes go",
        "redo reads go",
        "redo writes go",
        "kind",
        "layers",
        "mount options",
        "database setting fsync",
        "database setting synchronous_commit",
        "database setting sqlite synchronous",
        "dataset sync",
        "nearest devices",
    ];
    const THEN: [&str; 4] = ["lowest visible devices", "data LUNs", "redo LUNs", "memory"];
    let place = |list: &[&str]| list.iter().position(|name| fact.starts_with(name));
    place(&FIRST)
        .or_else(|| place(&THEN).map(|place| FIRST.len() + place))
        .unwrap_or(FIRST.len() + THEN.len())
}

/// LUN sets of the data: several where they took turns from block to block.
fn data_luns(book: &Book, stack: &Stack) -> String {
    match sets_in_turn(book, stack) {
        Some(sets) => format!("{} in turn", sets.join(", ")),
        None => stack.data_lun_set.clone().unwrap_or_else(|| "none".into()),
    }
}

fn redo_luns(book: &Book, stack: &Stack) -> String {
    match (&stack.redo_lun_set, sets_in_turn(book, stack)) {
        (Some(_), Some(_)) => "in turn with the data".into(),
        (Some(set), None) => set.clone(),
        (None, _) => "beside the data".into(),
    }
}

/// More than one LUN set, in the order of their names.
fn sets_in_turn<'b>(book: &'b Book, stack: &'b Stack) -> Option<Vec<&'b str>> {
    let sets = book.runs(&stack.name).map(|(_, ran)| ran.trial.lun_set.as_str());
    let sets: BTreeSet<&str> = sets.collect();
    (sets.len() > 1).then(|| sets.into_iter().collect())
}

fn facts_of(book: &Book, stack: &Stack) -> Vec<(String, String)> {
    let mut facts = vec![
        ("kind".to_string(), stack.kind.clone()),
        ("layers".to_string(), stack.layers.to_string()),
        ("access".to_string(), stack.access.as_str().into()),
        ("data LUNs".to_string(), data_luns(book, stack)),
        ("redo LUNs".to_string(), redo_luns(book, stack)),
    ];
    let injected = stack.injected.clone().unwrap_or_else(|| "none".into());
    facts.push(("planted disadvantage".to_string(), injected));
    if let Some(database) = of_stack(book, &stack.name) {
        facts.push(("database".to_string(), database.words()));
        facts.push(("database's way to storage".to_string(), database.access));
    }
    for (key, value) in book.disclosed.settings_below(&format!("stack.{}.", stack.name)) {
        match key {
            // Already said above, in the words of the run.
            "name" | "kind" | "data" | "redo" | "access" => {}
            key if key.starts_with("inject.") => {}
            key => facts.push((key.to_string(), value.to_string())),
        }
    }
    let scope = Scope::Stack(stack.name.clone());
    // All devices differ where the nearest or the lowest do.
    let counts = |fact: &&Fact| fact.key.name != FactName::Devices;
    let printed = |fact: &Fact| (fact.key.to_string(), fact.value.to_string());
    let all = book.disclosed.facts_of(&scope).filter(counts).map(printed);
    let mut known: BTreeSet<(String, String)> = facts.iter().cloned().collect();
    facts.extend(all.filter(|one| known.insert(one.clone())));
    facts
}

#[cfg(test)]
mod tests {
    use super::unnamed;

    #[test]
    fn only_names_are_taken_out() {
        let made = |id: &str, device: &str| unnamed(&format!("mkfs.xfs -K -f -m uuid={id} {device}"));
        assert_eq!(
            made("a32695f3-302c-88de-a246-75dd17882c27", "/dev/loop0"),
            made("149e609e-b841-8266-ac20-822f6383bebd", "/dev/loop1")
        );
        assert_ne!(unnamed("agcount=4, agsize=20480"), unnamed("agcount=4, agsize=20481"));
        assert_eq!(unnamed("rw,relatime,inode64"), "rw,relatime,inode64");
        assert_eq!(unnamed("a  b="), "a  b=");
    }
}
