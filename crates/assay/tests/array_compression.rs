//! An array that compresses under two instances, end to end: the group moves from LUNs that are kept whole to LUNs that
//! are compressed, and the result has what the array keeps before, after and meanwhile. Needs root, loop devices and
//! /dev/fuse.
//!
//! Prevents: a ratio of something else than the data, a move that leaves an instance out for good, and compression that
//! costs nothing.

use crate::rig::{Rig, assert_blocks, limit};
use ledger::{Ledger, Measure, OfPhase, Phase};
use std::path::Path;

const DATA_BYTES: f64 = 24.0 * 1024.0 * 1024.0;

/// So slow that any machine keeps up; of what is ranked nothing is asked.
fn study(dir: &Path) -> String {
    let (dir, limit) = (dir.display(), limit("11s"));
    let work = "kind = \"random\"\nupdate_pct = 30\nsessions = 8\nwork_unit = 4\ntime = \"1s\"\nranked = false\n";
    format!(
        r#"
[study]
name = "moved"
time_limit = "{limit}"
blocks = 4
seed = 5
workers = 2
slow_motion = 20
[instances]
count = 2
[luns.data]
files = {{ count = 4, size = "64MiB", dir = "{dir}" }}
preset = "array-2017"
parameters = {{ reduction = true, reduction_from = 2, processors = 2, compress = "50us" }}
[luns.redo]
files = {{ count = 1, size = "64MiB", dir = "{dir}" }}
preset = "array-2017"
[[stack]]
name = "group"
kind = "diskgroup"
data = "data"
redo = "redo"
reserve = 2
[database]
cache = "4MiB"
schemas = 8
scale = "24MiB"
compressibility = 4.0
redo_size = "16MiB"
checkpoint = "200ms"
torn_pages = "none"
[[phase]]
name = "before"
{work}
[[phase]]
name = "move"
kind = "rebalance"
add = ["disk2", "disk3"]
drop = ["disk0", "disk1"]
power = 4
update_pct = 30
sessions = 8
work_unit = 4
before = "300ms"
after = "300ms"
[[phase]]
name = "after"
{work}
"#
    )
}

fn able() -> Option<Rig> {
    if !Path::new("/dev/fuse").exists() {
        eprintln!("skipped: needs /dev/fuse");
        return None;
    }
    Rig::new(&[])
}

#[test]
fn two_instances_move_to_compressed_luns_and_all_that_is_kept_is_told() {
    let Some(rig) = able() else { return };
    let before = rig.belongings(&[]);
    let (study, result) = (rig.study("moved", &study(&rig.work())), rig.result("moved"));
    let ran = rig.run(&study, &result, &["--yes", "--full"]);
    ran.expect(0, &[]);
    assert_eq!(rig.belongings(&[]), before, "something is left");
    let ledger = Ledger::open(&result).expect("a result");
    let (phases, measures) = (ledger.phases().expect("phases"), ledger.measures().expect("measures"));
    assert_blocks(phases.len(), 3);
    let instances = ledger.instances().expect("instances");
    let series = ledger.samples_named("array.stored_bytes").expect("samples");
    for phase in &phases {
        let name = &phase.run.name;
        let of = |measure: Measure| found(&measures, phase, measure);
        let (whole, asked) = (of(Measure::ArrayWholeBytes), of(Measure::ArrayAskedBytes));
        assert!(whole >= DATA_BYTES, "{name}: {whole}");
        let each = instances.iter().filter(|row| row.phase == phase.id).count();
        assert_eq!(each, 2, "{name}");
        if name == "before" {
            // Both ends of LUNs in reserve, which are wiped when a stack is built.
            assert!(asked < DATA_BYTES / 4.0, "{name}: {asked}");
            continue;
        }
        assert!(asked >= DATA_BYTES, "{name}: {asked}");
        let packed = of(Measure::ArrayDistinctBytes) / of(Measure::ArrayPackedBytes);
        assert!((3.4..=4.6).contains(&packed), "{name}: {packed}");
        let ratio = asked / of(Measure::ArrayStoredBytes);
        assert!((2.7..=4.6).contains(&ratio) && ratio <= packed, "{name}: {ratio}");
        let own: Vec<f64> = (series.iter().filter(|one| one.phase == phase.id))
            .map(|one| one.row.value)
            .collect();
        assert!(!own.is_empty(), "{name}");
        if name == "move" {
            let of_move = own.last().copied().unwrap_or(0.0) - own.first().copied().unwrap_or(0.0);
            assert!(own.is_sorted_by(|a, b| *b >= a * 0.98) && of_move >= 0.0, "{own:?}");
        }
    }
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    // A machine so busy that no phase counts has no tables.
    if phases
        .iter()
        .any(|phase| phase.run.status == ledger::PhaseStatus::Valid && phase.run.name == "after")
    {
        assert!(said.contains("What arrays keep of what was written"), "{said}");
    }
}

fn found(measures: &[OfPhase<(Measure, f64)>], phase: &Phase, measure: Measure) -> f64 {
    let mut own = measures.iter().filter(|m| m.phase == phase.id && m.row.0 == measure);
    own.next()
        .unwrap_or_else(|| panic!("{} is missing in {}", measure.name(), phase.run.name))
        .row
        .1
}

/// What the shipped study says of itself: it fits into its time, and each LUN that is compressed is named.
#[test]
fn the_study_that_ships_is_what_its_page_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut check = std::process::Command::new(env!("CARGO_BIN_EXE_assay"));
    let ran = check
        .current_dir(root)
        .args(["check", "studies/compression-on-array.toml"])
        .output()
        .expect("checked");
    let said = String::from_utf8(ran.stdout).expect("text");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "reduction_from 4, from the study",
        "EMC Unity 600F",
        "processors 24, from the class",
    ] {
        assert!(said.contains(words), "{words} in {said}");
    }
}
