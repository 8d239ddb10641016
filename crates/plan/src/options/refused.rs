//! What a study may not say to a tool, with the reason: for those who try it, and for the documents.
//!
//! Nothing depends on this list being whole: what is in no table of allowed options is refused anyway, as unknown.

use super::rule::Refused;

const fn no(option: &'static str, why: &'static str, cure: &'static str) -> Refused {
    Refused { option, why, cure }
}

const PLACE: &str = "remove it: a stack writes only to the LUN sets that it names";
const OURS: &str = "remove it: Assay sets it itself";
const REMOVE: &str = "remove it";
const DISCARD: &str = "a discard makes LUN files sparse, and a read of a sparse part meets no disk";
const NO_DISCARD: &str = "remove it: Assay never discards";
const LABEL: &str = "the host could mount another file system by the same label";
const SETTLED: &str = "Assay sets the device, its identity, and whether to overwrite it";
const PUT_OFF: &str = "deferred work would run in the first phase; Assay sets it to 0";
const PROFILE: &str = "remove it and write the key: profile = \"raid1\"";

pub(super) static EXT4: &[Refused] = &[
    no("discard", DISCARD, NO_DISCARD),
    no("-E discard", DISCARD, NO_DISCARD),
    no("-E nodiscard", SETTLED, OURS),
    no("-E lazy_itable_init", PUT_OFF, OURS),
    no("-E lazy_journal_init", PUT_OFF, OURS),
    no(
        "-E assume_storage_prezeroed",
        "LUNs are full of random data, and mkfs would take them for empty",
        REMOVE,
    ),
    no("-E offset", "the file system must begin where the LUN begins", REMOVE),
    no("-E root_owner", "it changes the owner of the file system", REMOVE),
    no(
        "-E quotatype",
        "it is for quotas of users, and a study has none",
        REMOVE,
    ),
    no("-J device", "it names a device", PLACE),
    no("-d", "it copies a directory of the host", REMOVE),
    no("-l", "it reads a file of the host", REMOVE),
    no("-z", "it writes a file of the host", REMOVE),
    no(
        "-T",
        "a file of the host defines its meaning, which differs from host to host",
        "write the options that it means: -b, -i, -I, -O",
    ),
    no("-t", "the kind of the stack decides it", REMOVE),
    no("-c", "a study does not search for bad blocks", REMOVE),
    no("-n", "it would make nothing", REMOVE),
    no("-S", "it would make only superblocks", REMOVE),
    no("-U", SETTLED, OURS),
    no("-F", SETTLED, OURS),
    no("-L", LABEL, REMOVE),
    no("-M", "it names a directory of the host", REMOVE),
    no("-o", "it claims that another system made the file system", REMOVE),
    no("-r", "it makes an old revision", REMOVE),
];

pub(super) static XFS: &[Refused] = &[
    no("-l logdev", "it names a device", PLACE),
    no("-r", "a realtime section is a device of its own", PLACE),
    no("-d name", "it names a device", PLACE),
    no("-d file", "it makes a file", PLACE),
    no("-d rtinherit", "there is no realtime section", REMOVE),
    no("-d projinherit", "it is for quotas, and a study has none", REMOVE),
    no(
        "-d daxinherit",
        "it goes around the page cache and around direct I/O",
        REMOVE,
    ),
    no("-c", "it reads a file of the host", REMOVE),
    no("-p", "it copies files of the host", REMOVE),
    no("-m uuid", SETTLED, OURS),
    no("-f", SETTLED, OURS),
    no("-K", SETTLED, OURS),
    no("-N", "it would make nothing", REMOVE),
    no("-q", "the result file keeps the output of mkfs", REMOVE),
    no("-L", LABEL, REMOVE),
    no("discard", DISCARD, NO_DISCARD),
];

pub(super) static BTRFS: &[Refused] = &[
    no("-d", "the profile must be disclosed", PROFILE),
    no("--data", "the profile must be disclosed", PROFILE),
    no("-m", "the profile must be disclosed", PROFILE),
    no("--metadata", "the profile must be disclosed", PROFILE),
    no("-M", "data and metadata have profiles of their own", REMOVE),
    no("--mixed", "data and metadata have profiles of their own", REMOVE),
    no("-r", "it copies a directory of the host", REMOVE),
    no("--rootdir", "it copies a directory of the host", REMOVE),
    no("--shrink", "it changes the size of the device or file", REMOVE),
    no("--subvol", "it needs a copied directory", REMOVE),
    no("-L", LABEL, REMOVE),
    no("--label", LABEL, REMOVE),
    no("-U", SETTLED, OURS),
    no("--uuid", SETTLED, OURS),
    no("--device-uuid", SETTLED, OURS),
    no("-f", SETTLED, OURS),
    no("--force", SETTLED, OURS),
    no("-K", SETTLED, OURS),
    no("--nodiscard", SETTLED, OURS),
    no("-q", "the result file keeps the output of mkfs", REMOVE),
    no("--quiet", "the result file keeps the output of mkfs", REMOVE),
    no("discard", DISCARD, NO_DISCARD),
];

const MOUNTING: &str = "the stack itself mounts";
const ATTACH: &str = "remove it: the stack attaches its LUNs itself";
const RIGHTS: &str = "it sets owners and rights of files, not storage";
const WRITES: &str = "the database must write";

