//! Good studies: those that ship parse, print themselves whole, and read back as themselves.
//!
//! Prevents: a reference study that the tool refuses, and a default that is used but not printed.

use plan::{
    BtrfsProfile, Bytes, Duration, FileSystemKind, LunSource, PhaseKind, Scale, Share, StackKind, Study, estimate,
};
use std::path::{Path, PathBuf};

fn parse(text: &str) -> Study {
    plan::parse(text, Path::new("study.toml")).unwrap_or_else(|e| panic!("{e}\n--- the study:\n{text}"))
}

/// Two studies that mean the same, however they were written.
fn assert_same(a: &Study, b: &Study) {
    let plain = |study: &Study| {
        let mut study = study.clone();
        study.text.clear();
        study.file = Default::default();
        study.scaled = 1.0;
        study.resolved.clear();
        study
    };
    assert_eq!(plain(a), plain(b));
    let rows = |study: &Study| -> Vec<(String, String)> {
        let rows = study.resolved.iter().filter(|row| row.key != "run.scale");
        rows.map(|row| (row.key.clone(), row.value.clone())).collect()
    };
    assert_eq!(rows(a), rows(b));
}

fn shipped() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["studies", "benches/laboratory/studies", "benches/file-serving"];
    let mut paths: Vec<PathBuf> = (folders.iter())
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).expect("the shipped studies are there"))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    paths.sort();
    paths
}

#[test]
fn shipped_studies_parse_and_print_themselves() {
    let paths = shipped();
    assert!(paths.len() >= 2, "the studies folder lost its studies: {paths:?}");
    for path in paths {
        let study = plan::load(&path).unwrap_or_else(|e| panic!("{e}"));
        let again = parse(&study.to_toml());
        assert_same(&study, &again);
        assert!(
            again.resolved.iter().all(|row| row.written),
            "all is written in {}",
            study.to_toml()
        );
        assert!(
            study.resolved.iter().any(|row| !row.written),
            "a study that needs no default is a poor example"
        );
    }
}

const SMALL: &str = r#"
[study]
name = "small"

[luns.data]
files = { size = "1GiB" }

[[stack]]
name = "ext4"
kind = "ext4"
data = "data"

[[phase]]
name = "read"
kind = "random"
update_pct = 0
time = "10s"
"#;

fn row<'s>(study: &'s Study, key: &str) -> &'s plan::Resolved {
    let found = study.resolved.iter().find(|row| row.key == key);
    found.unwrap_or_else(|| panic!("no row {key}"))
}

#[test]
fn each_default_is_said_and_each_written_key_is_marked() {
    let study = parse(SMALL);
    let list: Vec<String> = study
        .resolved
        .iter()
        .map(|row| {
            format!(
                "{} {} = {}",
                if row.written { "written" } else { "default" },
                row.key,
                row.value
            )
        })
        .collect();
    insta::assert_snapshot!(list.join("\n"));
    let written: Vec<&str> = study
        .resolved
        .iter()
        .filter(|row| row.written)
        .map(|row| row.key.as_str())
        .collect();
    assert_eq!(
        written,
        [
            "study.name",
            "luns.data.files.size",
            "stack.ext4.name",
            "stack.ext4.kind",
            "stack.ext4.data",
            "phase.read.name",
            "phase.read.kind",
            "phase.read.time",
            "phase.read.update_pct",
        ]
    );
}

/// Every sort of key, in its less usual ways of being written.
const EVERYTHING: &str = r#"
[study]
name = "all"
question = """
Does it all
come back?"""
published = "xtremio-2014"
margin = 0.07
time_limit = "3h"
blocks = 6
seed = 42
io = "pread"
workers = 2
[luns."two words"]
files = { count = 3, size = "1GiB", dir = "/tmp/a \"quoted\" \\ place" }
[luns.redo]
devices = ["/dev/sdx"]
overwrite = true
[memory]
budget = "700MiB"
[[stack]]
name = "b \u00e9"
kind = "btrfs"
data = "two words"
redo = "redo"
profile = "raid1"
compress = "zstd:-3"
access = "buffered"
mount_options = "noatime,commit=5"
mkfs_options = ["-n", "16384"]
inject = { late = "12.5%", error_at = 7 }
[[stack]]
name = "raw"
kind = "raw"
data = "two words"
redo = "redo"
[[stack]]
name = "/srv/data"
kind = "directory"
path = "/srv/data"
[database]
page = "4KiB"
scale = 333000000
compressibility = 2
duplication = "33%"
torn_pages = "double"
[[phase]]
name = "slob"
kind = "random"
do_hotspot = true
hotspot_mb = 2
hotspot_frequency = 3
think_tm_frequency = 7
redo_stress = "HEAVY"
[[phase]]
name = "open"
kind = "random"
ranked = false
work_loop = 10
rate = 1234.5
[[phase]]
name = "scan"
kind = "scan"
time = "90s"
degree = 4
"#;

