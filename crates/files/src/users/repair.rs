//! After a cut: old handles are tried, the server's verifier is asked for, and what was not committed is sent again.
//!
//! Prevents: a server that lost something and shows the same verifier, for then no client would send it again.

use super::Users;
use super::audit::{Item, Names, Reading};
use super::fill::{Directories, Whole, Writing, unexpected};
use super::pipeline::Job;
use super::state::State;
use crate::client::{Answer, Call, Client, Node};
use crate::error::FilesError;
use crate::serving::{After, Audit};
use crate::status::Status;
use crate::tree::{HOME, Kind, Name};

/// One call by one hand.
struct Single<'c, F> {
    call: Option<Call<'c>>,
    under_way: Option<Call<'c>>,
    see: F,
}

impl<F: FnMut(Answer<'_>) -> Result<(), FilesError>> Job for Single<'_, F> {
    fn advance(&mut self, _: &mut State, _: u32) -> bool {
        match self.call.take() {
            Some(call) => {
                self.under_way = Some(call);
                true
            }
            None => false,
        }
    }

    fn call<'a>(&'a self, _: &'a State, _: u32, _: &'a mut Name) -> Call<'a> {
        self.under_way.expect("a single call")
    }

    fn answered(&mut self, _: &mut State, _: u32, answer: Answer<'_>, _: bool) -> Result<(), FilesError> {
        (self.see)(answer)
    }
}

