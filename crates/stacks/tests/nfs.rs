//! nfs-ganesha as a step with its undo: reached in a network of its own, with a new epoch each time, gone afterwards.
//! Needs root, nfs-ganesha with its VFS module and rpcbind.
//!
//! Prevents: a server that the host's network shows, one that is left, and a write verifier that comes twice.

use plan::{Access, FileServer, Inject, Stack, StackKind};
use sandbox::Directory;
use stacks::{FileService, Journal};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// A directory of the test's own; what still runs in it ends when it is dropped.
struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    /// `None`, with the reason printed, where no server can be started.
    fn new() -> Option<Bench> {
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
        let dir = tempfile::tempdir_in(crate::machine::DISK).expect("a directory");
        std::fs::create_dir(dir.path().join("export")).expect("made");
        Some(Bench { dir })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("there").join(name)
    }

    fn journal(&self, run: &str) -> Journal {
        Journal::create(&self.path("state"), run).expect("a journal")
    }

    fn server(&self, name: &str, journal: &mut Journal) -> FileService {
        let work = Directory::open(self.dir.path()).expect("held");
        let asked = (&stack(name), FileServer::Ganesha, Some(8));
        FileService::make(asked, &self.path("export"), &work, journal).expect("made")
    }

    /// Processes that work below the test's directory.
    fn at_work(&self) -> Vec<PathBuf> {
        let here = self.path("");
        let places = std::fs::read_dir("/proc").expect("listed").flatten();
        let places = places.filter_map(|entry| std::fs::read_link(entry.path().join("cwd")).ok());
        places.filter(|place| place.starts_with(&here)).collect()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = stacks::clean(&self.path("state"), false);
    }
}

fn stack(name: &str) -> Stack {
    Stack {
        name: name.into(),
        kind: StackKind::Directory { path: "/srv".into() },
        data: None,
        redo: None,
        temp: None,
        access: Access::Buffered,
        inject: Inject::default(),
        engine: plan::Engine::Pages,
        instances: 1,
    }
}

/// A namespace of a process, as the kernel names it.
fn namespace(pid: &str, kind: &str) -> PathBuf {
    std::fs::read_link(format!("/proc/{pid}/ns/{kind}")).expect("a namespace")
}

/// The epoch that the server was started with.
fn epoch(pid: u32) -> u32 {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).expect("a command line");
    let words: Vec<_> = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    let at = words.iter().position(|word| word == "-E").expect("an epoch");
    words[at + 1].parse().expect("a number")
}

#[test]
fn a_server_has_a_network_of_its_own_a_new_epoch_each_time_and_goes_with_its_journal() {
    let Some(bench) = Bench::new() else { return };
    let mut journal = bench.journal("one");
    let mut server = bench.server("a b", &mut journal);
    assert!(server.pid().is_none() && server.dialer().is_none());
    let mut epochs = Vec::new();
    for _ in 0..2 {
        server.start(&journal).expect("started");
        let pid = server.pid().expect("it runs");
        for kind in ["net", "mnt", "uts", "ipc"] {
            assert_ne!(namespace(&pid.to_string(), kind), namespace("self", kind), "{kind}");
        }
        let mounts = std::fs::read_to_string(format!("/proc/{pid}/mountinfo")).expect("read");
        let of_others = |line: &&str| line.contains("/dev/loop");
        assert_eq!(mounts.lines().find(of_others), None, "it holds mounts of others");
        let (host, nfs, mount) = server.address();
        let dialer = server.dialer().expect("it was started");
        for port in [nfs, mount] {
            dialer.dial(SocketAddr::from((host, port))).expect("it listens");
        }
        epochs.push(epoch(pid));
        server.kill().expect("it ends");
        assert!(server.pid().is_none());
        dialer
            .dial(SocketAddr::from((host, nfs)))
            .expect_err("nobody listens there now");
    }
    assert_ne!(epochs[0], epochs[1]);
    server.start(&journal).expect("started");
    assert!(!bench.at_work().is_empty());
    assert!(journal.undo_all().is_empty());
    assert_eq!(bench.at_work(), Vec::<PathBuf>::new());
    assert_eq!(left(&bench.path("")), ["export", "state"]);
}

/// What is there, by name.
fn left(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).expect("listed").flatten();
    let mut names: Vec<String> = names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.retain(|name| name != "state");
    names.push("state".to_owned());
    names
}

#[test]
fn two_servers_do_not_meet_and_a_clean_up_ends_what_a_killed_run_left() {
    let Some(bench) = Bench::new() else { return };
    let (mut one, mut other) = (bench.journal("one"), bench.journal("other"));
    let (mut first, mut second) = (bench.server("first", &mut one), bench.server("second", &mut other));
    first.start(&one).expect("started");
    second.start(&other).expect("started beside it");
    let (a, b) = (first.pid().expect("it runs"), second.pid().expect("it runs"));
    assert_ne!(namespace(&a.to_string(), "net"), namespace(&b.to_string(), "net"));
    // As after `kill -9`: the journal stays, its owner and its lock are gone.
    let text = std::fs::read(one.path()).expect("read");
    let path = one.path().to_owned();
    let kept = bench.path("kept");
    std::fs::rename(&path, &kept).expect("put aside");
    let left_behind = first.pid();
    std::mem::forget(first);
    forget_lock(one);
    std::fs::write(&path, text).expect("written");
    std::fs::remove_file(&kept).expect("removed");
    assert_eq!(left_behind, Some(a));
    let report = stacks::clean(&bench.path("state"), false).expect("cleaned");
    assert!(
        report.runs.len() == 1 && report.is_clean() && report.live.len() == 1,
        "{report:?}"
    );
    assert!(!Path::new(&format!("/proc/{a}/cwd")).exists() && second.pid() == Some(b));
    assert!(other.undo_all().is_empty());
    assert_eq!(bench.at_work(), Vec::<PathBuf>::new());
}

/// A journal whose steps are not undone, as of a process that was killed.
fn forget_lock(journal: Journal) {
    std::mem::forget(journal);
}
