//! Where the killed processes work: loop devices on small files, a directory for what they write down, and the
//! processes themselves.
//!
//! Everything goes when it is dropped, also by a failing test. Prevents: a process or a device that outlives its test.

use crate::killed::lives::{self, Role};
use crate::machine::{self, Turn};
use luns::LoopDevice;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

pub(crate) const LUNS: usize = 4;
const LUN_BYTES: u64 = 12 << 20;
/// A hang must fail, not stop the build.
const PATIENCE: Duration = Duration::from_secs(120);

/// In the environment of a process: what it is, and where.
pub(crate) const AS: &str = "ASSAY_KILLED_AS";
pub(crate) const AT: &str = "ASSAY_KILLED_AT";
pub(crate) const SEED: &str = "ASSAY_KILLED_SEED";

/// Devices and directory.
pub(crate) struct Place {
    loops: Vec<LoopDevice>,
    dir: tempfile::TempDir,
    _turn: File,
}

impl Place {
    /// With a database on it. `None`, with the reason printed, without root or loop devices.
    pub(crate) fn new(seed: u64) -> Option<Place> {
        if !rustix::process::geteuid().is_root() || !Path::new("/dev/loop-control").exists() {
            eprintln!("skipped: needs root and /dev/loop-control");
            return None;
        }
        let turn = machine::turn(Turn::Beside);
        let prefix = "assay-test-killed-";
        let dir = tempfile::Builder::new().prefix(prefix).tempdir_in(machine::scratch());
        let mut place = Place {
            loops: Vec::new(),
            dir: dir.expect("a directory"),
            _turn: turn,
        };
        let home = sandbox::Directory::open(place.dir.path()).expect("opened");
        for nth in 0..LUNS {
            let (name, go_on) = (format!("lun{nth}"), AtomicBool::new(false));
            let file = luns::create_file(&home, &name, LUN_BYTES, seed ^ nth as u64, &mut |_| (), &go_on);
            let file = file.expect("a file");
            place.loops.push(luns::attach(&file).expect("a loop device"));
        }
        let paths: Vec<String> = place.loops.iter().map(|one| one.path.display().to_string()).collect();
        std::fs::write(place.path("luns"), paths.join("\n")).expect("written");
        lives::load(place.dir.path(), seed).expect("a database");
        Some(place)
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Nothing where it is not there.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Bytes that the owner has moved since it began.
    pub(crate) fn moved(&self) -> u64 {
        self.read(lives::MOVED).trim().parse().unwrap_or(0)
    }

    /// A killed process may have left requests in the kernel that outlive it.
    pub(crate) fn until_nothing_is_in_flight(&self) {
        let is_idle = |one: &LoopDevice| {
            let said = std::fs::read_to_string(format!("/sys/block/loop{}/inflight", one.number)).expect("read");
            said.split_whitespace().all(|count| count == "0")
        };
        until("requests are in flight", || self.loops.iter().all(is_idle));
    }

    /// What the processes wrote down is no part of the next lives.
    pub(crate) fn forget(&self) {
        for name in [
            Role::Owner.book(),
            Role::Other.book(),
            lives::MOVED,
            lives::ENDS,
            lives::OPENED,
        ] {
            let _ = std::fs::remove_file(self.path(name));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for one in &self.loops {
            if let Err(error) = luns::detach(one.number) {
                eprintln!("{error}");
            }
        }
    }
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "after {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Both processes; killed when dropped.
pub(crate) struct Processes(Vec<(Role, Child)>);

impl Processes {
    /// The owner first, then the other, when the owner has admitted it.
    pub(crate) fn start(place: &Place, seed: u64) -> Processes {
        let mut both = Processes(Vec::new());
        both.begin(place, Role::Owner, seed);
        both.wait(place, "the owner does not open the group", |place| {
            place.path(lives::ENDS).exists()
        });
        both.begin(place, Role::Other, seed ^ 1);
        both
    }

    fn begin(&mut self, place: &Place, role: Role, seed: u64) {
        let child = Command::new(std::env::current_exe().expect("our program"))
            .args(["killed::process", "--exact", "--nocapture"])
            .env(AS, role.book())
            .env(AT, place.dir())
            .env(SEED, seed.to_string())
            // It ends with this end of it.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        self.0.push((role, child.expect("started")));
    }

    /// Until both have acknowledged something and extents were moved.
    pub(crate) fn until_all_work(&mut self, place: &Place) {
        self.wait(place, "nothing is acknowledged or moved", |place| {
            let has = |role: Role| place.read(role.book()).contains("acknowledged");
            has(Role::Owner) && has(Role::Other) && place.moved() > 0
        });
    }

    fn wait(&mut self, place: &Place, what: &str, is_so: impl Fn(&Place) -> bool) {
        let began = Instant::now();
        while !is_so(place) {
            assert!(began.elapsed() < PATIENCE, "after {PATIENCE:?}: {what}");
            self.must_live();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn must_live(&mut self) {
        for (role, child) in &mut self.0 {
            let ended = child.try_wait().expect("waited");
            assert!(ended.is_none(), "{role:?} ended by itself: {ended:?}");
        }
    }

    /// Kills those of them that are there yet; none of these has ended by itself.
    pub(crate) fn kill(&mut self, who: &[Role]) {
        self.must_live();
        let (mut gone, stay) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|(role, _)| who.contains(role));
        self.0 = stay;
        end(&mut gone);
    }
}

fn end(children: &mut Vec<(Role, Child)>) {
    for (_, child) in children.iter_mut() {
        let _ = child.kill();
    }
    for (_, mut child) in children.drain(..) {
        let _ = child.wait();
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}
