//! What is there after a cut, a kill, or nothing: every name and every KiB, held against the model.
//!
//! Prevents: a loss that is called allowed. What was stable must be there; what was not may be any version sent since.

use super::Users;
use super::fill::unexpected;
use super::pipeline::Job;
use super::state::State;
use crate::client::{Answer, Call, Client, Identity, short_of};
use crate::error::FilesError;
use crate::grain::{GRAIN, Wrong};
use crate::serving::{After, Audit, EXAMPLES_MAX};
use crate::status::Status;
use crate::tree::{FIRST, HOME, Kind, Name, Named, Standing, before, standing};
use std::collections::BTreeSet;

/// A name to look up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Item {
    Directory(u32),
    Link(u32),
    File(u32),
}

/// Names, looked up.
pub(super) struct Names {
    list: Vec<Item>,
    hands: Vec<Option<Item>>,
    after: After,
    /// Whether a handle says which file it is: not behind a server that gives other ones now.
    handles: bool,
    pub(super) found: Vec<Item>,
    pub(super) gone: Vec<Item>,
    /// Files after a cut whose name leads to another one than it was made for.
    replaced: Vec<u32>,
    examples: Vec<String>,
}

impl Names {
    fn new(mut list: Vec<Item>, hands: u32, (after, audit): (After, &Audit)) -> Names {
        list.reverse();
        Names {
            list,
            hands: vec![None; hands as usize],
            after,
            handles: audit.handles_survived != Some(false),
            found: Vec::new(),
            gone: Vec::new(),
            replaced: Vec::new(),
            examples: Vec::new(),
        }
    }

    fn is_same(&self, known: Identity, found: &Identity) -> bool {
        let handle = known.handle.filter(|_| self.handles);
        Identity { handle, ..known }.agrees(found)
    }
}

impl Job for Names {
    fn advance(&mut self, _: &mut State, hand: u32) -> bool {
        self.hands[hand as usize] = self.list.pop();
        self.hands[hand as usize].is_some()
    }

    fn call<'a>(&'a self, state: &'a State, hand: u32, name: &'a mut Name) -> Call<'a> {
        let item = self.hands[hand as usize].expect("a hand without a name has no call");
        let tree = &state.tree;
        let (dir, node) = match item {
            Item::Directory(nth) => {
                *name = Name::of(Named::Directory(nth));
                (HOME, tree.directories[nth as usize].node)
            }
            Item::Link(nth) => {
                *name = Name::of(Named::Link(nth));
                (tree.directories[nth as usize].node, tree.directories[nth as usize].link)
            }
            Item::File(nth) => {
                *name = tree.name(nth);
                (tree.directory_of(nth).node, tree.files[nth as usize].node)
            }
        };
        Call::Lookup {
            dir,
            name: name.bytes(),
            node: Some(node),
        }
    }

    fn answered(&mut self, state: &mut State, hand: u32, answer: Answer<'_>, _: bool) -> Result<(), FilesError> {
        let item = self.hands[hand as usize].expect("an answer to a hand's call");
        match answer {
            Answer::Found(found) => {
                if let Item::File(nth) = item {
                    let file = &mut state.tree.files[nth as usize];
                    let same = file.open || self.is_same(file.identity, &found.identity);
                    match self.after {
                        After::Nothing if !same => {
                            self.examples.push(format!("file {nth} is another one"));
                            self.gone.push(item);
                            return Ok(());
                        }
                        After::Cut if !same && file.there => self.replaced.push(nth),
                        After::Nothing | After::Cut => {}
                    }
                    file.identity = found.identity;
                }
                self.found.push(item);
            }
            Answer::Refused(Status::NOT_FOUND) => self.gone.push(item),
            other => return Err(unexpected("looking a name up", &other)),
        }
        Ok(())
    }
}

/// Where a hand reads.
#[derive(Clone, Copy)]
struct Place {
    file: u32,
    first: u32,
    /// Where the next read of this file begins; `None`: it is done.
    next: Option<u32>,
}

/// Files, read whole.
pub(super) struct Reading {
    list: Vec<u32>,
    hands: Vec<Place>,
    bulk_kib: u32,
    after: After,
    pub(super) audit: Audit,
    /// Files that are not what they shall be in the end.
    pub(super) unequal: BTreeSet<u32>,
}

