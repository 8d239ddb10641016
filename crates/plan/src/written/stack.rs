//! `[[stack]]` as written.
//!
//! Takes the section; gives its keys, with a finding for each key that does not belong to the kind. Prevents: a key
//! that has no effect on the stack it stands in.

use super::engine::{self, WrittenEngine};
use super::section::Section;
use super::value::{At, Options, Word};
use super::volume::WrittenVolume;
use super::zfs::WrittenZfs;
use crate::error::{Findings, Span};
use crate::key::Key;
use crate::study::{Access, BtrfsProfile, Redundancy, StackWord, Stripe};
use crate::units::{ByteRate, Bytes, Duration, Share};
use toml::de::DeValue;

use StackWord::{Btrfs, Directory, Diskgroup, Ext3, Ext4, Lvm, Md, Model, Raw, Server, Xfs, Zfs};

written! {
    /// `[[stack]]`.
    struct WrittenStack of StackWord {
        /// a directory on a mounted file system, used as it is; a relative path begins at the working directory
        path: String [Directory] = "*required*";
        /// LUN set of the data files. ext3, ext4 and XFS take a set of one LUN
        data: String [Raw, Ext3, Ext4, Xfs, Btrfs, Diskgroup, Lvm, Md, Zfs] = "*required*";
        /// LUN set of the redo log: one LUN, not the set of `data`. `"none"`: beside the data, in its file system or
        /// group. A raw stack must name one. For a disk group one LUN or several, which form a group of their own, for
        /// `lvm` and `md` as many as their layout needs; for ZFS see `redo_as`
        redo: String | "none" [Raw, Ext3, Ext4, Xfs, Btrfs, Diskgroup, Lvm, Md, Zfs] = (None);
        /// LUN set of the temporary files of PostgreSQL or SQLite, not that of `data` or `redo`. It is made like that
        /// of `data`: one LUN with a file system of the same kind, a volume with the same layout, or a disk group. It
        /// needs a phase of kind `tpch`. `"none"`: beside the data
        temp: String | "none" [Ext3, Ext4, Xfs, Btrfs, Diskgroup, Lvm, Md] = (None);
        /// `direct` (O_DIRECT) or `buffered` (page cache and fdatasync). SQLite: by our VFS or by its own. PostgreSQL:
        /// `direct` needs version 16 (`debug_io_direct`)
        access: Access [Directory, Raw, Ext3, Ext4, Xfs, Btrfs, Lvm, Md] = (Access::Direct,
            "with PostgreSQL or under a file server" => Access::Buffered);
        /// instances of the page engine that share the stack, each in a process of its own ([instances](instances.md)).
        /// On ZFS write `via = "kernel"` or `"fuse"`
        instances: u64 [Directory, Raw, Ext3, Ext4, Xfs, Btrfs, Diskgroup, Lvm, Md, Zfs] =
            (else "`count` of `[instances]`", in 1..=64);
        /// `single`, `raid0`, `raid1`; the last two need two LUNs
        profile: BtrfsProfile [Btrfs] = (BtrfsProfile::Single, "with several LUNs" => BtrfsProfile::Raid0);
        /// `"zstd"`, `"zstd:3"`, `"zlib"`, `"lzo"`; not with `nodatacow`
        compress: String | "none" [Btrfs] = (None);
        /// overwrite in place; btrfs then keeps no checksums of data
        nodatacow: bool [Btrfs] = (false);
        /// copies: `external` one, `normal` two, `high` three, each in another failure group
        redundancy: Redundancy [Diskgroup] = (Redundancy::External);
        /// allocation unit: a power of two
        au: Bytes [Diskgroup] = (Bytes::mib(1), in Bytes::mib(1)..=Bytes::mib(64));
        /// of the data: `coarse` one unit after the other, `fine` 128 KiB over eight units. The redo log is always fine
        stripe: Stripe [Diskgroup] = (Stripe::Coarse);
        /// number of failure groups; the LUNs are dealt to them in turn
        failure_groups: u64 [Diskgroup] = (else "each LUN its own", in 2..=64);
        /// number of LUNs at the end of the set that are not in the group or volume until a phase of kind `rebalance`
        /// adds them
        reserve: u64 [Diskgroup, Lvm, Md] = (0, in 0..=63);
        /// of the [allowed ones](#options-of-tools), for ext3 those of ext4; added to those of the stack
        mount_options: Options [Ext3, Ext4, Xfs, Btrfs, Lvm, Md] = "`[]`";
        /// likewise: `["-d", "agcount=4", "-i", "size=512"]`, or one string
        mkfs_options: Options [Ext3, Ext4, Xfs, Btrfs, Lvm, Md] = "`[]`";
        /// size of the simulated device; data and redo log share it
        size: Bytes [Model] = (Bytes::mib(4096));
        /// mean time of one 8 KiB request without queueing
        service: Duration [Model] = (Duration::microseconds(100), in Duration(1)..=Duration::seconds(10));
        /// coefficient of variation of that time; 0 is constant
        spread: Share [Model] = (Share(0.2), in ..=Share(10.0));
        /// requests served at once
        parallel: u64 [Model] = (8, in 1..=4096);
        /// time of a flush
        flush: Duration [Model] = (Duration::microseconds(200), in ..=Duration::seconds(10));
        /// rate of one server, for bytes beyond 8 KiB
        transfer: ByteRate [Model] = (ByteRate(1_000_000_000));
        /// share of reads that a cache above the device serves
        cached: Share [Model] = (Share(0.0), in ..=Share(1.0));
        /// share by which service gets longer in each minute of the study's simulated time, for all stacks: a machine
        /// that slows down
        drift: Share [Model] = (Share(0.0), in ..=Share(10.0));
        /// of a PostgreSQL server that is there already: `"postgres://USER@HOST:PORT/DATABASE"`, a socket as
        /// `?host=/DIRECTORY`. TLS as in libpq: `?sslmode=verify-full&sslrootcert=/ca.pem` ([all
        /// parameters](databases.md#a-server-that-is-there-already)). A study holds no password: set `PGPASSWORD`. With
        /// `[files]` of an NFS server: `"nfs://HOST[:PORT]/EXPORT[?mountport=PORT]"`
        url: String [Server] = "*required*";
        with {
            /// The header.
            span: Span,
            /// What it is called.
            name: Option<At<String>>,
            /// What is built.
            kind: Option<At<StackWord>>,
            /// Keys of volume managers.
            volume: WrittenVolume,
            /// Keys of OpenZFS.
            zfs: WrittenZfs,
            /// Where it differs from `[database]`.
            database: WrittenEngine,
            /// A planted disadvantage.
            inject: WrittenInject,
        }
    }
}

