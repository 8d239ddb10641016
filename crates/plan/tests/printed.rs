//! Every row of the tables of keys is printed with a study that has it.
//!
//! Prevents: a key that is read and used, and that no result shows.

use std::path::Path;

/// Keys that stand for others.
const NOT_PRINTED: [&str; 7] = [
    "slob_conf",
    "do_hotspot",
    "hotspot_mb",
    "hotspot_offset_mb",
    "hotspot_frequency",
    "after_each",
    "control",
];

/// What the studies that ship have not, the rare faults among it.
const RARE: &str = r#"
[study]
name = "rare"
[cost]
currency = "EUR"
host = 12000
lun = 100
gb = 0.35
licence = { group = 4000 }
[luns.data]
files = { count = 2, size = "1GiB" }
model = "plain"
volatile = "1MiB"
[[stack]]
name = "group"
kind = "diskgroup"
data = "data"
failure_groups = 2
inject = { flush_lost = true, late_from = 2, short_at = 3, stall_at = 4 }
[[phase]]
name = "scan"
kind = "scan"
[[phase]]
name = "commits"
kind = "redo"
[[phase]]
name = "again"
kind = "scan"
against = "scan"
faults = [{ kind = "slow", luns = "data", after = "1s", by = "1ms" }]
[[phase]]
name = "cut"
kind = "power_cut"
"#;

const SERVER: &str = r#"
[study]
name = "server"
[[stack]]
name = "there"
kind = "server"
url = "postgres://user@host/database"
[[phase]]
name = "orders"
kind = "tpcc"
"#;

const SMALLER: &str = r#"
[study]
name = "smaller"
[luns.data]
files = { count = 3, size = "1GiB" }
[[stack]]
name = "group"
kind = "diskgroup"
data = "data"
[[phase]]
name = "smaller"
kind = "rebalance"
drop = ["disk1"]
"#;

const PLACE: &str = r#"
[study]
name = "place"
[[stack]]
name = "here"
kind = "directory"
path = "/srv"
[[phase]]
name = "scan"
kind = "scan"
rest = "30s"
"#;

const APART: &str = r#"
[study]
name = "apart"
[luns.data]
files = { size = "1GiB" }
[luns.redo]
files = { size = "1GiB" }
[[stack]]
name = "raw"
kind = "raw"
data = "data"
redo = "redo"
[[stack]]
name = "pool"
kind = "zfs"
via = "kernel"
data = "data"
redo = "redo"
atime = "off"
prefetch_distance = "1MiB"
arc_min = "64MiB"
[[phase]]
name = "read"
kind = "random"
"#;

const SERVED: &str = r#"
[study]
name = "served"
[luns.data]
files = { size = "1GiB" }
[[stack]]
name = "ext4"
kind = "ext4"
data = "data"
inject = { same_verifier = true }
[files]
protocol = "nfs3"
[[phase]]
name = "steps"
kind = "files"
work = "varmail"
load = "10/s"
data_size = "64MiB"
sessions = 64
"#;

const VOLUMES: &str = r#"
[study]
name = "volumes"
[luns.data]
files = { count = 3, size = "1GiB" }
[[stack]]
name = "striped"
kind = "lvm"
data = "data"
layout = "striped"
stripes = 2
[[stack]]
name = "raid5"
kind = "md"
data = "data"
level = "raid5"
[[phase]]
name = "read"
kind = "random"
"#;

const QUESTIONS: &str = r#"
[study]
name = "questions"
[luns.data]
files = { size = "4GiB" }
[luns.temp]
files = { size = "1GiB" }
[[stack]]
name = "ext4"
kind = "ext4"
data = "data"
temp = "temp"
database = { engine = "postgres" }
[[phase]]
name = "streams"
kind = "tpch"
scale = 0.1
streams = 4
[[phase]]
name = "users"
kind = "tpch"
users = [1, 10]
each = 2
questions = [18, 3, 13]
"#;

/// Those above and those that ship.
pub(crate) fn studies() -> Vec<plan::Study> {
    let of_text = |text| plan::parse(text, Path::new("study.toml")).unwrap_or_else(|e| panic!("{e}"));
    let all = [RARE, SERVER, SMALLER, PLACE, APART, SERVED, VOLUMES, QUESTIONS];
    let mut studies: Vec<plan::Study> = all.map(of_text).into();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    for entry in std::fs::read_dir(folder).expect("the shipped studies are there") {
        let path = entry.expect("an entry").path();
        studies.push(plan::load(&path).unwrap_or_else(|e| panic!("{e}")));
    }
    studies
}

#[test]
fn each_row_of_the_tables_is_printed_by_some_study() {
    let studies = studies();
    let rows = studies.iter().flat_map(|study| &study.resolved);
    let printed: Vec<&str> = rows.map(|row| row.key.as_str()).collect();
    let mut missing = Vec::new();
    for (table, text) in plan::keys_markdown() {
        // `[study]` is a section, `[[phase]]` one of a list whose names stand between.
        let section = table.split_whitespace().next().unwrap_or(&table);
        for key in text.lines().skip(2).filter_map(|line| line.split('`').nth(1)) {
            let (start, end) = (format!("{section}."), format!(".{key}"));
            let shown = printed.iter().any(|row| row.starts_with(&start) && row.ends_with(&end));
            let of_stack = section == "database" && printed.iter().any(|row| row.ends_with(&format!(".database{end}")));
            if !shown && !of_stack && !NOT_PRINTED.contains(&key) {
                missing.push(format!("{key} of table {table:?}"));
            }
        }
    }
    assert!(missing.is_empty(), "read and not printed: {}", missing.join(", "));
}
