//! What all sessions share: the tree, the draws, the counts.
//!
//! Prevents: a client that is borrowed while its answer is judged (state and client are two things).

use super::session::{Now, Session};
use crate::client::Call;
use crate::grain::{Content, Pool};
use crate::load::{Config, Work};
use crate::serving::{Counts, EXAMPLES_MAX};
use crate::tree::{HOME, Hold, Name, Named, Tree};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The state of all sessions.
pub(crate) struct State {
    pub(crate) config: Config,
    pub(crate) tree: Tree,
    pub(crate) pool: Pool,
    pub(crate) sessions: Vec<Session>,
    pub(crate) random: Xoshiro256PlusPlus,
    pub(crate) counts: Counts,
    pub(crate) wrong: Vec<String>,
    pub(crate) verifier: Option<u64>,
    /// Writes that have no answer and never will: file, first KiB, KiB.
    pub(crate) unanswered: Vec<(u32, u32, u32)>,
    /// Renames that have no answer and never will: from the name of one file to that of another one.
    pub(crate) renames: Vec<(u32, u32)>,
    /// Which entries of a listing were seen, one bit each.
    pub(crate) seen: Vec<u64>,
}

impl State {
    pub(crate) fn new(config: Config) -> State {
        let rows = match config.work {
            Work::Steps(steps) => steps.rows().len() as u16,
            Work::Mix(_) => 0,
        };
        State {
            tree: Tree::new(&config),
            pool: Pool::new(config.run),
            sessions: (0..config.sessions).map(|nth| Session::new(nth, rows)).collect(),
            random: Xoshiro256PlusPlus::seed_from_u64(config.seed),
            counts: Counts::default(),
            wrong: Vec::with_capacity(EXAMPLES_MAX),
            verifier: None,
            unanswered: Vec::new(),
            renames: Vec::new(),
            seen: Vec::new(),
            config,
        }
    }

    /// The counts of the next phase begin at zero.
    pub(crate) fn count_anew(&mut self) {
        self.counts = Counts::default();
        self.wrong.clear();
    }

    /// An answer is wrong. `words` are made only for the first few.
    pub(crate) fn note(&mut self, words: impl FnOnce() -> String) {
        self.counts.wrong += 1;
        if self.wrong.len() < EXAMPLES_MAX {
            self.wrong.push(words());
        }
    }

    /// The call that a session makes now.
    pub(crate) fn call<'a>(&'a self, session: &Session, [name, to]: &'a mut [Name; 2]) -> Call<'a> {
        let (tree, nth) = (&self.tree, session.file);
        let file = || tree.files[nth as usize].node;
        let directory = || tree.directory_of(nth).node;
        let offset = u64::from(session.first) * 1024;
        if matches!(
            session.now,
            Now::Lookup | Now::Create | Now::Remove | Now::Mkdir | Now::Rmdir | Now::Rename
        ) {
            *name = tree.name(nth);
        }
        match session.now {
            Now::Idle => unreachable!("an idle session makes no call"),
            Now::Home => Call::Getattr { of: HOME },
            Now::Getattr => Call::Getattr { of: file() },
            Now::Lookup => Call::Lookup {
                dir: directory(),
                name: name.bytes(),
                node: Some(file()),
            },
            Now::Missing => {
                *name = Name::of(Named::Missing(nth));
                Call::Lookup {
                    dir: directory(),
                    name: name.bytes(),
                    node: None,
                }
            }
            Now::Access => Call::Access { of: file() },
            Now::Readlink => Call::Readlink {
                of: tree.directory_of(nth).link,
            },
            Now::Read => Call::Read {
                of: file(),
                offset,
                len: session.kib * 1024,
            },
            Now::Write { stable } => Call::Write {
                of: file(),
                offset,
                stable,
                content: Content {
                    pool: &self.pool,
                    file: tree.files[nth as usize].content,
                    first: session.first,
                    versions: tree.sent(nth, session.first, session.kib),
                },
            },
            Now::Commit => Call::Commit { of: file() },
            Now::List { sizes } => Call::List {
                dir: directory(),
                sizes,
            },
            Now::Create | Now::Mkdir | Now::Remove | Now::Rmdir | Now::Rename => {
                self.name_call(session, name.bytes(), to)
            }
            Now::Setattr { cut } => {
                let file = &tree.files[nth as usize];
                Call::Setattr {
                    of: file.node,
                    size: cut.then(|| file.bytes()),
                }
            }
            Now::Fsstat => Call::Fsstat,
            Now::Fsinfo => Call::Fsinfo,
        }
    }

    /// Whether a write of this KiB has no answer.
    pub(crate) fn is_unanswered(&self, file: u32, place: u32) -> bool {
        let covers = |(of, first, kib): &(u32, u32, u32)| *of == file && (*first..first + kib).contains(&place);
        self.unanswered.iter().any(covers)
    }

    /// A call that makes, removes or changes a name.
    fn name_call<'a>(&self, session: &Session, name: &'a [u8], to: &'a mut Name) -> Call<'a> {
        let node = self.tree.files[session.file as usize].node;
        let dir = self.tree.directory_of(session.file).node;
        match session.now {
            Now::Create => Call::Create { dir, name, node },
            Now::Mkdir => Call::Mkdir { dir, name, node },
            Now::Rmdir => Call::Rmdir { dir, name },
            Now::Rename => {
                *to = self.tree.name(session.onto.expect("a rename has another name"));
                Call::Rename {
                    dir,
                    name,
                    to: to.bytes(),
                    node,
                }
            }
            _ => Call::Remove { dir, name },
        }
    }

    /// Renames without an answer, whose names are certain from now on.
    pub(crate) fn take_renames(&mut self) -> Vec<(u32, u32)> {
        let renames = std::mem::take(&mut self.renames);
        for file in renames.iter().flat_map(|(from, onto)| [from, onto]) {
            self.tree.files[*file as usize].open = false;
        }
        renames
    }

    /// Makes all lists of the tree anew.
    pub(crate) fn relist(&mut self) {
        self.tree.relist();
    }

    /// The session lets its file go.
    pub(crate) fn release(&mut self, nth: u32) {
        let session = &mut self.sessions[nth as usize];
        let hold = std::mem::replace(&mut session.hold, Hold::None);
        let file = session.file;
        self.tree.files[file as usize].release(hold);
        if hold == Hold::Alone {
            // A listing that was under way may have seen what was before.
            self.tree.changed(file);
        }
        if let Some(onto) = self.sessions[nth as usize].onto.take() {
            self.tree.files[onto as usize].release(Hold::Alone);
            self.tree.changed(onto);
        }
    }

    /// All calls under way are given up: what they were to change may be changed or not.
    pub(crate) fn give_up(&mut self) {
        for session in &mut self.sessions {
            if matches!(session.now, Now::Create | Now::Remove | Now::Mkdir | Now::Rmdir) {
                self.tree.files[session.file as usize].open = true;
            }
            if matches!(session.now, Now::Write { .. }) {
                self.unanswered.push((session.file, session.first, session.kib));
            }
            if let (Now::Rename, Some(onto)) = (session.now, session.onto) {
                self.renames.push((session.file, onto));
                for file in [session.file, onto] {
                    self.tree.files[file as usize].open = true;
                }
            }
            *session = Session {
                now: Now::Idle,
                hold: Hold::None,
                onto: None,
                keeps: false,
                ..*session
            };
        }
        self.tree.files.iter_mut().for_each(|file| file.release_all());
        self.relist();
    }
}
