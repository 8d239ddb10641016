//! Contradictions between phases that move data and the stacks they move it between.
//!
//! Takes the study as written and as meant; gives findings. Prevents: a copy onto the LUNs it reads from, two LUN
//! sets that cannot change sides, and a rebalance that drops what is not there.

use super::places::place;
use crate::error::{Findings, Span};
use crate::space;
use crate::study::{Copy, CopyTarget, Device, LunSet, LunSource, Rebalance, Stack, Study};
use crate::written::{WrittenPhase, WrittenStudy, nearest};
use std::collections::{BTreeMap, BTreeSet};

/// All of them, phase by phase.
pub(super) fn all(written: &WrittenStudy, study: &Study, findings: &mut Findings) {
    for stack in &study.stacks {
        let mut trial = Trial::of(study, stack);
        for (w, phase) in written.phases.iter().zip(&study.phases) {
            let before = findings.len();
            match phase.kind.copy() {
                // Where it says no target, that was reported.
                Some(_) if w.to.is_none() => return,
                Some(copy) => trial.copy(w, copy, findings),
                None => {}
            }
            if let Some(rebalance) = phase.kind.rebalance() {
                trial.rebalance(w, rebalance, findings);
            }
            // What is wrong on one stack is wrong on the next in the same words.
            if findings.len() > before {
                return;
            }
        }
    }
}

/// What a trial of one stack has come to.
struct Trial<'s> {
    study: &'s Study,
    stack: &'s Stack,
    /// The database is where the trial began.
    at_home: bool,
    /// LUN sets that copies went to, and the stacks that stand on them.
    taken: BTreeMap<String, String>,
    /// LUNs in the disk group or the volume.
    members: BTreeSet<u32>,
    luns: u32,
}

