//! A host with a neighbour: a user made for the test, canaries that must not change, and small studies to attack.
//!
//! Gives a [`Town`]; the user, the canary device and all directories are gone when it is dropped.

use crate::rig::{Ran, Rig, Running, limit, text, tool, which};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest wait for a run to get somewhere.
const PATIENCE: Duration = Duration::from_secs(300);

/// What is known of a canary file.
#[derive(Debug, PartialEq, Eq)]
struct Canary {
    content: u64,
    mode: u32,
    owner: (u32, u32),
    /// Changed content and changed mode or owner, in nanoseconds.
    times: (i64, i64, i64, i64),
    links: u64,
}

/// The fixture.
pub(crate) struct Town {
    pub(crate) rig: Rig,
    /// Dropped after the rig: the next town's user may have its number, and no file of this one's.
    pub(crate) user: User,
    canary_device: PathBuf,
    before: (BTreeMap<PathBuf, Canary>, u64),
}

/// Towns so far: their users have names of their own.
static TOWNS: AtomicU32 = AtomicU32::new(0);

/// Whoever adds or deletes a user while another one does waits for whole seconds.
static ACCOUNTS: Mutex<()> = Mutex::new(());

fn accounts() -> MutexGuard<'static, ()> {
    ACCOUNTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A user of the host who means no good.
pub(crate) struct User {
    name: String,
    pub(crate) uid: u32,
}

