//! Studies on modelled LUNs: what a run says of them, and that nothing is left behind when the process that plays the
//! devices is killed under load, or the run itself. Needs root, loop devices and /dev/fuse.

use crate::rig::{Rig, Running, assert_blocks, blocks, limited};
use ledger::{Ledger, Measure, PhaseStatus};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What is ranked and too late in two blocks ends a run: on a busy machine that can be any model, so only the one
/// that must be is ranked.
fn study(dir: &Path, model: &str, time: &str) -> String {
    let ranked = model == QUICK;
    format!(
        r#"
[study]
name = "modelled"
time_limit = "3h"
blocks = 4
io = "ring"
slow_motion = 1
[luns.data]
files = {{ count = 1, size = "32MiB", dir = "{}" }}
{model}
[[stack]]
name = "ext4"
kind = "ext4"
data = "data"
[database]
cache = "2MiB"
schemas = 4
scale = "6MiB"
redo_size = "4MiB"
checkpoint = "200ms"
[[phase]]
name = "work"
kind = "random"
update_pct = 50
sessions = 4
work_unit = 4
time = "{time}"
ranked = {ranked}
"#,
        dir.display()
    )
}

/// A panic of any thread ends the process as a whole: here one of the first, for a device that cannot be.
#[test]
fn a_service_that_panics_is_gone() {
    let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let lun = dir.path().join("lun");
    std::fs::write(&lun, vec![0; 8192]).expect("a file");
    let mut service = Command::new(env!("CARGO_BIN_EXE_assay"))
        .arg("device-service")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program");
    let mut orders = service.stdin.take().expect("its orders");
    writeln!(
        orders,
        r#"{{"model":"ssd","luns":["{}"],"parameters":{{}}}}"#,
        lun.display()
    )
    .expect("an order");
    let status = service.wait().expect("its end");
    assert_eq!(
        status.signal(),
        Some(rustix::process::Signal::ABORT.as_raw()),
        "{status}"
    );
}

/// So slow that the host's way, of which a few percent are allowed, may take a millisecond.
const VOLUME: &str = "preset = \"gp3\"\nparameters = { iops = 200, read_median = \"30ms\", read_p99 = \"36ms\" }";

fn has_fuse() -> bool {
    let has_fuse = Path::new("/dev/fuse").exists();
    if !has_fuse {
        eprintln!("skipped: needs /dev/fuse");
    }
    has_fuse
}

fn able() -> Option<Rig> {
    has_fuse().then(|| Rig::new(&["mkfs.ext4"])).flatten()
}

/// Processes that serve LUNs of this rig.
fn services(rig: &Rig) -> Vec<i32> {
    let here = rig.path("");
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    entries
        .filter(|e| {
            std::fs::read_link(e.path().join("cwd"))
                .is_ok_and(|cwd| cwd.starts_with(&here) && cwd.extension().is_some_and(|end| end == "device"))
        })
        .filter_map(|e| e.file_name().to_str()?.parse().ok())
        .collect()
}

/// The same with a minute of work after a moment of it.
fn long_study(dir: &Path, model: &str) -> String {
    let study = study(dir, model, "60s");
    let at = study.find("[[phase]]").expect("a phase");
    let moment = study[at..].replace("\"work\"", "\"begun\"").replace("60s", "50ms");
    [&study[..at], &moment, &study[at..]].concat()
}

/// Waits until the second phase of a trial is at work: the first one is in the result file. Gives who serves its
/// device.
fn under_load(rig: &Rig, result: &Path, running: &mut Running) -> i32 {
    let began = Instant::now();
    loop {
        let phases = Ledger::open(result)
            .and_then(|ledger| ledger.phases())
            .unwrap_or_default();
        if !phases.is_empty() {
            assert!(running.let_run(Duration::from_millis(100)), "it ended before it worked");
            return *services(rig).first().expect("its device is served");
        }
        assert!(running.let_run(Duration::from_millis(5)), "it ended before it served");
        assert!(began.elapsed() < crate::rig::PATIENCE, "nothing was served");
    }
}

