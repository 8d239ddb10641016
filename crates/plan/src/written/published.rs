//! `[published]` as written: which stack and phase of the study stands for which of a publication.
//!
//! Takes the section, gives pairs with their places. Prevents: a figure of a publication set beside a measurement of
//! something else because both have the same name.

use super::section::Section;
use super::value::{At, type_of};
use crate::error::Findings;
use toml::de::DeValue;

/// Pairs of a name of the study and a name of the publication.
pub(crate) type Pairs = Vec<(At<String>, At<String>)>;

/// `[published]`.
#[derive(Default)]
pub(crate) struct WrittenPublished {
    pub(crate) stacks: Pairs,
    pub(crate) phases: Pairs,
}

pub(crate) fn read(mut s: Section<'_>, findings: &mut Findings) -> WrittenPublished {
    let published = WrittenPublished {
        stacks: pairs(&mut s, "stacks", "stacks = { btrfs = \"zfs\" }", findings),
        phases: pairs(&mut s, "phases", "phases = { \"fresh read\" = \"read\" }", findings),
    };
    s.finish(
        &[(
            "source",
            "the publication is named in [study]",
            "write published = \"xtremio-2014\" there",
        )],
        findings,
    );
    published
}

fn pairs(s: &mut Section<'_>, key: &'static str, example: &str, findings: &mut Findings) -> Pairs {
    let Some((_, value)) = s.raw(key) else {
        return Vec::new();
    };
    let DeValue::Table(table) = value.get_ref() else {
        let message = format!("`{key}` takes a table, found {}", type_of(value.get_ref()));
        findings.add(
            &value.span(),
            message,
            format!("write it as `{example}`, ours = theirs"),
        );
        return Vec::new();
    };
    let mut pairs = Vec::new();
    for (ours, theirs) in table {
        match theirs.get_ref() {
            DeValue::String(word) => pairs.push((
                At {
                    value: ours.get_ref().to_string(),
                    span: ours.span(),
                },
                At {
                    value: word.to_string(),
                    span: theirs.span(),
                },
            )),
            other => {
                let message = format!("a name of the publication is a string, found {}", type_of(other));
                findings.add(
                    &theirs.span(),
                    message,
                    format!("write it as `{example}`, ours = theirs"),
                );
            }
        }
    }
    pairs.sort_by_key(|(ours, _)| ours.span.start);
    pairs
}
