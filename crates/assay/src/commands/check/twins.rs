//! What `check` says about temporary space: whether the study has the blocks on which it can explain a difference.
//!
//! Takes a study and its estimate, gives a row. Prevents: a long study of temporary space that can decide nothing.

use plan::{Estimate, Stack, Study};
use report::TEMPORARY_BLOCKS_MIN;

/// Why the question stays open; `None` of other studies too.
pub(super) fn few(study: &Study, estimate: &Estimate, blocks: u32) -> Option<String> {
    const LEAST: u32 = TEMPORARY_BLOCKS_MIN;
    let (so_many, cure) = if blocks < LEAST {
        (
            format!("the study plans {blocks}"),
            format!("set `blocks = {LEAST}` or more"),
        )
    } else if estimate.study_ns(LEAST) > study.time_limit.0 {
        let limit = format!("by this estimate fewer fit into its limit of {}", study.time_limit);
        (limit, "raise `time_limit`, or take stacks out".to_string())
    } else {
        return None;
    };
    asks(study).then(|| {
        format!(
            "temporary space explains a difference on {LEAST} blocks that count or more, and {so_many}. The answer \
             will be \"not decided\": {cure}"
        )
    })
}

/// Whether the study holds two stacks against each other, with temporary files beside the data and apart.
fn asks(study: &Study) -> bool {
    let has_twin = |beside: &&Stack| study.stacks.iter().any(|apart| are_twins(beside, apart));
    study.stacks.iter().filter(has_twin).count() > 1
}

/// Whether the second has its temporary files on LUNs of their own and is otherwise as the first.
fn are_twins(beside: &Stack, apart: &Stack) -> bool {
    let moved = Stack {
        name: beside.name.clone(),
        temp: None,
        ..apart.clone()
    };
    apart.temp.is_some() && moved == *beside
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::check::LOAD_RATE;
    use std::path::Path;

    /// Stacks with this time limit and these blocks; of each kind one with its temporary files apart.
    fn said(kinds: &[&str], limit: &str, blocks: u32) -> Option<String> {
        let mut text = format!(
            "[study]\nname = \"t\"\ntime_limit = \"{limit}\"\nblocks = {blocks}\n\
             [luns.data]\nfiles = {{ size = \"2GiB\" }}\n[luns.temp]\nfiles = {{ size = \"512MiB\" }}\n\
             [database]\nengine = \"sqlite\"\n\
             [[phase]]\nname = \"questions\"\nkind = \"tpch\"\nscale = 0.1\nusers = 2\n"
        );
        for kind in kinds {
            for (name, temp) in [("beside", ""), ("apart", "temp = \"temp\"\n")] {
                text.push_str(&format!(
                    "[[stack]]\nname = \"{kind} {name}\"\nkind = \"{kind}\"\ndata = \"data\"\n{temp}"
                ));
            }
        }
        let study = plan::parse(&text, Path::new("study.toml")).unwrap_or_else(|e| panic!("{e}"));
        let estimate = plan::estimate(&study, LOAD_RATE);
        few(&study, &estimate, estimate.blocks(&study))
    }

    #[test]
    fn fewer_blocks_than_an_answer_takes_are_said_beforehand() {
        let both = ["ext4", "xfs"];
        let planned = said(&both, "3h", 4).expect("too few");
        assert!(
            planned.contains("the study plans 4") && planned.contains("`blocks = 6`"),
            "{planned}"
        );
        let limited = said(&both, "1m", 12).expect("too short");
        assert!(
            limited.contains("limit of 1m") && limited.contains("`time_limit`"),
            "{limited}"
        );
        assert_eq!(said(&both, "3h", 6), None);
        assert_eq!(said(&both[..1], "3h", 4), None, "there is no difference to explain");
    }
}
