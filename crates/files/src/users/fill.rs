//! Filling: directories and links, then files, written by many calls at once. Sending again uses the same.
//!
//! Prevents: a tree that differs from its model (every answer is looked at).

use super::Users;
use super::pipeline::Job;
use super::state::State;
use crate::client::{Answer, Call, Client, Found, Node, short_of};
use crate::error::FilesError;
use crate::grain::Content;
use crate::serving::Filled;
use crate::status::Status;
use crate::tree::{HOME, Kind, LINK_TEXT, Name, Named};

/// Longest write of a filling, KiB.
const BULK_KIB: u32 = 64;

/// Directories and their links.
pub(super) struct Directories {
    /// The directory, and whether only its link is made.
    list: Vec<(u32, bool)>,
    /// Of each hand: the directory, whether its link is on, whether the name is looked up instead of made.
    hands: Vec<Option<(u32, bool, bool)>>,
}

impl Directories {
    pub(super) fn new(mut list: Vec<(u32, bool)>, hands: u32) -> Directories {
        list.reverse();
        Directories {
            list,
            hands: vec![None; hands as usize],
        }
    }
}

impl Job for Directories {
    fn advance(&mut self, _: &mut State, hand: u32) -> bool {
        let hand = &mut self.hands[hand as usize];
        *hand = match *hand {
            Some((nth, link, true)) => Some((nth, link, true)),
            Some((nth, false, false)) => Some((nth, true, false)),
            Some((_, true, false)) | None => self.list.pop().map(|(nth, link)| (nth, link, false)),
        };
        hand.is_some()
    }

    fn call<'a>(&'a self, state: &'a State, hand: u32, name: &'a mut Name) -> Call<'a> {
        let (nth, link, find) = self.hands[hand as usize].expect("a hand without a directory has no call");
        let directory = &state.tree.directories[nth as usize];
        let (dir, node) = if link {
            *name = Name::of(Named::Link(nth));
            (directory.node, directory.link)
        } else {
            *name = Name::of(Named::Directory(nth));
            (HOME, directory.node)
        };
        let (name, target) = (name.bytes(), LINK_TEXT);
        match (find, link) {
            (true, _) => lookup(dir, name, node),
            (false, true) => Call::Symlink {
                dir,
                name,
                target,
                node,
            },
            (false, false) => Call::Mkdir { dir, name, node },
        }
    }

    fn answered(&mut self, _: &mut State, hand: u32, answer: Answer<'_>, repeated: bool) -> Result<(), FilesError> {
        let state = self.hands[hand as usize].as_mut().expect("an answer to a hand's call");
        state.2 = match answer {
            Answer::Found(_) => false,
            Answer::Refused(Status::EXISTS) if repeated => true,
            other => return Err(unexpected("a new directory", &other)),
        };
        Ok(())
    }
}

fn lookup<'a>(dir: Node, name: &'a [u8], node: Node) -> Call<'a> {
    Call::Lookup {
        dir,
        name,
        node: Some(node),
    }
}

pub(super) fn unexpected(what: &str, answer: &Answer<'_>) -> FilesError {
    match answer {
        Answer::Refused(status) => FilesError::Refused {
            what: what.to_owned(),
            status: *status,
        },
        _ => FilesError::Mixed { what: "filling" },
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Free,
    Create,
    Find,
    Cut,
    Write,
    Commit,
}

#[derive(Clone, Copy)]
struct Hand {
    stage: Stage,
    file: u32,
    first: u32,
    kib: u32,
}

/// A file to be written whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Whole {
    pub(super) file: u32,
    /// It is made first.
    pub(super) create: bool,
    /// It is cut to its size first.
    pub(super) cut: bool,
}

/// Files written whole.
pub(super) struct Writing {
    list: Vec<Whole>,
    hands: Vec<Hand>,
    now: Vec<Option<Whole>>,
    commit: bool,
    bulk_kib: u32,
    pub(super) written_bytes: u64,
}

impl Writing {
    pub(super) fn new(mut list: Vec<Whole>, commit: bool, (hands, bulk_kib): (u32, u32)) -> Writing {
        list.reverse();
        let free = Hand {
            stage: Stage::Free,
            file: 0,
            first: 0,
            kib: 0,
        };
        Writing {
            list,
            hands: vec![free; hands as usize],
            now: vec![None; hands as usize],
            commit,
            bulk_kib,
            written_bytes: 0,
        }
    }

    /// The stage after the one that ended.
    fn following(&self, state: &State, nth: u32, ended: Stage) -> Stage {
        let hand = &self.hands[nth as usize];
        let Some(whole) = self.now[nth as usize] else {
            return Stage::Free;
        };
        let file = &state.tree.files[whole.file as usize];
        let write = |from: u32| match (from < file.size, self.commit && file.kind != Kind::Inner) {
            (true, _) => Stage::Write,
            (false, true) => Stage::Commit,
            (false, false) => Stage::Free,
        };
        match ended {
            Stage::Free if whole.create => Stage::Create,
            Stage::Free | Stage::Create | Stage::Find if whole.cut => Stage::Cut,
            Stage::Free | Stage::Create | Stage::Find | Stage::Cut => write(0),
            Stage::Write => write(hand.first + hand.kib),
            Stage::Commit => Stage::Free,
        }
    }
}

