//! Trees as other kernels and machines show them, from 3.10 to 6.8. Each holds only what the room reads.

use std::io;
use std::path::{Path, PathBuf};

use observers::{
    Backing, CgroupVersion, Discards, Flushes, Limit, Lineage, Place, Root, Snapshot, Tasks, device_facts_in,
    host_facts_in, lineage_in,
};

const OLD: &str = "linux-3.10-lvm-cgroup1";
const MD: &str = "linux-4.19-md";
const BTRFS: &str = "linux-6.1-btrfs-loop";
const NVME: &str = "linux-6.8-nvme-cgroup2";
/// A guest of User-mode Linux on a machine that has a hypervisor below it.
const USER_MODE: &str = "linux-6.1-user-mode";

/// Major and minor number of a device.
type Numbers = (u32, u32);

/// What `stat` would say on the machines of the fixtures: path, device it lies on, device it is.
const PLACES: [(&str, Numbers, Option<Numbers>); 20] = [
    ("/", (253, 0), None),
    ("/dev/mapper/vg-root", (0, 5), Some((253, 0))),
    ("/dev/sdb", (0, 5), Some((8, 16))),
    ("/share/f", (0, 40), None),
    ("/tank/f", (0, 41), None),
    ("/db/file", (259, 2), None),
    ("/dev/shm", (0, 50), None),
    ("/mnt/fuse/f", (0, 51), None),
    ("/mnt/a b/file", (0, 99), None),
    ("/dev/loop0", (0, 5), Some((7, 0))),
    ("/dev/loop1", (0, 5), Some((7, 1))),
    ("/luns/a", (254, 2), None),
    ("/luns/upper", (254, 2), None),
    ("/merged/f", (0, 70), None),
    ("/hidden/f", (0, 71), None),
    ("/data", (9, 0), None),
    ("/one/file", (7, 0), None),
    ("/two/file", (7, 1), None),
    ("/ram", (252, 0), None),
    ("/dev/cciss/c0d0", (0, 5), Some((104, 0))),
];

fn look(path: &Path) -> io::Result<Place> {
    let found = PLACES.iter().find(|(known, ..)| Path::new(known) == path);
    let (_, on, device) = found.ok_or(io::ErrorKind::NotFound)?;
    Ok(Place {
        canonical: path.to_path_buf(),
        on: *on,
        device: *device,
        mount: None,
    })
}

fn root(tree: &str) -> Root {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(tree);
    Root::at(&dir, look)
}

fn at(tree: &str, path: &str) -> Lineage {
    lineage_in(&root(tree), Path::new(path)).expect("it is in the table")
}

fn levels(found: &Lineage) -> Vec<Vec<&str>> {
    found
        .levels
        .iter()
        .map(|level| level.devices.iter().map(String::as_str).collect())
        .collect()
}

fn take(tree: &str, devices: &[&str]) -> Snapshot {
    let devices: Vec<String> = devices.iter().map(|name| (*name).to_owned()).collect();
    let root = root(tree);
    Snapshot::opening_in(&root, &Tasks::read_in(&root), &devices).expect("the tree is whole")
}

#[test]
fn a_volume_on_a_partition_and_a_log_elsewhere() {
    let found = at(OLD, "/");
    assert_eq!(found.file_system.as_deref(), Some("xfs"));
    assert_eq!(levels(&found), [vec!["dm-0", "sdb"], vec!["sda2"], vec!["sda"]]);
    assert_eq!(
        found.lowest,
        ["sda", "sdb"],
        "the log's disk has nothing below it and counts"
    );
    assert_eq!(found.backing, Backing::Devices);
    assert!(
        found.notes.iter().any(|note| note.contains("VIRTUAL-DISK")),
        "{:?}",
        found.notes
    );
    assert_eq!(levels(&at(OLD, "/dev/mapper/vg-root")), [["dm-0"], ["sda2"], ["sda"]]);
}

