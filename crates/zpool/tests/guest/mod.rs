//! A machine in QEMU whose kernel has the module of OpenZFS, for tests of what the machine at hand may not have.
//!
//! Takes what `prepare` beside this file made, the disks and a job (a shell script of this directory); gives the log of
//! the serial console, which is kept. Opt-in, by the variable `ASSAY_TEST_GUEST`: emulated it takes minutes. Prevents:
//! a job that ends half-way and passes.
#![allow(
    dead_code,
    clippy::print_stderr,
    reason = "each test uses its part, and says why it is skipped"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

const PREPARED: &str = "ASSAY_TEST_GUEST";
/// What a job's lines begin with that are read here.
const MARK: &str = "GUEST ";
/// Longest wait for a job, in seconds: the processors are emulated.
const PATIENCE: &str = "3600";

/// What is booted.
pub(crate) struct Guest {
    prepared: PathBuf,
    scripts: PathBuf,
    /// The test's own directory, gone with it.
    dir: tempfile::TempDir,
}

impl Guest {
    /// `None`, with the reason printed, where nobody asked for it. Asked for and not to be had is a failure.
    pub(crate) fn here() -> Option<Guest> {
        let Some(dir) = std::env::var_os(PREPARED) else {
            eprintln!(
                "SKIPPED: opt-in: crates/zpool/tests/guest/prepare DIR; apt-get install --no-install-recommends \
                 qemu-system-x86; {PREPARED}=DIR cargo test ..."
            );
            return None;
        };
        let prepared = PathBuf::from(dir).canonicalize().expect("the directory that is named");
        let how = "crates/zpool/tests/guest/prepare DIR";
        assert!(
            prepared.join("ready").exists(),
            "{} is not prepared: {how}",
            prepared.display()
        );
        assert!(rustix::process::geteuid().is_root(), "loop devices need root");
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../zpool/tests/guest");
        let dir = tempfile::Builder::new().prefix("assay-guest-").tempdir_in("/var/tmp");
        Some(Guest {
            prepared,
            scripts: scripts.canonicalize().expect("the scripts"),
            dir: dir.expect("a directory"),
        })
    }

    /// A place in the test's own directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A disk of zeros.
    pub(crate) fn disk(&self, name: &str, mib: u64) -> PathBuf {
        let path = self.path(name);
        let file = std::fs::File::create(&path).expect("made");
        file.set_len(mib << 20).expect("sized");
        path
    }

    /// Boots it with these disks (a, b, c ...), a program and the files below `files` in its root, runs the job to its
    /// end; the console's log.
    pub(crate) fn boot(&self, job: &str, program: Option<&str>, files: &Path, disks: &[PathBuf]) -> String {
        let (image, script) = (self.path("memory-disk"), self.scripts.join(job));
        let mut words = vec![text(&self.prepared), text(&script), text(files), text(&image)];
        words.extend(program);
        run(text(&self.scripts.join("pack")), &words);
        let mut command = Command::new("timeout");
        command.args(["--kill-after=10", PATIENCE, "qemu-system-x86_64"]);
        // Not the host's virtual machines: where they are offered and do not work, a guest hangs before its first line.
        let plain = "-machine q35,accel=tcg -cpu max -m 2048 -smp 2 -nodefaults -no-reboot -display none -serial stdio";
        command.args(plain.split(' '));
        command.args(["-kernel", text(&self.prepared.join("vmlinuz")), "-initrd", text(&image)]);
        command.args(["-append", "console=ttyS0 quiet panic=1 mitigations=off nokaslr"]);
        for disk in disks {
            command.args(["-drive", &format!("file={},if=virtio,format=raw", text(disk))]);
        }
        let ran = command.stdin(std::process::Stdio::null()).output().expect("started");
        let log = String::from_utf8_lossy(&ran.stdout).replace('\r', "");
        let kept = self.prepared.join(format!("{job}.log"));
        std::fs::write(&kept, &log).expect("kept");
        eprintln!("log: {}", kept.display());
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(
            ran.status.success(),
            "qemu-system-x86_64: {}: {said}\n{log}",
            ran.status
        );
        log
    }
}

/// Loop devices on the disks, detached when dropped.
pub(crate) struct Attached(pub(crate) Vec<PathBuf>);

impl Attached {
    pub(crate) fn new(disks: &[PathBuf]) -> Attached {
        let mut attached = Attached(Vec::new());
        for disk in disks {
            let shown = run("losetup", &["--find", "--show", text(disk)]);
            attached.0.push(shown.trim().into());
        }
        attached
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        for device in &self.0 {
            let _ = Command::new("losetup").arg("-d").arg(device).status();
        }
    }
}

/// Fails unless nothing failed, the job came to its end, and it said each of these words on the way, in this order.
pub(crate) fn expect(log: &str, words: &[&str]) {
    let marks: Vec<&str> = log.lines().filter_map(|line| line.strip_prefix(MARK)).collect();
    let failed: Vec<&&str> = marks.iter().filter(|mark| mark.starts_with("failed")).collect();
    assert!(failed.is_empty(), "{failed:?}\n{log}");
    let mut rest = marks.iter();
    for word in words.iter().chain(&["end at"]) {
        assert!(rest.any(|mark| mark.starts_with(word)), "not said: {word}\n{log}");
    }
}

/// A path as text: those of the tests are plain.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("plain")
}

/// Runs a program that must succeed; gives what it wrote.
pub(crate) fn run(program: &str, args: &[&str]) -> String {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let output = Command::new(program).args(args).env("PATH", path).output();
    let output = output.unwrap_or_else(|e| panic!("{program}: {e}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