impl Job for Writing {
    fn advance(&mut self, state: &mut State, hand: u32) -> bool {
        let at = hand as usize;
        if self.hands[at].stage == Stage::Find {
            return true;
        }
        let mut ended = self.hands[at].stage;
        loop {
            if ended == Stage::Free {
                self.now[at] = self.list.pop();
                let Some(whole) = self.now[at] else {
                    return false;
                };
                self.hands[at].file = whole.file;
                (self.hands[at].first, self.hands[at].kib) = (0, 0);
            }
            let stage = self.following(state, hand, ended);
            self.hands[at].stage = stage;
            if stage == Stage::Write {
                let hand = &mut self.hands[at];
                hand.first += hand.kib;
                hand.kib = self
                    .bulk_kib
                    .min(state.tree.files[hand.file as usize].size - hand.first);
            }
            if stage != Stage::Free {
                return true;
            }
            ended = Stage::Free;
        }
    }

    fn call<'a>(&'a self, state: &'a State, hand: u32, name: &'a mut Name) -> Call<'a> {
        let hand = &self.hands[hand as usize];
        let file = &state.tree.files[hand.file as usize];
        let (dir, of) = (state.tree.directory_of(hand.file).node, file.node);
        *name = state.tree.name(hand.file);
        let name = name.bytes();
        match hand.stage {
            Stage::Free => unreachable!("a free hand has no call"),
            Stage::Create if file.kind == Kind::Inner => Call::Mkdir { dir, name, node: of },
            Stage::Create => Call::Create { dir, name, node: of },
            Stage::Find => lookup(dir, name, of),
            Stage::Cut => Call::Setattr {
                of,
                size: Some(file.bytes()),
            },
            Stage::Write => Call::Write {
                of,
                offset: u64::from(hand.first) * 1024,
                stable: false,
                content: Content {
                    pool: &state.pool,
                    file: file.content,
                    first: hand.first,
                    versions: state.tree.sent(hand.file, hand.first, hand.kib),
                },
            },
            Stage::Commit => Call::Commit { of },
        }
    }

    fn answered(&mut self, state: &mut State, at: u32, answer: Answer<'_>, repeated: bool) -> Result<(), FilesError> {
        let hand = &mut self.hands[at as usize];
        let file = &mut state.tree.files[hand.file as usize];
        match (hand.stage, answer) {
            (Stage::Create, Answer::Refused(Status::EXISTS)) if repeated => hand.stage = Stage::Find,
            (Stage::Create | Stage::Find, Answer::Found(Found { identity, .. })) => {
                file.identity = identity;
                (file.there, file.open) = (true, false);
                hand.stage = Stage::Create;
            }
            (Stage::Cut, Answer::Done) => {}
            (Stage::Write, Answer::Written { count, verifier, .. }) => {
                // The next write begins behind what was taken.
                let taken = short_of(hand.kib, count as usize).unwrap_or(hand.kib);
                if count < taken * 1024 || count > hand.kib * 1024 {
                    let (what, asked) = (format!("file {}, KiB {}", hand.file, hand.first), hand.kib * 1024);
                    return Err(FilesError::Taken { what, count, asked });
                }
                hand.kib = taken;
                self.written_bytes += u64::from(taken) * 1024;
                note_verifier(state, verifier)?;
            }
            (Stage::Commit, Answer::Committed { verifier }) => {
                let file = hand.file;
                note_verifier(state, verifier)?;
                state.keep(file);
            }
            (_, other) => {
                let what = format!("filling: {:?} of file {}", hand.stage, hand.file);
                return Err(unexpected(&what, &other));
            }
        }
        Ok(())
    }
}

pub(super) fn note_verifier(state: &mut State, verifier: u64) -> Result<(), FilesError> {
    match state.verifier.replace(verifier) {
        Some(before) if before != verifier => Err(FilesError::Restarted),
        _ => Ok(()),
    }
}

impl<C: Client> Users<C> {
    /// Longest bulk write or read, KiB.
    pub(super) fn bulk_kib(&self) -> u32 {
        BULK_KIB.min(self.bulk_limit_kib).max(1)
    }

    /// Grows the tree; see `Serving::grow_to`.
    pub(crate) fn grow_to(&mut self, bytes: u64, commit: bool) -> Result<Filled, FilesError> {
        let began = self.client.now();
        let added = self.state.tree.plan_growth(&self.state.config, bytes);
        let tree = &mut self.state.tree;
        let directories = added.directories_from..tree.directories.len() as u32;
        let directories: Vec<(u32, bool)> = directories.map(|nth| (nth, false)).collect();
        let mut list = Vec::new();
        for nth in added.files_from..tree.files.len() as u32 {
            let file = &mut tree.files[nth as usize];
            if !file.there {
                continue;
            }
            (file.size, file.dirty) = (file.home, true);
            if file.room > 0 {
                tree.grains.send_next(file.grains, file.home);
            }
            list.push(Whole {
                file: nth,
                create: true,
                cut: false,
            });
        }
        let calls = self.pipelined(&mut Directories::new(directories, self.hands()))?;
        let mut writing = Writing::new(list, commit, (self.hands(), self.bulk_kib()));
        let calls = calls + self.pipelined(&mut writing)?;
        Ok(Filled {
            tree: self.state.tree.size(),
            written_bytes: writing.written_bytes,
            calls,
            elapsed_ns: self.client.now() - began,
        })
    }
}
