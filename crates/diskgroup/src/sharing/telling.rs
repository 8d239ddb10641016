//! The owner's side: which other instances follow, what they must be told, and what they have answered.
//!
//! Whatever is published is noted here, so that no place can forget to tell it. Prevents: an old place that is given
//! away because one instance was not asked.

use crate::error::GroupError;
use crate::group::Group;
use crate::metadata::core::Redundancy;
use crate::port::board::Board;
use crate::sharing::links::{Link, queue};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use targets::Port;

/// Another instance that has the group open frozen, as the owner sees it. Made by [`Group::admit`]. Dropped without
/// [`Follower::ended`] it counts as at work for ever: nothing that it may use is moved or given away.
pub struct Follower {
    board: Arc<Board>,
    link: Arc<Link>,
}

impl Follower {
    /// What it must be told, in order: to be handed to [`Group::hear`] in its process, in pieces of any size. Empty:
    /// nothing new.
    pub fn notices(&self) -> Vec<u8> {
        std::mem::take(&mut *queue(&self.link))
    }

    /// It answered ([`Group::answer`]).
    ///
    /// # Errors
    /// [`GroupError::Refused`] for the answer to what nobody has told.
    pub fn answered(&self, number: u64) -> Result<(), GroupError> {
        if number > self.board.epoch() || number < self.link.reached.load(Ordering::SeqCst) {
            return Err(GroupError::refused(
                format!("another instance answered notice {number}, which it was not told last"),
                "end that instance",
            ));
        }
        self.link.reached.store(number, Ordering::SeqCst);
        Ok(())
    }

    /// Its process has ended, and the kernel has no request of it in flight: who is merely silent has not ended.
    pub fn ended(self) {
        let mut telling = self.board.telling();
        telling.links.retain(|link| !Arc::ptr_eq(link, &self.link));
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.link.deaf.store(true, Ordering::SeqCst);
        queue(&self.link).clear();
    }
}

impl<P: Port> Group<P> {
    /// Lets another instance follow: it opens the group frozen ([`Group::mount_frozen`]) after this, in a process of
    /// its own, and hears everything that is told from now on. Nothing moves without its answers. A rebalance that
    /// begins before it has opened the group keeps it from doing so.
    ///
    /// # Errors
    /// [`GroupError::Frozen`] where the group is not open to be changed, [`GroupError::Refused`] for a mirrored group,
    /// [`GroupError::Busy`] while a rebalance is under way.
    pub fn admit(&self) -> Result<Follower, GroupError> {
        let core = self.core();
        core.alive()?;
        core.may_change()?;
        if core.redundancy > Redundancy::External || core.files.values().any(|file| file.copies > 1) {
            return Err(GroupError::refused(
                "another instance beside the owner of a mirrored group, whose writes change the metadata",
                "make the group with redundancy \"external\", and mirror below it",
            ));
        }
        if core.root.rebalance || !core.held.is_empty() {
            return Err(GroupError::Busy {
                what: "extents of the group are being moved, so its maps cannot be read by another instance".into(),
                cure: "let it open the group when the rebalance is done".into(),
            });
        }
        let board = self.board().clone();
        let link = Arc::new(Link {
            reached: AtomicU64::new(board.epoch()),
            queue: Mutex::default(),
            deaf: AtomicBool::new(false),
        });
        board.telling().links.push(link.clone());
        Ok(Follower { board, link })
    }
}