#[test]
fn each_file_system_is_a_kind_of_stack_by_its_word() {
    for row in plan::FileSystemRow::ALL {
        let study = parse(&SMALL.replace("kind = \"ext4\"", &format!("kind = \"{}\"", row.word)));
        let made = study.stacks[0].kind.file_system().expect("a file system");
        assert_eq!((made.row().word, study.stacks[0].kind.word()), (row.word, row.word));
    }
}

#[test]
fn everything_at_once_reads_back_as_itself() {
    let study = parse(EVERYTHING);
    assert_same(&study, &parse(&study.to_toml()));
    assert_eq!(study.question, "Does it all come back?");
    let made = study.stacks[0].kind.file_system().expect("a file system");
    assert!(matches!(&made.kind, FileSystemKind::Btrfs(btrfs) if btrfs.profile == BtrfsProfile::Raid1));
    assert_eq!(plan::mount_words(&made.mount_options), ["noatime", "commit=5"]);
    assert!(matches!(&study.luns[1].source, LunSource::Devices { overwrite, paths } if overwrite == paths));
    let PhaseKind::Random(slob) = &study.phases[0].kind else {
        panic!("a random phase")
    };
    assert_eq!(
        slob.hotspot.map(|hot| (hot.size, hot.frequency)),
        Some((Bytes(2 << 20), 3))
    );
    assert_eq!(study.phases[1].time, None, "a number of operations needs no time");
    assert!(row(&study, "phase.slob.hotspot").written && !row(&study, "phase.open.hotspot").written);
}

#[test]
fn defaults_follow_what_they_must_fit() {
    let study = parse(&format!("{SMALL}\n[memory]\nbudget = \"100MiB\"\n"));
    assert_eq!(study.database.cache, Bytes(50 << 20), "half the budget");
    assert_eq!(
        study.database.redo_size,
        Bytes(128 << 20),
        "an eighth of the LUN it shares with the data"
    );
    let study = parse(&SMALL.replace("update_pct = 0", "update_pct = 50"));
    assert_eq!(
        study.database.checkpoint,
        Duration(2_500_000_000),
        "a phase that updates spans several"
    );
    let one = "[study]\nname = \"one\"\n[[stack]]\nname = \"d\"\nkind = \"directory\"\npath = \"/srv\"\n";
    let scan = "[[phase]]\nname = \"s\"\nkind = \"scan\"\n";
    assert_eq!(
        parse(&format!("{one}{scan}")).database.scale,
        Scale::Bytes(Bytes(1 << 30)),
        "no share of a user's disk"
    );
}

#[test]
fn scaling_multiplies_sizes_and_says_so() {
    let plain = parse(&format!("{SMALL}\n[memory]\nbudget = \"200MiB\"\n"));
    let study = plain.scaled(4.0).expect("four times as much fits");
    assert_eq!(study.scaled, 4.0);
    assert!(matches!(
        study.luns[0].source,
        LunSource::Files {
            size: Bytes(4_294_967_296),
            ..
        }
    ));
    assert_eq!(study.memory.budget, Some(Bytes(800 << 20)));
    assert_eq!(study.database.scale, Scale::Share(Share(0.4)), "shares stay");
    assert_eq!(study.database.cache, Bytes(400 << 20), "defaults grow too");
    assert_eq!(row(&study, "run.scale").value, "4");
    assert_eq!(
        row(&study, "luns.data.files.size").unscaled.as_deref(),
        Some("\"1GiB\"")
    );
    assert_eq!(row(&study, "database.scale").unscaled, None);
    assert_same(&study, &parse(&study.to_toml()));
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(plain.scaled(wrong).is_err(), "{wrong}");
    }
    let tiny = plain.scaled(0.001).expect_err("a LUN of 1 MiB holds no such data");
    assert!(!tiny.problems().is_empty());
}

