//! What a study may not say to a tool, with the reason: for those who try it, and for the documents.
//!
//! Nothing depends on this list being whole: what is in no table of allowed options is refused anyway, as unknown.

use super::rule::Refused;

const fn no(option: &'static str, why: &'static str, cure: &'static str) -> Refused {
    Refused { option, why, cure }
}

const PLACE: &str = "remove it: a stack writes only to the LUN sets that it names";
const OURS: &str = "remove it: Assay says it itself";
const REMOVE: &str = "remove it";
const DISCARD: &str = "a discard makes LUN files sparse, and what is sparse is read without the disk";
const NO_DISCARD: &str = "remove it: nothing below a study discards";
const LABEL: &str = "a label could be that of a file system the host mounts by its name";
const SETTLED: &str = "it speaks of what Assay has to say: the device, its identity, or that it may be written over";
const PUT_OFF: &str = "what is put off runs into the first phase; it is 0";
const PROFILE: &str = "remove it and write the key: profile = \"raid1\"";

pub(super) static EXT4: &[Refused] = &[
    no("discard", DISCARD, NO_DISCARD),
    no("-E discard", DISCARD, NO_DISCARD),
    no("-E nodiscard", SETTLED, OURS),
    no("-E lazy_itable_init", PUT_OFF, OURS),
    no("-E lazy_journal_init", PUT_OFF, OURS),
    no(
        "-E assume_storage_prezeroed",
        "LUNs are filled with noise, and would be taken for empty",
        REMOVE,
    ),
    no(
        "-E offset",
        "the file system would not begin where the LUN begins",
        REMOVE,
    ),
    no("-E root_owner", "it changes whose the file system is", REMOVE),
    no(
        "-E quotatype",
        "it is for quotas of users, of which a study has none",
        REMOVE,
    ),
    no("-J device", "it names a device", PLACE),
    no("-d", "it copies a directory of the host", REMOVE),
    no("-l", "it reads a file of the host", REMOVE),
    no("-z", "it writes a file of the host", REMOVE),
    no(
        "-T",
        "its meaning lies in a file of the host, and differs from host to host",
        "say what it stands for: -b, -i, -I, -O",
    ),
    no("-t", "the kind of the stack says it", REMOVE),
    no("-c", "a search for bad blocks is no part of a study", REMOVE),
    no("-n", "nothing would be made", REMOVE),
    no("-S", "only superblocks would be made", REMOVE),
    no("-U", SETTLED, OURS),
    no("-F", SETTLED, OURS),
    no("-L", LABEL, REMOVE),
    no("-M", "it names a directory of the host", REMOVE),
    no("-o", "it says that another system made it", REMOVE),
    no("-r", "it makes an old revision", REMOVE),
];

pub(super) static XFS: &[Refused] = &[
    no("-l logdev", "it names a device", PLACE),
    no("-r", "a realtime section is a device of its own", PLACE),
    no("-d name", "it names a device", PLACE),
    no("-d file", "it makes a file", PLACE),
    no("-d rtinherit", "there is no realtime section", REMOVE),
    no("-d projinherit", "it is for quotas, of which a study has none", REMOVE),
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
    no("-N", "nothing would be made", REMOVE),
    no("-q", "the result file keeps what mkfs says", REMOVE),
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
    no("--shrink", "it changes the size of what it is made on", REMOVE),
    no("--subvol", "it is for a copied directory", REMOVE),
    no("-L", LABEL, REMOVE),
    no("--label", LABEL, REMOVE),
    no("-U", SETTLED, OURS),
    no("--uuid", SETTLED, OURS),
    no("--device-uuid", SETTLED, OURS),
    no("-f", SETTLED, OURS),
    no("--force", SETTLED, OURS),
    no("-K", SETTLED, OURS),
    no("--nodiscard", SETTLED, OURS),
    no("-q", "the result file keeps what mkfs says", REMOVE),
    no("--quiet", "the result file keeps what mkfs says", REMOVE),
    no("discard", DISCARD, NO_DISCARD),
];

const MOUNTING: &str = "mounting is the business of the stack";
const ATTACH: &str = "remove it: the stack attaches its LUNs itself";
const RIGHTS: &str = "it says whose files are, or what they may do, and nothing of storage";
const WRITES: &str = "the database must write";

pub(super) static MOUNTS: &[Refused] = &[
    no("discard", DISCARD, NO_DISCARD),
    no("nodiscard", DISCARD, "remove it: Assay says it itself"),
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
    no("degraded", "a LUN that is away is the business of `faults`", REMOVE),
    no("remount", MOUNTING, ATTACH),
    no("bind", MOUNTING, ATTACH),
    no("rbind", MOUNTING, ATTACH),
    no("move", MOUNTING, ATTACH),
    no("loop", MOUNTING, ATTACH),
    no("offset", MOUNTING, ATTACH),
    no("sizelimit", MOUNTING, ATTACH),
    no("sb", MOUNTING, ATTACH),
    no("defaults", "it stands for `suid`, `dev` and `exec` too", REMOVE),
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
    no("subvol*", "there is one subvolume, and it is what is mounted", REMOVE),
];

const RUNS: &str = "it runs a program";
const LOADS: &str = "it loads code into the server";
const OPENS: &str = "it names a file or directory of the host";
const LISTENS: &str = "it says where the server can be reached";
const COMES_IN: &str = "it says who may come in, and by which keys";
const IS_WHO: &str = "it changes who a session is";
const REPLICA: &str = "it makes the server a part of others";
const LOGS: &str = "it says where the server's log goes";
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
