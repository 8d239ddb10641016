//! Names that lead elsewhere while a run works: the run's folder, its LUN files and its directories are put aside, and
//! something else gets their names. Here root itself plays the neighbour, for nobody else can by now.
//!
//! Whatever was put there stays as it is. The run says what happened, and what is the run's own can be cleaned up when
//! it is back in its place.

use crate::neighbours::town::{Town, entry, on_directory, on_lun, stop_at};
use crate::rig::{Ran, Running, text, tool};
use rustix::process::Signal;
use std::path::{Path, PathBuf};

/// What stands in the place of a LUN file or directory.
#[derive(Clone, Copy, Debug)]
enum Bait {
    LinkToCanary,
    HardLinkToCanary,
    Pipe,
    OtherFile,
    CanaryDirectory,
    OtherDirectory,
}

impl Bait {
    fn put(self, town: &Town, path: &Path) {
        match self {
            Bait::LinkToCanary => std::os::unix::fs::symlink(town.canary("secret"), path).expect("a link"),
            // The canary's own count of links would change: a file of the same kind stands for it.
            Bait::HardLinkToCanary => {
                let other = town.rig.path("linked-canary");
                std::fs::write(&other, "alive").expect("written");
                std::fs::hard_link(&other, path).expect("a link");
            }
            Bait::Pipe => drop(tool("mkfifo", &[text(path)])),
            Bait::OtherFile => std::fs::write(path, vec![7; 48 << 20]).expect("written"),
            Bait::CanaryDirectory => std::os::unix::fs::symlink(town.rig.path("canaries"), path).expect("a link"),
            Bait::OtherDirectory => {
                std::fs::create_dir(path).expect("made");
                std::fs::write(path.join("hers"), "alive").expect("written");
            }
        }
    }

    /// It is as it was put there.
    fn assert_there(self, town: &Town, path: &Path) {
        match self {
            Bait::HardLinkToCanary => {
                assert_eq!(std::fs::read(town.rig.path("linked-canary")).expect("read"), b"alive");
                assert_eq!(std::fs::read(path).expect("read"), b"alive", "{self:?} is gone");
            }
            Bait::OtherFile => assert!(
                std::fs::read(path).expect("read").iter().all(|byte| *byte == 7),
                "{self:?} was written to"
            ),
            Bait::OtherDirectory => assert!(path.join("hers").is_file(), "{self:?} was emptied"),
            Bait::LinkToCanary | Bait::Pipe | Bait::CanaryDirectory => {
                assert!(path.symlink_metadata().is_ok(), "{self:?} is gone");
            }
        }
        town.assert_alive(&format!("{self:?}"));
    }

    fn take_away(self, path: &Path) {
        match self {
            Bait::OtherDirectory => std::fs::remove_dir_all(path).expect("removed"),
            _ => std::fs::remove_file(path).expect("removed"),
        }
    }
}

fn clean(town: &Town) -> Ran {
    Running::start(town.rig.assay(&["clean"])).wait()
}

/// Puts a bait in the place of what `find` finds in a run of `study`, lets the run (or, after a kill, a clean-up) go
/// on, and looks at everything; then puts things right and cleans up.
fn attack(town: &Town, study: &str, bait: Bait, kill: bool, mut find: impl FnMut() -> Option<PathBuf>) {
    let name = format!("swap-{bait:?}-{kill}");
    let mut running = town.start(study, &name);
    let path = stop_at(&mut running, &mut find);
    let aside = path.with_file_name("aside");
    std::fs::rename(&path, &aside).expect("put aside");
    bait.put(town, &path);
    let ran = if kill {
        running.signal(Signal::KILL);
        running.wait();
        clean(town)
    } else {
        running.signal(Signal::CONT);
        running.wait()
    };
    assert!(
        matches!(ran.code(), 3 | 4),
        "{name}: exit code {}\n{}",
        ran.code(),
        ran.stderr
    );
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(
        said.contains("something replaced it"),
        "{name}: nothing said of it:\n{said}"
    );
    bait.assert_there(town, &path);
    bait.take_away(&path);
    std::fs::rename(&aside, &path).expect("put back");
    let cleaned = clean(town);
    assert_eq!(
        cleaned.code(),
        0,
        "{name}: put back, it is cleaned up:\n{}{}",
        cleaned.stdout,
        cleaned.stderr
    );
    town.assert_clean(&name);
}

/// The run's own directory in `dir`.
fn own(dir: &Path) -> Option<PathBuf> {
    entry(dir, "assay-2")
}

