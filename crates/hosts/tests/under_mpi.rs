//! Ranks under Open MPI: hosts played by namespaces whose clocks are 1,000 s apart, and ways to lose one.
//!
//! `./test` installs Open MPI where it can, and says so by `ASSAY_TEST_MPI`: then nothing is skipped.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const PLAY: &str = env!("CARGO_BIN_EXE_hosts-play");
/// A node's clock less that of the node before it, in nanoseconds.
const APART_NS: i64 = 1_000_000_000_000;

fn scenes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenes")
}

fn runs(command: &str) -> bool {
    let mut shell = Command::new("sh");
    let ended = shell
        .args(["-c", command])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    ended.is_ok_and(|status| status.success())
}

/// Whether this machine has what a test needs; what `./test` has installed must be there.
fn has(needs: &[&str]) -> bool {
    let missing = needs.iter().find(|need| !runs(need));
    if let Some(missing) = missing {
        let is_promised = missing.starts_with("command -v") && std::env::var_os("ASSAY_TEST_MPI").is_some();
        assert!(!is_promised, "this fails here: {missing}");
        eprintln!("SKIPPED: this fails here: {missing}");
    }
    missing.is_none()
}

const OPEN_MPI: &str = "command -v mpirun.openmpi";
const NODES: [&str; 3] = [
    OPEN_MPI,
    "command -v ip",
    "unshare --time --monotonic 1000 --fork unshare --net --uts --mount ip link add bridge0 type bridge",
];

/// Plays a scene on two nodes. The directory holds what the ranks left.
fn scene(name: &str) -> Option<(TempDir, Output)> {
    if !has(&NODES) {
        return None;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let mut command = Command::new("unshare");
    command.args([
        "--net",
        "--uts",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "bash",
    ]);
    command
        .arg(scenes().join("hosts.sh"))
        .args([PLAY.as_ref(), dir.path().as_os_str(), name.as_ref()]);
    Some((dir, command.output().expect("unshare")))
}

fn left(dir: &TempDir, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(dir.path().join(name)).ok()?;
    Some(text.trim().to_string())
}

/// What a scene said, for whoever reads of its failure.
fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}", text(&output.stdout), text(&output.stderr))
}

/// Rank 0's lines: facts, differences, and one for each phase.
fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", said(output));
    let lines = String::from_utf8_lossy(&output.stdout);
    lines
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// Figures of phases that any machine meets.
fn are_phases(phases: &[Value], others: usize) {
    assert_eq!(phases.len(), 2);
    for phase in phases {
        assert_eq!(phase["offsets"].as_array().map(Vec::len), Some(others), "{phase}");
        assert_eq!(phase["ballast"], (others * (8 << 20)) as u64, "{phase}");
        assert!(phase["overlap"].as_f64() > Some(0.0), "{phase}");
        // A rank that spins while it waits takes all of the half second.
        assert!(phase["cpu_ns"].as_u64() < Some(250_000_000), "it spins: {phase}");
    }
}

fn is_full() -> bool {
    std::env::var("ASSAY_TEST_SIZE").is_ok_and(|size| size == "full")
}

#[test]
fn the_true_offset_is_inside_the_bound_in_all_runs() {
    let count = if is_full() { 20 } else { 1 };
    for _ in 0..count {
        let Some((dir, output)) = scene("phases") else { return };
        let lines = lines(&output);
        let (hosts, differences) = (&lines[0], &lines[1]);
        assert_eq!(
            (&hosts[0]["host"], &hosts[1]["host"]),
            (&"node1".into(), &"node2".into())
        );
        assert_eq!(hosts[0]["binary"], hosts[1]["binary"]);
        assert_eq!(*differences, Value::Array(Vec::new()), "one machine plays both hosts");
        are_phases(&lines[2..], 1);
        for phase in &lines[2..] {
            let offset = &phase["offsets"][0];
            let (stated, bound) = (
                offset["offset_ns"].as_i64().unwrap(),
                offset["bound_ns"].as_u64().unwrap(),
            );
            eprintln!(
                "off by {} ns, bound {bound} ns, overlap {}",
                stated - APART_NS,
                phase["overlap"]
            );
            assert!(stated.abs_diff(APART_NS) <= bound, "{phase}");
        }
        all_undone(&dir, &output);
        assert_eq!(
            [left(&dir, "code.0"), left(&dir, "code.1")],
            [Some("0".into()), Some("0".into())]
        );
    }
}