#[test]
fn a_modelled_study_says_what_was_modelled_and_counts_it() {
    let Some(rig) = able() else { return };
    let before = rig.belongings(&[]);
    let text = limited(&study(&rig.work(), VOLUME, "300ms"), "2s");
    let (study, result) = (rig.study("m", &text), rig.result("m"));
    let ran = rig.run(&study, &result, &["--full"]);
    ran.expect(0, &[]);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("a model of volume (gp3, iops = 200, read_median"),
        "{said}"
    );
    // The model's own count beside the kernel's, in each form.
    let table = "What modelled devices did";
    let ledger = Ledger::open(&result).expect("a result");
    let phases = ledger.phases().expect("phases");
    // A host may be so busy that every phase is too late: such phases have no place in tables.
    let in_time = phases.iter().any(|phase| phase.run.status == PhaseStatus::Valid);
    assert!(in_time || said.contains("the model cannot keep up"), "{said}");
    assert_eq!(said.contains(table), in_time, "{said}");
    let shown = rig
        .assay(&["report", result.to_str().expect("text"), "--markdown"])
        .output();
    let shown = String::from_utf8(shown.expect("a report").stdout).expect("text");
    assert_eq!(shown.contains(table), in_time, "{shown}");
    assert_eq!(shown.contains("| requests model |"), in_time, "{shown}");
    assert!(services(&rig).is_empty());
    assert_eq!(rig.belongings(&[]), before, "something is left");
    let facts = ledger.facts().expect("facts");
    let fact = |key: &str| {
        let found = facts
            .iter()
            .find(|f| f.scope.to_string() == "lun:data" && f.key.to_string() == key);
        found.unwrap_or_else(|| panic!("no {key}: {facts:?}")).value.to_string()
    };
    assert_eq!(fact("iops"), "200, from the study");
    assert_eq!(fact("iops_credit"), "150, from the class");
    assert!(fact("source of the class").contains("Amazon"));
    let stacks = ledger.stacks().expect("stacks");
    assert!(stacks.iter().all(|s| s.group().models.is_some()), "{stacks:?}");
    let measures = ledger.measures().expect("measures");
    for phase in phases {
        let own = |row: &&ledger::OfPhase<(Measure, f64)>| row.phase == phase.id;
        let of = |wanted: Measure| {
            measures
                .iter()
                .filter(own)
                .find(|row| row.row.0 == wanted)
                .map(|row| row.row.1)
        };
        let (model, near) = (of(Measure::ModelWriteBytes), of(Measure::NearWriteBytes));
        let (model, near) = (model.expect("the model's count"), near.expect("the kernel's count"));
        assert!(model > 0.0 && (model / near - 1.0).abs() < 0.05, "{model} and {near}");
        assert!(of(Measure::ModelFlushes).is_some_and(|n| n > 0.0), "flushes arrive");
    }
}

/// Copies have no clock of their own to be judged by: what the models did in them, and how punctually, must be told all
/// the same.
#[test]
fn a_copy_between_modelled_devices_is_counted_like_any_phase() {
    let Some(rig) = able() else { return };
    let before = rig.belongings(&[]);
    let copy = "[[phase]]\nname = \"move\"\nkind = \"copy\"\nto = \"ext4\"\ndata = \"other\"\n";
    let set = format!(
        "[luns.other]\nfiles = {{ count = 1, size = \"32MiB\", dir = \"{}\" }}\n{VOLUME}\n[[stack]]",
        rig.work().display()
    );
    let text = study(&rig.work(), VOLUME, "300ms").replacen("[[stack]]", &set, 1) + copy;
    let (study, result) = (rig.study("c", &limited(&text, "2s")), rig.result("c"));
    rig.run(&study, &result, &[]).expect(0, &[]);
    assert_eq!(rig.belongings(&[]), before, "something is left");
    let ledger = Ledger::open(&result).expect("a result");
    let (phases, measures) = (ledger.phases().expect("phases"), ledger.measures().expect("measures"));
    let copies: Vec<_> = phases.iter().filter(|p| p.run.name == "move").collect();
    assert_blocks(copies.len(), 1);
    for phase in copies {
        let of = |wanted: Measure| measures.iter().find(|row| row.phase == phase.id && row.row.0 == wanted);
        for wanted in [Measure::ModelReadBytes, Measure::ModelWriteBytes] {
            let bytes = of(wanted).expect("the model's count").row.1;
            assert!(
                bytes >= 6.0 * 1024.0 * 1024.0,
                "{wanted:?} {bytes}: all data were read here and written there"
            );
        }
        assert!(of(Measure::ModelServiceNs).is_some_and(|row| row.row.1 > 0.0));
    }
}