impl Reading {
    pub(super) fn new(mut list: Vec<u32>, after: After, (hands, bulk_kib): (u32, u32)) -> Reading {
        list.reverse();
        let free = Place {
            file: 0,
            first: 0,
            next: None,
        };
        Reading {
            list,
            hands: vec![free; hands as usize],
            bulk_kib,
            after,
            audit: Audit::default(),
            unequal: BTreeSet::new(),
        }
    }

    fn say(&mut self, words: impl FnOnce() -> String) {
        if self.audit.examples.len() < EXAMPLES_MAX {
            self.audit.examples.push(words());
        }
    }

    /// One KiB; `grain`: what is there, if something is.
    fn judge(&mut self, state: &State, nth: u32, place: u32, grain: Option<&[u8]>) {
        let (sent, kept) = allowed(state, nth, place);
        let unanswered = state.is_unanswered(nth, place);
        let strict = self.after == After::Nothing && !unanswered;
        let stable = strict || kept == sent;
        self.audit.kib += 1;
        self.audit.kib_stable += u64::from(stable);
        self.audit.kib_unstable += u64::from(!stable);
        let is = match grain {
            None if unanswered && kept == 0 => Is::Open,
            None => Is::Absent,
            Some(grain) => match state
                .pool
                .check(state.tree.files[nth as usize].content, place, sent, grain)
            {
                Ok(()) => return,
                Err(Wrong::Version(seen)) if seen == u32::from(before(sent)) && unanswered => Is::Open,
                Err(Wrong::Version(seen)) => match u8::try_from(seen).map(|seen| standing(kept, sent, seen)) {
                    Ok(Standing::Older) => Is::Older,
                    _ => Is::Other,
                },
                Err(Wrong::Foreign) => Is::Torn,
            },
        };
        self.unequal.insert(nth);
        if is == Is::Open {
            self.audit.kib_open += 1;
            return;
        }
        let lost = match is {
            Is::Other | Is::Open => true,
            Is::Absent => stable || kept != 0,
            Is::Older | Is::Torn => stable,
        };
        if lost {
            if !stable {
                // Not the last version, but one of those sent since the stable one had to be there.
                self.audit.kib_stable += 1;
                self.audit.kib_unstable -= 1;
            }
            self.audit.kib_lost += 1;
            self.say(|| format!("file {nth}, KiB {place}: {is:?}; stable was version {kept}, last sent {sent}"));
        } else {
            self.audit.kib_gone += 1;
            self.audit.kib_torn += u64::from(is == Is::Torn);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Is {
    /// Not there, or zeros.
    Absent,
    /// The stable version, or one sent after it.
    Older,
    /// What was there before a write that has no answer.
    Open,
    /// A version that must not be there.
    Other,
    /// None of our KiB.
    Torn,
}

/// The version last sent, and the one last stable; 0: nothing is, and the KiB may be gone.
fn allowed(state: &State, nth: u32, place: u32) -> (u8, u8) {
    let file = &state.tree.files[nth as usize];
    if file.room == 0 {
        return (FIRST, if file.dirty { 0 } else { FIRST });
    }
    let at = file.grains + place;
    (state.tree.grains.sent(at, 1)[0], state.tree.grains.kept(at, 1)[0])
}

impl Job for Reading {
    fn advance(&mut self, _: &mut State, hand: u32) -> bool {
        let at = &mut self.hands[hand as usize];
        if let Some(next) = at.next.take() {
            at.first = next;
            return true;
        }
        let Some(file) = self.list.pop() else { return false };
        (at.file, at.first) = (file, 0);
        true
    }

    fn call<'a>(&'a self, state: &'a State, hand: u32, _: &'a mut Name) -> Call<'a> {
        let Place { file, first, .. } = self.hands[hand as usize];
        Call::Read {
            of: state.tree.files[file as usize].node,
            offset: u64::from(first) * 1024,
            len: self.bulk_kib * 1024,
        }
    }

    fn answered(&mut self, state: &mut State, hand: u32, answer: Answer<'_>, _: bool) -> Result<(), FilesError> {
        let Place { file: nth, first, .. } = self.hands[hand as usize];
        let (bytes, ends) = match answer {
            Answer::Bytes { bytes, ends } => (bytes, ends),
            other => return Err(unexpected(&format!("reading file {nth} again"), &other)),
        };
        let file = &state.tree.files[nth as usize];
        let (size, cut_back) = (file.size, file.cut_back);
        let short = short_of(self.bulk_kib, bytes.len()).filter(|_| !ends);
        let next = first + short.unwrap_or(self.bulk_kib);
        for place in first..size.min(next) {
            let from = (place - first) as usize * GRAIN;
            let grain = bytes.get(from..).map(|rest| &rest[..rest.len().min(GRAIN)]);
            let grain = grain.filter(|grain| grain.iter().any(|byte| *byte != 0));
            self.judge(state, nth, place, grain);
        }
        let end = u64::from(first) * 1024 + bytes.len() as u64;
        let is_too_long = end > u64::from(size) * 1024;
        if is_too_long {
            self.unequal.insert(nth);
            if self.after == After::Nothing || !cut_back {
                self.audit.kib_stable += 1;
                self.audit.kib_lost += 1;
                self.say(|| format!("file {nth} has more than {size} KiB"));
            }
        }
        // One read behind the end shows a file that is too long.
        self.hands[hand as usize].next = (next <= size && !is_too_long).then_some(next);
        Ok(())
    }
}

impl<C: Client> Users<C> {
    /// Looks up everything; files that are there, and those whose name is gone though it must be there.
    pub(super) fn audit_names(&mut self, after: After, audit: &mut Audit) -> Result<Names, FilesError> {
        let directories = (0..self.state.tree.directories.len() as u32)
            .map(Item::Directory)
            .collect();
        let mut names = Names::new(directories, self.hands(), (after, audit));
        self.pipelined(&mut names)?;
        let mut list = Vec::new();
        for item in &names.found {
            let Item::Directory(nth) = *item else { continue };
            let directory = &self.state.tree.directories[nth as usize];
            list.push(Item::Link(nth));
            list.extend((directory.first..directory.first + directory.count).map(Item::File));
        }
        let missing: Vec<u32> = names
            .gone
            .iter()
            .filter_map(|item| match item {
                Item::Directory(nth) => Some(*nth),
                _ => None,
            })
            .collect();
        let mut inside = Names::new(list, self.hands(), (after, audit));
        self.pipelined(&mut inside)?;
        for nth in missing {
            let directory = &self.state.tree.directories[nth as usize];
            inside.gone.extend([Item::Directory(nth), Item::Link(nth)]);
            inside
                .gone
                .extend((directory.first..directory.first + directory.count).map(Item::File));
        }
        self.settle_renames(&inside)?;
        self.book_names(&names, &mut inside, audit);
        Ok(inside)
    }

