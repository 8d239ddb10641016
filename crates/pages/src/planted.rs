//! Bugs that can be planted, so that the crash tests can show that they would catch them.
//!
//! Only with the cargo feature `planted`; without it [`Planted::on`] is constant `false` and the branches vanish.
//! Prevents: a crash test that passes because it can't fail.

targets::planted_bugs! {
    /// A recovery bug.
    pub enum Planted {
        /// Commits are acknowledged when the redo write has completed, without a flush.
        RedoFlushLeftOut,
        /// Commits are acknowledged as soon as their record is in the log buffer.
        AcknowledgedBeforeWrite,
        /// A checkpoint is recorded without flushing the data files.
        DataFlushLeftOut,
        /// A checkpoint is recorded before its pages are written.
        CheckpointBeforePages,
        /// The checkpoint position is taken at the end of the checkpoint, not at its start.
        CheckpointTooNew,
        /// The checksum of a redo batch is not compared on recovery.
        RedoChecksumUnchecked,
        /// The log is replayed from its end to its start.
        ReplayReversed,
        /// Recovery takes batches of an old lap for new ones.
        ContinuityUnchecked,
        /// Full page images are not written to the log.
        ImageLeftOut,
        /// Page images are taken by the recorded checkpoint, not by the one that has begun.
        ImageByRecordedCheckpoint,
        /// Pages are written before their redo is flushed.
        WriteAheadIgnored,
        /// Home pages are written before the doublewrite area is flushed.
        DoublewriteFlushLeftOut,
        /// The doublewrite area is used again before the home pages are flushed.
        DoublewriteReusedEarly,
        /// Recovery does not look at the doublewrite area.
        DoublewriteIgnored,
        /// A change does not raise the page's version.
        VersionNotRaised,
        /// The log wraps over batches that recovery still needs.
        RedoOverwritten,
        /// Recovery applies all but the last change of a transaction.
        LastChangeLost,
        /// Only the first part of a batch that wraps around the end of the log is written.
        WrapCutOff,
        /// Recovery continues the log at the checkpoint instead of behind the last batch.
        TailForgotten,
        /// After recovery the checkpoint is recorded without the replayed pages being written.
        RecoveredPagesNotWritten,
        /// A page is taken for clean although it was changed while its write was under way.
        ChangeDuringWriteForgotten,
        /// The log before a checkpoint is given free before the checkpoint's record is flushed.
        ControlFlushLeftOut,
        /// Recovery works from what it can read without making it durable first.
        RecoveryTrustsCaches,
    }
}
