//! What the world gets wrong: broken studies, places that are not there or may not be written, devices that fail. Each
//! must give the designed exit code, a message that names the path and the cure, and leave nothing behind.
//!
//! Prevents: an error that surfaces as a panic, as a bare errno, or only after the host was changed.

use crate::bench::{Bench, LATE, Ran, Running, model_study};
use ledger::Ledger;
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const PHASE: &str =
    "[[phase]]\nname = \"read\"\nkind = \"random\"\nupdate_pct = 0\nsessions = 4\nwork_unit = 4\ntime = \"2s\"\n";
const DATABASE: &str = "[database]\ncache = \"2MiB\"\nschemas = 4\nscale = \"16MiB\"\nredo_size = \"4MiB\"\n";

/// A study of one directory stack.
fn directory_study(path: &str) -> String {
    format!(
        "[study]\nname = \"place\"\nblocks = 4\n[[stack]]\nname = \"here\"\nkind = \"directory\"\npath = \"{path}\"\n\
         {DATABASE}{PHASE}"
    )
}

/// A study of LUN files in `dir`.
fn lun_study(dir: &str) -> String {
    format!(
        "[study]\nname = \"luns\"\nblocks = 4\n[luns.data]\n\
         files = {{ count = 1, size = \"64MiB\", dir = \"{dir}\" }}\n\
         [[stack]]\nname = \"fs\"\nkind = \"ext4\"\ndata = \"data\"\n{DATABASE}{PHASE}"
    )
}

/// A bench open to any user.
fn open_bench() -> Bench {
    let bench = Bench::new();
    set_mode(&bench.path("."), 0o777);
    bench
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("mode set");
}

fn as_nobody(bench: &Bench, args: &[&str]) -> Ran {
    Running::start(bench.command_of_nobody(args)).wait()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn broken_studies_are_refused_with_position_and_cure() {
    let bench = Bench::new();
    let good = model_study(1, 4, &[("plain", ""), ("late", LATE)]);
    for (number, (from, to, words)) in [
        ("blocks = 4", "blocks = 5", &["blocks", "cure:"][..]),
        ("[database]", "[databse]", &["databse", "cure:"]),
        ("kind = \"scan\"", "kind = \"scam\"", &["scam", "cure:"]),
        ("service = \"1ms\"", "service = \"1\"", &["service", "cure:"]),
        ("name = \"late\"", "name = \"plain\"", &["plain", "cure:"]),
        ("update_pct = 50", "update_pct = 60", &["60", "SLOB", "cure:"]),
        ("scale = \"12MiB\"", "scale = \"12GiB\"", &["scale", "cure:"]),
        ("[study]", "[study", &["cure:"]),
    ]
    .into_iter()
    .enumerate()
    {
        assert!(good.contains(from), "{from} is not in the study");
        let name = format!("broken-{number}.toml");
        bench.write(&name, &good.replacen(from, to, 1));
        for command in ["run", "check"] {
            let ran = bench.run(&[command, &name]);
            ran.failed_with(2, words);
            let place = ran
                .stderr
                .split(&format!("{name}:"))
                .nth(1)
                .unwrap_or_else(|| panic!("no position\n{ran}"));
            let mut numbers = place.split(':').map(str::parse::<u32>);
            assert!(
                matches!((numbers.next(), numbers.next()), (Some(Ok(_)), Some(Ok(_)))),
                "no line and column\n{ran}"
            );
        }
        std::fs::remove_file(bench.path(&name)).expect("removed");
    }
    assert!(bench.listing().is_empty(), "{:?}", bench.listing());
}

#[test]
fn a_study_that_cannot_be_read_is_refused() {
    let bench = open_bench();
    for command in ["run", "check"] {
        bench
            .run(&[command, "none.toml"])
            .failed_with(2, &["none.toml", "No such file", "cure:"]);
        bench.run(&[command, "."]).failed_with(2, &["directory", "cure:"]);
        std::fs::write(bench.path("binary.toml"), [0xff, 0xfe, 0x00]).expect("written");
        bench
            .run(&[command, "binary.toml"])
            .failed_with(2, &["binary.toml", "cure:"]);
        let closed = bench.write("closed.toml", &model_study(1, 4, &[("plain", ""), ("late", LATE)]));
        set_mode(&closed, 0o000);
        as_nobody(&bench, &[command, "closed.toml"]).failed_with(2, &["closed.toml", "Permission denied", "cure:"]);
        // Written again in the next turn, which only root can do to a closed file.
        set_mode(&closed, 0o600);
    }
}

/// A user looks at a study that root will run: what the user may not see is no reason to fail.
#[test]
fn a_users_check_of_a_device_that_is_refused_says_so_and_ends_well() {
    let bench = open_bench();
    let study = "[study]\nname = \"device\"\n[luns.data]\ndevices = [\"/dev/null\"]\n[[stack]]\nname = \"fs\"\n\
                 kind = \"ext4\"\ndata = \"data\"\n[database]\nscale = \"64MiB\"\n[[phase]]\nname = \"read\"\n\
                 kind = \"random\"\nupdate_pct = 0\ntime = \"1s\"\n";
    let study = bench.write("device.toml", study);
    set_mode(&study, 0o644);
    let ran = as_nobody(&bench, &["check", "device.toml"]);
    assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""), "{ran}");
    assert!(ran.stdout.contains("refused:"), "{ran}");
}