#[test]
fn estimates_add_up() {
    let text = SMALL.replace(
        "[[phase]]",
        "[database]\nscale = \"512MiB\"\nredo_size = \"64MiB\"\n\n[[phase]]",
    );
    let study = parse(&text);
    let e = estimate(&study, 1 << 30);
    assert_eq!((e.trials_per_block, e.phase_ns_per_trial), (1, 10_000_000_000));
    assert_eq!((e.lun_bytes, e.data_bytes), (1 << 30, Some(512 << 20)));
    assert_eq!(e.written_bytes_per_trial, (1024 + 512 + 64) << 20);
    assert_eq!(e.block_ns, 10_000_000_000 + 1_500_000_000 + 1_562_500_000);
    assert_eq!(
        e.blocks(&study),
        12,
        "a quarter of an hour has room for more than anyone needs"
    );
    assert!(e.fits(&study));
    let hurried = parse(&text.replace("name = \"small\"", "name = \"small\"\ntime_limit = \"90s\""));
    assert_eq!(e.blocks(&hurried), 6, "90 s hold 6.9 blocks, and blocks come in pairs");
    let late = estimate(&hurried, 10 << 20);
    assert_eq!(
        (late.blocks(&hurried), late.fits(&hurried)),
        (4, false),
        "fewer than four are no study"
    );
}

#[test]
fn a_study_that_fills_its_time_has_as_many_blocks_as_the_time_limit_holds() {
    let filling = |limit: &str| {
        let head = format!("name = \"small\"\nfill_time = true\ntime_limit = \"{limit}\"");
        parse(&SMALL.replace("name = \"small\"", &head))
    };
    let blocks = |limit: &str| {
        let study = filling(limit);
        estimate(&study, 1 << 30).blocks(&study)
    };
    assert!(blocks("5m") > 12 && blocks("5m") % 2 == 0, "{}", blocks("5m"));
    assert_eq!(blocks("10h"), 64);
    // What the second block took decides: 7 % of what is left is kept free.
    let second = 1_000_000_000;
    assert_eq!(plan::blocks_that_fill(2, 100 * second, 10 * second), 10);
    assert_eq!(plan::blocks_that_fill(2, 110 * second, 10 * second), 12);
    assert_eq!(plan::blocks_that_fill(2, 0, second), 4);
    assert_eq!(plan::blocks_that_fill(2, u64::MAX, 0), 64);
    let both = SMALL.replace("name = \"small\"", "name = \"small\"\nfill_time = true\nblocks = 8");
    let refused = plan::parse(&both, Path::new("both.toml")).expect_err("one of the two");
    assert!(refused.to_string().contains("leave out one"), "{refused}");
}

/// The study that ships keeps its promise: eight to ten blocks in ten minutes, with six to eight seconds of building.
#[test]
fn the_reference_study_takes_ten_minutes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/overwrite-vs-cow.toml");
    let study = plan::load(&path).unwrap_or_else(|e| panic!("{e}"));
    let blocks: Vec<u32> = [1_000_000_000, 400_000_000]
        .map(|rate| estimate(&study, rate).blocks(&study))
        .to_vec();
    assert_eq!(blocks, [10, 8]);
    assert!(estimate(&study, 400_000_000).fits(&study));
    let data = study.data_bytes().expect("files have sizes");
    assert!(study.database.cache.0 * 9 < data, "the cache must not serve the data");
}

/// What editors of other systems put around the same text.
#[test]
fn line_ends_and_byte_order_marks_do_not_matter() {
    let study = parse(SMALL);
    assert_same(&study, &parse(&SMALL.replace('\n', "\r\n")));
    assert_same(&study, &parse(&format!("\u{feff}{SMALL}")));
}

/// The reference names every key, and its example is a study.
#[test]
fn the_reference_is_complete() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/study.md");
    let docs = std::fs::read_to_string(path).expect("the reference is there");
    let example = docs
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("an example");
    let small = parse(example);
    let mut rows = small.resolved;
    for path in shipped() {
        rows.extend(plan::load(&path).unwrap_or_else(|e| panic!("{e}")).resolved);
    }
    for row in rows {
        let parts: Vec<&str> = row.key.rsplit('.').collect();
        // The parameters of modelled devices have a page of their own.
        if parts.get(1) == Some(&"parameters") {
            continue;
        }
        // `[files]` is a section too.
        let nested = parts.len() > 2 && matches!(parts.get(1), Some(&"files" | &"inject"));
        let key = if nested {
            format!("`{}.{}`", parts[1], parts[0])
        } else {
            format!("`{}`", parts[0])
        };
        assert!(docs.contains(&key), "docs/study.md does not name {key} ({})", row.key);
    }
}