impl<C: Client> Users<C> {
    /// One call that is waited for.
    pub(crate) fn single(
        &mut self,
        call: Call<'_>,
        see: impl FnMut(Answer<'_>) -> Result<(), FilesError>,
    ) -> Result<(), FilesError> {
        let mut job = Single {
            call: Some(call),
            under_way: None,
            see,
        };
        self.pipelined(&mut job).map(|_| ())
    }

    /// The name of the directory of this run.
    pub(crate) fn home_name(&self) -> String {
        format!("assay-{:08x}", self.state.config.run)
    }

    /// Looks the directory of the run up.
    pub(super) fn find_home(&mut self) -> Result<bool, FilesError> {
        let name = self.home_name();
        let mut found = false;
        let call = Call::Lookup {
            dir: Node::ROOT,
            name: name.as_bytes(),
            node: Some(HOME),
        };
        self.single(call, |answer| match answer {
            Answer::Found(_) => {
                found = true;
                Ok(())
            }
            Answer::Refused(Status::NOT_FOUND) => Ok(()),
            other => Err(unexpected("looking up the directory of the run", &other)),
        })?;
        Ok(found)
    }

    /// Makes the directory of the run.
    pub(crate) fn make_home(&mut self) -> Result<(), FilesError> {
        let name = self.home_name();
        let call = Call::Mkdir {
            dir: Node::ROOT,
            name: name.as_bytes(),
            node: HOME,
        };
        self.single(call, |answer| match answer {
            Answer::Found(_) => Ok(()),
            Answer::Refused(Status::EXISTS) => Err(FilesError::Tree(format!(
                "the directory {name} is there already: another run left it or works in it\nremove it"
            ))),
            Answer::Refused(Status::ACCESS) => Err(FilesError::Tree(format!(
                "this user may not make the directory {name} there\n\
                 let it write there; export it with `no_root_squash` where root is the user"
            ))),
            other => Err(unexpected("making the directory of the run", &other)),
        })
    }

    /// A handle from before, tried once.
    pub(super) fn try_handle(&mut self) -> Result<Option<bool>, FilesError> {
        if !self.client.names_are_stable() {
            return Ok(None);
        }
        let known = |file: &&crate::tree::File| file.there && !file.open && file.identity.handle.is_some();
        let Some(file) = self.state.tree.files.iter().find(known) else {
            return Ok(None);
        };
        let (of, identity) = (file.node, file.identity);
        let mut survived = None;
        self.single(Call::Getattr { of }, |answer| {
            survived = Some(match answer {
                Answer::Found(found) => identity.file_id == found.identity.file_id,
                Answer::Refused(_) => false,
                other => return Err(unexpected("trying an old handle", &other)),
            });
            Ok(())
        })?;
        Ok(survived)
    }

    /// Asks for the write verifier by a commit of any file that is there.
    fn ask_verifier(&mut self, names: &Names) -> Result<Option<u64>, FilesError> {
        let file = names.found.iter().find_map(|item| match item {
            Item::File(nth) if self.state.tree.files[*nth as usize].kind != Kind::Inner => Some(*nth),
            _ => None,
        });
        let Some(file) = file else { return Ok(None) };
        let of = self.state.tree.files[file as usize].node;
        let mut seen = None;
        self.single(Call::Commit { of }, |answer| match answer {
            Answer::Committed { verifier } => {
                seen = Some(verifier);
                Ok(())
            }
            other => Err(unexpected("asking for the write verifier", &other)),
        })?;
        Ok(seen)
    }

    /// Sends again what is not stable, makes again what is lost, and reads it all once more.
    pub(super) fn repair(
        &mut self,
        home: bool,
        names: &Names,
        reading: &Reading,
        audit: &mut Audit,
    ) -> Result<(), FilesError> {
        audit.verifiers.1 = self.ask_verifier(names)?;
        self.state.verifier = audit.verifiers.1;
        let same = audit.verifiers.0.is_some() && audit.verifiers.0 == audit.verifiers.1;
        audit.verifier_hides_loss = same && audit.kib_gone > 0 && self.client.names_are_stable();
        self.settle_names(names);
        if !home {
            self.make_home()?;
        }
        let mut gone: Vec<(u32, bool)> = Vec::new();
        for item in &names.gone {
            match *item {
                Item::Directory(nth) => gone.push((nth, false)),
                Item::Link(nth) if !names.gone.contains(&Item::Directory(nth)) => gone.push((nth, true)),
                Item::Link(_) | Item::File(_) => {}
            }
        }
        self.pipelined(&mut Directories::new(gone, self.hands()))?;
        let list = self.to_write(names, reading);
        let kib = |whole: &Whole| u64::from(self.state.tree.files[whole.file as usize].size);
        audit.kib_resent = list.iter().map(kib).sum();
        let again: Vec<u32> = list.iter().map(|whole| whole.file).collect();
        self.pipelined(&mut Writing::new(list, true, (self.hands(), self.bulk_kib())))?;
        let again = again
            .into_iter()
            .filter(|nth| self.state.tree.files[*nth as usize].kind != Kind::Inner)
            .collect();
        let after = self.audit_data(again, After::Nothing)?;
        audit.kib_wrong_after = after.audit.kib_lost;
        audit.add(Audit {
            examples: after.audit.examples.clone(),
            ..Audit::default()
        });
        self.state.relist();
        Ok(())
    }

    /// Names whose last call had no answer are what was found.
    fn settle_names(&mut self, names: &Names) {
        for (items, found) in [(&names.found, true), (&names.gone, false)] {
            for item in items {
                let Item::File(nth) = item else { continue };
                let file = &mut self.state.tree.files[*nth as usize];
                // A removed file that came back is a loss that was booked; it is taken as it is, and emptied.
                if file.open || (found && !file.there) {
                    if !(file.there && found) {
                        (file.size, file.dirty, file.cut_back) = (0, found, found);
                        let (at, room) = (file.grains, file.room);
                        self.state.tree.grains.keep_none(at, room);
                    }
                    let file = &mut self.state.tree.files[*nth as usize];
                    (file.there, file.open, file.removed) = (found, false, false);
                }
            }
        }
    }

    /// Files to be written whole: lost ones, those with something uncommitted, and those that are not as they must be.
    fn to_write(&self, names: &Names, reading: &Reading) -> Vec<Whole> {
        let files = &self.state.tree.files;
        let mut list = Vec::new();
        for item in &names.gone {
            let Item::File(nth) = *item else { continue };
            if files[nth as usize].there {
                list.push(Whole {
                    file: nth,
                    create: true,
                    cut: false,
                });
            }
        }
        for item in &names.found {
            let Item::File(nth) = *item else { continue };
            let file = &files[nth as usize];
            let unequal = reading.unequal.contains(&nth);
            if file.there && file.kind != Kind::Inner && (file.dirty || file.cut_back || unequal) {
                list.push(Whole {
                    file: nth,
                    create: false,
                    cut: true,
                });
            }
        }
        list
    }
}