    /// A rename without an answer was carried out whole, or not at all: the names that are there say which. From then
    /// on both names are certain.
    fn settle_renames(&mut self, names: &Names) -> Result<(), FilesError> {
        for (from, onto) in self.state.take_renames() {
            let is_done = names.gone.contains(&Item::File(from)) && names.found.contains(&Item::File(onto));
            if !is_done {
                continue;
            }
            self.state.tree.renamed(from, onto);
            // Nobody acknowledged that the old name is gone.
            self.state.tree.files[from as usize].removed = false;
            // The way to the file is known by its old name alone.
            let (name, dir) = (self.state.tree.name(onto), self.state.tree.directory_of(onto).node);
            let node = Some(self.state.tree.files[onto as usize].node);
            let mut identity = None;
            let call = Call::Lookup {
                dir,
                name: name.bytes(),
                node,
            };
            self.single(call, |answer| match answer {
                Answer::Found(found) => {
                    identity = Some(found.identity);
                    Ok(())
                }
                other => Err(unexpected("looking a renamed file up", &other)),
            })?;
            self.state.tree.files[onto as usize].identity = identity.unwrap_or_default();
        }
        Ok(())
    }

    fn book_names(&self, directories: &Names, inside: &mut Names, audit: &mut Audit) {
        let stable = self.client.names_are_stable() || inside.after == After::Nothing;
        let tree = &self.state.tree;
        let mut examples = std::mem::take(&mut inside.examples);
        audit.names += directories.found.len() as u64;
        for item in &inside.found {
            let Item::File(nth) = item else {
                audit.names += 1;
                continue;
            };
            let file = &tree.files[*nth as usize];
            audit.names += u64::from(file.there && !file.open);
            audit.names_open += u64::from(file.open);
            if !file.there && !file.open && stable {
                audit.names_removed += 1;
                audit.names_back += 1;
                examples.push(format!("file {nth} was removed and is there again"));
            }
        }
        if stable {
            // Its name is there, so it is among those that had to be there.
            audit.names_lost += inside.replaced.len() as u64;
            let said = |nth: &u32| format!("file {nth} is another one than was made last under its name");
            examples.extend(inside.replaced.iter().map(said));
        }
        for item in &inside.gone {
            let (there, open, removed) = match item {
                Item::File(nth) => {
                    let file = &tree.files[*nth as usize];
                    (file.there, file.open, file.removed)
                }
                _ => (true, false, false),
            };
            audit.names_open += u64::from(open);
            audit.names_removed += u64::from(removed && !open);
            if there && !open {
                audit.names += 1;
                audit.names_lost += u64::from(stable);
                examples.push(format!("{item:?} is gone"));
                if let Item::File(nth) = item {
                    let kept = (0..tree.files[*nth as usize].size).filter(|place| self.was_kept(*nth, *place));
                    let kept = kept.count() as u64;
                    audit.kib_stable += kept;
                    audit.kib_lost += kept;
                }
            }
        }
        audit.examples.extend(examples);
        audit.examples.truncate(EXAMPLES_MAX);
    }