#[test]
fn scale_factors_that_make_no_sense_are_refused() {
    let bench = Bench::new();
    bench.write("study.toml", &model_study(1, 4, &[("plain", ""), ("late", LATE)]));
    for factor in ["0", "-1", "nan", "inf", "-inf", "1e30", "1e-9", "eight", ""] {
        for command in ["run", "check"] {
            let ran = bench.run(&[command, "study.toml", &format!("--scale={factor}")]);
            assert_eq!((ran.code(), ran.stdout.as_str()), (2, ""), "--scale={factor}\n{ran}");
            assert!(
                ran.stderr.contains("scale") && !ran.stderr.contains("panicked"),
                "--scale={factor}\n{ran}"
            );
        }
    }
    assert!(bench.left_behind(&["study.toml"]).is_empty());
}

#[test]
fn places_that_are_not_there() {
    let bench = Bench::new();
    bench.write("study.toml", &model_study(1, 4, &[("plain", ""), ("late", LATE)]));
    bench.write("place.toml", &directory_study("no/such/place"));
    let run = bench.run(&["run", "study.toml", "-o", "no/such/out.assay"]);
    run.failed_with(2, &["no/such", "no such directory", "--output"]);
    bench.run(&["run", "place.toml"]).failed_with(3, &["no/such/place"]);
    for place in ["missing", "study.toml"] {
        let ran = bench.run(&["quick", place]);
        ran.failed_with(2, &[place, "name a directory"]);
        assert_eq!(
            ran.stderr.lines().last().map(str::trim),
            Some("name a directory"),
            "{ran}"
        );
    }
    if is_root() {
        bench.write("luns.toml", &lun_study("no/such/luns"));
        bench.run(&["run", "luns.toml"]).failed_with(3, &["no/such/luns"]);
    }
    let left = bench.left_behind(&["study.toml", "place.toml", "luns.toml"]);
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn places_that_may_not_be_written() {
    let bench = open_bench();
    if is_root() && Command::new("setpriv").arg("--version").output().is_err() {
        assert!(
            std::env::var_os("CI").is_none(),
            "setpriv is missing, and ./test installs util-linux"
        );
        eprintln!("skipped: as root it needs setpriv (util-linux) to be another user");
        return;
    }
    let closed = bench.path("closed");
    std::fs::create_dir(&closed).expect("made");
    set_mode(&closed, 0o555);
    bench.write("study.toml", &model_study(1, 4, &[("plain", ""), ("late", LATE)]));
    bench.write("place.toml", &directory_study("closed"));
    let output = as_nobody(&bench, &["run", "study.toml", "-q", "-o", "closed/out.assay"]);
    output.failed_with(3, &["closed/out.assay"]);
    as_nobody(&bench, &["run", "place.toml", "-q"]).failed_with(3, &["closed", "Permission denied"]);
    as_nobody(&bench, &["quick", "closed", "--no-luns"]).failed_with(3, &["closed", "Permission denied"]);
    let left: Vec<PathBuf> = bench.left_behind(&["study.toml", "place.toml", "closed", "assay"]);
    let left: Vec<&PathBuf> = left
        .iter()
        .filter(|path| path.extension().is_none_or(|e| e != "assay"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(std::fs::read_dir(&closed).expect("listed").count(), 0);
}

#[test]
fn fail_on_turns_the_verdict_into_an_exit_code() {
    let bench = Bench::new();
    bench.write("late.toml", &model_study(1, 4, &[("plain", ""), ("late", LATE)]));
    bench.write(
        "cached.toml",
        &model_study(1, 4, &[("plain", ""), ("cached", "cached = \"100%\"")]),
    );
    let worse = bench.expect(
        1,
        &[
            "run",
            "late.toml",
            "-q",
            "--json",
            "--fail-on",
            "worse",
            "-o",
            "1.assay",
        ],
    );
    assert!(worse.stderr.contains("--fail-on worse"), "{worse}");
    assert_eq!(
        crate::bench::verdicts(&worse.json()).len(),
        crate::bench::PHASES.len(),
        "the report is given all the same"
    );
    bench.expect(0, &["run", "late.toml", "-q", "--fail-on", "invalid", "-o", "2.assay"]);
    bench.expect(
        1,
        &[
            "run",
            "cached.toml",
            "-q",
            "--fail-on",
            "worse",
            "--fail-on",
            "invalid",
            "-o",
            "3.assay",
        ],
    );
    bench.expect(0, &["run", "cached.toml", "-q", "--fail-on", "worse", "-o", "4.assay"]);
}

#[test]
fn an_io_error_in_a_phase_ends_the_run_and_keeps_what_had_finished() {
    let bench = Bench::new();
    // The first phase of a trial does 3,840 reads at most, the second some more I/O: the error comes in the second.
    let study = model_study(1, 4, &[("plain", ""), ("bad", "inject = { error_at = 6000 }")]);
    bench.write("study.toml", &study);
    let ran = bench.run(&["run", "study.toml", "-q", "-o", "out.assay"]);
    if ran.code() == 0 {
        panic!("nothing failed: the planted error was not reached\n{ran}");
    }
    ran.failed_with(3, &["stack `bad`", "phase `", "assay report out.assay"]);
    assert!(ran.stderr.contains("error 5") || ran.stderr.contains("EIO"), "{ran}");
    let kept = Ledger::open(bench.path("out.assay"))
        .expect("opens")
        .phases()
        .expect("phases");
    assert!(!kept.is_empty(), "finished phases are kept");
    let report = bench.expect(0, &["report", "out.assay", "--full"]).stdout;
    assert!(report.contains("bad"), "{report}");
    assert!(bench.left_behind(&["study.toml", "out.assay"]).is_empty());
}

/// A small file system in memory, unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: PathBuf, mib: u32) -> Option<SmallDisk> {
        std::fs::create_dir(&at).expect("made");
        let size = format!("size={mib}m,mode=0755");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "assay-test"])
            .arg(&at)
            .status();
        mounted.is_ok_and(|status| status.success()).then(|| SmallDisk(at))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_said_so_and_nothing_is_left_on_it() {
    if !is_root() {
        eprintln!("skipped: needs root to mount a small file system");
        return;
    }
    let bench = Bench::new();
    let Some(disk) = SmallDisk::mount(bench.path("small"), 12) else {
        eprintln!("skipped: a tmpfs cannot be mounted here");
        return;
    };
    // Through the page cache, for tmpfs knows no direct I/O everywhere.
    let study = directory_study("small").replace("kind = \"directory\"", "kind = \"directory\"\naccess = \"buffered\"");
    bench.write("place.toml", &study);
    let ran = bench.run(&["run", "place.toml", "-q", "-o", "out.assay"]);
    ran.failed_with(3, &["small", "space"]);
    let left: Vec<_> = std::fs::read_dir(&disk.0).expect("listed").collect();
    assert!(left.is_empty(), "{left:?}");
    bench.write("luns.toml", &lun_study("small"));
    let luns = bench.run(&["run", "luns.toml", "-q", "-o", "luns.assay"]);
    luns.failed_with(3, &["small", "64"]);
    // A result file that cannot grow.
    bench.write("study.toml", &model_study(1, 4, &[("plain", ""), ("late", LATE)]));
    std::fs::write(disk.0.join("filler"), vec![1; (12 << 20) - (64 << 10)]).expect("filled");
    let full = bench.run(&["run", "study.toml", "-q", "-o", "small/out.assay"]);
    full.failed_with(3, &["small/out.assay", "no space left"]);
    let left = bench.left_behind(&[
        "place.toml",
        "luns.toml",
        "study.toml",
        "small",
        "out.assay",
        "luns.assay",
    ]);
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_directory_run_that_is_interrupted_takes_its_database_away() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("place")).expect("made");
    bench.write(
        "place.toml",
        &directory_study("place").replace("direct\"", "buffered\""),
    );
    let mut running = Running::start(bench.command(&["run", "place.toml", "-q", "-o", "out.assay"]));
    while std::fs::read_dir(bench.path("place")).expect("listed").count() == 0 && !running.is_over() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    running.signal(Signal::INT);
    let ran = running.wait();
    assert_eq!(ran.code(), 3, "{ran}");
    assert_eq!(
        std::fs::read_dir(bench.path("place")).expect("listed").count(),
        0,
        "{ran}"
    );
    assert!(bench.left_behind(&["place.toml", "place", "out.assay"]).is_empty());
}

