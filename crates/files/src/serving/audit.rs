//! What was found of the files after a cut, a kill, or simply afterwards.
//!
//! Prevents: a loss that is called allowed, and an allowed loss that is called one. RFC 1813, chapter 1.6: stable are
//! WRITE with FILE_SYNC, CREATE, MKDIR, SYMLINK, REMOVE, RMDIR, RENAME, COMMIT, and LINK and MKNOD, which nobody calls
//! here; SETATTR is not.

/// The findings. What is **lost** was acknowledged as stable, or cannot come back by the rules of NFS.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Audit {
    /// Names that had to be there and were looked up.
    pub names: u64,
    /// Of these, names that are gone, or lead to another file than was made last: acknowledged CREATE, MKDIR, SYMLINK
    /// or RENAME that was lost.
    pub names_lost: u64,
    /// Names that had to be gone and were looked up: acknowledged REMOVE or RMDIR, and old names of RENAME.
    pub names_removed: u64,
    /// Of these, names that are there again: acknowledged REMOVE, RMDIR or RENAME that was lost.
    pub names_back: u64,
    /// Names whose last call had no answer: they may be there or not.
    pub names_open: u64,
    /// KiB read.
    pub kib: u64,
    /// KiB that had to be stable, those of lost names too, and whatever else counts as lost.
    pub kib_stable: u64,
    /// Of these, KiB that are gone, older or foreign.
    pub kib_lost: u64,
    /// KiB that were written and not committed.
    pub kib_unstable: u64,
    /// Of these, KiB whose last version is gone. The server may lose them if its verifier changed.
    pub kib_gone: u64,
    /// Of these, KiB that are neither old nor new: half written. Allowed as `kib_gone` is.
    pub kib_torn: u64,
    /// KiB whose last write had no answer and was not carried out.
    pub kib_open: u64,
    /// Write verifiers before and after; `None` where none was seen.
    pub verifiers: (Option<u64>, Option<u64>),
    /// Something uncommitted is gone and the verifier is the same: no client would send it again. It is lost.
    pub verifier_hides_loss: bool,
    /// Whether a file handle from before was still good; `None`: there are no handles, or none was tried.
    pub handles_survived: Option<bool>,
    /// KiB that were sent again and committed, because the verifier changed.
    pub kib_resent: u64,
    /// KiB that are wrong after that.
    pub kib_wrong_after: u64,
    /// The first few losses, in words.
    pub examples: Vec<String>,
}

/// Whether the file system or the server was taken away before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum After {
    /// Nothing happened: all must be exact.
    Nothing,
    /// A cut of power or a kill: what was not stable may be gone.
    Cut,
}

impl Audit {
    /// Losses of any kind: names, KiB, and what hides behind a verifier that did not change.
    pub fn lost(&self) -> u64 {
        self.names_lost + self.names_back + self.kib_lost + self.kib_hidden() + self.kib_wrong_after
    }

    /// All that [`Self::lost`] is a part of: what was acknowledged and looked up, and KiB that no client sends again.
    pub fn acknowledged(&self) -> u64 {
        self.names + self.names_removed + self.kib_stable + self.kib_hidden() + self.kib_wrong_after
    }

    /// KiB that are gone behind a verifier that did not change.
    fn kib_hidden(&self) -> u64 {
        if self.verifier_hides_loss { self.kib_gone } else { 0 }
    }

    /// Nothing is lost.
    pub fn is_clean(&self) -> bool {
        self.lost() == 0
    }

    /// Adds that of another worker.
    pub fn add(&mut self, other: Audit) {
        self.names += other.names;
        self.names_lost += other.names_lost;
        self.names_removed += other.names_removed;
        self.names_back += other.names_back;
        self.names_open += other.names_open;
        self.kib += other.kib;
        self.kib_stable += other.kib_stable;
        self.kib_lost += other.kib_lost;
        self.kib_unstable += other.kib_unstable;
        self.kib_gone += other.kib_gone;
        self.kib_torn += other.kib_torn;
        self.kib_open += other.kib_open;
        self.verifiers = (
            self.verifiers.0.or(other.verifiers.0),
            self.verifiers.1.or(other.verifiers.1),
        );
        self.verifier_hides_loss |= other.verifier_hides_loss;
        self.handles_survived = match (self.handles_survived, other.handles_survived) {
            (Some(one), Some(two)) => Some(one && two),
            (one, two) => one.or(two),
        };
        self.kib_resent += other.kib_resent;
        self.kib_wrong_after += other.kib_wrong_after;
        self.examples.extend(other.examples);
        self.examples.truncate(EXAMPLES_MAX);
    }
}

/// Losses that are kept in words.
pub(crate) const EXAMPLES_MAX: usize = 8;