written! {
    /// `inject` of a stack: a planted disadvantage.
    struct WrittenInject of StackWord {
        /// a planted disadvantage: every I/O takes this much longer. Disclosed everywhere
        late: Share = (Share(0.0), in ..=Share(100.0));
        /// the nth I/O of a phase fails with EIO
        error_at: u64 | "none" = (None, in 1..);
        /// flushes are answered and not done: a control for power cuts and kills. Under a file server its clients take
        /// stable writes and COMMIT for done, and do not ask for them
        flush_lost: bool = (false);
        /// a file server comes back with the write verifier that it had: a control for power cuts
        same_verifier: bool = (false);
        /// `late` begins with the nth I/O of a trial, including its load: a device that slows down half-way, or runs
        /// out of burst credit
        late_from: u64 = (0);
        /// the nth I/O of a trial transfers only a part
        short_at: u64 | "none" = (None, in 1..);
        /// at the nth I/O of a trial the device stops for `inject.stall` (each worker counts its own)
        stall_at: u64 | "none" = (None, in 1..);
        /// length of that stop
        stall: Duration = (Duration::seconds(1));
    }
}

/// Rows of keys that belong to some kinds only.
fn rows() -> impl Iterator<Item = &'static Key<StackWord>> {
    WrittenStack::KEYS
        .iter()
        .chain(WrittenVolume::KEYS)
        .chain(WrittenZfs::KEYS)
}

