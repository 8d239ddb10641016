//! Several instances on one group: one owns the metadata and moves extents, the others have the group open frozen and
//! follow.
//!
//! | step | the owner | another instance |
//! | --- | --- | --- |
//! | 1 | holds the extents of a batch, tells that | keeps back writes; answers when its older requests have ended |
//! | 2 | has all answers: copies, and flushes what it wrote | reads at the old places |
//! | 3 | commits the new places to the journal: this is the moment | reads at the old places |
//! | 4 | tells the new places | publishes them, sends what it kept back; answers as in 1 |
//! | 5 | has all answers: the old places are free | |
//!
//! What is told is numbered by the owner's epoch, and another instance counts as one more seat on the owner's board
//! ([`crate::port::board`]). So who waits for its own ports waits for the other instances as well. A crash before the
//! moment leaves the extents where they were, a crash after it where they are going. At neither time has anybody else
//! a claim on either place. Prevents: an extent that is reused while another instance reads or writes it there.

pub(crate) mod heard;
pub(crate) mod hearing;
pub(crate) mod links;
pub(crate) mod notice;
pub(crate) mod telling;
