//! What `assay dg check` says at its end, each finding with its type, and how it is printed.
//!
//! Prevents: findings that are counted, or told apart, by their words.

use super::opened::Note;
use super::table::size;
use crate::commands::answer::folded;
use diskgroup::{CheckReport, Contradiction};
use serde_json::{Value, json};
use std::fmt;
use std::path::PathBuf;

/// What is said of one thing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Said {
    /// What opening the group set right.
    Opening(Note),
    /// What comparing found.
    Found(Contradiction),
    /// What has become of a disk.
    Disk { disk: String, fate: Fate },
    /// Parts of a file are nowhere but on a disk that is not believed.
    Alone { file: String, disk: String },
    /// Copies of extents that are known to be stale.
    Stale { copies: u64 },
}

/// What has become of a disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    MissingOrDestroyed,
    Missing,
    /// Another takes its place.
    Replaced(PathBuf),
    RefusedAtOpening,
    WasOffline,
    Offline,
}

/// One finding of the answer.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) what: Said,
    pub(super) repaired: bool,
}

/// What a check says at its end.
pub(super) struct Verdict {
    pub(super) group: String,
    pub(super) lines: Vec<Line>,
    /// What was looked at, when the group could be opened.
    pub(super) looked: Option<CheckReport>,
    /// Bytes of copies that were made anew.
    pub(super) copied_bytes: u64,
    /// Disks that were brought back.
    pub(super) returned: Vec<String>,
    /// What to do about what remains.
    pub(super) cure: Option<String>,
}

impl Said {
    /// Whether another differs from this one in the block, the extent or numbers alone.
    fn is_like(&self, other: &Said) -> bool {
        match (self, other) {
            (Said::Found(one), Said::Found(other)) => one.is_like(other),
            (one, other) => one == other,
        }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Said::Opening(note) => write!(f, "{note}"),
            Said::Found(what) => write!(f, "{what}"),
            Said::Disk { disk, fate } => write!(f, "disk {disk}: {fate}"),
            Said::Alone { file, disk } => write!(f, "file {file}: parts of it are on disk {disk} alone"),
            Said::Stale { copies } => write!(f, "{copies} copies of extents missed writes and wait to be made anew"),
        }
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fate::MissingOrDestroyed => f.write_str("it is missing, or its header is destroyed"),
            Fate::Missing => f.write_str("it is missing"),
            Fate::Replaced(path) => write!(f, "it is missing; {} takes its place", path.display()),
            Fate::RefusedAtOpening => f.write_str("it refused repairs when the group was opened"),
            Fate::WasOffline => f.write_str("it was offline"),
            Fate::Offline => f.write_str("it is offline"),
        }
    }
}

impl Verdict {
    pub(super) fn of(group: &str) -> Verdict {
        Verdict {
            group: group.to_string(),
            lines: Vec::new(),
            looked: None,
            copied_bytes: 0,
            returned: Vec::new(),
            cure: None,
        }
    }

    pub(super) fn add(&mut self, what: Said, repaired: bool) {
        self.lines.push(Line { what, repaired });
    }

    pub(super) fn disk(&mut self, disk: &str, fate: Fate, repaired: bool) {
        let disk = disk.to_string();
        self.add(Said::Disk { disk, fate }, repaired);
    }

    pub(super) fn remaining(&self) -> usize {
        self.lines.iter().filter(|line| !line.repaired).count()
    }

    pub(super) fn json(&self) -> Value {
        let findings: Vec<Value> = self
            .lines
            .iter()
            .map(|line| json!({ "what": line.what.to_string(), "repaired": line.repaired }))
            .collect();
        let looked = self.looked.as_ref().map(|r| {
            json!({
                "disks": r.disks, "metadata_blocks": r.metadata_blocks, "table_blocks": r.table_blocks,
                "extents": r.extents, "compared_bytes": r.compared_bytes,
            })
        });
        json!({
            "schema": 1, "group": self.group, "sound": self.remaining() == 0, "remaining": self.remaining(),
            "findings": findings, "looked_at": looked, "copied_bytes": self.copied_bytes,
        })
    }

    pub(super) fn words(&self) -> String {
        let mut text = findings_words(&self.lines);
        if self.copied_bytes > 0 {
            text.push_str(&format!("copied   {} anew\n", size(self.copied_bytes)));
        }
        match &self.looked {
            Some(r) => text.push_str(&format!(
                "looked   at {} disks, {} metadata blocks, {} table blocks, {} extents;\n         compared {}\n",
                r.disks,
                r.metadata_blocks,
                r.table_blocks,
                r.extents,
                size(r.compared_bytes)
            )),
            None => text.push_str("looked   at the headers only: the group was not opened\n"),
        }
        let sound = match (self.remaining(), self.lines.len()) {
            (0, 0) => "is sound".to_string(),
            (0, _) => "is sound again".to_string(),
            (n, _) => format!(
                "is not sound: {} {}",
                findings(n),
                if n == 1 { "remains" } else { "remain" }
            ),
        };
        text.push_str(&format!("disk group {} {sound}\n", self.group));
        text
    }
}

/// A count with its noun.
pub(super) fn findings(count: usize) -> String {
    format!("{count} finding{}", if count == 1 { "" } else { "s" })
}

/// Findings of one kind that are written out; JSON has them all.
const OF_A_KIND_MAX: usize = 5;

fn findings_words(all: &[Line]) -> String {
    let mut text = String::new();
    let mut rest = all;
    while let [first, ..] = rest {
        let same = |line: &&Line| line.repaired == first.repaired && line.what.is_like(&first.what);
        let run = rest.iter().take_while(same).count();
        let mark = if first.repaired { "repaired " } else { "FOUND    " };
        for line in &rest[..run.min(OF_A_KIND_MAX)] {
            text.push_str(mark);
            text.push_str(&folded(&line.what.to_string(), mark.len()));
        }
        if run > OF_A_KIND_MAX {
            text.push_str(&format!("{mark}... and {} more of the kind\n", run - OF_A_KIND_MAX));
        }
        rest = &rest[run..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use diskgroup::{FindingKind, FoundAt};

    #[test]
    fn many_findings_of_a_kind_are_counted() {
        let line = |at: FoundAt, kind: FindingKind| Line {
            what: Said::Found(Contradiction { at, kind }),
            repaired: false,
        };
        let disk = |disk: &str| FoundAt::Disk { disk: disk.to_string() };
        let mut all: Vec<Line> = (0..9)
            .map(|block| line(disk("d_0001"), FindingKind::MetadataOld { block }))
            .collect();
        all.push(line(disk("d_0002"), FindingKind::MetadataOld { block: 9 }));
        let extent = |extent| FoundAt::Extent {
            file: "f".to_string(),
            extent,
        };
        all.extend((0..2).map(|n| line(extent(n), FindingKind::CopiesDiffer)));
        let text = findings_words(&all);
        assert_eq!(text.lines().count(), 9, "{text}");
        assert!(text.contains("... and 4 more of the kind"), "{text}");
        assert!(text.lines().all(|l| l.len() <= 80));
    }
}
