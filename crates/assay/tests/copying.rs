//! Copy phases of a study: on simulated devices, between directories, and between a disk group and a file system on two
//! LUN sets that change sides.
//!
//! Prevents: a copy that is not what it says, and one that is ranked by the quality of its LUNs.

use crate::bench::Bench;
use crate::rig::{Rig, Running, assert_blocks, blocks, limit};
use ledger::{Ledger, Measure, PhaseKind, PhaseStatus, Severity};
use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;

const DATABASE: &str = r#"
[database]
cache = "4MiB"
schemas = 16
scale = "32MiB"
redo_size = "8MiB"
checkpoint = "100ms"
"#;

fn copy(name: &str, to: &str, more: &str) -> String {
    format!("[[phase]]\nname = \"{name}\"\nkind = \"copy\"\nto = \"{to}\"\n{more}")
}

fn update(name: &str) -> String {
    format!(
        "[[phase]]\nname = \"{name}\"\nkind = \"random\"\nupdate_pct = 50\nsessions = 8\nwork_unit = 8\n\
         time = \"200ms\"\n"
    )
}

/// All pages are read, and each is verified.
fn scan(name: &str) -> String {
    format!("[[phase]]\nname = \"{name}\"\nkind = \"scan\"\nusers = 16\n")
}

fn head(name: &str, limit: &str) -> String {
    format!("[study]\nname = \"{name}\"\ntime_limit = \"{limit}\"\nblocks = 4\nseed = 3\n")
}

/// A measure of a phase in each block that has it, in the order of blocks.
fn values(ledger: &Ledger, stack: &str, phase: &str, measure: Measure) -> Vec<f64> {
    let trials = ledger.trials().expect("trials");
    let measures = ledger.measures().expect("measures");
    let mut found: Vec<(u32, f64)> = Vec::new();
    for row in ledger
        .phases()
        .expect("phases")
        .iter()
        .filter(|row| row.run.name == phase)
    {
        let trial = trials.iter().find(|t| t.id == row.run.trial).expect("its trial");
        let value = measures.iter().find(|m| m.phase == row.id && m.row.0 == measure);
        if trial.stack == stack
            && let Some(value) = value
        {
            found.push((trial.block, value.row.1));
        }
    }
    found.sort_by_key(|found| found.0);
    found.into_iter().map(|found| found.1).collect()
}

fn all_valid(ledger: &Ledger, of_block: usize) {
    let phases = ledger.phases().expect("phases");
    assert_blocks(phases.len(), of_block);
    for phase in &phases {
        assert_eq!(phase.run.status, PhaseStatus::Valid, "{}", phase.run.name);
    }
}

/// What was asked is what was read on one side and written on the other.
fn sides_are_right(ledger: &Ledger, stack: &str, phase: &str, over_existing: f64) {
    let of = |measure| values(ledger, stack, phase, measure);
    let (bytes, least) = (of(Measure::CopyBytes), blocks() as usize);
    let blocks = bytes.len();
    assert!(blocks >= least, "{phase} of {stack}");
    assert!(
        bytes[0] >= (40 << 20) as f64 - 262_144.0 && bytes[0] < (41 << 20) as f64,
        "{bytes:?}"
    );
    assert_eq!(of(Measure::CopyVerifiedBytes), bytes);
    assert_eq!(of(Measure::CopyOverExisting), vec![over_existing; blocks]);
    let near = |measure: Measure, least: f64, most: f64| {
        let mut found = of(measure);
        assert_eq!(found.len(), blocks, "{} of {phase} of {stack}", measure.name());
        found.sort_by(f64::total_cmp);
        let share = (found[(blocks - 1) / 2] + found[blocks / 2]) / 2.0 / bytes[0];
        let name = measure.name();
        assert!(
            (least..=most).contains(&share),
            "{phase} of {stack}: {name} is {share} of the copy"
        );
    };
    near(Measure::CopyFromReadBytes, 0.99, 1.03);
    near(Measure::CopyFromWriteBytes, 0.0, 0.03);
    near(Measure::CopyToWriteBytes, 0.99, 1.10);
    near(Measure::CopyToReadBytes, 0.0, 0.05);
    assert!(of(Measure::CopyNs).iter().all(|ns| *ns > 0.0));
}

