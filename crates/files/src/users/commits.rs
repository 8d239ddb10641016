//! Committing what is not stable: afterwards the server owes nothing to anybody.
//!
//! Prevents: writes of one load point that a server brings to its disks during the next.

use super::Users;
use super::fill::{note_verifier, unexpected};
use super::pipeline::Job;
use super::state::State;
use crate::client::{Answer, Call, Client};
use crate::error::FilesError;
use crate::tree::{Kind, Name};

/// Files to be committed, by number.
struct Commits {
    list: Vec<u32>,
    hands: Vec<Option<u32>>,
}

impl Job for Commits {
    fn advance(&mut self, _: &mut State, hand: u32) -> bool {
        self.hands[hand as usize] = self.list.pop();
        self.hands[hand as usize].is_some()
    }

    fn call<'a>(&'a self, state: &'a State, hand: u32, _: &'a mut Name) -> Call<'a> {
        let file = self.hands[hand as usize].expect("a hand without a file has no call");
        let of = state.tree.files[file as usize].node;
        Call::Commit { of }
    }

    fn answered(&mut self, state: &mut State, hand: u32, answer: Answer<'_>, _: bool) -> Result<(), FilesError> {
        let Answer::Committed { verifier } = answer else {
            return Err(unexpected("committing the files of the run", &answer));
        };
        note_verifier(state, verifier)?;
        if let Some(file) = self.hands[hand as usize] {
            state.keep(file);
        }
        Ok(())
    }
}

impl<C: Client> Users<C> {
    /// Commits every file with something that is not stable; gives the number of calls.
    pub(crate) fn commit(&mut self) -> Result<u64, FilesError> {
        let files = self.state.tree.files.iter().zip(0..);
        let is_owed = |file: &crate::tree::File| file.there && file.dirty && file.kind != Kind::Inner;
        let list = files.filter(|(file, _)| is_owed(file)).map(|(_, nth)| nth).collect();
        let hands = vec![None; self.hands() as usize];
        self.pipelined(&mut Commits { list, hands })
    }
}