#[test]
fn what_is_no_local_storage_is_said() {
    let cases = [
        (OLD, "/share/f", Backing::Network, "filer:/vol/one"),
        (OLD, "/tank/f", Backing::Hidden, "tank/data"),
        (NVME, "/dev/shm", Backing::Memory, "main memory"),
        (NVME, "/mnt/fuse/f", Backing::Hidden, "fuse.sshfs"),
        (BTRFS, "/hidden/f", Backing::Hidden, "out of sight"),
    ];
    for (tree, path, backing, word) in cases {
        let found = at(tree, path);
        assert_eq!(found.backing, backing, "{path}");
        assert!(found.levels.is_empty() && found.lowest.is_empty(), "{found:?}");
        assert!(
            found.notes.iter().any(|note| note.contains(word)),
            "{path}: {:?}",
            found.notes
        );
    }
    let ram = at(MD, "/ram");
    assert_eq!(
        (ram.backing, ram.lowest.as_slice()),
        (Backing::Memory, ["zram0".to_owned()].as_slice())
    );
}

#[test]
fn multipath_goes_down_to_its_paths() {
    let found = at(NVME, "/db/file");
    assert_eq!(
        levels(&found),
        [vec!["nvme0n1p1"], vec!["nvme0n1"], vec!["nvme0c0n1", "nvme0c1n1"]]
    );
    assert_eq!(found.lowest, ["nvme0c0n1", "nvme0c1n1"]);
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains("FAR ARRAY") && note.contains("tcp")),
        "{:?}",
        found.notes
    );
    let facts = device_facts_in(&root(NVME), "nvme0n1");
    assert!(
        facts.contains(&("transport".to_owned(), "tcp".to_owned())),
        "found at its subsystem: {facts:?}"
    );
}

#[test]
fn btrfs_members_and_files_below_loops() {
    let found = at(BTRFS, "/mnt/a b/file");
    assert_eq!(found.file_system.as_deref(), Some("btrfs"));
    assert_eq!(levels(&found), [vec!["loop0", "loop1"], vec!["vda2"], vec!["vda"]]);
    // The file of loop1 is deleted, so what lies below it cannot be told: it is a lowest device itself.
    assert_eq!(found.lowest, ["loop1", "vda"]);
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains("loop1") && note.contains("(deleted)")),
        "{:?}",
        found.notes
    );
    assert!(
        found.notes.iter().any(|note| note.contains("vda is a virtio disk")),
        "{:?}",
        found.notes
    );
    assert_eq!(found.devices(), ["loop0", "loop1", "vda2", "vda"]);
}

#[test]
fn an_overlay_is_followed_to_its_upper_layer() {
    let found = at(BTRFS, "/merged/f");
    assert_eq!(levels(&found), [["vda2"], ["vda"]]);
    assert!(
        found.notes.iter().any(|note| note.contains("overlay")),
        "{:?}",
        found.notes
    );
}

#[test]
fn an_array_of_unequal_members() {
    let found = at(MD, "/data");
    assert_eq!(levels(&found), [vec!["md0"], vec!["sdb1", "sdc"], vec!["sdb"]]);
    assert_eq!(
        found.lowest,
        ["sdb", "sdc"],
        "sdc has nothing below it although others go deeper"
    );
    assert_eq!(
        levels(&at(MD, "/dev/cciss/c0d0")),
        [["cciss/c0d0"]],
        "a name with a slash"
    );
}

#[test]
fn devices_that_stand_on_each_other_end() {
    let found = at(MD, "/one/file");
    assert!(found.devices().contains(&"loop0".to_owned()) && found.devices().contains(&"loop1".to_owned()));
    assert!(found.notes.iter().any(|note| note.contains("cut")), "{:?}", found.notes);
}

