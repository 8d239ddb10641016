//! The committed list of what can be measured in a phase: each with its name in the file, its unit, its nature and its
//! meaning.
//!
//! Writers and readers share this one list, and it is written into every file (table `measure_meaning`). Prevents: two
//! rooms that mean different things by one name, and a number in an old file whose unit is anyone's guess.

/// What becomes of a measure over several stretches of one phase: the points of a ramp, say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// What came to pass: it adds up.
    Amount,
    /// What is there, a setting, a rate or a mean: the highest counts.
    Level,
    /// A part of the time: of stretches of one length the mean counts.
    Share,
}

macro_rules! measures {
    ($($variant:ident, $name:literal, $unit:literal, $nature:ident, $meaning:literal;)*) => {
        /// Something measured or counted over one phase, drain included unless its meaning says otherwise.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Measure { $(#[doc = $meaning] $variant,)* }

        impl Measure {
            /// Every measure, in the order of the list.
            pub const ALL: &'static [Measure] = &[$(Measure::$variant,)*];

            /// Name in the file.
            pub fn name(self) -> &'static str {
                match self { $(Measure::$variant => $name,)* }
            }

            /// Unit of its value.
            pub fn unit(self) -> &'static str {
                match self { $(Measure::$variant => $unit,)* }
            }

            /// What becomes of it over several stretches of one phase.
            pub fn nature(self) -> Nature {
                match self { $(Measure::$variant => Nature::$nature,)* }
            }

            /// What it counts, in a sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Measure::$variant => $meaning,)* }
            }
        }
    };
}