/// As `nohup` starts it.
#[test]
fn a_run_that_was_started_with_hangups_ignored_outlives_one() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("place")).expect("made");
    let study = directory_study("place").replace("direct\"", "buffered\"");
    bench.write("place.toml", &study.replace("time = \"2s\"", "time = \"100ms\""));
    let run = bench.command(&["run", "place.toml", "-q", "-o", "out.assay"]);
    let mut command = bench.surrounded(Command::new("sh"), &["-c", "trap '' HUP; exec \"$@\"", "sh"]);
    command.arg(run.get_program()).args(run.get_args());
    let mut running = Running::start(command);
    while std::fs::read_dir(bench.path("place")).expect("listed").count() == 0 && !running.is_over() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    running.signal(Signal::HUP);
    let ran = running.wait();
    assert_eq!(ran.code(), 0, "{ran}");
}

#[test]
fn what_cannot_be_said_on_stderr_does_not_end_a_run() {
    let bench = Bench::new();
    bench.write("study.toml", &model_study(1, 4, &[("plain", ""), ("late", LATE)]));
    let full = std::fs::File::options().write(true).open("/dev/full").expect("opened");
    let mut run = bench.command(&["run", "study.toml", "-o", "out.assay"]);
    let ran = run.stderr(full).output().expect("ended");
    assert_eq!(ran.status.code(), Some(0));
    let mut report = bench.command(&["report", "out.assay"]);
    let full = std::fs::File::options().write(true).open("/dev/full").expect("opened");
    let ran = report.stdout(full).output().expect("ended");
    assert_eq!(ran.status.code(), Some(3), "an answer that is not given is an error");
}
