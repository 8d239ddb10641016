//! Bugs that can be planted, so that the tests can show that they would catch them.
//!
//! Only with the cargo feature `planted`; without it [`Planted::on`] is constant `false` and the branches vanish.
//! Prevents: a crash test that passes because it can't fail.

targets::planted_bugs! {
    /// A bug of journal, maps, mirrors or rebalance.
    pub enum Planted {
        /// A transaction is taken for durable without a flush of the journal.
        JournalFlushLeftOut,
        /// Only one of the disks that hold the journal gets the transactions.
        JournalOnOneDisk,
        /// The journal starts over before the blocks written to their homes are flushed.
        HomesUnflushed,
        /// The journal starts over although blocks have not been written to their homes.
        HomesForgotten,
        /// Recovery leaves out the last transaction of the journal.
        LastTransactionForgotten,
        /// The content of a transaction is not compared with its checksum.
        JournalChecksumUnchecked,
        /// The checksum of a metadata block is not compared.
        BlockChecksumUnchecked,
        /// Recovery follows the journal into an older lap.
        SequenceUnchecked,
        /// The journal of any disk is used, not the newest.
        OldestJournalUsed,
        /// A change of owners is not written to the allocation table.
        TableForgotten,
        /// The directory entry is not part of the transaction that changes it.
        EntryForgotten,
        /// The root is not part of the transaction that gives the metadata file more room.
        RootForgotten,
        /// New space is not filled with zeros.
        ZeroingLeftOut,
        /// The zeros of new space are not flushed before the space is given.
        ZeroingUnflushed,
        /// A file has its new size before it has all its extents.
        SizeTooEarly,
        /// Deleting leaves the last extent allocated.
        ExtentLeaked,
        /// A file that was being made when the power failed is kept.
        HalfMadeFileKept,
        /// Both copies of an extent may lie in one failure group.
        FailureGroupIgnored,
        /// A mirrored write does not record its region first.
        IntentLeftOut,
        /// After a crash the copies of regions being written are not made equal.
        SettleLeftOut,
        /// After a crash regions are taken for equal before the copies are flushed.
        SettleUnflushed,
        /// A write that missed a copy is acknowledged without recording that.
        StaleMarkLeftOut,
        /// When a disk goes, writes that it had taken and not flushed are not recorded.
        UnflushedNotStale,
        /// When a disk is missing at mount, regions that were being written are not recorded.
        MissingNotStale,
        /// Reads do not look whether a copy is stale.
        StaleCopyRead,
        /// A mirrored write is acknowledged after its first copy.
        FirstCopyAcknowledged,
        /// Mending takes the first copy for good, whatever it holds.
        MendUnverified,
        /// A flush leaves out a disk.
        FlushForgetsDisk,
        /// A resync counts a copy as good without copying.
        ResyncLeftOut,
        /// A moved extent is recorded before its new place is flushed.
        MoveUnflushed,
        /// Writes go on to an extent while it is copied.
        MoveUnguarded,
        /// The old place of a moved extent is given away while reads of it are in flight.
        FreedTooEarly,
        /// Another instance does not hear that an extent is held before the copying begins.
        OthersNotAsked,
        /// The old place of a moved extent is given away before another instance knows the new one.
        ReusedUntold,
        /// Who opens a group frozen does not look whether it changed meanwhile.
        FrozenReadOnce,
        /// Of what the owner tells, another instance reads the first half.
        NoticeHalfRead,
        /// A dropped disk is released before it is empty.
        ReleasedFull,
        /// A disk comes back without getting its metadata anew.
        ReturnWithoutTable,
        /// A repair that a disk refused is not recorded: the copy counts as equal.
        RepairNotStale,
        /// A repair that a disk took and could not make durable is not recorded.
        RepairUnflushedNotStale,
        /// Regions are recorded as equal before the copies that refused a repair are recorded as stale.
        CleanedTooEarly,
        /// Copies on a disk that went while others were made equal are taken for equal.
        AbsentNotStale,
        /// A flush that failed is tried again, and good if that goes well.
        FailedFlushTriedAgain,
        /// A check says that it repaired what a disk refused.
        CheckSaysRepaired,
        /// When one piece of a write fails on all copies, what other pieces missed is not recorded.
        OtherPiecesForgotten,
    }
}
