//! Words of a study that say which kind something is of; what the kind then holds stands beside it.
//!
//! Prevents: a kind whose word is read in one spelling and printed in another.

words! {
    /// `kind` of a stack.
    pub(crate) enum StackWord: "a kind of stack" {
        Directory = "directory",
        Raw = "raw",
        Ext3 = "ext3",
        Ext4 = "ext4",
        Xfs = "xfs",
        Btrfs = "btrfs",
        Diskgroup = "diskgroup",
        Lvm = "lvm",
        Md = "md",
        Zfs = "zfs",
        Server = "server",
        Model = "model",
    }
}

words! {
    /// `fs` of a volume.
    pub(crate) enum VolumeTop: "a file system of a volume" {
        Ext4 = "ext4",
        Xfs = "xfs",
        None = "none",
    }
}

words! {
    /// `engine` of a database.
    pub(crate) enum EngineWord: "a database engine" {
        Pages = "pages",
        Postgres = "postgres",
        Sqlite = "sqlite",
    }
}

words! {
    /// `kind` of a phase.
    pub(crate) enum PhaseWord: "a kind of phase" {
        Random = "random",
        Scan = "scan",
        Age = "age",
        Redo = "redo",
        Copy = "copy",
        Rebalance = "rebalance",
        Tpcc = "tpcc",
        Tpch = "tpch",
        Bulk = "bulk",
        PowerCut = "power_cut",
        Kill = "kill",
        Files = "files",
    }
}

words! {
    /// `run` of decision support.
    pub(crate) enum RunWord: "a run of decision support" {
        Power = "power",
        Throughput = "throughput",
    }
}

words! {
    /// `kind` of a fault.
    pub(crate) enum FaultWord: "a kind of fault" {
        Vanish = "vanish",
        Slow = "slow",
        Error = "error",
        Corrupt = "corrupt",
    }
}