const MOVES: &str = r#"
[study]
name = "moves"
time_limit = "60m"
[luns.left]
files = { count = 3, size = "1GiB" }
[luns.right]
files = { count = 3, size = "1GiB" }
[[stack]]
name = "group"
kind = "diskgroup"
data = "left"
reserve = 1
[[stack]]
name = "wide"
kind = "diskgroup"
data = "left"
au = "4MiB"
reserve = 1
[[phase]]
name = "grow"
kind = "rebalance"
add = ["disk2"]
drop = ["disk0"]
sessions = 8
[[phase]]
name = "away"
kind = "copy"
to = "wide"
data = "right"
[[phase]]
name = "back"
kind = "copy"
to = "home"
verify = false
chunk = "256KiB"
[[phase]]
name = "away again"
kind = "copy"
to = "wide"
data = "right"
"#;

#[test]
fn phases_that_move_data_print_themselves_and_take_their_defaults() {
    let study = parse(MOVES);
    assert_same(&study, &parse(&study.to_toml()));
    assert!(matches!(&study.stacks[0].kind, StackKind::Diskgroup(group) if group.reserve == 1));
    // The LUN in reserve is no room.
    assert!(study.data_bytes().expect("files") <= 2 * (1 << 30) * 2 / 5);
    let PhaseKind::Rebalance(grow) = &study.phases[0].kind else {
        panic!("a rebalance")
    };
    assert_eq!(
        (grow.add.as_slice(), grow.drop.as_slice(), grow.power),
        (&[2][..], &[0][..], 1)
    );
    assert_eq!(
        (grow.before, grow.after, grow.work.sessions),
        (Duration(10_000_000_000), Duration(10_000_000_000), 8)
    );
    assert!(!study.phases[0].ranked && study.phases[1].ranked);
    let PhaseKind::Copy(away) = &study.phases[1].kind else {
        panic!("a copy")
    };
    assert_eq!(away.to, plan::CopyTarget::Stack("wide".into()));
    assert_eq!((away.chunk, away.outstanding, away.verify), (Bytes(1 << 20), 8, true));
    let PhaseKind::Copy(back) = &study.phases[2].kind else {
        panic!("a copy")
    };
    assert_eq!((&back.to, back.verify), (&plan::CopyTarget::Home, false));
    // A copy takes time, and its LUNs are made ready too.
    let estimate = estimate(&study, 1 << 30);
    assert!(estimate.phase_ns_per_trial > 20_000_000_000, "{estimate:?}");
    assert!(estimate.written_bytes_per_trial > 6 << 30, "{estimate:?}");
}

#[test]
fn an_ageing_with_phases_after_each_pass_is_run_as_phases_of_their_own() {
    let text = r#"
[study]
name = "ages"
[luns.data]
files = { size = "1GiB" }
[[stack]]
name = "ext4"
kind = "ext4"
data = "data"
[[phase]]
name = "fresh scan"
kind = "scan"
[[phase]]
name = "ageing"
kind = "age"
passes = 2
work_unit = 8
after_each = ["aged read", "aged scan"]
[[phase]]
name = "aged read"
kind = "random"
update_pct = 0
time = "10s"
[[phase]]
name = "aged scan"
kind = "scan"
users = 7
against = "fresh scan"
[[phase]]
name = "last"
kind = "age"
passes = 3
"#;
    let study = plan::parse(text, Path::new("ages.toml")).unwrap();
    let names: Vec<&str> = study.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "fresh scan",
            "ageing 1",
            "aged read 1",
            "aged scan 1",
            "ageing 2",
            "aged read 2",
            "aged scan 2",
            "last"
        ]
    );
    for phase in [3, 6].map(|nth| &study.phases[nth]) {
        assert_eq!(phase.against.as_deref(), Some("fresh scan"));
        assert!(matches!(&phase.kind, PhaseKind::Scan(scan) if scan.users == 7));
    }
    let passes = |nth: usize| match &study.phases[nth].kind {
        PhaseKind::Age(age) => (age.passes, age.work_unit),
        other => panic!("{other:?}"),
    };
    assert_eq!([passes(1), passes(4), passes(7)], [(1, 8), (1, 8), (3, 16)]);
    let row = |key: &str| study.resolved.iter().find(|row| row.key == key).unwrap();
    assert!(row("phase.ageing 2.work_unit").written && !row("phase.ageing 2.sessions").written);
    assert!(row("phase.aged scan 2.against").written);
    let again = plan::parse(&study.to_toml(), Path::new("ages.toml")).unwrap();
    assert_eq!(again.phases, study.phases);
}