/// Nothing that a rank has built is there, whoever undid it. A keeper may work a moment longer than its rank.
fn all_undone(dir: &TempDir, output: &Output) {
    for rank in 0..2 {
        let by = |who: &str| left(dir, &format!("{who}.{rank}")).is_some();
        assert!(!by("built"), "rank {rank}: {}", said(output));
        assert!(
            by("undone") || by("kept") || by("after"),
            "rank {rank}: {}",
            said(output)
        );
    }
}

/// Ranks that end by their watchdogs say why, and end with exit code 3.
fn ended(dir: &TempDir, output: &Output, rank: u32, words: &str) {
    assert_eq!(
        left(dir, &format!("code.{rank}")).as_deref(),
        Some("3"),
        "rank {rank}: {}",
        said(output)
    );
    let cause = left(dir, &format!("cause.{rank}")).unwrap_or_default();
    assert!(cause.contains(words), "rank {rank}: {cause}\n{}", said(output));
    eprintln!("rank {rank}: {cause}");
}

#[test]
fn a_cut_link_ends_both_sides_of_it() {
    let Some((dir, output)) = scene("cut") else { return };
    ended(&dir, &output, 0, "rank 1 was not heard for 5 s");
    ended(&dir, &output, 1, "rank 0 was not heard for 5 s");
    all_undone(&dir, &output);
    eprintln!("{}", said(&output));
}

#[test]
fn a_killed_rank_is_undone_by_its_keeper_and_ends_the_others() {
    let Some((dir, output)) = scene("killed") else { return };
    assert_eq!(left(&dir, "code.1").as_deref(), Some("137"), "{}", said(&output));
    assert!(left(&dir, "kept.1").is_some(), "{}", said(&output));
    ended(&dir, &output, 0, "rank");
    all_undone(&dir, &output);
    eprintln!("{}", said(&output));
}

#[test]
fn a_rank_that_is_stopped_ends_the_others_and_itself_when_it_goes_on() {
    if !is_full() {
        eprintln!("skipped: ASSAY_TEST_SIZE=full runs it");
        return;
    }
    let Some((dir, output)) = scene("stopped") else { return };
    ended(&dir, &output, 0, "rank 1 was not heard for 5 s");
    all_undone(&dir, &output);
    eprintln!("{}", said(&output));
}

#[test]
fn a_rank_that_cannot_go_on_ends_the_others() {
    let Some((dir, output)) = scene("leave") else { return };
    assert_eq!(left(&dir, "code.1").as_deref(), Some("3"), "{}", said(&output));
    ended(&dir, &output, 0, "rank");
    all_undone(&dir, &output);
}

#[test]
fn ranks_of_one_host_work_together_too() {
    if !has(&[OPEN_MPI]) {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let mut command = Command::new("mpirun.openmpi");
    command
        .args(["-n", "3", "--oversubscribe", "--bind-to", "none"])
        .arg(PLAY)
        .arg(dir.path())
        .arg("phases");
    command
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let output = command.stdin(Stdio::null()).output().expect("mpirun");
    let lines = lines(&output);
    are_phases(&lines[2..], 2);
    for offset in lines[2..].iter().flat_map(|phase| phase["offsets"].as_array().unwrap()) {
        let (stated, bound) = (
            offset["offset_ns"].as_i64().unwrap(),
            offset["bound_ns"].as_u64().unwrap(),
        );
        assert!(stated.unsigned_abs() <= bound, "{offset}");
    }
}

/// The program is Open MPI's, the launcher MPICH's: each rank would be a study of its own.
#[test]
fn the_launcher_of_another_mpi_ends_all_ranks_with_the_cure() {
    if !has(&[OPEN_MPI, "command -v mpirun.mpich"]) {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let mut command = Command::new("mpirun.mpich");
    command.args(["-n", "2"]).arg(scenes().join("rank.sh")).arg(dir.path());
    command.args([PLAY.as_ref(), dir.path().as_os_str(), "wait".as_ref()]);
    let output = command.stdin(Stdio::null()).output().expect("mpirun");
    for rank in 0..2 {
        assert_eq!(
            left(&dir, &format!("code.{rank}")).as_deref(),
            Some("3"),
            "{}",
            said(&output)
        );
    }
    let words = said(&output);
    for word in [
        "rank 1 of 2",
        "Open MPI",
        "the launcher is of another MPI",
        "start it with the `mpirun` of",
    ] {
        assert!(words.contains(word), "{word}: {words}");
    }
    all_undone(&dir, &output);
}