impl<'s> Trial<'s> {
    fn of(study: &'s Study, stack: &'s Stack) -> Trial<'s> {
        let luns = stack.data.as_ref().and_then(|set| space::luns(study, set)).unwrap_or(0) as u32;
        let reserve = stack.kind.reserve();
        Trial {
            study,
            stack,
            at_home: true,
            taken: BTreeMap::new(),
            members: (0..luns.saturating_sub(reserve)).collect(),
            luns,
        }
    }

    fn copy(&mut self, w: &WrittenPhase, copy: &Copy, findings: &mut Findings) {
        let span = place(&w.to, &w.span);
        let CopyTarget::Stack(name) = &copy.to else {
            self.copy_home(w, span, findings);
            return;
        };
        let Some(target) = self.study.stacks.iter().find(|stack| stack.name == *name) else {
            let cure = match nearest(name, self.study.stacks.iter().map(|stack| stack.name.as_str())) {
                Some(near) => format!("did you mean {near:?}?"),
                None => "name a stack of the study, or \"home\" for the way back".to_string(),
            };
            findings.add(span, format!("there is no stack {name:?}"), cure);
            return;
        };
        if self.study.stacks.iter().any(|stack| stack.name == "home") {
            let cure = "give the stack another name: in a copy, \"home\" is where the trial began";
            findings.add(span, "a stack is named \"home\"", cure);
            return;
        }
        self.at_home = false;
        let data = (&copy.data, &target.data, &self.stack.data, "data");
        let redo = (&copy.redo, &target.redo, &self.stack.redo, "redo");
        for (asked, of_target, of_stack, key) in [data, redo] {
            let written = if key == "data" { &w.data } else { &w.redo };
            match (asked, of_target) {
                (None, None) => {}
                (Some(_), None) => {
                    let message = format!("stack {name:?} has no `{key}`, and the copy would have one");
                    findings.add(place(written, span), message, format!("remove `{key}`"));
                }
                (None, Some(_)) => {
                    let message = format!("the copy to {name:?} has no `{key}`");
                    let cure = format!("name another LUN set than that of the stacks: {key} = \"other\"");
                    findings.add(span, message, cure);
                }
                (Some(asked), Some(of_target)) => {
                    let place = place(written, span);
                    let sides: Vec<&str> = [Some(of_target), of_stack.as_ref()]
                        .into_iter()
                        .flatten()
                        .map(String::as_str)
                        .collect();
                    self.other_set(asked, &sides, place, findings);
                    let stands = self.taken.entry(asked.clone()).or_insert_with(|| name.clone());
                    if stands != name {
                        let message = format!("copies to {stands:?} and to {name:?} cannot both use {asked:?}");
                        findings.add(place, message, "give each its own LUN set");
                    }
                }
            }
        }
        if copy.data.is_some() && copy.data == copy.redo {
            findings.add(
                span,
                "the copy's data and redo log cannot share a LUN set",
                "name two sets",
            );
        }
    }

    fn copy_home(&mut self, w: &WrittenPhase, span: &Span, findings: &mut Findings) {
        if self.at_home {
            let cure = "copy it to another stack first: to = \"xfs\"";
            findings.add(span, "the database is at home already", cure);
        }
        for at in [&w.data, &w.redo].into_iter().flatten() {
            findings.add(&at.span, "the way home has no choice of LUNs", "remove it");
        }
        self.at_home = true;
    }

    /// A set for a copy: there, free, and as large as the set whose side it takes in every other block.
    fn other_set(&self, asked: &str, sides: &[&str], span: &Span, findings: &mut Findings) {
        let find = |name: &str| self.study.luns.iter().find(|set| set.name == name);
        let Some(set) = find(asked) else {
            let cure = match nearest(asked, self.study.luns.iter().map(|set| set.name.as_str())) {
                Some(near) => format!("did you mean {near:?}?"),
                None => "add it: [luns.other], files = { count = 1, size = \"2GiB\" }".to_string(),
            };
            findings.add(span, format!("there is no LUN set {asked:?}"), cure);
            return;
        };
        if self.stack.lun_sets().any(|own| own == asked) {
            let message = format!(
                "stack {:?} lies on {asked:?} itself when this copy begins",
                self.stack.name
            );
            findings.add(span, message, "name a LUN set that no stack of the study uses");
            return;
        }
        for like in sides.iter().copied().filter_map(find) {
            if let Some((message, cure)) = unlike(set, like) {
                findings.add(span, message, cure);
                return;
            }
        }
    }

    /// Why the LUNs of the stack cannot change like this now, if so, and what to do.
    fn stays(&self, rebalance: &Rebalance) -> Option<(String, &'static str)> {
        let name = &self.stack.name;
        let volume = self.stack.kind.volume();
        if self.stack.kind.disk_group().is_none() && volume.is_none() {
            let message = format!("stack {name:?} is no disk group and no volume: it cannot be rebalanced");
            let cure = "compare disk groups, lvm and md only, or leave the rebalance to a study of its own";
            return Some((message, cure));
        }
        if !self.at_home {
            let message = "the database was copied away: its group cannot be rebalanced meanwhile".to_string();
            return Some((message, "copy it home first: to = \"home\""));
        }
        let volume = volume?;
        if let Some(why) = volume.holds_fast() {
            let message = format!("the LUNs of stack {name:?} cannot change: {why}");
            return Some((
                message,
                "choose another layout or level, or leave it to a study of its own",
            ));
        }
        (rebalance.add.len() != rebalance.drop.len()).then(|| {
            let message = format!("stack {name:?} cannot grow or shrink: LVM and md move nothing to a LUN that is new");
            (
                message,
                "add as many LUNs as are dropped: each takes the place of one of them",
            )
        })
    }

    fn rebalance(&mut self, w: &WrittenPhase, rebalance: &Rebalance, findings: &mut Findings) {
        if let Some((message, cure)) = self.stays(rebalance) {
            findings.add(place(&w.kind, &w.span), message, cure);
            return;
        }
        for lun in &rebalance.add {
            if *lun >= self.luns || !self.members.insert(*lun) {
                let message = if *lun >= self.luns {
                    format!(
                        "the LUN set of stack {:?} has no disk{lun}: it counts from 0 to {}",
                        self.stack.name,
                        self.luns.saturating_sub(1)
                    )
                } else {
                    format!("disk{lun} is in the group of stack {:?} already", self.stack.name)
                };
                let cure = "hold LUNs back with `reserve` in the stack: they are the last of its set";
                findings.add(place(&w.add, &w.span), message, cure);
                return;
            }
        }
        for lun in &rebalance.drop {
            if rebalance.add.contains(lun) || !self.members.remove(lun) {
                let message = format!(
                    "disk{lun} cannot be dropped from the group of stack {:?}: it is not in it",
                    self.stack.name
                );
                findings.add(
                    place(&w.drop, &w.span),
                    message,
                    "name a disk that is in the group before the phase",
                );
                return;
            }
        }
        if self.members.is_empty() {
            findings.add(
                place(&w.drop, &w.span),
                "this drops every disk of the group",
                "leave it at least one",
            );
        }
    }
}

/// Why one set cannot take the side of another, and what to do; `None`: it can.
fn unlike(set: &LunSet, like: &LunSet) -> Option<(String, &'static str)> {
    let alike = match (&set.source, &like.source) {
        (LunSource::Files { count, size, .. }, LunSource::Files { count: n, size: s, .. }) => count == n && size == s,
        (LunSource::Devices { .. }, LunSource::Devices { .. }) => set.count() == like.count(),
        _ => false,
    };
    if !alike {
        let message = format!(
            "the LUN sets {:?} and {:?} are not alike, and they change sides in every other block",
            set.name, like.name
        );
        return Some((
            message,
            "give them as many LUNs of the same size, files or devices alike",
        ));
    }
    if set.device == like.device {
        return None;
    }
    let word = |set: &LunSet| set.device.as_ref().map_or("real".to_string(), Device::words);
    let message = format!(
        "the LUN sets {:?} ({}) and {:?} ({}) change sides in every other block: what a model answers would be \
         ranked with what another device did",
        set.name,
        word(set),
        like.name,
        word(like)
    );
    Some((
        message,
        "give both the same `preset`, `model` and parameters, or neither",
    ))
}