pub(crate) fn read(mut s: Section<'_>, findings: &mut Findings) -> WrittenStack {
    let name = s.require("name", "give the stack a name of its own: name = \"xfs\"", findings);
    let kind = read_kind(&mut s, findings);
    let mut stack = WrittenStack::read(&mut s, findings);
    stack.volume = WrittenVolume::read(&mut s, findings);
    stack.zfs = WrittenZfs::read(&mut s, findings);
    (stack.span, stack.name) = (s.span.clone(), name);
    if let Some(mut database) = s.table("database", "database = { engine = \"sqlite\" }", findings) {
        stack.database = WrittenEngine::read(&mut database, findings);
        database.finish(engine::ELSEWHERE, findings);
    }
    if let Some(mut inject) = s.table("inject", "inject = { late = \"20%\" }", findings) {
        stack.inject = WrittenInject::read(&mut inject, findings);
        inject.finish(&[], findings);
    }
    if let Some(kind) = &kind {
        foreign(&s, kind.value, findings);
        missing(&stack, &s, kind.value, findings);
        s.forget(|key| rows().all(|row| row.name != key || row.kinds.contains(&kind.value)));
    }
    stack.kind = kind;
    s.finish(&[], findings);
    stack
}

fn read_kind(s: &mut Section<'_>, findings: &mut Findings) -> Option<At<StackWord>> {
    if let Some((_, value)) = s.raw("kind")
        && let DeValue::String(word) = value.get_ref()
        && word == "nfs"
    {
        let cure = "serve the files of other stacks: [files] with protocol = \"nfs3\"; for a server that you have: \
                    kind = \"server\", url = \"nfs://HOST/EXPORT\"";
        findings.add(&value.span(), "`nfs` is not a kind of stack", cure);
        return None;
    }
    let built = StackWord::listed();
    s.require(
        "kind",
        &format!("say what is built: kind = \"xfs\"; this version builds {built}"),
        findings,
    )
}

/// Keys that stand in a stack of a kind that has no use for them.
fn foreign(s: &Section<'_>, kind: StackWord, findings: &mut Findings) {
    for (key, span) in s.keys() {
        let Some(row) = rows().find(|row| row.name == key && !row.kinds.contains(&kind)) else {
            continue;
        };
        let owners: Vec<&str> = row.kinds.iter().map(Word::word).collect();
        let cure = match (key, kind) {
            ("data" | "redo" | "temp", Directory) => {
                "remove it: a directory stack is a mounted place as it is; say `path`".to_string()
            }
            ("access", Diskgroup) => "remove it: a disk group does its own direct I/O".to_string(),
            ("access", Zfs) => "remove it: OpenZFS has its own cache; say `primarycache`".to_string(),
            ("data" | "redo" | "temp", Model) => {
                "remove it: a model stack simulates its device; say `size`".to_string()
            }
            _ => format!("remove it: it belongs to stacks of kind {}", owners.join(", ")),
        };
        findings.add(
            &span,
            format!("a stack of kind \"{}\" has no `{key}`", kind.word()),
            cure,
        );
    }
}

/// Keys without which a stack of this kind cannot be built.
fn missing(stack: &WrittenStack, s: &Section<'_>, kind: StackWord, findings: &mut Findings) {
    match kind {
        Directory if !s.has("path") => {
            let cure = "say which place it is: path = \"/srv/data\"";
            findings.add(&stack.span, "a stack of kind \"directory\" has no `path`", cure);
        }
        Server if !s.has("url") => {
            let cure = "say where it is: url = \"postgres://USER@HOST:PORT/DATABASE\"";
            findings.add(&stack.span, "a stack of kind \"server\" has no `url`", cure);
        }
        Md if !s.has("level") => {
            let cure = "say which RAID it is: level = \"raid10\"";
            findings.add(&stack.span, "a stack of kind \"md\" has no `level`", cure);
        }
        _ => {}
    }
    match kind {
        Raw | Ext3 | Ext4 | Xfs | Btrfs | Diskgroup | Lvm | Md | Zfs if !s.has("data") => {
            let message = format!("a stack of kind \"{}\" has no `data`: it needs a LUN set", kind.word());
            findings.add(
                &stack.span,
                message,
                "name its LUN set, as in [luns.data]: data = \"data\"",
            );
        }
        _ => {}
    }
}