#[test]
fn counters_of_every_kernel() {
    let old = take(OLD, &["sda", "dm-0"]);
    let sda = old.devices["sda"];
    assert_eq!(
        (sda.reads, sda.reads_merged, sda.read_bytes, sda.read_ms),
        (1000, 10, 80000 * 512, 500)
    );
    assert_eq!(
        (sda.writes, sda.writes_merged, sda.write_bytes, sda.write_ms),
        (2000, 20, 160000 * 512, 900)
    );
    assert_eq!((sda.in_flight, sda.busy_ms, sda.weighted_ms), (1, 700, 1400));
    assert_eq!((sda.discards, sda.flushes), (None, None), "3.10 counts neither");

    let md = take(MD, &["sdb1", "cciss/c0d0"]).devices;
    let discards = Discards {
        discards: 6,
        discards_merged: 1,
        discard_bytes: 4096 * 512,
        discard_ms: 9,
    };
    assert_eq!(
        (md["sdb1"].discards, md["sdb1"].flushes),
        (Some(discards), None),
        "4.19 counts discards only"
    );
    assert_eq!(md["cciss/c0d0"].reads, 5);

    let vda = take(BTRFS, &["vda"]).devices["vda"];
    assert_eq!(
        vda.flushes,
        Some(Flushes {
            flushes: 4,
            flush_ms: 5
        })
    );

    let nvme = take(NVME, &["nvme0n1", "nvme0n1p1", "nvme0c0n1", "nvme0c1n1"]);
    assert_eq!(nvme.devices["nvme0c0n1"].reads, 5000);
    assert_eq!(
        nvme.devices["nvme0c1n1"].reads, 4001,
        "left out of /proc/diskstats, found in its own file"
    );
    assert_eq!(
        nvme.unaccounted,
        ["nvme0n1", "nvme0n1p1"],
        "iostats is off on the disk of both"
    );
}

#[test]
fn processors_and_kernel_threads() {
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
    let old = take(OLD, &[]);
    assert_eq!(
        old.cpu.all.user_ns,
        1000 * tick_ns,
        "guest time is inside user time and not added"
    );
    assert_eq!(old.cpu.all.busy_ns(), (1000 + 10 + 500 + 5 + 15) * tick_ns);
    assert_eq!(old.cpu.all.steal_ns, 40 * tick_ns);
    assert_eq!(old.cpu.each.len(), 2);
    assert_eq!(
        (old.cpu.context_switches, old.cpu.tasks_blocked),
        (Some(123456), Some(2))
    );
    let threads = old.kernel_threads.expect("two are there");
    let seen: Vec<_> = threads.iter().map(|t| (t.pid, t.family.as_str(), t.cpu_ns)).collect();
    assert_eq!(
        seen,
        [(12, "kworker", 10_123_456_789), (300, "xfsaild", 25 * tick_ns)],
        "no process among them"
    );
    let own = old.own.expect("self is there");
    assert_eq!(
        (own.cpu_ns, own.user_ns, own.system_ns),
        (None, 150 * tick_ns, 50 * tick_ns)
    );
    assert_eq!((own.threads, own.faults_major), (5, 3));
    assert_eq!(
        (own.rss_bytes, own.rss_bytes_peak),
        (Some(20480 << 10), Some(40960 << 10))
    );
    assert_eq!(take(NVME, &[]).kernel_threads, None, "none visible is not none used");
}

#[test]
fn memory_and_pressure_and_what_is_absent() {
    let old = take(OLD, &[]);
    let memory = old.memory.expect("meminfo");
    assert_eq!(memory.available_bytes, None, "3.10 did not tell");
    assert_eq!(memory.page_cache_bytes(), Some((900_000 + 2_000 - 20_000) << 10));
    assert_eq!(
        (memory.dirty_bytes, memory.slab_bytes),
        (Some(400 << 10), Some(150_000 << 10))
    );
    assert_eq!(memory.swap_used_bytes, Some((2_097_148 - 2_000_000) << 10));
    let vm = old.vm.expect("vmstat");
    assert_eq!(
        (vm.paged_in_bytes, vm.paged_out_bytes),
        (Some(4000 << 10), Some(8000 << 10))
    );
    assert_eq!((vm.faults_major, vm.dirtied_bytes), (Some(33), None));
    assert_eq!(
        (old.pressure.cpu, old.pressure.io, old.pressure.memory),
        (None, None, None)
    );
    assert_eq!(old.own_io, None);

    let new = take(NVME, &[]);
    let io = new.pressure.io.expect("told");
    assert_eq!((io.some_us, io.full_us), (2000, Some(1500)));
    assert_eq!(
        new.own_io
            .map(|io| (io.read_asked_bytes, io.read_bytes, io.write_bytes)),
        Some((100, 4096, 8192))
    );
    assert_eq!(new.memory.and_then(|memory| memory.dirty_bytes), None);
    assert_eq!(new.vm, None);
    let cpu = take(BTRFS, &[]).pressure.cpu.expect("told");
    assert_eq!(
        (cpu.some_us, cpu.full_us),
        (5, None),
        "before 5.13 there was no full for CPU"
    );
}

