//! What tests of the whole binary without root share: a directory of their own, the binary called in it, studies of
//! simulated devices, and the look at what was left behind.
//!
//! Everything is taken away when a [`Bench`] is dropped, also by a failing test. Prevents: a test that reads or litters
//! the state directory of the user who runs it, and one that passes because the binary hung (calls have a time limit).

use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for one call, generous for a machine that does much else: a hang must fail, not stop the build.
pub(crate) const PATIENCE: Duration = Duration::from_secs(900);

/// A directory of one test's own, with the binary's state directory in it.
pub(crate) struct Bench {
    dir: tempfile::TempDir,
}

/// How a call of the binary ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A call under way; killed when dropped.
pub(crate) struct Running {
    child: Child,
    readers: Vec<std::thread::JoinHandle<String>>,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        let dir = tempfile::Builder::new()
            .prefix("assay-test-")
            .tempdir_in(crate::machine::scratch())
            .expect("a directory");
        Bench { dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("written");
        path
    }

    /// The binary with these arguments, in the test's directory, with nothing of the user's surroundings that changes
    /// what is printed.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.surrounded(Command::new(env!("CARGO_BIN_EXE_assay")), args)
    }

    /// As [`Bench::command`], as a user who may do nothing special. The directory must be open to that user.
    pub(crate) fn command_of_nobody(&self, args: &[&str]) -> Command {
        if !rustix::process::geteuid().is_root() {
            return self.command(args);
        }
        // The build directory may be closed to other users.
        let binary = self.path("assay");
        if !binary.exists() {
            crate::rig::copy_program(&binary);
        }
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
            .arg(binary);
        self.surrounded(command, args)
    }

    /// Another program in the same place, with the same surroundings.
    pub(crate) fn surrounded(&self, mut command: Command, args: &[&str]) -> Command {
        command
            .args(args)
            .current_dir(self.dir.path())
            .env("ASSAY_STATE_DIR", self.path("state"))
            .env("COLUMNS", "80")
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Calls the binary and waits.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Running::start(self.command(args)).wait()
    }

    /// As [`Bench::run`]; the call must end with this code.
    pub(crate) fn expect(&self, code: i32, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code(), code, "assay {args:?}\n{ran}");
        ran
    }

    /// Every file and directory under the test's directory, with its size.
    pub(crate) fn listing(&self) -> BTreeSet<(PathBuf, u64)> {
        walkdir::WalkDir::new(self.dir.path())
            .min_depth(1)
            .into_iter()
            .map(|entry| {
                let entry = entry.expect("listed");
                let bytes = if entry.file_type().is_file() {
                    entry.metadata().expect("seen").len()
                } else {
                    0
                };
                (entry.path().to_path_buf(), bytes)
            })
            .collect()
    }

    /// Names under the test's directory that no test made: LUN files, databases, control files. The state directory may
    /// stand, but must be empty of journals.
    pub(crate) fn left_behind(&self, own: &[&str]) -> Vec<PathBuf> {
        let top = std::fs::read_dir(self.dir.path())
            .expect("listed")
            .map(|e| e.expect("an entry").path());
        let state = std::fs::read_dir(self.path("state"))
            .into_iter()
            .flatten()
            .map(|e| e.expect("an entry").path());
        let known = |path: &PathBuf| {
            let name = path.file_name().expect("a name").to_string_lossy();
            name == "state" || own.contains(&name.as_ref())
        };
        top.filter(|path| !known(path)).chain(state).collect()
    }
}