measures! {
    EngineOperations, "engine.operations", "operations", Amount,
        "operations (selects, updates, table scans) that ended in the timed part of the phase";
    EngineLogicalReads, "engine.logical_reads", "pages", Amount, "pages looked up in the buffer cache";
    EnginePhysicalReads, "engine.physical_reads", "requests", Amount,
        "read requests the engine sent to storage, single-page and multiblock together";
    EngineReadBytes, "engine.read_bytes", "bytes", Amount, "bytes of those read requests";
    EngineMultiblockReads, "engine.multiblock_reads", "requests", Amount,
        "multiblock read requests among engine.physical_reads";
    EngineMultiblockBytes, "engine.multiblock_bytes", "bytes", Amount,
        "bytes of the multiblock read requests, counted in engine.read_bytes too";
    EngineWrites, "engine.writes", "requests", Amount,
        "write requests of data pages, doublewrite copies included, redo not";
    EngineWriteBytes, "engine.write_bytes", "bytes", Amount, "bytes of those write requests";
    EngineRedoBytes, "engine.redo_bytes", "bytes", Amount,
        "bytes the engine sent to the redo log, padding and page images included";
    EngineRedoWrites, "engine.redo_writes", "requests", Amount, "write requests to the redo log";
    EngineRedoFlushes, "engine.redo_flushes", "flushes", Amount, "flushes of the redo log";
    EngineCommits, "engine.commits", "commits", Amount, "transactions acknowledged as durable";
    EnginePageImages, "engine.page_images", "pages", Amount, "full page images written against torn pages";
    EngineCheckpoints, "engine.checkpoints", "checkpoints", Amount,
        "checkpoints completed, of all workers together";
    EngineCheckpointsLeast, "engine.checkpoints_least", "checkpoints", Amount,
        "checkpoints of the worker that completed the fewest, with that of the drain";
    EngineOverwrittenBytes, "engine.overwritten_bytes", "bytes", Amount,
        "bytes of the distinct pages that the phase changed and that were written to their homes, as counted there";
    OutOfSpace, "stack.out_of_space", "code", Level, "1: the phase ended because the stack had no space left";
    EnginePagesVerified, "engine.pages_verified", "pages", Amount,
        "pages read from storage whose address, version and checksum were checked";
    EnginePagesBad, "engine.pages_bad", "pages", Amount, "pages among them that failed the check: data loss";
    EngineDue, "engine.due", "operations", Amount, "operations that fell due on the schedule of an open phase";
    EngineUnsent, "engine.unsent", "operations", Amount, "operations that fell due and were never started";
    FilesWrong, "files.wrong", "answers", Amount,
        "answers of a file server that were not what the model of its files says, in the warm-up too: data loss";
    FilesChecked, "files.checked_bytes", "bytes", Amount,
        "bytes read whose run, file, place, version and checksum were checked";
    FilesRedrawn, "files.redrawn", "operations", Amount,
        "operations that drew another file, for theirs was being written";
    FilesTriedAgain, "files.tried_again", "calls", Amount,
        "calls that the server put off (NFS3ERR_JUKEBOX) and that were sent again";
    FilesListedAgain, "files.listed_again", "listings", Amount,
        "listings that the server refused though their directory is there, and gave when it was asked again";
    FilesDrainNs, "files.drain_ns", "ns", Amount,
        "time that syncing and coming to rest took after the points of a ramp, each after its own";
    FilesCalls, "files.calls", "calls", Amount, "calls that the operations made";
    FilesSubstituted, "files.substituted", "operations", Amount,
        "operations that found no file or name for their purpose and did another one, in whose class they count";
    FilesReconnects, "files.reconnects", "connections", Amount,
        "connections to a file server that ended in the middle of the work and were made again";
    FilesRepeated, "files.repeated", "calls", Amount, "calls that were sent again because their connection had ended";
    FilesTraces, "files.traces", "calls", Amount,
        "calls among them that found their change made already, by the call that had no answer";
    FilesCeiling, "files.ceiling_per_s", "operations/s", Level,
        "operations a second of the same work with a client that answers itself: the generator's own ceiling";
    EngineCacheBytes, "engine.cache_bytes", "bytes", Level, "size of the engine's buffer cache";
    EngineDoublewriteBytes, "engine.doublewrite_bytes", "bytes", Amount,
        "bytes of doublewrite copies among engine.write_bytes: a price of the engine, not of the stack";
    EnginePageImageBytes, "engine.page_image_bytes", "bytes", Amount,
        "bytes of full page images among engine.redo_bytes: a price of the engine, not of the stack";
    NearReads, "device.near.reads", "requests", Amount, "reads completed by the nearest devices of the stack";
    NearWrites, "device.near.writes", "requests", Amount, "writes completed by the nearest devices of the stack";
    NearReadBytes, "device.near.read_bytes", "bytes", Amount, "bytes read from the nearest devices of the stack";
    NearWriteBytes, "device.near.write_bytes", "bytes", Amount, "bytes written to the nearest devices of the stack";
    NearFlushes, "device.near.flushes", "flushes", Amount, "flushes completed by the nearest devices of the stack";
    NearDiscards, "device.near.discards", "requests", Amount, "discards completed by the nearest devices of the stack";
    LowReads, "device.low.reads", "requests", Amount,
        "reads completed by the lowest visible devices under the stack; absent where no device is visible";
    LowWrites, "device.low.writes", "requests", Amount,
        "writes completed by the lowest visible devices under the stack";
    LowReadBytes, "device.low.read_bytes", "bytes", Amount,
        "bytes read from the lowest visible devices under the stack";
    LowWriteBytes, "device.low.write_bytes", "bytes", Amount,
        "bytes written to the lowest visible devices under the stack";
    LowFlushes, "device.low.flushes", "flushes", Amount,
        "flushes completed by the lowest visible devices under the stack";
    LowDiscards, "device.low.discards", "requests", Amount,
        "discards completed by the lowest visible devices under the stack";
    DataDeviceReads, "device.data.reads", "requests", Amount,
        "reads completed by the nearest devices of the LUN set that holds the data files; absent where data and \
         log share a device";
    DataDeviceReadBytes, "device.data.read_bytes", "bytes", Amount,
        "bytes read from the nearest devices of the LUN set that holds the data files; absent where data and log \
         share a device";
    DataDeviceWrites, "device.data.writes", "requests", Amount,
        "writes completed by the nearest devices of the LUN set that holds the data files; absent where data and \
         log share a device";
    DataDeviceWriteBytes, "device.data.write_bytes", "bytes", Amount,
        "bytes written to the nearest devices of the LUN set that holds the data files; absent where data and log \
         share a device";
    DataDeviceFlushes, "device.data.flushes", "flushes", Amount,
        "flushes completed by the nearest devices of the LUN set that holds the data files; absent where data and \
         log share a device";
    LogDeviceReads, "device.log.reads", "requests", Amount,
        "reads completed by the nearest devices of the LUN set that holds the redo log; absent where data and log \
         share a device";
    LogDeviceReadBytes, "device.log.read_bytes", "bytes", Amount,
        "bytes read from the nearest devices of the LUN set that holds the redo log; absent where data and log \
         share a device";
    LogDeviceWrites, "device.log.writes", "requests", Amount,
        "writes completed by the nearest devices of the LUN set that holds the redo log; absent where data and log \
         share a device";
    LogDeviceWriteBytes, "device.log.write_bytes", "bytes", Amount,
        "bytes written to the nearest devices of the LUN set that holds the redo log; absent where data and log \
         share a device";
    LogDeviceFlushes, "device.log.flushes", "flushes", Amount,
        "flushes completed by the nearest devices of the LUN set that holds the redo log; absent where data and \
         log share a device";
    TempDeviceReads, "device.temp.reads", "requests", Amount,
        "reads completed by the nearest devices of the LUN set of a database's temporary files; absent where they lie \
         beside the data";
    TempDeviceReadBytes, "device.temp.read_bytes", "bytes", Amount,
        "bytes read from the nearest devices of the LUN set of a database's temporary files; absent where they lie \
         beside the data";
    TempDeviceWrites, "device.temp.writes", "requests", Amount,
        "writes completed by the nearest devices of the LUN set of a database's temporary files; absent where they \
         lie beside the data";
    TempDeviceWriteBytes, "device.temp.write_bytes", "bytes", Amount,
        "bytes written to the nearest devices of the LUN set of a database's temporary files; absent where they lie \
         beside the data";
    StackDataCopies, "stack.data_copies", "copies", Level,
        "copies of each byte of the data that the nearest devices get by the stack's redundancy";
    CpuBusyNs, "cpu.busy_ns", "ns", Amount, "processor time not idle, of all processors, kernel threads included";
    CpuIdleShare, "cpu.idle_share", "share", Share,
        "idle share of the processors that the tool may run on (1 is all idle), waiting for I/O counted as idle";
    CpuOwnNs, "cpu.own_ns", "ns", Amount, "processor time of the tool's own process";
    CpuKernelThreadsNs, "cpu.kernel_threads_ns", "ns", Amount, "processor time of kernel threads";
    CpuCores, "cpu.cores", "processors", Level, "processors online";
    MemoryCacheBytesPeak, "memory.cache_bytes_peak", "bytes", Level,
        "page cache at its highest, of the phase's memory group where there is one, else of the host";
    MemoryOwnBytesPeak, "memory.own_bytes_peak", "bytes", Level,
        "resident memory of the tool's own process at its highest, buffer cache included";
    MemoryDirtyPeak, "memory.dirty_peak", "bytes", Level, "dirty page cache of the host at its highest";
    MemoryTotalBytesPeak, "memory.total_bytes_peak", "bytes", Level,
        "what the memory budget is compared with, at its highest: memory of the tool's own process, of a database \
         server or pool that it started, and the page cache they caused";
    MemoryBudgetBytes, "memory.budget_bytes", "bytes", Level, "memory budget of the stack";
    MemoryBudgetEnforced, "memory.budget_enforced", "code", Level,
        "0: not enforced, 1: by a cgroup v1 limit, 2: by a cgroup v2 limit";
    PsiCpuSomeNs, "psi.cpu_some_ns", "ns", Amount, "time in which some task waited for a processor";
    PsiIoSomeNs, "psi.io_some_ns", "ns", Amount, "time in which some task waited for I/O";
    PsiIoFullNs, "psi.io_full_ns", "ns", Amount, "time in which all tasks waited for I/O";
    PsiMemorySomeNs, "psi.memory_some_ns", "ns", Amount, "time in which some task waited for memory";
    LunUsedBytes, "lun.used_bytes", "bytes", Level, "bytes in use of the LUNs of the data after the phase";
    DataBytes, "data.bytes", "bytes", Level, "bytes of the database's pages";
    DataCompressionRatio, "data.compression_ratio", "ratio", Level,
        "uncompressed bytes over bytes stored, where the stack tells";
    ObserverCpuNs, "observer.cpu_ns", "ns", Amount, "processor time of observing within the phase";
    ObserverAroundCpuNs, "observer.around_cpu_ns", "ns", Amount,
        "processor time of observing just before and after the phase: it is in no figure of the phase";
    GeneratorCeilingIops, "generator.ceiling_iops", "pages/s", Level,
        "pages a second that the page engine reads and verifies where storage costs nothing but a copy, all \
         workers together";
    GeneratorCeilingCached, "generator.ceiling_cached", "pages/s", Level,
        "pages a second that the page engine finds in its cache, all workers together";
    GeneratorCeilingOperations, "generator.ceiling_operations", "operations/s", Level,
        "operations a second that the page engine begins and ends beside their pages, all workers together";
    GeneratorBusyShare, "generator.busy_share", "share", Share,
        "processor time of the threads that drive the work over the time they had (1 is all of it), what the \
         kernel does on their behalf included";
    CopyBytes, "copy.bytes", "bytes", Amount, "bytes that a copy phase read from the source and wrote to the target";
    CopyNs, "copy.ns", "ns", Amount, "time of a copy from its first request until everything was durable on the target";
    CopyVerifiedBytes, "copy.verified_bytes", "bytes", Amount,
        "bytes read back from the target after the phase and compared with what was copied";
    CopyVerifyNs, "copy.verify_ns", "ns", Amount, "time of reading back, outside the phase";
    CopyOverExisting, "copy.over_existing", "code", Level,
        "1: the copy went over files that an earlier copy or the load had left there, 0: into new ones";
    CopyFromReads, "copy.from.reads", "requests", Amount,
        "reads completed by the nearest devices of the source of a copy; absent where source and target share one";
    CopyFromReadBytes, "copy.from.read_bytes", "bytes", Amount,
        "bytes read from the nearest devices of the source of a copy";
    CopyFromWrites, "copy.from.writes", "requests", Amount,
        "writes completed by the nearest devices of the source of a copy";
    CopyFromWriteBytes, "copy.from.write_bytes", "bytes", Amount,
        "bytes written to the nearest devices of the source of a copy";
    CopyToReads, "copy.to.reads", "requests", Amount,
        "reads completed by the nearest devices of the target of a copy; absent where source and target share one";
    CopyToReadBytes, "copy.to.read_bytes", "bytes", Amount,
        "bytes read from the nearest devices of the target of a copy";
    CopyToWrites, "copy.to.writes", "requests", Amount,
        "writes completed by the nearest devices of the target of a copy";
    CopyToWriteBytes, "copy.to.write_bytes", "bytes", Amount,
        "bytes written to the nearest devices of the target of a copy";
    RebalanceMovedBytes, "rebalance.moved_bytes", "bytes", Amount,
        "bytes of extents that a rebalance moved, copies counted";
    RebalanceIdealBytes, "rebalance.ideal_bytes", "bytes", Amount,
        "bytes that had to move so that every disk holds its share by size";
    RebalanceNs, "rebalance.ns", "ns", Amount,
        "time from asking for the change of disks until the last extent had moved";
    RebalancePower, "rebalance.power", "requests", Level, "I/Os that the rebalance was allowed to have in flight";
    RebalanceBeforeNs, "rebalance.before_ns", "ns", Amount, "time of the work before the rebalance";
    RebalanceDuringNs, "rebalance.during_ns", "ns", Amount, "time of the work beside the rebalance";
    RebalanceAfterNs, "rebalance.after_ns", "ns", Amount, "time of the work after the rebalance";
    CpuUserNs, "cpu.user_ns", "ns", Amount, "processor time of all programs outside the kernel, of all processors";
    CpuSystemNs, "cpu.system_ns", "ns", Amount,
        "processor time in the kernel, of all processors: system calls, interrupts and kernel threads";
    CpuServerUserNs, "cpu.server.user_ns", "ns", Amount,
        "processor time of the processes of the database server outside the kernel; absent where the database runs \
         in the tool's own process";
    CpuServerSystemNs, "cpu.server.system_ns", "ns", Amount,
        "processor time of the processes of the database server in the kernel; absent where the database runs in \
         the tool's own process";
    CpuClientUserNs, "cpu.client.user_ns", "ns", Amount,
        "processor time outside the kernel of the threads that play the users; with a database in the tool's own \
         process they do its work too";
    CpuClientSystemNs, "cpu.client.system_ns", "ns", Amount,
        "processor time in the kernel of the threads that play the users; with a database in the tool's own \
         process they do its work too";
    MemoryServerBytesPeak, "memory.server_bytes_peak", "bytes", Level,
        "memory of the database server's processes at its highest, what they share counted once";
    DatabaseStorageNs, "database.storage_ns", "ns", Amount,
        "time that the database spent in storage calls, summed over its sessions: reads, writes, flushes, and \
         waits for each other there; who told it stands in order_entry";
    DatabaseRoundTrips, "database.round_trips", "trips", Amount,
        "batches of statements that the users sent to the server, each answered once";
    DatabaseStatements, "database.statements", "statements", Amount,
        "statements of transactions that the users sent, begin and end of transactions not counted";
    DatabaseTempBytes, "database.temp_bytes", "bytes", Amount,
        "bytes that the database wrote to temporary files; absent where it does not count them";
    DatabaseTempFileBytes, "database.temp_file_bytes", "bytes", Amount,
        "sizes of the temporary files of the database when it deleted them, of one that counts no bytes written \
         (PostgreSQL): it wrote at least so many, for it uses blocks of a file again";
    DatabaseTempBlockBytes, "database.temp_block_bytes", "bytes", Amount,
        "bytes of the whole blocks in which the database wrote them; absent where the database does not count them";
    DatabaseAnswersWrong, "database.answers_wrong", "answers", Amount,
        "answers of a database that no answer to their question can be: data loss";
    DatabaseTablesWrong, "database.tables_wrong", "tables", Amount,
        "tables of a database that did not hold what was written into them: data loss";
    CutsMade, "cuts.made", "cuts", Amount, "power cuts of the phase; of a phase of kind kill its kills, here and below";
    CutsUnflushed, "cuts.unflushed", "cuts", Amount, "cuts among them that found unflushed writes";
    CutsForcedDown, "cuts.forced_down", "cuts", Amount,
        "kills that took what the stack held unwritten in memory with them: file systems were forced down, or the \
         process of a pool ended";
    CutsPoolEnded, "cuts.pool_ended", "cuts", Amount,
        "kills among them with which the process of a pool ended; no file system was forced down";
    CutsLosing, "cuts.losing", "cuts", Amount,
        "cuts after which something acknowledged was missing, half there or older than before";
    CutsNotUp, "cuts.not_up", "cuts", Amount, "cuts after which the stack or the database could not be brought up";
    CutsAcknowledged, "cuts.acknowledged", "transactions", Amount,
        "transactions acknowledged before the cuts, each looked up after its cut; under a file server names that had \
         to be there or gone, KiB that had to be there, and answers that were wrong before";
    CutsLost, "cuts.lost", "transactions", Amount,
        "acknowledged transactions, or names and KiB, that were not there whole after their cut";
    CutsHalf, "cuts.half", "transactions", Amount,
        "transactions, acknowledged or not, of which a part was there after a cut";
    CutsOlder, "cuts.older", "pages", Amount, "pages that were older after a cut than before the work it ended";
    CutsUnflushedBytes, "cuts.unflushed_bytes", "bytes", Amount, "bytes that lay unflushed at the cuts";
    CutsLostBytes, "cuts.lost_bytes", "bytes", Amount, "bytes among them that the cuts lost";
    CutsUpNs, "cuts.up_ns", "ns", Amount, "time from the cuts until everything was up, recovered and looked up";
    CutsNames, "cuts.names", "names", Amount,
        "names of files and directories that had to be there after the cuts of a file server, or had to be gone \
         because their REMOVE or RMDIR was acknowledged, each looked up";
    CutsNamesLost, "cuts.names_lost", "names", Amount,
        "names whose acknowledged CREATE, MKDIR or SYMLINK was lost, or that lead to an older file, and names whose \
         REMOVE or RMDIR was";
    CutsKib, "cuts.kib", "KiB", Amount, "KiB of files that had to be stable after the cuts, each read and checked";
    CutsKibLost, "cuts.kib_lost", "KiB", Amount, "KiB among them that were gone, older or others";
    CutsKibUnstable, "cuts.kib_unstable", "KiB", Amount,
        "KiB that were written and not committed at the cuts: a server may lose them";
    CutsKibGone, "cuts.kib_gone", "KiB", Amount, "KiB among them whose last version was gone";
    CutsKibResent, "cuts.kib_resent", "KiB", Amount,
        "KiB that were sent again after the cuts, because the write verifier had changed";
    CutsVerifierHid, "cuts.verifier_hid", "cuts", Amount,
        "cuts after which the write verifier was the same though something uncommitted was gone: no client would \
         send it again";
    CutsHandlesStale, "cuts.handles_stale", "cuts", Amount,
        "cuts after which a file handle from before was good no more";
    CutsParityLookedAt, "cuts.parity_looked_at", "cuts", Amount,
        "power cuts after which the array put its parity right and said how much of it did not match";
    CutsStaleParity, "cuts.stale_parity", "cuts", Amount,
        "cuts among them after which some parity did not match its data";
    CutsStaleParityBytes, "cuts.stale_parity_bytes", "bytes", Amount,
        "bytes, at least, of the stripes whose parity did not match: a LUN lost with the power would have been \
         computed wrong there (the write hole of RAID 5)";
    CutsTempRemoved, "cuts.temp_removed", "files", Amount,
        "temporary files of SQLite that were on the disk group at the cuts, and that the group removed when it was \
         opened again";
    ModelReads, "model.reads", "requests", Amount,
        "reads that modelled devices under the stack served, by the model's own count";
    ModelReadBytes, "model.read_bytes", "bytes", Amount, "bytes of the reads that modelled devices served";
    ModelWrites, "model.writes", "requests", Amount, "writes that modelled devices served";
    ModelWriteBytes, "model.write_bytes", "bytes", Amount, "bytes of the writes that modelled devices served";
    ModelFlushes, "model.flushes", "flushes", Amount, "flushes that arrived at modelled devices";
    ModelSeeks, "model.seeks", "seeks", Amount, "movements of a modelled disk's arm to another track";
    ModelSeekNs, "model.seek_ns", "ns", Amount, "device time of those movements";
    ModelRotationNs, "model.rotation_ns", "ns", Amount,
        "device time that modelled disks waited for a sector to come round";
    ModelCacheHits, "model.cache_hits", "requests", Amount, "reads served by a cache inside a modelled device";
    ModelCacheMisses, "model.cache_misses", "requests", Amount, "reads that no cache inside a modelled device served";
    ModelDestagedBytes, "model.destaged_bytes", "bytes", Amount,
        "bytes that went from a modelled write cache to where they stay";
    ModelHeldNs, "model.held_ns", "ns", Amount,
        "time that requests were held back by a modelled limit on rate, summed over requests";
    ModelMovedBytes, "model.moved_bytes", "bytes", Amount,
        "bytes that modelled flash devices moved inside to make room";
    ModelBusyNs, "model.busy_ns", "ns", Amount,
        "device time in which modelled devices had at least one request, summed over devices";
    ModelUnflushedBytes, "model.unflushed_bytes", "bytes", Level,
        "bytes that lay unflushed in modelled volatile caches when the phase ended";
    ArrayWholeBytes, "array.whole_bytes", "bytes", Level,
        "bytes that were ever written to LUNs which a modelled array with inline reduction keeps as they are";
    ArrayAskedBytes, "array.asked_bytes", "bytes", Level,
        "bytes that were ever written to LUNs which a modelled array reduces, overwritten ones once";
    ArrayDistinctBytes, "array.distinct_bytes", "bytes", Level,
        "of those, each content once where the array looks for copies";
    ArrayPackedBytes, "array.packed_bytes", "bytes", Level, "what compression leaves of these";
    ArrayStoredBytes, "array.stored_bytes", "bytes", Level, "what the array keeps of them, in whole granules";
    ArrayProcessorShare, "array.processor_share", "share", Share,
        "time that processors of a modelled array worked, over the time that they had; of the array where it is \
         highest";
    ModelTooLate, "model.too_late", "1 or 0", Level,
        "1: the machine could not play a modelled device in this phase, which does not count for that";
    ModelLate, "model.late", "requests", Amount, "answers that came more than 500 us after the model's time";
    ModelDelayNs, "model.delay_ns", "ns", Amount, "time that answers came after the model's, summed over requests";
    ModelServiceNs, "model.service_ns", "ns", Amount,
        "time that the model took for its requests, waiting included, summed over requests";
    ArcBytes, "arc.bytes", "bytes", Level, "size of OpenZFS's adaptive replacement cache after the phase";
    ArcMaxBytes, "arc.max_bytes", "bytes", Level, "size that the adaptive replacement cache may have";
    ArcHits, "arc.hits", "accesses", Amount,
        "accesses of all kinds that the adaptive replacement cache had, metadata and read-ahead included";
    ArcMisses, "arc.misses", "accesses", Amount, "accesses of all kinds that the adaptive replacement cache had not";
    ArcDataHits, "arc.data_hits", "accesses", Amount,
        "accesses to data asked for that the adaptive replacement cache had";
    ArcDataMisses, "arc.data_misses", "accesses", Amount,
        "accesses to data asked for that the adaptive replacement cache had not";
    ArcAheadMisses, "arc.data_ahead_misses", "accesses", Amount,
        "accesses of read-ahead to data that the adaptive replacement cache had not: a data hit on what they \
         fetched is a read of the devices";
    ArcEvictedBytes, "arc.evicted_bytes", "bytes", Amount, "bytes that the adaptive replacement cache threw out";
    ZilCommits, "zil.commits", "commits", Amount, "commits of OpenZFS's intent logs";
    ZilBytes, "zil.bytes", "bytes", Amount, "bytes of records written to OpenZFS's intent logs";
    TxgsSynced, "txg.synced", "groups", Amount,
        "transaction groups that OpenZFS wrote, of all pools of the stack together";
    PoolFragmentationPercent, "pool.fragmentation", "percent", Level,
        "fragmentation of the free space of the data's pool, as OpenZFS tells it";
    PoolProcessBytes, "pool.process_bytes", "bytes", Level,
        "resident memory of the process that runs OpenZFS, at the end of the phase";
    WorkingSetTouchedBytes, "working_set.touched_bytes", "bytes", Level, "bytes of distinct pages the phase touched";
    CpuStealShare, "cpu.steal_share", "share", Share,
        "share of the time of the processors that the tool may run on, that the hypervisor gave to others though \
         it was wanted here";
    CpuOthersShare, "cpu.others_share", "share", Share,
        "share of the time of the processors that the tool may run on, that went to neither the tool, its \
         children, a database server, kernel threads nor interrupts; where these are not all that are online, at \
         least so much";
    CpuThrottledShare, "cpu.throttled_share", "share", Share,
        "time that a limit on processor time held the tool's control group back, summed over processors, over the \
         time observed";
    CpuThermalThrottles, "cpu.thermal_throttles", "events", Amount,
        "how often a core or a package of processors was slowed down for heat, as far as the kernel counts it";
    OthersReadBytes, "others.read_bytes", "bytes", Amount,
        "bytes that other processes of the host read from block devices, whichever they were, as far as they may \
         be seen: without root the user's own";
    OthersWriteBytes, "others.write_bytes", "bytes", Amount,
        "bytes that other processes of the host sent to block devices or made dirty in the page cache";
    ClockStepNs, "clock.step_ns", "ns", Amount,
        "how far the wall clock was set during the phase; durations are of a clock that is never set";
    ClockSleptNs, "clock.slept_ns", "ns", Amount, "how long the host slept during the phase";
    LunServiceNsSlowest, "lun.service_ns_slowest", "ns", Level,
        "mean time of a request on the slowest of the data LUNs, of the direction in which they all had more \
         requests; absent where they had not alike to do";
    LunSlowest, "lun.slowest", "place", Level,
        "which of the data LUNs that was, in the order of their files or names, from 0";
    CpuStealNs, "cpu.steal_ns", "ns", Amount,
        "processor time that was wanted here and that the hypervisor gave to others, of the processors that the \
         tool may run on, not in cpu.busy_ns";
    CpuThrottledPeriodsShare, "cpu.throttled_periods_share", "share", Share,
        "share of the periods of a limit on processor time in which it held the tool's control group back; of the \
         group's own limit or one above it, whichever did so most";
    DeviceErrors, "device.errors", "errors", Amount,
        "errors that the stack's devices counted themselves (disks of SCSI and SATA, members of the kernel's \
         arrays, devices of btrfs), and reads of a mirrored disk group that another copy had to serve; absent \
         where nobody counts any";
    OthersUnseen, "others.unseen", "processes", Level,
        "other processes of the host whose reads and writes could not be looked at: they are in neither \
         others.read_bytes nor others.write_bytes";
    LunServiceNsFellows, "lun.service_ns_fellows", "ns", Level, "median of that over the other devices of the set";
    CpuAllowed, "cpu.allowed", "processors", Level,
        "processors that the tool and what it starts may run on; absent where these are all that are online";
    Instances, "instances.count", "instances", Level,
        "instances of the page engine that shared the work, each in a process of its own; absent where there is one";
    InstancesFairness, "instances.fairness", "index", Level,
        "Jain's index of the rates of the instances: 1 where all have the same, 1 over their number where one has all";
    InstancesOverlap, "instances.overlap", "share", Share,
        "time in which all instances worked, over the time in which any did; absent where work ends by itself";
    HostsClockBoundNs, "hosts.clock_bound_ns", "ns", Level,
        "largest bound of the offset of a host's clock to that of rank 0 in the phase; absent where there is one host";
    CpuAllowedBusyNs, "cpu.allowed_busy_ns", "ns", Amount, "processor time not idle, of those processors";
}

impl Measure {
    /// The measure of that name, if this version knows it.
    pub fn from_name(name: &str) -> Option<Measure> {
        Measure::ALL.iter().copied().find(|measure| measure.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_found_again() {
        let names: HashSet<_> = Measure::ALL.iter().map(|m| m.name()).collect();
        assert_eq!(names.len(), Measure::ALL.len());
        for measure in Measure::ALL {
            assert_eq!(Measure::from_name(measure.name()), Some(*measure));
            assert!(!measure.unit().is_empty() && measure.meaning().len() > 10);
        }
        assert_eq!(Measure::from_name("no.such"), None);
    }
}