impl User {
    fn new() -> User {
        let town = TOWNS.fetch_add(1, Ordering::Relaxed);
        let name = format!("mallory{}x{town}", std::process::id());
        let _accounts = accounts();
        let useradd = which("useradd").expect("useradd: the package passwd has it");
        tool(
            text(&useradd),
            &[
                "--no-create-home",
                "--no-user-group",
                "--gid",
                "nogroup",
                "--shell",
                "/bin/sh",
                &name,
            ],
        );
        let uid = tool("id", &["-u", &name]).trim().parse().expect("a number");
        User { name, uid }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// A shell of hers in this directory; it must succeed.
    pub(crate) fn does(&self, dir: &Path, script: &str) {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-euc", script]).current_dir(dir).uid(self.uid).gid(65534);
        let output = shell.output().expect("a shell");
        assert!(
            output.status.success(),
            "{script}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let _accounts = accounts();
        let _ = Command::new("userdel").arg(&self.name).output();
    }
}

impl Town {
    /// `None`, with the reason printed, where the rig can't be had.
    pub(crate) fn new() -> Option<Town> {
        let mut rig = Rig::new(&["mkfs.ext4", "useradd"])?;
        // Others get to what is theirs; the rig's own directories are root's.
        std::fs::set_permissions(rig.path(""), PermissionsExt::from_mode(0o755)).expect("its mode");
        let user = User::new();
        let canaries = rig.path("canaries");
        std::fs::create_dir_all(canaries.join("inner")).expect("made");
        for (name, mode) in [
            ("secret", 0o600),
            ("open", 0o644),
            ("suid", 0o4755),
            ("inner/deep", 0o640),
        ] {
            let path = canaries.join(name);
            std::fs::write(&path, format!("the canary {name} is alive")).expect("written");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("its mode");
        }
        symlink("secret", canaries.join("link")).expect("a link");
        let canary_device = rig.loop_device("canary.disk", 8);
        std::fs::write(rig.path("canary.disk"), vec![0xca; 8 << 20]).expect("written");
        tool("blockdev", &["--flushbufs", text(&canary_device)]);
        let mut town = Town {
            rig,
            user,
            canary_device,
            before: (BTreeMap::new(), 0),
        };
        town.before = town.canaries();
        Some(town)
    }

    /// The tree that must not change.
    pub(crate) fn canary(&self, name: &str) -> PathBuf {
        self.rig.path("canaries").join(name)
    }

    fn canaries(&self) -> (BTreeMap<PathBuf, Canary>, u64) {
        let mut all = BTreeMap::new();
        look(&self.rig.path("canaries"), &mut all);
        (all, hash(&std::fs::read(&self.canary_device).expect("read")))
    }

    /// Fails if any canary has changed.
    pub(crate) fn assert_alive(&self, attack: &str) {
        assert_eq!(self.canaries(), self.before, "{attack}: a canary has changed");
    }

    /// A new directory of root's below the rig's own.
    pub(crate) fn roots(&self, name: &str) -> PathBuf {
        let path = self.rig.path(name);
        std::fs::create_dir(&path).expect("made");
        path
    }

    /// One of the neighbour's.
    pub(crate) fn hers(&self, name: &str) -> PathBuf {
        let path = self.roots(name);
        chown(&path, Some(self.user.uid), Some(65534)).expect("handed over");
        path
    }

    /// Runs a study to its end.
    pub(crate) fn run(&self, study: &str, name: &str, more: &[&str]) -> Ran {
        let file = self.rig.study(name, study);
        self.rig.run(&file, &self.rig.result(name), more)
    }

    /// What `assay check` says about a study.
    pub(crate) fn check(&self, study: &str) -> Ran {
        let file = self.rig.study("checked", study);
        Running::start(self.rig.assay(&["check", crate::rig::text(&file)])).wait()
    }

    /// Starts a study.
    pub(crate) fn start(&self, study: &str, name: &str) -> Running {
        let file = self.rig.study(name, study);
        Running::start(self.rig.run_command(&file, &self.rig.result(name), &[]))
    }

    /// Nothing of any run is left in these directories, and no canary has changed.
    pub(crate) fn assert_clean(&self, attack: &str) {
        self.assert_alive(attack);
        let left = self.rig.belongings(&[]);
        let text = format!("{left:?}");
        assert!(!text.contains("assay-2"), "{attack}: left behind: {text}");
    }
}

fn hash(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}

fn look(dir: &Path, all: &mut BTreeMap<PathBuf, Canary>) {
    let mut note = |path: &Path| {
        let found = path.symlink_metadata().expect("a canary is gone");
        let content = match found.file_type() {
            kind if kind.is_symlink() => hash(text(&std::fs::read_link(path).expect("read")).as_bytes()),
            kind if kind.is_file() => hash(&std::fs::read(path).expect("read")),
            _ => 0,
        };
        let times = (found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec());
        let canary = Canary {
            content,
            mode: found.mode(),
            owner: (found.uid(), found.gid()),
            times,
            links: found.nlink(),
        };
        all.insert(path.to_owned(), canary);
        found.is_dir()
    };
    if !note(dir) {
        return;
    }
    for entry in std::fs::read_dir(dir).expect("listed").flatten() {
        look(&entry.path(), all);
    }
}

/// What a small study is made of.
const DATABASE: &str = r#"
[database]
cache = "4MiB"
schemas = 4
scale = "8MiB"
redo_size = "8MiB"
checkpoint = "100ms"
[[phase]]
name = "read"
kind = "random"
update_pct = 20
sessions = 4
work_unit = 4
"#;

fn head(name: &str) -> String {
    let limit = limit("1500ms");
    format!("[study]\nname = \"{name}\"\ntime_limit = \"{limit}\"\nblocks = 4\nseed = 5\nio = \"pread\"\n")
}

/// ext4 on a LUN file in `dir`, phases of so many milliseconds.
pub(crate) fn on_lun(dir: &Path, phase_ms: u32) -> String {
    format!(
        "{}[luns.data]\nfiles = {{ size = \"48MiB\", dir = \"{}\" }}\n[[stack]]\nname = \"ext4\"\nkind = \"ext4\"\n\
         data = \"data\"\n{DATABASE}time = \"{phase_ms}ms\"\n",
        head("lun"),
        dir.display()
    )
}

/// A directory as it is.
pub(crate) fn on_directory(dir: &Path, phase_ms: u32) -> String {
    format!(
        "{}[[stack]]\nname = \"here\"\nkind = \"directory\"\npath = \"{}\"\n{DATABASE}time = \"{phase_ms}ms\"\n",
        head("directory"),
        dir.display()
    )
}

/// Waits until `find` finds something while the run lives; stops the run there.
pub(crate) fn stop_at<T>(running: &mut Running, mut find: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = find() {
            running.signal(rustix::process::Signal::STOP);
            return found;
        }
        assert!(
            running.let_run(Duration::from_millis(1)),
            "the run ended before it could be attacked"
        );
        assert!(start.elapsed() < PATIENCE, "the run does not get there");
    }
}

/// The one entry of a directory whose name begins so.
pub(crate) fn entry(dir: &Path, begins: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(dir).ok()?.flatten();
    entries.map(|e| e.path()).find(|path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(begins))
    })
}
