//! A directory for a server of a test, taken away with all that is in it; also a small file system on request.

use crate::machine::scratch;
use databases::postgres::{Cluster, ClusterImage, Install, PostgresError, RunAs, Server, Settings, choose};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const SERVE_IN: &str = "ASSAY_TEST_SERVE_IN";
const TOLD: &str = "server process ";

enum Dir {
    Own(tempfile::TempDir),
    Parents(PathBuf),
}

pub(crate) struct Place {
    install: Install,
    dir: Dir,
    mounted: bool,
}

impl Place {
    /// `None`, with the reason printed, where no server is installed.
    pub(crate) fn new() -> Option<Place> {
        let dir = tempfile::Builder::new().prefix("apg-").tempdir_in(scratch()).unwrap();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        Place::in_dir(Dir::Own(dir))
    }

    /// The place of the test that started this process.
    pub(crate) fn of_parent() -> Option<Place> {
        Place::in_dir(Dir::Parents(std::env::var_os(SERVE_IN)?.into()))
    }

    fn in_dir(dir: Dir) -> Option<Place> {
        match choose(None) {
            Ok(install) => Some(Place {
                install,
                dir,
                mounted: false,
            }),
            Err(e) => {
                assert!(std::env::var_os("CI").is_none(), "{e}: ./test installs it");
                eprintln!("skipped: {e}; ./test installs it");
                None
            }
        }
    }

    /// A place of so many MiB in memory; needs root.
    pub(crate) fn small_file_system(mib: u32) -> Option<Place> {
        Place::new()?.mount(&["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"])
    }

    /// A place on a file system of this kind, on a loop device; needs root. Hold the turn of loop devices.
    pub(crate) fn on(kind: &str, mib: u64) -> Option<Place> {
        let place = Place::new()?;
        let image = place.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(mib << 20).unwrap();
        let made = Command::new(format!("mkfs.{kind}")).arg(&image).output();
        match made {
            Ok(output) if output.status.success() => {}
            Ok(output) => panic!("mkfs.{kind}: {}", String::from_utf8_lossy(&output.stderr)),
            Err(e) => {
                assert!(std::env::var_os("CI").is_none(), "mkfs.{kind}: {e}: ./test installs it");
                eprintln!("skipped: mkfs.{kind}: {e}; ./test installs it");
                return None;
            }
        }
        let image = image.to_string_lossy().into_owned();
        place.mount(&["-t", kind, "-o", "loop", &image])
    }

    fn mount(mut self, words: &[&str]) -> Option<Place> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can mount");
            return None;
        }
        let path = self.path().join("small");
        std::fs::create_dir(&path).unwrap();
        let mounted = Command::new("mount").args(words).arg(&path).output();
        if !mounted.is_ok_and(|o| o.status.success()) {
            eprintln!("skipped: this root may not mount {words:?}");
            return None;
        }
        self.mounted = true;
        Some(self)
    }

    pub(crate) fn path(&self) -> &Path {
        match &self.dir {
            Dir::Own(dir) => dir.path(),
            Dir::Parents(path) => path,
        }
    }

    pub(crate) fn data(&self) -> PathBuf {
        match self.mounted {
            true => self.path().join("small/data"),
            false => self.path().join("data"),
        }
    }

    pub(crate) fn try_cluster_at(&self, data: &Path) -> Result<Cluster, PostgresError> {
        // A test's server need not outlive a loss of power before its first start.
        Cluster::create(self.install.clone(), data, RunAs::choose(None)?, &["--no-sync"])
    }

    pub(crate) fn try_copy(
        &self,
        image: &ClusterImage,
        data: &Path,
        wal: Option<&Path>,
        cancel: &AtomicBool,
    ) -> Result<Cluster, PostgresError> {
        Cluster::copied(self.install.clone(), (data, wal), RunAs::choose(None)?, image, cancel)
    }

    pub(crate) fn try_cluster(&self) -> Result<Cluster, PostgresError> {
        self.try_cluster_at(&self.data())
    }

    pub(crate) fn cluster(&self) -> Cluster {
        self.try_cluster().unwrap()
    }

    pub(crate) fn at(&self) -> Cluster {
        Cluster::at(self.install.clone(), &self.data(), RunAs::choose(None).unwrap())
    }

    pub(crate) fn server(&self, sessions: u32) -> Server {
        let settings = Settings {
            sessions,
            ..Settings::default()
        };
        self.cluster().start(&settings, self.path()).unwrap()
    }

    pub(crate) fn private_dirs(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path()).unwrap().flatten().map(|e| e.path());
        entries.filter(|p| p.to_string_lossy().contains("assay-pg-")).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.mounted {
            // A server that a test killed may need a moment to let go.
            for _ in 0..50 {
                let tried = Command::new("umount").arg(self.path().join("small")).output();
                if tried.is_ok_and(|output| output.status.success()) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            // It goes with the last process that uses it.
            let _ = Command::new("umount")
                .arg("--lazy")
                .arg(self.path().join("small"))
                .status();
        }
    }
}

/// This test program again, as a process that does nothing but serve.
pub(crate) fn serve_in_child(place: &Place) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "postgres::child_that_serves", "--nocapture"])
        .env(SERVE_IN, place.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

pub(crate) fn tell(pid: u32) {
    println!("\n{TOLD}{pid}");
}

pub(crate) fn pid_told_by(child: &mut Child) -> u32 {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let told = lines
        .map_while(Result::ok)
        .find_map(|l| l.strip_prefix(TOLD)?.parse().ok());
    told.expect("the child tells its server's number")
}

/// It runs; a dead process that nobody has waited for does not.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Files that a server shares with its processes, and they with each other.
pub(crate) fn shared_memory_of(pid: u32) -> BTreeSet<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let is_of = |stat: &str| {
        let fields = stat
            .rsplit_once(')')
            .map(|(_, after)| after.split_whitespace().collect::<Vec<_>>());
        fields.is_some_and(|fields| fields.get(1) == Some(&pid.to_string().as_str()))
    };
    let of = processes.map(|one| one.path()).filter(|one| {
        one.ends_with(pid.to_string()) || std::fs::read_to_string(one.join("stat")).is_ok_and(|stat| is_of(&stat))
    });
    let mut found = BTreeSet::new();
    for process in of {
        let maps = std::fs::read_to_string(process.join("maps")).unwrap_or_default();
        let paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
        found.extend(
            paths
                .filter(|path| path.starts_with("/dev/shm/PostgreSQL."))
                .map(str::to_owned),
        );
    }
    found
}
