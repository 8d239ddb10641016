//! A directory of one test's own, in which `assay` and `laboratory` are called.
//!
//! Takes arguments, gives how the call ended. Everything is taken away when a [`Bench`] is dropped. Prevents: a test
//! that reads the state directory of the user who runs it.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

pub(crate) struct Bench {
    dir: tempfile::TempDir,
}

/// How a call ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The planted disadvantage.
pub(crate) const LATE: &str = "inject = { late = \"20%\" }";

/// The `assay` of this build: that of `ASSAY_TEST_BINARY`, which `./test` has built, else built here. Cargo builds none
/// for the tests of another crate, and one package alone has other features than all: minutes of building.
fn assay() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        if let Some(built) = std::env::var_os("ASSAY_TEST_BINARY") {
            return built.into();
        }
        let ours = Path::new(env!("CARGO_BIN_EXE_laboratory"));
        let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--package", "assay", "--bin", "assay"]);
        build.args([
            "--manifest-path",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"),
        ]);
        if ours.parent().is_some_and(|dir| dir.ends_with("release")) {
            build.arg("--release");
        }
        assert!(build.status().expect("cargo").success(), "assay is not built");
        ours.with_file_name("assay")
    })
}

impl Bench {
    pub(crate) fn new() -> Bench {
        // Not in /tmp, which may be memory: direct I/O needs a file system on a disk.
        let dir = tempfile::Builder::new().prefix("assay-test-").tempdir_in("/var/tmp");
        Bench {
            dir: dir.expect("a directory"),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("written");
    }

    fn call(&self, program: &Path, args: &[&str]) -> Ran {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.dir.path()).stdin(Stdio::null());
        command.env("ASSAY_STATE_DIR", self.path("state"));
        let ended = command.output().expect("started");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ran {
            code: ended.status.code().unwrap_or(-1),
            stdout: text(ended.stdout),
            stderr: text(ended.stderr),
        }
    }

    /// Calls the laboratory.
    pub(crate) fn ask(&self, args: &[&str]) -> Ran {
        self.call(Path::new(env!("CARGO_BIN_EXE_laboratory")), args)
    }

    /// As [`Bench::ask`]; the call must end well.
    pub(crate) fn told(&self, args: &[&str]) -> Ran {
        let ran = self.ask(args);
        assert_eq!(ran.code, 0, "{args:?}: {ran}");
        ran
    }

    /// Calls `assay`, which must end well.
    pub(crate) fn assay(&self, args: &[&str]) -> Ran {
        let ran = self.call(assay(), args);
        assert_eq!(ran.code, 0, "{args:?}: {ran}");
        ran
    }

    /// Runs a study into a result file.
    pub(crate) fn record(&self, result: &str, study: &str) {
        self.write("study.toml", study);
        self.assay(&["run", "study.toml", "--quiet", "--output", result]);
    }
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("no JSON: {e}\n{self}"))
    }

    /// A failure as designed: this code, nothing on stdout, these words on stderr.
    pub(crate) fn failed_with(&self, code: i32, words: &[&str]) {
        assert_eq!((self.code, self.stdout.as_str()), (code, ""), "{self}");
        for word in words {
            assert!(self.stderr.contains(word), "stderr does not say {word:?}\n{self}");
        }
    }

    /// No line of the answer is wider than a terminal.
    pub(crate) fn is_narrow(&self) -> bool {
        self.stdout.lines().all(|line| line.chars().count() <= 80)
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}\n-- stdout\n{}\n-- stderr\n{}",
            self.code, self.stdout, self.stderr
        )
    }
}

/// Whether the tests are to run at full size.
pub(crate) fn is_full() -> bool {
    std::env::var("ASSAY_TEST_SIZE").is_ok_and(|size| size == "full")
}

/// A simulated device of a stack.
pub(crate) fn model(name: &str, besides: &str) -> String {
    format!(
        r#"
[[stack]]
name = "{name}"
kind = "model"
size = "32MiB"
service = "1ms"
spread = 0.2
parallel = 4
transfer = "20MB/s"
{besides}
"#
    )
}

/// Twins of which all blocks are run: what is said of each stack, `one` and `other`, besides.
pub(crate) fn twins_study(blocks: u32, seed: u64, [one, other]: [&str; 2]) -> String {
    let head = format!(
        r#"
[study]
name = "planted"
question = "Is it found?"
blocks = {blocks}
seed = {seed}
time_limit = "2h"
stop_early = false
margin = "0.1%"
"#
    );
    let rest = r#"
[database]
cache = "2MiB"
schemas = 4
scale = "12MiB"
redo_size = "4MiB"
checkpoint = "100ms"

[[phase]]
name = "read"
kind = "random"
update_pct = 0
sessions = 8
work_unit = 8
work_loop = 60

[[phase]]
name = "half updates"
kind = "random"
update_pct = 50
sessions = 8
work_unit = 8
work_loop = 60

[[phase]]
name = "scan"
kind = "scan"
users = 4
"#;
    [head, model("one", one), model("other", other), rest.to_string()].concat()
}
