//! Whether two result files are of one thing: the same host, the same stacks on the same storage, the same data and phases, whatever
//! their blocks and lengths.
//!
//! Takes two gathered files, gives nothing or the first thing that is not the same. Prevents: a protocol that is faster because its
//! stacks, its data or its machine were others.

use crate::history::Book;
use crate::protocols::{ProtocolsError, Unlike};
use crate::rank::takes_part;
use ledger::{FactName, Scope, Stack};
use std::collections::{BTreeMap, BTreeSet};

/// Facts of a host that make it another one.
const OF_THE_HOST: [FactName; 4] = [FactName::Machine, FactName::Kernel, FactName::Cpu, FactName::Cpus];

const PLANTED: &str = "the planted disadvantage";

/// What a file says of something, by name.
pub(crate) type Told = BTreeMap<String, String>;

/// What must be the same, and what to do where it is not.
type Rule = (fn(&Book) -> Told, &'static str);

/// What must be the same: the host, the stacks and what they stand on, the data, the phases but for their length.
pub(crate) fn must_be_of_one_thing(fixed: &Book, here: &Book) -> Result<(), ProtocolsError> {
    let unlike = |what: &str, of_fixed: Option<&str>, of_here: Option<&str>, cure: &'static str| {
        let said = |value: Option<&str>| value.unwrap_or("nothing").to_string();
        ProtocolsError::Unlike(Box::new(Unlike {
            what: what.to_string(),
            fixed: said(of_fixed),
            fixed_study: fixed.study.name.clone(),
            here: said(of_here),
            here_study: here.study.name.clone(),
            cure,
        }))
    };
    let rules: [Rule; 5] = [
        (host_facts, "run both on one machine"),
        (stack_names, "give both studies the same stacks, in one order"),
        (stack_facts, "give both studies the same stacks on the same storage"),
        (phases, "give both studies the same phases"),
        (
            settings,
            "let the studies differ in blocks, limits and the time of their phases, and in nothing else",
        ),
    ];
    for (facts, cure) in rules {
        let (one, other) = (facts(fixed), facts(here));
        let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
        for name in names {
            let values = [one.get(name), other.get(name)].map(|value| value.map(String::as_str));
            if values[0] != values[1] {
                return Err(unlike(name, values[0], values[1], cure));
            }
        }
    }
    Ok(())
}

/// All that makes two recordings ones of the same thing: what must be the same of two protocols, and the lengths of the phases.
pub(crate) fn told(book: &Book) -> Told {
    let lengths = book.settings.iter().filter(|setting| is_length(&setting.key));
    let lengths = lengths.map(|setting| (format!("`{}`", setting.key), setting.value.clone()));
    let rules = [host_facts, stack_names, stack_facts, phases, settings];
    rules.into_iter().flat_map(|facts| facts(book)).chain(lengths).collect()
}

/// Whether something that was told is a disadvantage that was planted in a stack, by any of the names it has.
pub(crate) fn is_planted(name: &str) -> bool {
    name.starts_with(PLANTED) || (name.starts_with("`stack.") && name.contains(".inject."))
}

/// Keys that say how long a phase is.
fn is_length(key: &str) -> bool {
    key.starts_with("phase.") && [".time", ".work_loop"].iter().any(|length| key.ends_with(length))
}

fn host_facts(book: &Book) -> Told {
    // Virtual time passes alike on all of them.
    if book.study.modelled {
        return Told::new();
    }
    let hosts: BTreeSet<&str> = book.ran.values().map(|ran| ran.trial.host.as_str()).collect();
    let facts = OF_THE_HOST
        .into_iter()
        .filter_map(|name| Some((name, book.fact(&Scope::Host, name)?)));
    let mut told: Told = facts
        .map(|(name, value)| (format!("the host's {}", name.as_str()), value.to_string()))
        .collect();
    told.insert("the host".into(), hosts.into_iter().collect::<Vec<_>>().join(", "));
    told
}

fn taking_part(book: &Book) -> impl Iterator<Item = &Stack> {
    book.stacks.iter().filter(|stack| takes_part(book, stack).is_ok())
}

fn stack_names(book: &Book) -> Told {
    let names: Vec<&str> = taking_part(book).map(|stack| stack.name.as_str()).collect();
    Told::from([("the list of stacks".to_string(), names.join(", "))])
}

fn stack_facts(book: &Book) -> Told {
    let mut told = Told::new();
    for stack in taking_part(book) {
        let name = &stack.name;
        let mut add = |what: &str, value: &str| told.insert(format!("{what} of {name}"), value.to_string());
        add("the kind", &stack.kind);
        add("the layers", &stack.layers.to_string());
        add("the access", stack.access.as_str());
        add(PLANTED, stack.injected.as_deref().unwrap_or("none"));
        if let Some(lowest) = book.of_stack(name, FactName::LowestDevices) {
            add("the lowest visible devices", &lowest.to_string());
        }
    }
    told
}

/// Keys of the study but for its head, and for what says how long a phase is.
fn settings(book: &Book) -> Told {
    let kept = |setting: &&ledger::Setting| !setting.key.starts_with("study.") && !is_length(&setting.key);
    let all = book.settings.iter().filter(kept);
    all.map(|setting| (format!("`{}`", setting.key), setting.value.clone()))
        .collect()
}

fn phases(book: &Book) -> Told {
    let heads = book.phases.iter().enumerate().map(|(nth, head)| {
        let ranked = if head.ranked { "" } else { ", not ranked" };
        let kind = head.kind.as_str();
        (format!("phase {}", nth + 1), format!("{} ({kind}{ranked})", head.name))
    });
    heads.collect()
}