#[test]
fn schemas_are_whole_multiblock_reads_where_that_costs_little() {
    let pages = |bytes: u64| {
        let text = format!(
            "[study]\nname = \"s\"\n[luns.data]\nfiles = {{ size = \"8GiB\" }}\n[[stack]]\nname = \"ext4\"\n\
             kind = \"ext4\"\n\
             data = \"data\"\n[database]\nscale = {bytes}\n[[phase]]\nname = \"scan\"\nkind = \"scan\"\n"
        );
        let study = plan::parse(&text, Path::new("s.toml")).unwrap();
        study.data_bytes().unwrap() / 64 / 8192
    };
    let schema = |pages: u64| pages * 64 * 8192;
    assert_eq!(pages(schema(1037)), 1024);
    assert_eq!(pages(schema(319)), 319, "it would cost 5 %");
}

#[test]
fn what_a_cut_may_lose_is_what_the_model_holds_in_volatile_memory() {
    let volatile = |device: &str, kind: &str| {
        let text = format!(
            "[study]\nname = \"cuts\"\n[luns.data]\nfiles = {{ size = \"1GiB\" }}\n{device}\n[[stack]]\n\
             name = \"ext4\"\n\
             kind = \"ext4\"\ndata = \"data\"\n[database]\nscale = \"16MiB\"\nschemas = 4\ncache = \"8MiB\"\n\
             [[phase]]\nname = \"work\"\nkind = \"{kind}\"\nsessions = 4\nwork_unit = 4\n"
        );
        let study = parse(&text);
        study.luns[0].device.as_ref().expect("a device").volatile.0
    };
    const MIB: u64 = 1 << 20;
    for (device, due) in [
        ("model = \"plain\"", 32 * MIB),
        ("model = \"plain\"\nvolatile = \"1MiB\"", MIB),
        ("model = \"hdd\"", 0),
        ("model = \"hdd\"\nparameters = { write_cache = \"64MiB\" }", 64 * MIB),
        ("model = \"ssd\"", 16 * MIB),
        ("model = \"ssd\"\nparameters = { protected = true }", 0),
        ("model = \"array\"", 0),
        ("model = \"volume\"", 0),
    ] {
        assert_eq!(volatile(device, "power_cut"), due, "{device}");
    }
    assert_eq!(volatile("model = \"plain\"", "random"), 0, "nothing is cut");
    assert_eq!(volatile("model = \"plain\"", "kill"), 0, "devices keep their power");
}

#[test]
fn tables_that_servers_copy_are_loaded_once_and_need_room_beside_the_stacks() {
    let estimated = |one: &str, other: &str| {
        let stack = |name: &str, more: &str| {
            let database = format!("{{ engine = \"postgres\"{more} }}");
            format!("[[stack]]\nname = \"{name}\"\nkind = \"ext4\"\ndata = \"data\"\ndatabase = {database}\n")
        };
        let text = format!(
            "[study]\nname = \"t\"\n[luns.data]\nfiles = {{ size = \"4GiB\" }}\n{}{}[[phase]]\nname = \"q\"\n\
             kind = \"tpch\"\nscale = 1\n",
            stack("one", one),
            stack("other", other)
        );
        estimate(&parse(&text), 1 << 30)
    };
    let insert = ", load = \"insert\"";
    let inserted = estimated(insert, insert);
    assert_eq!((inserted.once_ns, inserted.once_bytes), (0, 0));
    let copied = estimated("", "");
    assert!(copied.once_ns > 0 && copied.block_ns < inserted.block_ns, "{copied:?}");
    // What is kept, the server that it is taken from, and its log.
    let other = estimated("", ", settings = { default_statistics_target = \"1000\" }");
    let tables = other.once_bytes - copied.once_bytes;
    assert!(tables > 1 << 30, "{copied:?}");
    let of_both = (2 * copied.once_ns, 3 * tables + (512 << 20));
    assert_eq!((other.once_ns, other.once_bytes), of_both);
    // What no load depends on keeps no stack apart.
    let alike = estimated(", cache = \"64MiB\"", ", settings = { work_mem = \"8MB\" }");
    for one in [alike, estimated("", insert)] {
        assert_eq!((one.once_ns, one.once_bytes), (copied.once_ns, copied.once_bytes));
    }
}
