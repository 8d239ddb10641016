//! File serving by NFS from the study file to the result file: a server that the run starts, its end by a kill, a power
//! cut under it, and a tree on a server that was there. Needs root, loop devices, /dev/fuse, nfs-ganesha and rpcbind.
//! `ASSAY_TEST_SIZE=full` makes more cuts, in more blocks.
//!
//! Prevents: a server, a namespace, a mount or a file that a run leaves, and an acknowledged name that is lost unseen.

use crate::machine::is_full;
use crate::rig::{Rig, Running, assert_blocks, blocks, limit, limited, text, which};
use crate::volumes::guest;
use ledger::{Ledger, Measure, PhaseStatus};
use plan::{Access, FileServer, Inject, Stack, StackKind};
use rustix::process::{Pid, Signal, kill_process};
use sandbox::Directory;
use stacks::{FileService, Journal};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn able() -> Option<Rig> {
    let here = stacks::file_servers().remove(0);
    if !here.able {
        assert!(
            std::env::var_os("CI").is_none() || !stacks::is_root(),
            "{}: {}, and ./test installs it",
            here.reason,
            here.cure
        );
        eprintln!("skipped: {}: {}", here.reason, here.cure);
        return None;
    }
    Rig::new(&["mkfs.ext4"])
}

/// Processes that work below the rig's directory: a server would.
fn at_work(rig: &Rig) -> Vec<PathBuf> {
    let here = rig.path("");
    let places = std::fs::read_dir("/proc").expect("listed").flatten();
    let places = places.filter_map(|entry| std::fs::read_link(entry.path().join("cwd")).ok());
    places.filter(|place| place.starts_with(&here)).collect()
}

/// Waits until the server of a run is there, with a while for its users. The run itself works in that place too, and
/// the two processes of the server below.
fn until_served(rig: &Rig, running: &mut Running) {
    let began = Instant::now();
    let is_of_server = |place: &&PathBuf| place.display().to_string().contains("-nfs");
    while at_work(rig).iter().filter(is_of_server).count() < 2 {
        assert!(
            running.let_run(Duration::from_millis(20)),
            "it ended before its server was there"
        );
        assert!(began.elapsed() < crate::rig::PATIENCE, "no server");
    }
    running.let_run(Duration::from_millis(500));
}

/// The process of nfs-ganesha that works below the rig's directory.
fn ganesha_of(rig: &Rig) -> Option<Pid> {
    let here = rig.path("");
    let is_it = |process: &Path| {
        let is_here = std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(&here));
        is_here && std::fs::read_to_string(process.join("comm")).is_ok_and(|name| name.starts_with("ganesha"))
    };
    let mut processes = std::fs::read_dir("/proc").expect("listed").flatten();
    let found = processes.find(|entry| is_it(&entry.path()))?;
    Pid::from_raw(found.file_name().to_str()?.parse().ok()?)
}

/// Waits until the server has written a part of the tree: the phase is under way.
fn until_written(rig: &Rig, running: &mut Running) -> Pid {
    let began = Instant::now();
    let written = |server: &Pid| -> Option<u64> {
        let io = std::fs::read_to_string(format!("/proc/{}/io", server.as_raw_nonzero())).ok()?;
        io.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok())
    };
    loop {
        let server = ganesha_of(rig).filter(|server| written(server).is_some_and(|bytes| bytes > 4 << 20));
        if let Some(server) = server {
            return server;
        }
        assert!(running.let_run(Duration::from_millis(20)), "it ended before its phase");
        assert!(began.elapsed() < crate::rig::PATIENCE, "no phase");
    }
}

fn ramp(stacks: &str, times: &str) -> String {
    format!(
        r#"
[study]
name = "nfs"
time_limit = "3h"
blocks = 4
seed = 3
{stacks}
[files]
connections = 2
threads = 8
protocol = "nfs3"
[[phase]]
name = "ramp"
kind = "files"
load = ["200/s", "400/s"]
until = "none"
reached = "1%"
sessions = 8
data_per_load = "50kB"
{times}
"#
    )
}