    fn was_kept(&self, nth: u32, place: u32) -> bool {
        allowed(&self.state, nth, place).1 != 0
    }

    /// Reads the files.
    pub(super) fn audit_data(&mut self, list: Vec<u32>, after: After) -> Result<Reading, FilesError> {
        let mut reading = Reading::new(list, after, (self.hands(), self.bulk_kib()));
        self.pipelined(&mut reading)?;
        Ok(reading)
    }

    /// See `Serving::audit`.
    pub(crate) fn audit(&mut self, after: After) -> Result<Audit, FilesError> {
        self.give_up();
        let mut audit = Audit::default();
        audit.verifiers.0 = self.state.verifier;
        if after == After::Cut {
            self.client.renew()?;
            audit.handles_survived = self.try_handle()?;
        }
        let home = self.find_home()?;
        let names = if home {
            self.audit_names(after, &mut audit)?
        } else {
            self.nothing_there(after, &mut audit)
        };
        let there = |item: &Item| match item {
            Item::File(nth) if self.state.tree.files[*nth as usize].kind != Kind::Inner => Some(*nth),
            _ => None,
        };
        let found: Vec<u32> = names.found.iter().filter_map(there).collect();
        let list = found
            .iter()
            .copied()
            .filter(|nth| self.state.tree.files[*nth as usize].there)
            .collect();
        let reading = self.audit_data(list, after)?;
        audit.add(reading.audit.clone());
        if after == After::Cut {
            self.repair(home, &names, &reading, &mut audit)?;
        }
        self.state.unanswered.clear();
        Ok(audit)
    }

    /// The directory of the run itself is gone: all names are.
    fn nothing_there(&mut self, after: After, audit: &mut Audit) -> Names {
        // Without the directory of the run no file is there under either name.
        self.state.take_renames();
        let directories = Names::new(Vec::new(), 0, (after, audit));
        let mut inside = Names::new(Vec::new(), 0, (after, audit));
        for (nth, directory) in self.state.tree.directories.iter().enumerate() {
            let nth = nth as u32;
            inside.gone.extend([Item::Directory(nth), Item::Link(nth)]);
            inside
                .gone
                .extend((directory.first..directory.first + directory.count).map(Item::File));
        }
        audit.names += 1;
        audit.names_lost += u64::from(self.client.names_are_stable());
        self.book_names(&directories, &mut inside, audit);
        inside
    }
}