const QUICK: &str = "preset = \"gp3\"\n\
    parameters = { iops = 1000000, read_median = \"5us\", read_p99 = \"6us\", read_floor = \"1us\" }";

/// A device that is quicker than the way to it: what it would have answered is nothing that can be measured here.
/// Where the study says a
/// pace of its own, two blocks are enough to know.
#[test]
fn a_device_that_this_machine_cannot_play_ends_after_two_blocks() {
    let rig = has_fuse().then(|| Rig::on_disk(&["mkfs.ext4"])).flatten();
    let Some(rig) = rig else { return };
    let before = rig.belongings(&[]);
    let (study, result) = (rig.study("q", &study(&rig.work(), QUICK, "300ms")), rig.result("q"));
    let ran = rig.run(&study, &result, &[]);
    ran.expect(
        3,
        &[
            "this machine does not keep up with the models",
            "every ranked phase of the first 2 blocks is INVALID",
            "LUN set data",
            "write slow_motion = 2 in [study] (it is 1)",
        ],
    );
    assert_eq!(rig.belongings(&[]), before, "something is left");
    let ledger = Ledger::open(&result).expect("a result");
    let phases = ledger.phases().expect("phases");
    assert_eq!(phases.len(), 2, "two blocks of four");
    for phase in phases {
        let is_told = matches!(&phase.run.status, ledger::PhaseStatus::Invalid(why) if why.contains("cannot keep up"));
        assert!(is_told, "{:?}", phase.run);
    }
}

/// The same where the study leaves the pace to a probe: nothing is begun.
#[test]
fn a_device_that_no_machine_can_play_is_refused() {
    let Some(rig) = able() else { return };
    let before = rig.belongings(&[]);
    let text = study(&rig.work(), QUICK, "300ms").replace("slow_motion = 1\n", "");
    let (study, result) = (rig.study("n", &text), rig.result("n"));
    rig.run(&study, &result, &[]).expect(
        3,
        &[
            "this machine cannot play the models of the study, not even 20 times slower",
            "longer times in `parameters`",
        ],
    );
    assert!(!result.exists(), "nothing was run");
    assert_eq!(rig.belongings(&[]), before, "something is left");
}

/// A slowed device: its rate is a fifth, and each form says so.
#[test]
fn a_model_in_slow_motion_has_its_rates_divided_and_is_told() {
    let Some(rig) = able() else { return };
    let text = study(&rig.work(), VOLUME, "300ms").replace("slow_motion = 1\n", "slow_motion = 5\n");
    let (study, result) = (rig.study("s", &limited(&text, "2s")), rig.result("s"));
    let ran = rig.run(&study, &result, &["--full"]);
    ran.expect(
        0,
        &["the models run 5 times slower than their devices: rates are a fifth"],
    );
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("read_p99 = \"36ms\"), 5 times slower"), "{said}");
    let ledger = Ledger::open(&result).expect("a result");
    let measures = ledger.measures().expect("measures");
    for phase in ledger.phases().expect("phases") {
        let of = |wanted: Measure| {
            let mut own = measures
                .iter()
                .filter(|row| row.phase == phase.id && row.row.0 == wanted);
            own.next().map_or(0.0, |row| row.row.1)
        };
        let requests = of(Measure::ModelReads) + of(Measure::ModelWrites);
        // 150 at once, and then 200 / 5 a second: however busy the machine, no more.
        let seconds = (phase.run.elapsed_ns + phase.run.drain_ns) as f64 / 1e9;
        assert!(requests <= 150.0 + 40.0 * (seconds + 3.0), "{requests} in {seconds} s");
    }
}

/// Processes that wait in the kernel, without a way out, for a file system of FUSE or a loop device.
fn stuck() -> Vec<String> {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let waits = entries.filter_map(|entry| {
        let status = std::fs::read_to_string(entry.path().join("status")).ok()?;
        let at = std::fs::read_to_string(entry.path().join("wchan")).ok()?;
        let sleeps = status.lines().any(|line| line.starts_with("State:\tD"));
        let on_ours = ["fuse", "loop", "request_wait"].iter().any(|word| at.contains(word));
        (sleeps && on_ours).then(|| format!("{}: {at}", entry.path().display()))
    });
    waits.collect()
}

