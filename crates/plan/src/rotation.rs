//! Which LUN set a stack is built on in which block.
//!
//! Takes the resolved study, gives for each block the stack on the sets of its turn. Where each stack has LUN sets of
//! its own and all sets are alike, they go round: each stack has each set equally often. Prevents: a difference of
//! LUNs that is taken for a difference of stacks.

use crate::study::{LunSet, LunSource, Stack, Study};
use std::collections::BTreeSet;

impl Study {
    /// Whether LUN sets go round among the stacks: each stack has sets of its own, all are files alike in number, size
    /// and directory, and nothing of a stack stays on them from block to block. Devices stay where the study puts them,
    /// for they may be what it asks about.
    pub fn sets_rotate(&self) -> bool {
        let builds_anew = |stack: &Stack| stack.data.is_some() && !stack.engine.is_sql();
        let copies = |phase: &crate::Phase| phase.kind.copy().is_some();
        let with_redo = self.stacks.iter().filter(|stack| stack.redo.is_some()).count();
        self.stacks.len() > 1
            && self.stacks.iter().all(builds_anew)
            && !self.phases.iter().any(copies)
            && (with_redo == 0 || with_redo == self.stacks.len())
            && self.are_of_their_own()
            && self.are_alike(|stack| stack.data.as_ref())
            && self.are_alike(|stack| stack.redo.as_ref())
    }

    /// The stack as it is built in block `block` (from 0): on its own LUN sets, or on those of its turn.
    ///
    /// # Panics
    /// The study has no stack of this number.
    pub fn stack_in(&self, block: u32, stack: usize) -> Stack {
        let own = &self.stacks[stack];
        if !self.sets_rotate() {
            return own.clone();
        }
        let turn = (stack + block as usize) % self.stacks.len();
        Stack {
            data: self.stacks[turn].data.clone(),
            redo: self.stacks[turn].redo.clone(),
            ..own.clone()
        }
    }

    /// Whether no LUN set serves two stacks, or one stack twice.
    fn are_of_their_own(&self) -> bool {
        let mut taken: BTreeSet<&String> = BTreeSet::new();
        self.stacks
            .iter()
            .flat_map(Stack::lun_sets)
            .all(|set| taken.insert(set))
    }

    /// Whether the sets of one role are files alike.
    fn are_alike<'a>(&'a self, of: impl Fn(&'a Stack) -> Option<&'a String>) -> bool {
        let set = |name: &String| self.luns.iter().find(|set| set.name == *name);
        let mut sets = self.stacks.iter().filter_map(of).map(set);
        let Some(first) = sets.next() else { return true };
        first.is_some_and(is_plain) && sets.all(|other| other.map(|set| &set.source) == first.map(|set| &set.source))
    }
}

/// Files, with no model between.
fn is_plain(set: &LunSet) -> bool {
    matches!(set.source, LunSource::Files { .. }) && set.device.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn study(stacks: usize, change: impl Fn(usize, String) -> String) -> Study {
        let mut text = "[study]\nname = \"sets\"\n".to_string();
        for nth in 0..stacks {
            let own = format!(
                "[luns.data{nth}]\nfiles = {{ count = 1, size = \"1GiB\" }}\n\
                 [luns.redo{nth}]\nfiles = {{ count = 1, size = \"512MiB\" }}\n\
                 [[stack]]\nname = \"s{nth}\"\nkind = \"xfs\"\ndata = \"data{nth}\"\nredo = \"redo{nth}\"\n"
            );
            text.push_str(&change(nth, own));
        }
        text.push_str("[[phase]]\nname = \"read\"\nkind = \"random\"\nupdate_pct = 0\ntime = \"20s\"\n");
        crate::parse(&text, Path::new("sets.toml")).unwrap_or_else(|e| panic!("{e}\n{text}"))
    }

    #[test]
    fn each_stack_has_each_set_equally_often_and_no_set_serves_two_stacks_of_a_block() {
        for stacks in [2, 3, 5] {
            let study = study(stacks, |_, text| text);
            assert!(study.sets_rotate());
            let mut used: BTreeMap<(usize, String), u32> = BTreeMap::new();
            for block in 0..4 * stacks as u32 {
                let built: Vec<Stack> = (0..stacks).map(|stack| study.stack_in(block, stack)).collect();
                let sets: BTreeSet<&String> = built.iter().flat_map(Stack::lun_sets).collect();
                assert_eq!(sets.len(), 2 * stacks, "block {block}");
                for (nth, stack) in built.iter().enumerate() {
                    assert_eq!(stack.name, study.stacks[nth].name);
                    let (data, redo) = (stack.data.clone().unwrap(), stack.redo.clone().unwrap());
                    assert_eq!(data.replace("data", "redo"), redo, "a set of data keeps its redo log");
                    *used.entry((nth, data)).or_default() += 1;
                }
            }
            assert_eq!(used.len(), stacks * stacks);
            assert!(used.values().all(|times| *times == 4), "{used:?}");
        }
    }

    #[test]
    fn sets_that_are_not_alike_or_that_something_stays_on_stay_where_they_are() {
        let larger = |nth: usize, text: String| match nth {
            1 => text.replace("1GiB", "2GiB"),
            _ => text,
        };
        let elsewhere = |nth: usize, text: String| match nth {
            1 => text.replace("size = \"1GiB\"", "size = \"1GiB\", dir = \"/other\""),
            _ => text,
        };
        let devices = |nth: usize, text: String| {
            let files = "files = { count = 1, size = \"1GiB\" }";
            text.replace(files, &format!("devices = [\"/dev/none{nth}\"]"))
        };
        let shared = |_: usize, text: String| match text.find("[[stack]]") {
            Some(at) if text.contains("data1") => text[at..].replace(
                "data = \"data1\"\nredo = \"redo1\"",
                "data = \"data0\"\nredo = \"redo0\"",
            ),
            _ => text,
        };
        let modelled = |_: usize, text: String| text.replace("\"1GiB\" }", "\"1GiB\" }\npreset = \"array-flash\"");
        let changes: [&dyn Fn(usize, String) -> String; 5] = [&larger, &elsewhere, &devices, &shared, &modelled];
        for (nth, change) in changes.into_iter().enumerate() {
            let study = study(2, change);
            assert!(!study.sets_rotate(), "change {nth}");
            assert_eq!(study.stack_in(1, 0), study.stacks[0], "change {nth}");
        }
    }
}
