//! The committed list of facts: what can be known of a host, a device, a LUN, a stack and a study that is no measure.
//!
//! One row a fact: its name in the file, its unit, the type of its value, its meaning. Writers and readers share this
//! one list, and it is written into every file (table `fact_meaning`). Prevents: a name that one room writes and
//! another misspells, and a fact in an old file that nobody can explain.

use super::committed::committed_words;

committed_words! {
    /// What the value of a fact is.
    FactType {
        /// As a tool, the kernel or the study says it.
        Text = "text",
        /// A whole number from 0.
        Whole = "whole",
        /// A number with two digits after the point.
        Ratio = "ratio",
        /// A number as it was said, with all its digits.
        Amount = "amount",
        /// A part of one, with three digits after the point.
        Share = "share",
        /// Names, one a line.
        Names = "names",
        /// Which way reads or writes go: [`crate::Way`].
        Way = "way",
        /// How files on a pool are read: [`crate::ArcWay`].
        ArcWay = "arc way",
        /// What runs a pool: [`crate::ZfsWay`].
        ZfsWay = "zfs way",
        /// How stacks take turns: [`crate::TakingTurns`].
        Turns = "turns",
        /// Who empties the page cache before a phase: [`crate::CachesEmptied`].
        Emptied = "emptied",
    }
}

macro_rules! facts {
    ($($variant:ident, $name:literal, $unit:literal, $type:ident, $meaning:literal;)*) => {
        committed_words! {
            /// A fact by its name: one row of the committed list.
            FactName { $(#[doc = $meaning] $variant = $name,)* }
        }

        impl FactName {
            /// Unit of its value; empty for words.
            pub fn unit(self) -> &'static str {
                match self { $(FactName::$variant => $unit,)* }
            }

            /// What its value is.
            pub fn value_type(self) -> FactType {
                match self { $(FactName::$variant => FactType::$type,)* }
            }

            /// What it says, in a sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(FactName::$variant => $meaning,)* }
            }
        }
    };
}

