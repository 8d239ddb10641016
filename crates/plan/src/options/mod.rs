//! Options of tools, mounts and servers that a study may say: one table for each, and nothing passes that is not in it.
//!
//! A [`Rule`] declares an option once: its name, the type and range of its value, a phrase. The check, the words of
//! a refusal, the arguments of the tool and the tables of docs/study.md follow from it. Prevents: an option that
//! names a device, a file or a program, and through which a study would harm what it does not name.

mod btrfs;
mod document;
mod ext4;
mod mounts;
mod postgres;
mod read;
mod refused;
mod rule;
mod server;
mod takes;
mod tool;
mod xfs;

pub use document::markdown as options_markdown;
pub(crate) use read::{Placed, Reading, mkfs, mount};
pub use rule::{Given, Refused, Rule};
pub(crate) use server::setting;
pub use takes::{Step, Takes, Value};
pub use tool::Tool;

use crate::error::Findings;

/// Options of one tool from words as a study has them, for callers that have no study.
///
/// # Errors
/// The first thing that is wrong with them.
pub fn options(tool: Tool, words: &[&str]) -> Result<Vec<Given>, String> {
    let mut findings = Findings::default();
    let words: Vec<Placed> = words.iter().map(|word| ((*word).to_string(), 0..0)).collect();
    let read: Reading = if tool.is_mkfs() { mkfs } else { mount };
    let given = read(tool, &words, &mut findings);
    findings
        .first()
        .map_or(Ok(given), |(message, cure)| Err(format!("{message}\ncure: {cure}")))
}

/// Options of one flag of a mkfs (`-E`), and all others; for a tool that takes the flag once and is
/// told something by Assay too.
pub fn split_flag(options: &[Given], flag: &str) -> (Vec<String>, Vec<Given>) {
    let (of_flag, others): (Vec<Given>, Vec<Given>) =
        options.iter().cloned().partition(|given| given.rule.flag == flag);
    (mount_words(&of_flag), others)
}

/// Arguments of a mkfs, made anew from the typed form: each flag once, its options joined, in the order
/// of their first mention.
pub fn arguments(options: &[Given]) -> Vec<String> {
    let mut flags: Vec<(&'static str, Vec<String>)> = Vec::new();
    for given in options {
        let text = given.rule.text(&given.value);
        match flags.iter_mut().find(|(flag, _)| *flag == given.rule.flag) {
            Some((_, all)) => all.push(text),
            None => flags.push((given.rule.flag, vec![text])),
        }
    }
    let mut arguments = Vec::new();
    for (flag, all) in flags {
        arguments.push(flag.to_string());
        arguments.extend(Some(all.join(",")).filter(|joined| !joined.is_empty()));
    }
    arguments
}

/// The options of a mount, one by one, made anew from the typed form.
pub fn mount_words(options: &[Given]) -> Vec<String> {
    options.iter().map(|given| given.rule.text(&given.value)).collect()
}
