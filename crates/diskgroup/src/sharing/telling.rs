//! The owner's side: which other instances follow, what they must be told, and what they have answered.
//!
//! Whatever is published is noted here, so that no place can forget to tell it. Prevents: an old place that is given
//! away because one instance was not asked.

use crate::error::GroupError;
use crate::group::Group;
use crate::metadata::core::Redundancy;
use crate::port::board::Board;
use crate::sharing::links::{Link, queue};
use std::sync::Arc;
use std::sync::atomic::Ordering;
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
    ///
    /// # Errors
    /// [`GroupError::Refused`] where more was told than is kept for who fetches nothing (20 MiB, about a million
    /// extents): that instance must end, and until then nothing is given away that it may use.
    pub fn notices(&self) -> Result<Vec<u8>, GroupError> {
        if self.link.overrun.load(Ordering::SeqCst) {
            return Err(GroupError::refused(
                "another instance has not fetched what the group's owner told it, and it is too much to be kept",
                "end that instance",
            ));
        }
        let mut queue = queue(&self.link);
        if !queue.bytes.is_empty() {
            self.link.fetched.store(queue.last, Ordering::SeqCst);
        }
        Ok(std::mem::take(&mut queue.bytes))
    }

    /// Whether it has answered everything that was told: no extent is held in its maps that is not held here.
    pub fn knows_all(&self) -> bool {
        let is_whole = !self.link.overrun.load(Ordering::SeqCst) && queue(&self.link).bytes.is_empty();
        is_whole && self.link.reached.load(Ordering::SeqCst) >= self.board.epoch()
    }

    /// It answered ([`Group::answer`]).
    ///
    /// # Errors
    /// [`GroupError::Refused`] for the answer to what [`Follower::notices`] has not given out yet.
    pub fn answered(&self, number: u64) -> Result<(), GroupError> {
        if number > self.link.fetched.load(Ordering::SeqCst) || number < self.link.reached.load(Ordering::SeqCst) {
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
        queue(&self.link).bytes.clear();
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
        let link = Arc::new(Link::from(board.epoch()));
        board.telling().links.push(link.clone());
        Ok(Follower { board, link })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sharing::notice::LARGEST;

    fn follower() -> Follower {
        let board = Arc::new(Board::new());
        let link = Arc::new(Link::from(board.epoch()));
        board.telling().links.push(link.clone());
        Follower { board, link }
    }

    #[test]
    fn an_answer_to_what_was_not_given_out_is_refused() {
        let follower = follower();
        let first = follower.board.advance();
        assert!(follower.answered(first).is_err(), "it still lies here");
        assert!(!follower.board.all_reached(first));
        assert!(!follower.notices().unwrap().is_empty());
        let second = follower.board.advance();
        assert!(follower.answered(second).is_err());
        follower.answered(first).unwrap();
        assert!(!follower.knows_all());
        follower.notices().unwrap();
        assert!(follower.notices().unwrap().is_empty());
        follower.answered(second).unwrap();
        assert!(follower.knows_all());
    }

    #[test]
    fn for_who_fetches_nothing_no_more_is_kept_than_the_bound() {
        let follower = follower();
        assert!(follower.knows_all());
        let mut most = 0;
        while !follower.link.overrun.load(Ordering::SeqCst) {
            follower.board.advance();
            most = most.max(queue(&follower.link).bytes.len());
            assert!(most <= LARGEST, "{most} bytes");
        }
        assert!(most > LARGEST - 100, "{most} bytes");
        // What comes after the gap would be taken for all there is.
        follower.board.advance();
        assert!(queue(&follower.link).bytes.is_empty());
        assert!(follower.notices().is_err() && !follower.knows_all());
    }
}