#[test]
fn control_groups_of_both_versions() {
    let one = take(OLD, &[])
        .cgroup
        .expect("the container's group is cut off the name");
    assert_eq!(one.version, CgroupVersion::V1);
    assert!(one.path.ends_with("sys/fs/cgroup/memory/db"), "{}", one.path.display());
    assert_eq!(
        (one.usage_bytes, one.usage_bytes_peak),
        (Some(100 << 20), Some(200 << 20))
    );
    assert_eq!(
        one.limit,
        Limit::Bytes(256 << 20),
        "its own is unlimited, the one above is not"
    );
    assert_eq!(
        (one.file_bytes, one.anonymous_bytes, one.limit_hits),
        (Some(80 << 20), Some(16 << 20), Some(17))
    );

    let two = take(NVME, &[]).cgroup.expect("a group of its own");
    assert_eq!(two.version, CgroupVersion::V2);
    assert_eq!(
        (two.usage_bytes, two.usage_bytes_peak),
        (Some(70 << 20), Some(90 << 20))
    );
    assert_eq!(
        two.limit,
        Limit::Bytes(512 << 20),
        "its own is max, the slice above has one"
    );
    assert_eq!(
        (two.file_bytes, two.dirty_bytes, two.limit_hits),
        (Some(50 << 20), Some(12288), Some(42))
    );

    assert_eq!(take(BTRFS, &[]).cgroup, None, "the top of version 2 has no account");
    assert_eq!(take(MD, &[]).cgroup, None);
}

#[test]
fn facts_are_what_the_kernel_says_and_no_more() {
    let facts = host_facts_in(&root(MD));
    let of = |name: &str| {
        facts
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    };
    assert_eq!(of("host"), Some("db7"));
    assert_eq!(of("kernel"), Some("4.19.0-21-amd64"));
    assert_eq!(of("distribution"), Some("Old Linux 10 (ancient)"));
    assert_eq!((of("cpu"), of("cpus")), (Some("Fast CPU @ 3.00GHz"), Some("2")));
    assert_eq!(of("virtualisation"), Some("a hypervisor (QEMU)"));
    assert_eq!(of("transparent hugepages"), Some("madvise"));
    assert_eq!((of("vm.dirty_ratio"), of("vm.swappiness")), (Some("20"), None));
    assert_eq!(of("vm.nr_hugepages"), Some("1024"));

    let facts = device_facts_in(&root(OLD), "sda2");
    let of = |name: &str| {
        facts
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    };
    assert_eq!(
        (of("disk"), of("model"), of("scheduler")),
        (Some("sda"), Some("VIRTUAL-DISK"), Some("deadline"))
    );
    assert_eq!(
        of("size bytes"),
        Some((39892992u64 * 512).to_string().as_str()),
        "its own size, not the disk's"
    );
    assert_eq!(
        (of("rotational"), of("requests"), of("write cache")),
        (Some("1"), Some("128"), None)
    );
    let facts = device_facts_in(&root(OLD), "dm-0");
    assert!(
        facts.contains(&("mapping kind".to_owned(), "lvm".to_owned())),
        "{facts:?}"
    );
}

#[test]
fn a_guest_of_user_mode_linux_is_known_beside_the_flags_of_its_host() {
    let facts = host_facts_in(&root(USER_MODE));
    let of = |name: &str| {
        let found = facts.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    };
    assert_eq!(of("virtualisation"), Some("User-mode Linux"), "{facts:?}");
    assert_eq!((of("cpu"), of("cpus")), (Some("UML"), Some("1")));
}