#[test]
fn a_device_killed_under_load_ends_the_run_with_its_reason_and_leaves_nothing() {
    let Some(rig) = able() else { return };
    let before = rig.belongings(&[]);
    let (study, result) = (rig.study("k", &long_study(&rig.work(), VOLUME)), rig.result("k"));
    let mut running = Running::start(rig.run_command(&study, &result, &[]));
    let pid = under_load(&rig, &result, &mut running);
    kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL).expect("killed");
    let ran = running.wait();
    ran.expect(3, &["the process that served LUN set `data` is gone"]);
    assert_eq!(rig.belongings(&[]), before, "something is left");
    // Others' processes may wait for a moment: what hangs is there again and again.
    let mut hanging = stuck();
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(50));
        let now = stuck();
        hanging.retain(|one| now.contains(one));
    }
    assert!(hanging.is_empty(), "{hanging:?}");
    assert!(services(&rig).is_empty());
}

#[test]
fn a_killed_run_is_cleaned_up_with_its_devices() {
    let Some(rig) = able() else { return };
    let before = rig.belongings(&[]);
    let (study, result) = (rig.study("r", &long_study(&rig.work(), VOLUME)), rig.result("r"));
    let mut running = Running::start(rig.run_command(&study, &result, &[]));
    under_load(&rig, &result, &mut running);
    running.signal(Signal::KILL);
    running.wait();
    assert!(
        !services(&rig).is_empty(),
        "its device lives on: what stands on it must come down"
    );
    let cleaned = rig.assay(&["clean"]).output().expect("cleaned");
    assert!(cleaned.status.success(), "{cleaned:?}");
    assert_eq!(rig.belongings(&[]), before, "something is left");
    assert!(services(&rig).is_empty());
}

fn faulty(dir: &Path) -> String {
    let work = "kind = \"random\"\nupdate_pct = 25\nsessions = 4\nwork_unit = 4\ntime = \"400ms\"\n";
    // The fault comes when its time has come by the clock: work must still be under way on a machine that is busy.
    let long = work.replace("400ms", "1500ms");
    format!(
        r#"
[study]
name = "faults"
time_limit = "3h"
blocks = 4
io = "ring"
[luns.data]
files = {{ count = 3, size = "64MiB", dir = "{}" }}
model = "plain"
[[stack]]
name = "mirrored"
kind = "diskgroup"
data = "data"
redundancy = "normal"
[database]
cache = "2MiB"
schemas = 8
scale = "8MiB"
redo_size = "4MiB"
checkpoint = "200ms"
[[phase]]
name = "whole"
{work}
[[phase]]
name = "wrong"
{work}
faults = [{{ kind = "corrupt", luns = "data", lun = 0, offset = "8MiB", time = "10s" }}]
[[phase]]
name = "slow"
{work}
faults = [{{ kind = "slow", luns = "data", lun = 0, by = "40ms", time = "10s" }}]
[[phase]]
name = "gone"
{long}
faults = [{{ kind = "vanish", luns = "data", lun = 1, after = "100ms" }}]
"#,
        dir.display()
    )
}

#[test]
fn faults_of_a_phase_happen_and_are_told() {
    let Some(rig) = able() else { return };
    let before = rig.belongings(&[]);
    let text = limited(&faulty(&rig.work()), "11s");
    let (study, result) = (rig.study("f", &text), rig.result("f"));
    let ran = rig.run(&study, &result, &[]);
    ran.expect(0, &["INVALID", "the disk group lost disk1"]);
    assert_eq!(rig.belongings(&[]), before, "something is left");
    let ledger = Ledger::open(&result).expect("a result");
    let measures = ledger.measures().expect("measures");
    let phases = ledger.phases().expect("phases");
    // What the model said that requests take: 40 ms more each, whatever the machine made of it.
    let sum = |name: &str, wanted: Measure| -> f64 {
        let own: Vec<_> = phases.iter().filter(|p| p.run.name == name).map(|p| p.id).collect();
        let rows = measures
            .iter()
            .filter(|row| own.contains(&row.phase) && row.row.0 == wanted);
        rows.map(|row| row.row.1).sum()
    };
    assert_eq!(sum("whole", Measure::ModelServiceNs), 0.0);
    let (slowed_ns, operations) = (
        sum("slow", Measure::ModelServiceNs),
        sum("slow", Measure::EngineOperations),
    );
    assert!(
        operations > 0.0 && slowed_ns >= f64::from(blocks()) * 40e6,
        "{operations} operations, {slowed_ns} ns"
    );
    // A mirror serves what the other disk has; only who has lost a disk does not count.
    for phase in &phases {
        let invalid = matches!(&phase.run.status, ledger::PhaseStatus::Invalid(why) if why.contains("lost disk1"));
        assert_eq!(invalid, phase.run.name == "gone", "{:?}", phase.run);
    }
    let events = ledger.events().expect("events");
    for words in [
        "planted: LUN 0 of data takes 40ms longer for each request after 0s, for 10s",
        "planted: LUN 0 of data silently reads wrong bytes from 8MiB on after 0s, for 10s",
        "planted: LUN 1 of data goes away after 100ms, for good",
    ] {
        let told = events.iter().filter(|event| event.text.contains(words)).count();
        assert_blocks(told, 1);
    }
}

