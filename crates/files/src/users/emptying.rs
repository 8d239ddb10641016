//! Removing the tree: files and links, then directories, then the directory of the run.
//!
//! Prevents: files of a run that stay on somebody's server.

use super::Users;
use super::fill::unexpected;
use super::pipeline::Job;
use super::state::State;
use crate::client::{Answer, Call, Client, Node};
use crate::error::FilesError;
use crate::status::Status;
use crate::tree::{HOME, Kind, Name, Named};

/// Names to be removed.
struct Emptying {
    list: Vec<Named>,
    hands: Vec<Option<Named>>,
}

impl Emptying {
    fn new(list: Vec<Named>, hands: u32) -> Emptying {
        Emptying {
            list,
            hands: vec![None; hands as usize],
        }
    }
}

impl Job for Emptying {
    fn advance(&mut self, _: &mut State, hand: u32) -> bool {
        self.hands[hand as usize] = self.list.pop();
        self.hands[hand as usize].is_some()
    }

    fn call<'a>(&'a self, state: &'a State, hand: u32, name: &'a mut Name) -> Call<'a> {
        let what = self.hands[hand as usize].expect("a hand without a name has no call");
        *name = Name::of(what);
        let name = name.bytes();
        let tree = &state.tree;
        match what {
            Named::Directory(_) => Call::Rmdir { dir: HOME, name },
            Named::Inner(nth) => Call::Rmdir {
                dir: tree.directory_of(nth).node,
                name,
            },
            Named::Link(nth) => Call::Remove {
                dir: tree.directories[nth as usize].node,
                name,
            },
            Named::File(nth) | Named::Missing(nth) => Call::Remove {
                dir: tree.directory_of(nth).node,
                name,
            },
        }
    }

    fn answered(&mut self, _: &mut State, _: u32, answer: Answer<'_>, _: bool) -> Result<(), FilesError> {
        match answer {
            Answer::Done | Answer::Refused(Status::NOT_FOUND) => Ok(()),
            other => Err(unexpected("removing the files of the run", &other)),
        }
    }
}

impl<C: Client> Users<C> {
    /// Removes everything of this run, also after an error in the middle of something.
    pub(crate) fn remove(&mut self) -> Result<(), FilesError> {
        self.give_up();
        // Whoever asked for the end wants this done.
        self.cancel = None;
        // What still had no answer must not be answered in the middle of this.
        self.client.renew()?;
        let tree = &self.state.tree;
        // What the server never said the way to was never made, or can't be reached.
        let is_known = |directory: u32| self.client.knows(tree.directories[directory as usize].node);
        let files = tree
            .files
            .iter()
            .enumerate()
            .filter(|(_, file)| file.there || file.open)
            .filter(|(nth, _)| self.client.knows(tree.directory_of(*nth as u32).node));
        let mut inside: Vec<Named> = files
            .map(|(nth, file)| match file.kind {
                Kind::Inner => Named::Inner(nth as u32),
                _ => Named::File(nth as u32),
            })
            .collect();
        let directories = 0..tree.directories.len() as u32;
        inside.extend(directories.clone().filter(|nth| is_known(*nth)).map(Named::Link));
        let directories: Vec<Named> = match self.client.knows(HOME) {
            true => directories.map(Named::Directory).collect(),
            false => Vec::new(),
        };
        self.pipelined(&mut Emptying::new(inside, self.hands()))?;
        self.pipelined(&mut Emptying::new(directories, self.hands()))?;
        let name = self.home_name();
        let call = Call::Rmdir {
            dir: Node::ROOT,
            name: name.as_bytes(),
        };
        self.single(call, |answer| match answer {
            Answer::Done | Answer::Refused(Status::NOT_FOUND) => Ok(()),
            other => Err(unexpected("removing the directory of the run", &other)),
        })
    }
}
