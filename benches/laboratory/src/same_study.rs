//! Whether two result files are of one thing: the same host, the same stacks on the same storage, the same data and
//! phases, whatever their blocks and lengths.
//!
//! Takes two result files, gives nothing or the first thing that is not the same. Prevents: a protocol that is faster
//! because its stacks, its data or its machine were others.

use crate::protocols::{ProtocolsError, Unlike};
use crate::result_file::ResultFile;
use ledger::{FactName, Scope};
use report::StackHead;
use std::collections::{BTreeMap, BTreeSet};

/// Facts of a host that make it another one.
const OF_THE_HOST: [FactName; 4] = [FactName::Machine, FactName::Kernel, FactName::Cpu, FactName::Cpus];

const PLANTED: &str = "the planted disadvantage";

/// What a file says of host, stacks, data and phases, by name.
pub(crate) type Recorded = BTreeMap<String, String>;

/// What must be the same, and what to do where it is not.
type Rule = (fn(&ResultFile) -> Recorded, &'static str);

/// What must be the same: the host, the stacks and what they stand on, the data, the phases but for their length.
pub(crate) fn must_be_of_one_thing(fixed: &ResultFile, here: &ResultFile) -> Result<(), ProtocolsError> {
    let unlike = |what: &str, of_fixed: Option<&str>, of_here: Option<&str>, cure: &'static str| {
        let said = |value: Option<&str>| value.unwrap_or("nothing").to_string();
        ProtocolsError::Unlike(Box::new(Unlike {
            what: what.to_string(),
            fixed: said(of_fixed),
            fixed_study: fixed.study().to_string(),
            here: said(of_here),
            here_study: here.study().to_string(),
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

/// All that makes two recordings ones of the same thing: what must be the same of two protocols, and the lengths of the
/// phases.
pub(crate) fn recorded(file: &ResultFile) -> Recorded {
    let lengths = file.settings.iter().filter(|setting| is_length(&setting.key));
    let lengths = lengths.map(|setting| (format!("`{}`", setting.key), setting.value.clone()));
    let rules = [host_facts, stack_names, stack_facts, phases, settings];
    rules.into_iter().flat_map(|facts| facts(file)).chain(lengths).collect()
}

/// Whether something that was recorded is a disadvantage that was planted in a stack, by any of the names it has.
pub(crate) fn is_planted(name: &str) -> bool {
    name.starts_with(PLANTED) || (name.starts_with("`stack.") && name.contains(".inject."))
}

/// Keys that say how long a phase is.
fn is_length(key: &str) -> bool {
    key.starts_with("phase.") && [".time", ".work_loop"].iter().any(|length| key.ends_with(length))
}

fn host_facts(file: &ResultFile) -> Recorded {
    // Virtual time passes alike on all of them.
    if file.analysis.study.modelled {
        return Recorded::new();
    }
    let hosts: BTreeSet<&str> = file.basis.trials.iter().map(|trial| trial.host.as_str()).collect();
    let facts = OF_THE_HOST
        .into_iter()
        .filter_map(|name| Some((name, file.fact(&Scope::Host, name)?)));
    let mut recorded: Recorded = facts
        .map(|(name, value)| (format!("the host's {}", name.as_str()), value.to_string()))
        .collect();
    recorded.insert("the host".into(), hosts.into_iter().collect::<Vec<_>>().join(", "));
    recorded
}

fn taking_part(file: &ResultFile) -> impl Iterator<Item = &StackHead> {
    let stacks = file.analysis.stacks.iter();
    stacks.filter(|stack| file.basis.stacks.contains(&stack.name))
}

fn stack_names(file: &ResultFile) -> Recorded {
    Recorded::from([("the list of stacks".to_string(), file.basis.stacks.join(", "))])
}

fn stack_facts(file: &ResultFile) -> Recorded {
    let mut recorded = Recorded::new();
    for stack in taking_part(file) {
        let name = &stack.name;
        let mut add = |what: &str, value: &str| recorded.insert(format!("{what} of {name}"), value.to_string());
        add("the kind", &stack.kind);
        add("the layers", &stack.layers.to_string());
        add("the access", stack.access.as_str());
        add(PLANTED, stack.injected.as_deref().unwrap_or("none"));
        if let Some(lowest) = file.fact(&Scope::Stack(name.clone()), FactName::LowestDevices) {
            add("the lowest visible devices", &lowest.to_string());
        }
    }
    recorded
}

/// Keys of the study but for its head, and for what says how long a phase is.
fn settings(file: &ResultFile) -> Recorded {
    let kept = |setting: &&ledger::Setting| !setting.key.starts_with("study.") && !is_length(&setting.key);
    let all = file.settings.iter().filter(kept);
    all.map(|setting| (format!("`{}`", setting.key), setting.value.clone()))
        .collect()
}

fn phases(file: &ResultFile) -> Recorded {
    let heads = file.analysis.phases.iter().enumerate().map(|(nth, head)| {
        let ranked = if head.ranked { "" } else { ", not ranked" };
        (
            format!("phase {}", nth + 1),
            format!("{} ({}{ranked})", head.name, head.kind.as_str()),
        )
    });
    heads.collect()
}