/// A LUN with ext4, and a directory of the user's.
fn two_stacks(rig: &Rig) -> String {
    let place = rig.work().join("there");
    std::fs::create_dir_all(&place).expect("made");
    format!(
        "[luns.data]\nfiles = {{ size = \"64MiB\", dir = \"{}\" }}\n\
         [[stack]]\nname = \"ext4\"\nkind = \"ext4\"\ndata = \"data\"\n\
         [[stack]]\nname = \"there\"\nkind = \"directory\"\npath = \"{}\"\n",
        rig.work().display(),
        place.display()
    )
}

#[test]
fn a_ramp_over_nfs_is_recorded_and_nothing_is_left() {
    let Some(rig) = able() else { return };
    let stacks = two_stacks(&rig);
    let before = rig.belongings(&[]);
    let text_of = limited(&ramp(&stacks, "warm_up = \"50ms\"\ntime = \"300ms\"\n"), "6s");
    let study = rig.study("nfs", &text_of);
    let result = rig.result("nfs");
    rig.run(&study, &result, &[]).expect(0, &[]);
    assert_eq!(rig.belongings(&[]), before, "something is left");
    assert_eq!(at_work(&rig), Vec::<PathBuf>::new());
    let ledger = Ledger::open(&result).expect("a result");
    let phases = ledger.phases().expect("phases");
    assert_blocks(phases.len(), 2);
    assert!(phases.iter().all(|phase| phase.run.status == PhaseStatus::Valid));
    for of in ledger.file_servings().expect("ramps") {
        let serving = of.row;
        assert_eq!((serving.protocol.as_str(), serving.connections), ("nfs3", Some(2)));
        assert!(serving.server.is_some_and(|server| server.contains("anesha")));
        assert_eq!(serving.points.len(), 2);
    }
    let measures = ledger.measures().expect("measures");
    let of = |measure: Measure| measures.iter().filter(move |of| of.row.0 == measure).map(|of| of.row.1);
    assert!(of(Measure::FilesWrong).all(|wrong| wrong == 0.0) && of(Measure::FilesWrong).count() == phases.len());
    assert_eq!(of(Measure::CpuServerUserNs).count(), phases.len());
    assert!(of(Measure::MemoryServerBytesPeak).all(|bytes| bytes > 0.0));
}

#[test]
fn a_run_that_is_killed_under_its_server_is_cleaned_up_after() {
    let Some(rig) = able() else { return };
    let stacks = two_stacks(&rig);
    let before = rig.belongings(&[]);
    let study = rig.study("nfs", &ramp(&stacks, "warm_up = \"1s\"\ntime = \"60s\"\n"));
    let mut running = Running::start(rig.run_command(&study, &rig.result("nfs"), &[]));
    until_served(&rig, &mut running);
    running.signal(Signal::KILL);
    let pid = running.pid();
    running.wait();
    assert!(
        !at_work(&rig).is_empty(),
        "the server died with its run, and nothing is shown"
    );
    let cleaned = Running::start(rig.assay(&["clean"])).wait();
    cleaned.expect(0, &[]);
    assert!(!cleaned.stdout.contains("FAILED"), "{}", cleaned.stdout);
    assert_eq!(at_work(&rig), Vec::<PathBuf>::new());
    assert_eq!(rig.belongings(&[pid]), before, "{}", cleaned.stdout);
}

#[test]
fn a_ramp_that_is_interrupted_leaves_nothing_of_its_server() {
    let Some(rig) = able() else { return };
    let stacks = two_stacks(&rig);
    let before = rig.belongings(&[]);
    let study = rig.study("nfs", &ramp(&stacks, "warm_up = \"1s\"\ntime = \"60s\"\n"));
    let mut running = Running::start(rig.run_command(&study, &rig.result("nfs"), &[]));
    until_served(&rig, &mut running);
    running.signal(Signal::INT);
    let pid = running.pid();
    let ran = running.wait();
    ran.expect(3, &[]);
    let said = ran.stderr.contains("interrupted") || ran.stderr.contains("was stopped");
    assert!(said, "{}", ran.stderr);
    assert_eq!(at_work(&rig), Vec::<PathBuf>::new());
    assert_eq!(rig.belongings(&[pid]), before, "something is left");
}