#[test]
fn simulated_devices_copy_there_and_back_in_virtual_time() {
    let bench = Bench::new();
    let stack = |name: &str, service: &str| {
        format!("[[stack]]\nname = \"{name}\"\nkind = \"model\"\nsize = \"64MiB\"\nservice = \"{service}\"\n")
    };
    let phases = [
        update("before"),
        copy("there", "slow", ""),
        update("there too"),
        scan("all of it there"),
        copy("back", "home", ""),
        scan("all of it"),
        copy("there again", "slow", ""),
    ];
    let text = [
        head("models", "3h"),
        stack("quick", "50us"),
        stack("slow", "400us"),
        DATABASE.to_string(),
    ]
    .concat();
    bench.write("study.toml", &(text + &phases.concat()));
    // Directories of their own: a study names the older ones beside it.
    for dir in ["one", "two"] {
        std::fs::create_dir(bench.path(dir)).expect("a directory");
    }
    let run = |output: &str| {
        bench
            .expect(0, &["run", "study.toml", "--quiet", "--json", "-o", output])
            .json()
    };
    let (first, second) = (run("one/first.assay"), run("two/second.assay"));
    assert_eq!(
        crate::bench::without_the_run(&first).to_string(),
        crate::bench::without_the_run(&second).to_string(),
        "virtual time repeats itself"
    );
    let ledger = Ledger::open(bench.path("one/first.assay")).expect("a result");
    all_valid(&ledger, 2 * phases.len());
    for stack in ["quick", "slow"] {
        for (phase, over) in [("there", 0.0), ("back", 1.0), ("there again", 1.0)] {
            sides_are_right(&ledger, stack, phase, over);
        }
    }
    // Reading from the quick one and writing to the slow one is the slow one's business; two slow ones are slower
    // still.
    let ns = |stack| values(&ledger, stack, "there", Measure::CopyNs)[0];
    assert!(ns("slow") > ns("quick"), "{} and {}", ns("slow"), ns("quick"));
    let said = bench.expect(0, &["report", "one/first.assay", "--full"]).stdout;
    for words in ["copied at", "into new files", "over what was there", "found the same"] {
        assert!(said.contains(words), "{words:?} is not in\n{said}");
    }
    let cell = &first["report"]["phases"][1]["cells"][0]["copy"];
    assert!(cell["bytes_per_s"]["median"].as_f64().expect("a rate") > 1e6, "{cell}");
    let events = ledger.events().expect("events");
    let told = |e: &&ledger::Event| e.severity == Severity::Info && e.text == "the database went from quick to slow";
    assert_eq!(events.iter().filter(told).count(), 8, "twice in each of four blocks");
}

#[test]
fn an_ordinary_user_copies_from_one_directory_to_another() {
    let bench = Bench::new();
    for name in ["here", "there"] {
        std::fs::create_dir(bench.path(name)).expect("made");
    }
    let stack = |name: &str| {
        let path = bench.path(name);
        format!(
            "[[stack]]\nname = \"{name}\"\nkind = \"directory\"\npath = \"{}\"\n",
            path.display()
        )
    };
    let phases = [
        update("before"),
        copy("move", "there", ""),
        scan("all of it"),
        copy("back", "home", ""),
    ];
    let head = head("directories", limit("2s"));
    let text = [head, stack("here"), stack("there"), DATABASE.to_string()].concat();
    bench.write("study.toml", &(text + &phases.concat()));
    bench.expect(0, &["run", "study.toml", "--quiet", "-o", "result.assay"]);
    let ledger = Ledger::open(bench.path("result.assay")).expect("a result");
    all_valid(&ledger, 2 * phases.len());
    let blocks = ledger.phases().expect("phases").len() / (2 * phases.len());
    for stack in ["here", "there"] {
        // Both lie on one disk: whose requests they are cannot be told.
        assert!(values(&ledger, stack, "move", Measure::CopyFromReadBytes).is_empty());
        assert_eq!(
            values(&ledger, stack, "move", Measure::CopyOverExisting),
            vec![0.0; blocks]
        );
        assert_eq!(
            values(&ledger, stack, "back", Measure::CopyOverExisting),
            vec![1.0; blocks]
        );
    }
    for name in ["here", "there"] {
        assert_eq!(
            std::fs::read_dir(bench.path(name)).expect("listed").count(),
            0,
            "{name}"
        );
    }
    drop(ledger);
    assert_eq!(
        bench.left_behind(&["here", "there", "study.toml", "result.assay"]),
        Vec::<std::path::PathBuf>::new()
    );
}

fn loop_study(dir: &Path) -> String {
    let set = |name: &str| {
        let dir = dir.display();
        format!("[luns.{name}]\nfiles = {{ count = 2, size = \"128MiB\", dir = \"{dir}\" }}\n")
    };
    let log = format!(
        "[luns.log]\nfiles = {{ count = 1, size = \"64MiB\", dir = \"{}\" }}\n",
        dir.display()
    );
    let stacks = "[[stack]]\nname = \"group\"\nkind = \"diskgroup\"\ndata = \"left\"\nredo = \"log\"\n\
                  [[stack]]\nname = \"btrfs\"\nkind = \"btrfs\"\ndata = \"left\"\n";
    let onto = "data = \"right\"\n";
    let phases = [
        update("before"),
        copy("to btrfs", "btrfs", onto),
        scan("all of it"),
        update("there"),
        copy("back", "home", ""),
        scan("all of it at home"),
    ];
    [
        head("sides", limit("30s")),
        set("left"),
        set("right"),
        log,
        stacks.to_string(),
        DATABASE.to_string(),
        phases.concat(),
    ]
    .concat()
}