pub(super) static MOUNTS: &[Refused] = &[
    no("discard", DISCARD, NO_DISCARD),
    no("nodiscard", DISCARD, "remove it: Assay sets it itself"),
    no("logdev", "it names a device", PLACE),
    no("rtdev", "it names a device", PLACE),
    no("journal_dev", "it names a device", PLACE),
    no("journal_path", "it names a device", PLACE),
    no("device", "it names a device", PLACE),
    no("ro", WRITES, REMOVE),
    no("norecovery", WRITES, REMOVE),
    no("noload", WRITES, REMOVE),
    no("rescue", WRITES, REMOVE),
    no("nologreplay", WRITES, REMOVE),
    no("usebackuproot", WRITES, REMOVE),
    no("degraded", "use `faults` to take a LUN away", REMOVE),
    no("remount", MOUNTING, ATTACH),
    no("bind", MOUNTING, ATTACH),
    no("rbind", MOUNTING, ATTACH),
    no("move", MOUNTING, ATTACH),
    no("loop", MOUNTING, ATTACH),
    no("offset", MOUNTING, ATTACH),
    no("sizelimit", MOUNTING, ATTACH),
    no("sb", MOUNTING, ATTACH),
    no("defaults", "it also means `suid`, `dev` and `exec`", REMOVE),
    no("suid", RIGHTS, REMOVE),
    no("dev", RIGHTS, REMOVE),
    no("exec", RIGHTS, REMOVE),
    no("user*", RIGHTS, REMOVE),
    no("owner", RIGHTS, REMOVE),
    no("group", RIGHTS, REMOVE),
    no("uid", RIGHTS, REMOVE),
    no("gid", RIGHTS, REMOVE),
    no("*context", RIGHTS, REMOVE),
    no("x-*", "it is for other programs", REMOVE),
    no("dax", "it goes around the page cache and around direct I/O", REMOVE),
    no("fatal_errors", "it would stop the host", REMOVE),
    no(
        "compress*",
        "compression must be disclosed",
        "remove it and write the key: compress = \"zstd\"",
    ),
    no(
        "nodatacow",
        "overwriting in place must be disclosed",
        "remove it and write the key: nodatacow = true",
    ),
    no(
        "nodatasum",
        "overwriting in place must be disclosed",
        "remove it and write the key: nodatacow = true",
    ),
    no("subvol*", "there is one subvolume, and Assay mounts it", REMOVE),
];

const RUNS: &str = "it runs a program";
const LOADS: &str = "it loads code into the server";
const OPENS: &str = "it names a file or directory of the host";
const LISTENS: &str = "it sets the address of the server";
const COMES_IN: &str = "it decides who may log in, and with which keys";
const IS_WHO: &str = "it changes who a session is";
const REPLICA: &str = "it makes the server depend on other servers";
const LOGS: &str = "it sets the place of the server's log";
const HIDES: &str = "it hides damage that a study must see";

pub(super) static POSTGRES: &[Refused] = &[
    no(
        "shared_buffers",
        "it has a key of its own",
        "write cache = \"256MiB\" instead",
    ),
    no(
        "default_transaction_isolation",
        "it has a key of its own",
        "write isolation = \"repeatable read\" instead",
    ),
    no(
        "debug_io_direct",
        "it has a key of its own",
        "write access = \"direct\" in the stack instead",
    ),
    no(
        "data_checksums",
        "it has a key of its own",
        "write checksums = true instead",
    ),
    no("*_command", RUNS, REMOVE),
    no("archive_mode", RUNS, REMOVE),
    no("*_preload_libraries", LOADS, REMOVE),
    no("*_library", LOADS, REMOVE),
    no("*_libraries", LOADS, REMOVE),
    no("dynamic_library_path", LOADS, REMOVE),
    no("extension_control_path", LOADS, REMOVE),
    no("jit_provider", LOADS, REMOVE),
    no("unix_socket_*", LISTENS, REMOVE),
    no("*_directory", OPENS, REMOVE),
    no("*_directories", OPENS, REMOVE),
    no("*_file", OPENS, REMOVE),
    no("*_filename", OPENS, REMOVE),
    no("*_keyfile", OPENS, REMOVE),
    no("include*", OPENS, REMOVE),
    no("temp_tablespaces", OPENS, REMOVE),
    no("default_tablespace", OPENS, REMOVE),
    no("backtrace_functions", OPENS, REMOVE),
    no("listen_addresses", LISTENS, REMOVE),
    no("port", LISTENS, REMOVE),
    no("bonjour*", LISTENS, REMOVE),
    no("external_pid_file", OPENS, REMOVE),
    no("ssl*", COMES_IN, REMOVE),
    no("krb_*", COMES_IN, REMOVE),
    no("gss_*", COMES_IN, REMOVE),
    no("oauth_*", COMES_IN, REMOVE),
    no("password_encryption", COMES_IN, REMOVE),
    no("authentication_timeout", COMES_IN, REMOVE),
    no("role", IS_WHO, REMOVE),
    no("session_authorization", IS_WHO, REMOVE),
    no("session_replication_role", IS_WHO, REMOVE),
    no("row_security", IS_WHO, REMOVE),
    no("search_path", IS_WHO, REMOVE),
    no("primary_*", REPLICA, REMOVE),
    no("recovery_target*", REPLICA, REMOVE),
    no("recovery_min_apply_delay", REPLICA, REMOVE),
    no("synchronous_standby_names", REPLICA, REMOVE),
    no("hot_standby*", REPLICA, REMOVE),
    no("logging_collector", LOGS, REMOVE),
    no("log_destination", LOGS, REMOVE),
    no("log_file_mode", LOGS, REMOVE),
    no("syslog*", LOGS, REMOVE),
    no("event_source", LOGS, REMOVE),
    no("zero_damaged_pages", HIDES, REMOVE),
    no("ignore_*", HIDES, REMOVE),
    no("*.*", "it is an extension's, and none is loaded", REMOVE),
];