facts! {
    Host, "host", "", Text, "name of the host";
    Kernel, "kernel", "", Text, "release of the kernel";
    User, "user", "", Text, "root or an ordinary user: what stacks are built of depends on it";
    KernelBuild, "kernel build", "", Text, "build of the kernel";
    Distribution, "distribution", "", Text, "name of the distribution";
    Cpu, "cpu", "", Text, "model of the processors";
    Cpus, "cpus", "processors", Whole, "processors that the kernel knows";
    CpusAllowed, "cpus allowed", "", Text, "list of the processors that the tool may run on, where these are not all";
    CpuCores, "cpu cores each socket", "cores", Text, "cores of one socket";
    MemoryBytes, "memory bytes", "bytes", Whole, "memory of the host";
    Virtualisation, "virtualisation", "", Text, "the hypervisor under the host, where it is seen";
    Machine, "machine", "", Text, "vendor and product of the machine";
    Cgroup, "cgroup", "", Text, "version of the control groups";
    ClockSource, "clock source", "", Text, "where the kernel reads the time";
    CpuGovernor, "cpu governor", "", Text, "what chooses the processors' frequency";
    CpuBoost, "cpu boost", "", Text, "whether processors may be faster for a while";
    Smt, "smt", "", Text, "whether a core runs two threads";
    CpuIsolated, "cpu isolated", "", Text, "processors that the scheduler leaves alone";
    CpuIdleGovernor, "cpu idle governor", "", Text, "what chooses how deep processors sleep";
    TransparentHugepages, "transparent hugepages", "", Text, "when the kernel makes large pages by itself";
    DirtyRatio, "vm.dirty_ratio", "percent", Text, "dirty memory at which writers are stopped";
    DirtyBackgroundRatio, "vm.dirty_background_ratio", "percent", Text, "dirty memory at which writeback begins";
    DirtyBytes, "vm.dirty_bytes", "bytes", Text, "the same as vm.dirty_ratio, in bytes; 0 where the share holds";
    DirtyBackgroundBytes, "vm.dirty_background_bytes", "bytes", Text, "the same as vm.dirty_background_ratio, in bytes";
    DirtyExpire, "vm.dirty_expire_centisecs", "10 ms", Text, "age at which dirty memory is written";
    DirtyWriteback, "vm.dirty_writeback_centisecs", "10 ms", Text, "time between looks for old dirty memory";
    HugePages, "vm.nr_hugepages", "pages", Text, "large pages set apart, which a database server may ask for";
    Swappiness, "vm.swappiness", "", Text, "how readily the kernel swaps";
    VfsCachePressure, "vm.vfs_cache_pressure", "", Text, "how readily the kernel forgets names and inodes";
    ZoneReclaimMode, "vm.zone_reclaim_mode", "", Text,
        "whether a node of memory gives up its page cache before another is used";
    IoUringDisabled, "io_uring disabled", "", Text, "who may not use io_uring";
    Mitigations, "mitigations", "", Text, "the kernel's argument on faults of processors";

    Schedule, "schedule", "", Turns, "how the stacks of a block take turns";
    WhySchedule, "why this schedule", "", Text, "why they take turns so";
    OlderStudies, "older studies", "", Names, "result files of the same stacks and phases beside this one at its begin";
    PagesPerSchema, "pages per schema", "pages", Whole, "pages of each schema of the page engine";
    RandomBytes, "bytes of random work", "bytes", Whole, "bytes that random work of a database in SQL is spread over";
    Currency, "currency", "", Text, "what prices are in";
    PriceOfHost, "price of the host", "", Amount, "what the host costs, as the study says";
    PriceOfLun, "price of a LUN", "", Amount, "what each LUN costs, as the study says";
    PriceOfGb, "price of a GB", "", Amount, "what 10^9 bytes of LUN cost, as the study says";
    PriceOfLicence, "price of licences", "", Amount, "what licences and support of a stack cost, as the study says";
    MemoryBudget, "memory budget", "", Text, "the budget of memory, and whether it is enforced";
    CachesEmptiedBy, "caches emptied by", "", Emptied, "who empties the page cache before each phase";
    SlowMotion, "slow motion", "", Whole, "how many times slower than their devices the models of the LUNs ran";
    ModelsSooner, "models answer sooner", "ns", Whole,
        "how much sooner than their devices the models answered: the host's way to them and back takes as long";
    WhySlowMotion, "why this slow motion", "", Text, "why the models ran so slowly";
    IoRing, "io ring", "", Text, "reads a second through io_uring, as tried before the study";
    IoPread, "io pread", "", Text, "reads a second through pread, as tried before the study";
    IoRingRefused, "io ring refused", "", Text, "why io_uring could not be tried";

    Device, "device", "", Text, "the device: its name or path, or that it is a model";
    Disk, "disk", "", Text, "the disk of a partition";
    SizeBytes, "size bytes", "bytes", Whole, "size of a device";
    PartitionStartBytes, "partition start bytes", "bytes", Whole, "where a partition begins on its disk";
    ReadOnly, "read only", "", Text, "1: the device refuses writes";
    Vendor, "vendor", "", Text, "who made the device";
    Model, "model", "", Text, "model of the device";
    Firmware, "firmware", "", Text, "version of the device's firmware";
    Transport, "transport", "", Text, "how an NVMe device is reached";
    Volume, "volume", "", Text, "the commands by which a volume of LVM or md was made";
    VolumeTool, "volume tool", "", Text, "version of the tool that made it";
    Mapping, "mapping", "", Text, "name of a mapping of the device mapper";
    MappingKind, "mapping kind", "", Text, "kind of that mapping: lvm, crypt ...";
    ArrayLevel, "array level", "", Text, "level of an array of the kernel";
    ArrayChunkBytes, "array chunk bytes", "bytes", Text, "chunk of an array of the kernel";
    LoopBackingFile, "loop backing file", "", Text, "the file under a loop device";
    LoopBackingBytes, "loop backing bytes", "bytes", Whole, "length of that file";
    LoopBackingAllocated, "loop backing allocated bytes", "bytes", Whole, "bytes of that file that are on its disk";
    LoopOffsetBytes, "loop offset bytes", "bytes", Whole, "where a loop device begins in its file";
    LoopDirectIo, "loop direct I/O", "", Text, "1: a loop device goes around the page cache of its file";
    Compression, "compression", "", Text, "algorithm with which a device or file system compresses";
    Scheduler, "scheduler", "", Text, "I/O scheduler of the device";
    Rotational, "rotational", "", Text, "1: the kernel takes the device for a disk that turns";
    Requests, "requests", "requests", Text, "requests that the kernel queues";
    LogicalBlockBytes, "logical block bytes", "bytes", Whole, "smallest unit of a request";
    PhysicalBlockBytes, "physical block bytes", "bytes", Whole, "smallest unit that the device writes at once";
    MinimumIoBytes, "minimum I/O bytes", "bytes", Text, "smallest request that the device likes";
    OptimalIoBytes, "optimal I/O bytes", "bytes", Text, "request that the device likes best";
    LargestRequest, "largest request KiB", "KiB", Text, "largest request of the kernel";
    Segments, "segments", "segments", Text, "pieces of memory in a request";
    WriteCache, "write cache", "", Text, "whether the kernel takes the device's write cache for volatile";
    ForcedUnitAccess, "forced unit access", "", Text, "1: a write can be asked to be durable by itself";
    DiscardGranularity, "discard granularity bytes", "bytes", Text, "smallest unit of a discard";
    DiscardMax, "discard bytes at most", "bytes", Text, "largest discard";
    DeviceReadAhead, "read ahead KiB", "KiB", Whole, "what the kernel reads ahead of a device's reader";
    PolledIo, "polled I/O", "", Text, "whether completions are polled for";
    MergingOff, "merging off", "", Text, "which merging of requests is switched off";
    WritebackThrottle, "writeback throttle us", "us", Text, "latency that writeback is throttled for";
    HardwareQueues, "hardware queues", "queues", Text, "queues of the device";
    QueueDepth, "queue depth", "requests", Text, "requests that the device takes at once";
    NumaNode, "numa node", "", Text, "node of memory that the device is next to";
    Iostats, "iostats", "", Text, "1: the kernel counts the device's I/O";

    File, "file", "", Text, "path of a LUN file";
    Bytes, "bytes", "bytes", Whole, "size of a LUN";
    Extents, "extents", "extents", Whole, "extents of a LUN file";
    LogicalBlock, "logical block", "bytes", Whole, "smallest unit of a request to a LUN";
    PhysicalBlock, "physical block", "bytes", Whole, "smallest unit that a LUN writes at once";
    Unlike, "unlike", "", Text, "a difference between LUNs of one set";
    ModelledDevice, "modelled device", "", Text, "the device that the LUNs of a set behave as";
    Class, "class", "", Text, "class of that device";
    ClassSource, "source of the class", "", Text, "who published the figures of the class";
    Parameter, "parameter", "", Text, "a parameter of that device, and who said it";
    Histogram, "histogram", "", Text, "the file of latencies that a model draws from";
    VolatileBytes, "lost by a power cut until flushed", "bytes", Text, "what a modelled device loses with its power";
    ReadIntoMemory, "read into memory before the phases", "", Text, "why the files of modelled LUNs are not";

    NearestDevices, "nearest devices", "", Names, "block devices right under a stack";
    LowestDevices, "lowest visible devices", "", Names, "the last block devices that the kernel shows under it";
    Devices, "devices", "", Names, "all block devices under it, the nearest first";
    ReadAhead, "read-ahead KiB", "KiB", Names, "read-ahead of the nearest devices, each figure once";
    Note, "note", "", Text, "what could not be seen of the devices";
    ReadsGo, "reads go", "", Way, "which way reads were seen to go";
    WritesGo, "writes go", "", Way, "which way writes were seen to go";
    ReadsAndArc, "reads and the ARC", "", ArcWay, "whether reads were seen to go through the ARC";
    DirectAlignment, "direct I/O alignment", "bytes", Whole, "what direct requests must be a multiple of";
    CompressibilityFound, "data compressibility found", "ratio", Ratio,
        "how much a sample of the loaded pages compresses";
    DuplicationFound, "data duplication found", "share", Share, "part of the sample's blocks that are copies";
    Directory, "directory", "", Text, "the directory that the study named";
    FileSystem, "file system", "", Text, "the file system of that directory";
    MountPoint, "mount point", "", Text, "where that file system is mounted";
    MountOptions, "mount options", "", Text, "its mount options as the kernel says them";
    BlockSize, "block size", "bytes", Whole, "block of the file system";
    Server, "server", "", Text, "address of a server that was there";
    Seen, "seen", "", Text, "what can be seen of it";
    BytesOf, "bytes of", "bytes", Whole, "size of a raw device of the data";
    DataProfile, "data profile", "", Text, "btrfs: how data lie on the devices";
    MetadataProfile, "metadata profile", "", Text, "btrfs: how metadata lie on the devices";
    CopyOnWrite, "copy-on-write of data", "", Text, "btrfs: whether data are never overwritten";
    Mkfs, "mkfs", "", Text, "the command that made the file system";
    MkfsVersion, "mkfs version", "", Text, "version of that command";
    MkfsSaid, "mkfs said", "", Text, "what that command said";
    Ext4Features, "ext4 filesystem features", "", Text, "features that mkfs.ext4 chose";
    Ext4InodeSize, "ext4 inode size", "bytes", Text, "size of an inode";
    Ext4JournalSize, "ext4 total journal size", "", Text, "size of the journal";
    Ext4Reserved, "ext4 reserved block count", "blocks", Text, "blocks kept for root";
    WayToZfs, "way to ZFS", "", ZfsWay, "what runs the pool";
    OpenZfs, "OpenZFS", "", Text, "version of the library of OpenZFS";
    PoolVersion, "pool version", "", Text, "version of the pool";
    ArcMinimum, "ARC minimum", "", Text, "smallest size of the ARC";
    ArcMaximum, "ARC maximum", "", Text, "largest size of the ARC, and who set it";
    DatasetRecordsize, "dataset recordsize", "", Text, "property of the data's dataset";
    DatasetCompression, "dataset compression", "", Text, "property of the data's dataset";
    DatasetChecksum, "dataset checksum", "", Text, "property of the data's dataset";
    DatasetPrimarycache, "dataset primarycache", "", Text, "property of the data's dataset";
    DatasetLogbias, "dataset logbias", "", Text, "property of the data's dataset";
    DatasetSync, "dataset sync", "", Text, "property of the data's dataset";
    DatasetAtime, "dataset atime", "", Text, "property of the data's dataset";
    Recordsize, "recordsize", "", Text, "property of the redo log's dataset";
    Logbias, "logbias", "", Text, "property of the redo log's dataset";
    RedoLog, "redo log", "", Text, "where the redo log of a pool lies";
    Failmode, "failmode", "", Text, "what the pool does when its devices fail";
    FuseOptions, "zfs-fuse options", "", Text, "arguments of the daemon of zfs-fuse";
    DevicesOpened, "devices are opened", "", Text, "how the daemon opens its devices";
    CachesAbove, "caches above them", "", Text, "caches between the daemon's devices and the database";
    DataAndRedoGo, "data and redo go", "", Text, "through which caches a pool in a process works";
    TunedAsAdvised, "tuned as advised by", "", Text, "whose advice the preset follows";
    DirtyDataMax, "dirty data at most", "", Text, "dirty data that OpenZFS holds";
    Stripe, "stripe", "", Text, "how finely a disk group stripes";
    GroupDisk, "disk of a group", "", Text, "path and failure group of a disk of a disk group";
    Service, "service", "", Text, "time that a device in virtual time takes";
    Spread, "spread", "", Text, "spread of that time";
    Parallel, "parallel", "requests", Text, "requests that it serves at once";
    Flush, "flush", "", Text, "time that its flush takes";
    Cached, "cached", "", Text, "part of its reads that a cache answers";
    Drift, "drift", "", Text, "how it becomes slower as it goes on";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_found_again() {
        let names: HashSet<_> = FactName::ALL.iter().map(|name| name.as_str()).collect();
        assert_eq!(names.len(), FactName::ALL.len());
        for name in FactName::ALL {
            assert_eq!(FactName::from_word(name.as_str()), Some(*name));
            assert!(name.meaning().len() > 9, "{name:?}");
        }
        assert_eq!(FactName::from_word("no such fact"), None);
    }
}