/// The clients see an ended connection alone; what happened stands in the log of the server.
#[test]
fn a_server_that_dies_in_a_ramp_is_named_with_its_last_words() {
    let Some(rig) = able() else { return };
    let stacks = two_stacks(&rig);
    let (on_lun, _) = stacks.split_once("[[stack]]\nname = \"there\"").expect("two stacks");
    let before = rig.belongings(&[]);
    let study = rig.study("nfs", &ramp(on_lun, "warm_up = \"1s\"\ntime = \"60s\"\n"));
    let mut running = Running::start(rig.run_command(&study, &rig.result("nfs"), &[]));
    until_served(&rig, &mut running);
    let server = until_written(&rig, &mut running);
    kill_process(server, Signal::KILL).expect("killed");
    let pid = running.pid();
    let ran = running.wait();
    ran.expect(3, &[]);
    let words: Vec<&str> = ran.stderr.split_whitespace().collect();
    let words = words.join(" ");
    assert!(words.contains("phase `ramp`"), "{}", ran.stderr);
    // The name of the program stands in each line of its log.
    let said = words.split("the NFS server has ended and said last: ").nth(1);
    assert!(said.is_some_and(|said| said.contains("ganesha")), "{}", ran.stderr);
    assert_eq!(at_work(&rig), Vec::<PathBuf>::new());
    assert_eq!(rig.belongings(&[pid]), before, "something is left");
}

/// Names come and go, and nothing commits: what keeps them is the file system alone.
fn cuts(rig: &Rig, kind: &str) -> String {
    let (cuts, limit) = (if is_full() { 12 } else { 4 }, limit("1ms"));
    let (count, model, third) = match kind {
        "kill" => {
            let place = rig.work().join("there");
            std::fs::create_dir_all(&place).expect("made");
            let place = place.display();
            let third = format!("[[stack]]\nname = \"there\"\nkind = \"directory\"\npath = \"{place}\"");
            ("kills", "", third)
        }
        _ => ("cuts", "model = \"plain\"\n", String::new()),
    };
    format!(
        r#"
[study]
name = "cuts"
time_limit = "{limit}"
blocks = 4
seed = 3
[luns.data]
files = {{ size = "64MiB", dir = "{}" }}
{model}
[[stack]]
name = "plain"
kind = "ext4"
data = "data"
[[stack]]
name = "dirsync"
kind = "ext4"
data = "data"
mount_options = ["dirsync"]
{third}
[files]
protocol = "nfs3"
[[phase]]
name = "cuts"
kind = "{kind}"
{count} = {cuts}
earliest = "50ms"
latest = "300ms"
sessions = 8
mix = {{ create = 50, remove = 50 }}
data_size = "1MiB"
"#,
        rig.work().display()
    )
}

/// Sums of the measures of each stack.
fn sums(result: &Path) -> BTreeMap<String, BTreeMap<Measure, f64>> {
    let ledger = Ledger::open(result).expect("a result");
    let trials = ledger.trials().expect("trials");
    let measures = ledger.measures().expect("measures");
    let mut sums: BTreeMap<String, BTreeMap<Measure, f64>> = BTreeMap::new();
    for phase in ledger.phases().expect("phases") {
        let trial = trials.iter().find(|t| t.id == phase.run.trial).expect("its trial");
        let of = sums.entry(trial.stack.clone()).or_default();
        for row in measures.iter().filter(|row| row.phase == phase.id) {
            *of.entry(row.row.0).or_default() += row.row.1;
        }
    }
    sums
}