fn lun(dir: &Path) -> Option<PathBuf> {
    own(dir).map(|own| own.join("data-0.lun")).filter(|path| path.exists())
}

/// Once a file system is mounted there, everything is built.
fn is_mounted(dir: &Path) -> bool {
    let table = std::fs::read_to_string("/proc/self/mountinfo").expect("readable");
    table
        .lines()
        .any(|line| line.contains(text(dir)) && line.contains(" - ext4 "))
}

#[test]
fn a_lun_file_that_was_replaced_is_neither_used_nor_removed() {
    let Some(town) = Town::new() else { return };
    let dir = town.roots("place");
    for bait in [Bait::OtherFile, Bait::LinkToCanary, Bait::HardLinkToCanary, Bait::Pipe] {
        attack(&town, &on_lun(&dir, 200), bait, false, || lun(&dir));
    }
    for bait in [Bait::OtherFile, Bait::LinkToCanary] {
        attack(&town, &on_lun(&dir, 200), bait, true, || {
            lun(&dir).filter(|_| is_mounted(&dir))
        });
    }
    assert_eq!(town.run(&on_lun(&dir, 200), "twin", &[]).code(), 0);
    town.assert_clean("twin");
}

#[test]
fn a_run_whose_folder_was_replaced_empties_nobody_elses() {
    let Some(town) = Town::new() else { return };
    let dir = town.roots("place");
    for bait in [Bait::CanaryDirectory, Bait::OtherDirectory] {
        // While LUN files are written, and when everything is built.
        attack(&town, &on_lun(&dir, 200), bait, false, || {
            lun(&dir).and_then(|_| own(&dir))
        });
        attack(&town, &on_lun(&dir, 200), bait, true, || {
            own(&dir).filter(|_| is_mounted(&dir))
        });
    }
}

#[test]
fn the_directory_of_a_stack_that_was_replaced_is_not_emptied() {
    let Some(town) = Town::new() else { return };
    let dir = town.roots("place");
    let own = || {
        let stack = std::fs::read_dir(&dir).ok()?.flatten().map(|e| e.path());
        stack.into_iter().find(|path| path.join("data").exists())
    };
    for bait in [Bait::CanaryDirectory, Bait::OtherDirectory] {
        attack(&town, &on_directory(&dir, 300), bait, false, own);
        attack(&town, &on_directory(&dir, 300), bait, true, own);
    }
    assert_eq!(town.run(&on_directory(&dir, 100), "twin", &[]).code(), 0);
    town.assert_clean("twin");
}

#[test]
fn directories_that_come_and_go_while_root_cleans_up_lead_it_nowhere() {
    let Some(town) = Town::new() else { return };
    let dir = town.roots("place");
    let mut running = town.start(&on_directory(&dir, 300), "race");
    let own = stop_at(&mut running, || {
        let stack = std::fs::read_dir(&dir).ok()?.flatten().map(|e| e.path());
        stack.into_iter().find(|path| path.join("data").exists())
    });
    running.signal(Signal::KILL);
    running.wait();
    // A tree of hers in it, in which directories and links to the canaries change places all the time.
    let hers = own.join("hers");
    std::fs::create_dir(&hers).expect("made");
    std::os::unix::fs::chown(&hers, Some(town.user.uid), None).expect("handed over");
    let script = format!(
        "for n in $(seq 1 300); do mkdir -p d$n/inner; echo x >d$n/inner/file; done
         i=0; while [ $i -lt 400 ]; do i=$((i+1)); n=$((i%300+1));
         mv d$n away 2>/dev/null && ln -s {} d$n 2>/dev/null; rm -f d$n 2>/dev/null; mv away d$n 2>/dev/null; done; \
         true",
        town.rig.path("canaries").display()
    );
    std::thread::scope(|scope| {
        let racing = scope.spawn(|| {
            let mut shell = std::process::Command::new("/bin/sh");
            std::os::unix::process::CommandExt::uid(&mut shell, town.user.uid);
            // When its directory is gone it fails, and that is what is wanted.
            shell
                .args(["-c", &script])
                .current_dir(&hers)
                .output()
                .expect("a shell")
        });
        while !hers.join("d100").exists() && !racing.is_finished() {
            std::thread::yield_now();
        }
        // One attempt may find the directory filled again; what counts is where it does not go.
        for _ in 0..3 {
            clean(&town);
            town.assert_alive("a race");
        }
        racing.join().expect("it ends");
    });
    assert_eq!(clean(&town).code(), 0);
    town.assert_clean("a race");
}