impl Ran {
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("no JSON on stdout: {e}\n{self}"))
    }

    /// A failure as designed: this code, nothing on stdout, these words on stderr, no panic.
    pub(crate) fn failed_with(&self, code: i32, words: &[&str]) -> &Ran {
        assert_eq!(self.code(), code, "{self}");
        assert_eq!(self.stdout, "", "a failure has no answer\n{self}");
        for word in words {
            assert!(self.stderr.contains(word), "stderr does not say {word:?}\n{self}");
        }
        assert!(!self.stderr.contains("panicked"), "{self}");
        self
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}\n-- stdout\n{}\n-- stderr\n{}",
            self.status, self.stdout, self.stderr
        )
    }
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Running {
        let mut child = command.spawn().unwrap_or_else(|e| panic!("start {command:?}: {e}"));
        let out = child.stdout.take().map(drain);
        let err = child.stderr.take().map(drain);
        Running {
            child,
            readers: out.into_iter().chain(err).collect(),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).expect("signalled");
    }

    pub(crate) fn is_over(&mut self) -> bool {
        self.child.try_wait().expect("waited").is_some()
    }

    /// Waits for the end; a call that takes too long is killed and fails the test.
    pub(crate) fn wait(mut self) -> Ran {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("waited") {
                break status;
            }
            if began.elapsed() > PATIENCE {
                let _ = self.child.kill();
                panic!("the binary did not end within {PATIENCE:?}");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let mut texts = self.readers.drain(..).map(|reader| reader.join().expect("read"));
        let stdout = texts.next().unwrap_or_default();
        let stderr = texts.next().unwrap_or_default();
        drop(texts);
        Ran { status, stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn drain(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("read");
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("root")
}

/// A study of simulated devices, all alike: `stacks` are names and what each says besides. Work is counted, not timed,
/// so that a stack that serves everything from a cache ends too.
pub(crate) fn model_study(seed: u64, blocks: u32, stacks: &[(&str, &str)]) -> String {
    let mut text = format!(
        "[study]\nname = \"planted\"\nquestion = \"Is it found?\"\nblocks = {blocks}\nseed = {seed}\n\
         time_limit = \"2h\"\n\n"
    );
    for (name, besides) in stacks {
        text.push_str(&format!(
            "[[stack]]\nname = \"{name}\"\nkind = \"model\"\nsize = \"32MiB\"\nservice = \"1ms\"\nspread = 0.2\n\
             parallel = 4\ntransfer = \"20MB/s\"\n{besides}\n\n"
        ));
    }
    text.push_str(
        "[database]\ncache = \"2MiB\"\nschemas = 4\nscale = \"12MiB\"\nredo_size = \"4MiB\"\ncheckpoint = \"100ms\"\n\n\
         [[phase]]\nname = \"read\"\nkind = \"random\"\nupdate_pct = 0\nsessions = 8\nwork_unit = 8\nwork_loop = 60\n\n\
         [[phase]]\nname = \"half updates\"\nkind = \"random\"\nupdate_pct = 50\nsessions = 8\nwork_unit = 8\n\
         work_loop = 60\n\n[[phase]]\nname = \"scan\"\nkind = \"scan\"\nusers = 4\n",
    );
    text
}

/// Phases that [`model_study`] has.
pub(crate) const PHASES: [&str; 3] = ["read", "half updates", "scan"];

/// The planted disadvantage.
pub(crate) const LATE: &str = "inject = { late = \"20%\" }";

/// (phase, stack, verdict) of every comparison in a report.
pub(crate) fn verdicts(report: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| {
        value
            .as_str()
            .unwrap_or_else(|| panic!("no string: {value}"))
            .to_string()
    };
    report["report"]["comparisons"]
        .as_array()
        .expect("comparisons")
        .iter()
        .map(|c| (text(&c["phase"]), text(&c["stack"]), text(&c["verdict"])))
        .collect()
}

/// A report without what differs between two runs of the same study: when, by which process, on which host.
pub(crate) fn without_the_run(report: &Value) -> Value {
    let mut report = report.clone();
    let study = report["report"]["study"].as_object_mut().expect("a study");
    for key in ["run_id", "created_unix_ns"] {
        assert!(study.remove(key).is_some(), "the report names no {key}");
    }
    // The seal of the file is one of its times too.
    let checks = report["report"]["checks"].as_array_mut().expect("checks");
    checks.retain(|check| check["subject"] != "result file");
    report
}