#[test]
fn wrong_bytes_and_errors_under_a_file_system_end_the_run_in_their_own_words() {
    let Some(rig) = able() else { return };
    let before = rig.belongings(&[]);
    for (kind, words) in [("corrupt", "data loss in file 0"), ("error", "os error 5")] {
        let fault = format!(
            "faults = [{{ kind = \"{kind}\", luns = \"data\", lun = 0, offset = \"8MiB\", time = \"10s\" }}]\n"
        );
        let text = study(&rig.work(), "model = \"plain\"", "2s").replace("32MiB", "64MiB") + &fault;
        let (study, result) = (rig.study(kind, &text), rig.result(kind));
        rig.run(&study, &result, &[]).expect(3, &[words]);
        assert_eq!(rig.belongings(&[]), before, "something is left");
    }
}

#[test]
fn a_device_that_hangs_is_ended_and_so_is_the_run() {
    // It takes as long as an answer is waited for.
    if !crate::machine::is_full() {
        eprintln!("skipped: ASSAY_TEST_SIZE=full runs it");
        return;
    }
    let Some(rig) = able() else { return };
    let before = rig.belongings(&[]);
    let (study, result) = (rig.study("h", &long_study(&rig.work(), VOLUME)), rig.result("h"));
    let mut running = Running::start(rig.run_command(&study, &result, &[]));
    let pid = under_load(&rig, &result, &mut running);
    kill_process(Pid::from_raw(pid).expect("a pid"), Signal::STOP).expect("stopped");
    running.wait().expect(
        3,
        &[
            "the process that served LUN set `data` is gone",
            "did not answer for 15 s",
        ],
    );
    assert_eq!(rig.belongings(&[]), before, "something is left");
    assert!(services(&rig).is_empty());
}

#[test]
fn without_root_or_fuse_the_cure_is_said() {
    let Some(rig) = able() else { return };
    let (study, result) = (rig.study("u", &study(&rig.work(), VOLUME, "300ms")), rig.result("u"));
    let words = [
        "run",
        study.to_str().expect("text"),
        "--output",
        result.to_str().expect("text"),
    ];
    let program = env!("CARGO_BIN_EXE_assay");
    // A place of its own without the device; what else is there does not matter, for nothing is built. The study may
    // lie in memory there.
    let hidden = format!(
        "mount --bind /dev/shm /mnt && mount -t tmpfs none /dev && mkdir /dev/shm && mount --bind /mnt /dev/shm && \
         exec {program} {}",
        words.join(" ")
    );
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "sh", "-c", &hidden]);
    rig.furnish(&mut command);
    let ran = Running::start(command).wait();
    ran.expect(3, &["/dev/fuse not found: LUNs can't be modelled", "modprobe fuse"]);
    // The user that nobody is can't reach the program where it was built: root without its rights is no root either.
    let mut command = std::process::Command::new("setpriv");
    command.args([
        "--reuid",
        "65534",
        "--clear-groups",
        "--bounding-set=+all",
        "--inh-caps=+dac_override,+dac_read_search",
    ]);
    command.args(["--ambient-caps=+dac_override,+dac_read_search", program]);
    command.args(words);
    rig.furnish(&mut command);
    let ran = Running::start(command).wait();
    ran.expect(3, &["modelled LUNs need root", "run as root"]);
}