#[test]
fn a_disk_group_and_a_file_system_change_sides_between_blocks() {
    let Some(rig) = Rig::on_disk(&["mkfs.btrfs"]) else {
        return;
    };
    let before = rig.belongings(&[]);
    let (study, result) = (rig.study("sides", &loop_study(&rig.work())), rig.result("sides"));
    let run = |more: &[&str]| {
        rig.run(&study, &result, more).expect(0, &[]);
        assert_eq!(rig.belongings(&[]), before, "something is left");
        Ledger::open(&result).expect("a result")
    };
    let mut ledger = run(&["--quiet", "--yes"]);
    // Where a block takes longer than half of the limit, the run is taken up again for the other side: on a busy
    // machine more than once.
    for _ in 0..4 {
        if ledger.trials().expect("trials").len() >= 2 * 2 {
            break;
        }
        drop(ledger);
        ledger = run(&["--quiet", "--yes", "--resume"]);
    }
    all_valid(&ledger, 2 * 6);
    for stack in ["group", "btrfs"] {
        sides_are_right(&ledger, stack, "to btrfs", 0.0);
        sides_are_right(&ledger, stack, "back", 1.0);
    }
    let trials = ledger.trials().expect("trials");
    for trial in &trials {
        let side = if trial.block % 2 == 0 { "left" } else { "right" };
        assert_eq!(trial.lun_set, side, "block {}", trial.block);
    }
    let phases = ledger.phases().expect("phases");
    let copies = phases.iter().filter(|p| p.run.kind == PhaseKind::Copy).count();
    assert_eq!(copies, trials.len() * 2);
    let gone = |words: &str| {
        ledger
            .events()
            .expect("events")
            .iter()
            .filter(|e| e.text == words)
            .count()
    };
    let of = |side: &str| {
        let on = |trial: &&ledger::Trial| trial.stack == "group" && trial.lun_set == side;
        trials.iter().filter(on).count()
    };
    assert!(of("left") >= 1 && of("right") >= 1, "sides change between blocks");
    let here = "the database went from group on left to btrfs on right";
    assert_eq!(gone(here), of("left"));
    let there = "the database went from group on right to btrfs on left";
    assert_eq!(gone(there), of("right"));
}

fn stopped_study(dir: &Path) -> String {
    let set = |name: &str| {
        let dir = dir.display();
        format!("[luns.{name}]\nfiles = {{ count = 1, size = \"128MiB\", dir = \"{dir}\" }}\n")
    };
    let stacks = "[[stack]]\nname = \"group\"\nkind = \"diskgroup\"\ndata = \"left\"\n\
                  [[stack]]\nname = \"ext4\"\nkind = \"ext4\"\ndata = \"left\"\n";
    let phases = [
        copy("to ext4", "ext4", "data = \"right\"\n"),
        update("there"),
        copy("back", "home", ""),
        copy("to ext4 again", "ext4", "data = \"right\"\n"),
        scan("all of it there"),
    ];
    [
        head("stopped", limit("2s")),
        set("left"),
        set("right"),
        stacks.to_string(),
        DATABASE.to_string(),
        phases.concat(),
    ]
    .concat()
}

/// Both stacks of a trial stand from its beginning, so both must go, whatever it was doing.
#[test]
fn a_run_stopped_while_it_copies_leaves_nothing_and_is_completed() {
    let Some(rig) = Rig::new(&["mkfs.ext4"]) else {
        return;
    };
    let before = rig.belongings(&[]);
    let (study, result) = (rig.study("stopped", &stopped_study(&rig.work())), rig.result("stopped"));
    let mut pids = Vec::new();
    for (nth, moment_ms) in [900, 1300, 1700, 2300, 2900, 3700].into_iter().enumerate() {
        let more: &[&str] = if result.exists() { &["--resume"] } else { &[] };
        let mut running = Running::start(rig.run_command(&study, &result, more));
        pids.push(running.pid());
        if !running.let_run(Duration::from_millis(moment_ms)) {
            running.wait().expect(0, &[]);
            break;
        }
        running.signal(if nth % 2 == 0 { Signal::KILL } else { Signal::INT });
        let ran = running.wait();
        assert_ne!(ran.code(), 0);
        let cleaned = Running::start(rig.assay(&["clean"])).wait();
        cleaned.expect(0, &[]);
        assert_eq!(
            rig.belongings(&pids),
            before,
            "after {moment_ms} ms: {}\n{}",
            ran.stderr,
            cleaned.stdout
        );
    }
    let more: &[&str] = if result.exists() { &["--resume"] } else { &[] };
    rig.run(&study, &result, more).expect(0, &[]);
    let ledger = Ledger::open(&result).expect("a result");
    let done = ledger.trials().expect("trials").into_iter();
    let done = done.filter(|t| t.status == ledger::TrialStatus::Done).count();
    assert_blocks(done, 2);
    assert_eq!(rig.belongings(&[]), before);
}