fn ends(kind: &str) {
    let Some(rig) = able() else { return };
    if !Path::new("/dev/fuse").exists() {
        eprintln!("skipped: needs /dev/fuse");
        return;
    }
    let (study, result) = (rig.study("cuts", &cuts(&rig, kind)), rig.result("cuts"));
    let before = rig.belongings(&[]);
    let ran = rig.run(&study, &result, &["--full"]);
    ran.expect(0, &[]);
    assert_eq!(rig.belongings(&[]), before, "something is left");
    assert_eq!(at_work(&rig), Vec::<PathBuf>::new());
    let sums = sums(&result);
    let (plain, kept) = (&sums["plain"], &sums["dirsync"]);
    for of in [plain, kept] {
        assert!(
            of[&Measure::CutsMade] >= f64::from(4 * blocks()) && of[&Measure::CutsNotUp] == 0.0,
            "{of:?}"
        );
        assert!(
            of[&Measure::CutsNames] > 0.0 && of[&Measure::CutsVerifierHid] == 0.0,
            "{of:?}"
        );
    }
    assert!(
        plain[&Measure::CutsLosing] > 0.0 && plain[&Measure::CutsNamesLost] > 0.0,
        "{plain:?}"
    );
    assert!(
        kept[&Measure::CutsLosing] == 0.0 && kept[&Measure::CutsLost] == 0.0,
        "{kept:?}"
    );
    if let Some(there) = sums.get("there") {
        // The server alone is killed, and what it had in memory the kernel has.
        assert!(
            there[&Measure::CutsLosing] == 0.0 && there[&Measure::CutsForcedDown] == 0.0,
            "{there:?}"
        );
        assert!(there[&Measure::CutsNames] > 0.0);
    }
    assert!(
        ran.stdout.contains("names and KiB that were acknowledged as stable"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_power_cut_loses_acknowledged_names_of_ext4_unless_directories_are_synchronous() {
    ends("power_cut");
}

#[test]
fn a_kill_loses_acknowledged_names_of_ext4_unless_directories_are_synchronous() {
    ends("kill");
}

/// Data are written, a part of them unstable, on file systems whose directories are synchronous.
fn planted(rig: &Rig) -> String {
    let (cuts, limit) = (if is_full() { 12 } else { 8 }, limit("1ms"));
    let stack = |name: &str, inject: &str| {
        format!(
            "[[stack]]\nname = \"{name}\"\nkind = \"ext4\"\ndata = \"data\"\nmount_options = [\"dirsync\"]\n{inject}\n"
        )
    };
    let stacks = stack("honest", "")
        + &stack("no flush", "inject = { flush_lost = true }")
        + &stack("same verifier", "inject = { same_verifier = true }");
    format!(
        r#"
[study]
name = "planted"
time_limit = "{limit}"
blocks = 4
seed = 5
[luns.data]
files = {{ size = "64MiB", dir = "{}" }}
model = "plain"
{stacks}
[files]
protocol = "nfs3"
server = "ganesha"
[[phase]]
name = "cuts"
kind = "power_cut"
cuts = {cuts}
earliest = "200ms"
latest = "500ms"
sessions = 8
mix = {{ write = 90, commit = 10 }}
stable = "20%"
data_size = "1MiB"
"#,
        rig.work().display()
    )
}

#[test]
fn planted_losses_of_a_file_server_are_found_and_its_honest_twin_keeps_everything() {
    let Some(rig) = able() else { return };
    if !Path::new("/dev/fuse").exists() {
        eprintln!("skipped: needs /dev/fuse");
        return;
    }
    let (study, result) = (rig.study("planted", &planted(&rig)), rig.result("planted"));
    let ran = rig.run(&study, &result, &["--full"]);
    ran.expect(0, &[]);
    let sums = sums(&result);
    let of = |stack: &str, measure: Measure| sums[stack][&measure];
    assert_eq!(of("honest", Measure::CutsLosing), 0.0, "{:?}", sums["honest"]);
    assert!(of("honest", Measure::CutsKib) > 0.0, "{:?}", sums["honest"]);
    assert_eq!(of("no flush", Measure::CutsVerifierHid), 0.0, "{:?}", sums["no flush"]);
    assert!(of("no flush", Measure::CutsKibLost) > 0.0, "{:?}", sums["no flush"]);
    assert_eq!(
        of("same verifier", Measure::CutsKibLost),
        0.0,
        "{:?}",
        sums["same verifier"]
    );
    // Each cut that took unstable data away is reported. A test beside this one may have everything written out first.
    let owed = if is_full() { 0.95 } else { 0.5 };
    for stack in ["no flush", "same verifier"] {
        let (made, losing) = (of(stack, Measure::CutsMade), of(stack, Measure::CutsLosing));
        assert!(made > 0.0 && losing >= owed * made, "{stack}: {losing} of {made}");
    }
    let words: Vec<&str> = ran.stdout.split_whitespace().collect();
    let hid = "uncommitted data behind the same write verifier after";
    assert!(words.join(" ").contains(hid), "{}", ran.stdout);
}

/// A server of the test's own, as one that was there already; ended when dropped.
struct There {
    server: FileService,
    _journal: Journal,
    export: PathBuf,
}

impl There {
    fn start(rig: &Rig) -> There {
        let (export, place) = (rig.path("export"), rig.path("place"));
        for dir in [&export, &place] {
            std::fs::create_dir(dir).expect("made");
        }
        let mut journal = Journal::create(&rig.path("own-state"), "there").expect("a journal");
        let stack = Stack {
            name: "there".into(),
            kind: StackKind::Directory { path: export.clone() },
            data: None,
            redo: None,
            temp: None,
            access: Access::Buffered,
            inject: Inject::default(),
            engine: plan::Engine::Pages,
            instances: 1,
        };
        let place = Directory::open(&place).expect("held");
        let asked = (&stack, FileServer::Ganesha, None);
        let mut server = FileService::make(asked, &export, &place, &mut journal).expect("made");
        server.start(&journal).expect("started");
        There {
            server,
            _journal: journal,
            export,
        }
    }

    fn names(&self) -> usize {
        std::fs::read_dir(&self.export).expect("listed").count()
    }
}

#[test]
fn an_interrupted_ramp_takes_its_files_off_a_server_that_was_there() {
    let Some(rig) = able() else { return };
    let there = There::start(&rig);
    let (_, port, mount) = there.server.address();
    let url = format!("nfs://127.0.0.1:{port}{}?mountport={mount}", there.export.display());
    let stacks = format!("[[stack]]\nname = \"filer\"\nkind = \"server\"\nurl = \"{url}\"\n");
    let text_of = ramp(&stacks, "warm_up = \"1s\"\ntime = \"60s\"\n").replace("threads = 8\n", "");
    let (study, result) = (rig.study("there", &text_of), rig.result("there"));
    let network = format!("--net=/proc/{}/ns/net", there.server.pid().expect("it runs"));
    let mut command = std::process::Command::new("nsenter");
    command.args([&network, env!("CARGO_BIN_EXE_assay"), "run", text(&study)]);
    command.args(["--output", text(&result)]);
    rig.furnish(&mut command);
    let mut running = Running::start(command);
    while there.names() == 0 {
        assert!(
            running.let_run(Duration::from_millis(20)),
            "it ended before it made files"
        );
    }
    running.let_run(Duration::from_millis(500));
    running.signal(Signal::INT);
    let ran = running.wait();
    ran.expect(3, &[]);
    assert_eq!(there.names(), 0, "files are left on the server: {}", ran.stderr);
}

/// The kernel of the guest has an NFS server, which this machine's may not have.
#[test]
fn the_kernels_server_serves_a_study_and_nothing_of_it_is_left() {
    if which("exportfs").is_none() {
        assert!(
            std::env::var_os("CI").is_none(),
            "exportfs is missing, and ./test installs it"
        );
        eprintln!("skipped: needs exportfs (Debian: nfs-kernel-server)");
        return;
    }
    let out = tempfile::tempdir().expect("a directory");
    let Some(said) = guest("serving.sh", out.path(), &[]) else {
        return;
    };
    let read = |name: &str| std::fs::read_to_string(out.path().join(name)).unwrap_or_default();
    assert!(!said.contains("left:"), "{said}");
    // By line: the shell may say between them that it killed a job.
    let ended = ["served 0", "looked", "killed while it served: clean 0", "looked"];
    let lines: Vec<_> = said.lines().filter(|line| ended.contains(line)).collect();
    assert_eq!(lines, ended, "{said}\n{}{}", read("progress.txt"), read("clean.txt"));
    let ledger = Ledger::open(out.path().join("serving.assay")).expect("a result");
    let served = ledger.file_servings().expect("what was served");
    assert_blocks(served.len(), 1);
    for one in &served {
        let server = one.row.server.clone().unwrap_or_default();
        assert!(server.starts_with("the NFS server of Linux "), "{server}");
        // A slow guest may do nothing in time and end the ramp at its first load; its files were made by the server.
        let made = one.row.points.iter().all(|point| point.files > 0);
        assert!(
            !one.row.points.is_empty() && made && one.row.connections == Some(2),
            "{one:?}"
        );
    }
    let phases = ledger.phases().expect("its phases");
    assert!(
        phases.iter().all(|phase| phase.run.status == PhaseStatus::Valid),
        "{phases:?}"
    );
}
