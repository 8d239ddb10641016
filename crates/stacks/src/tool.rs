//! Child processes of storage tools: found, run with a time limit, and quoted when they fail.
//!
//! Takes a program, its arguments and what it may write to; gives what it wrote. Every storage tool is started here.
//! Each child gets the journal's lock as its standard input (which it can't read from): while a child of a killed run
//! still works, the journal counts as in use and [`crate::clean`] waits. Prevents a tool that writes to a device which
//! the study does not name, an error that says "exit status 1" and nothing else, and a clean-up that races with an
//! orphaned mkfs.

use crate::error::StackError;
use crate::run::Run;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use sandbox::Reach;
use std::collections::BTreeMap;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How much of a failing tool's words is quoted.
const QUOTED_LINES: usize = 4;

/// What a tool wrote.
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// As much of a tool's words is kept; the rest is read and dropped.
const WORDS_MAX: u64 = 1 << 20;

/// What tools of volume managers write to: the nodes that they make, locks, and what the kernel shows of its arrays.
pub const VOLUME_PLACES: [&str; 5] = [
    "/dev",
    "/run/lock",
    "/run/lvm",
    "/run/mdadm",
    "/sys/devices/virtual/block",
];

/// What a tool may write to.
#[derive(Clone, Debug)]
enum Writes {
    /// These devices and nothing else: the kernel holds it.
    Only(Vec<PathBuf>),
    /// These devices, and those that it makes of them: nobody can name the second before.
    Making(Vec<PathBuf>),
    /// It mounts file systems, which the kernel allows to nobody whom it confines. Its arguments alone hold it.
    Mounting,
}

/// One call of a tool.
pub(crate) struct Tool {
    program: String,
    args: Vec<String>,
    limit: Duration,
    writes: Writes,
    /// Where libraries are looked for first; empty: where the system has them.
    libraries: String,
    /// What messages show in place of the whole line.
    shown: Option<String>,
}

/// The package that has a tool, by its Debian name.
pub(crate) fn package_of(program: &str) -> &'static str {
    match program {
        "mkfs.ext3" | "mkfs.ext4" | "dumpe2fs" => "e2fsprogs",
        "mkfs.xfs" => "xfsprogs",
        "mkfs.btrfs" => "btrfs-progs",
        "lvm" => "lvm2",
        "ganesha.nfsd" => "nfs-ganesha and nfs-ganesha-vfs",
        "rpc.nfsd" | "rpc.mountd" | "exportfs" => "nfs-kernel-server",
        "rpcbind" => "rpcbind",
        "ip" => "iproute2",
        "dmsetup" => "dmsetup",
        "mdadm" => "mdadm",
        "losetup" | "umount" => "mount (part of util-linux)",
        "nsenter" | "unshare" | "setsid" | "blockdev" => "util-linux",
        _ => "the package that has it",
    }
}

impl Tool {
    pub(crate) fn new(program: &str, args: impl IntoIterator<Item = impl Into<String>>, limit: Duration) -> Tool {
        Tool {
            program: program.to_owned(),
            args: args.into_iter().map(Into::into).collect(),
            limit,
            writes: Writes::Only(Vec::new()),
            libraries: String::new(),
            shown: None,
        }
    }

    /// One that writes to these devices, which must be the run's.
    pub(crate) fn writing(mut self, devices: &[PathBuf]) -> Tool {
        self.writes = Writes::Only(devices.to_vec());
        self
    }

    /// One that makes devices out of these, which must be the run's; or takes such devices apart.
    pub(crate) fn making_devices_of(mut self, devices: &[PathBuf]) -> Tool {
        self.writes = Writes::Making(devices.to_vec());
        self
    }

    /// One that mounts file systems, or speaks with a process that does.
    pub(crate) fn mounting(mut self) -> Tool {
        self.writes = Writes::Mounting;
        self
    }

    /// With libraries that lie beside the system, in directories joined by colons.
    pub(crate) fn with_libraries(mut self, directories: &str) -> Tool {
        self.libraries = directories.to_owned();
        self
    }

    /// With another time limit.
    pub(crate) fn within(mut self, limit: Duration) -> Tool {
        self.limit = limit;
        self
    }

    /// Under another line in messages, where its own would tell nobody anything.
    pub(crate) fn shown_as(mut self, line: &str) -> Tool {
        self.shown = Some(line.to_owned());
        self
    }

    /// As it would be typed.
    pub(crate) fn line(&self) -> String {
        if let Some(shown) = &self.shown {
            return shown.clone();
        }
        let quoted = |word: &String| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
            if !word.is_empty() && word.chars().all(plain) {
                word.clone()
            } else {
                format!("'{}'", word.replace('\'', r"'\''"))
            }
        };
        std::iter::once(&self.program)
            .chain(&self.args)
            .map(quoted)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Runs it to its end. `run`: when the call changes something; what it writes to must be on the run's
    /// list.
    pub(crate) fn run(&self, run: Option<&Run>) -> Result<Output, StackError> {
        match (&self.writes, run) {
            (Writes::Mounting, _) => self.run_here(run),
            (Writes::Making(devices), _) => {
                let mut reach = run.map_or_else(|| Ok(Reach::nothing()), |held| held.part(devices))?;
                // Its own arguments hold it to its devices. No file system of the machine can be written to.
                let mut there = VOLUME_PLACES.iter().map(Path::new).filter(|place| place.exists());
                there.try_for_each(|place| reach.add(place))?;
                self.run_confined(&reach, run)
            }
            (Writes::Only(devices), Some(held)) => self.run_confined(&held.part(devices)?, run),
            // An undo: the journal that it is read from says the device.
            (Writes::Only(devices), None) => {
                let mut reach = Reach::nothing();
                devices.iter().try_for_each(|device| reach.add(device))?;
                self.run_confined(&reach, run)
            }
        }
    }

    fn run_confined(&self, reach: &Reach, run: Option<&Run>) -> Result<Output, StackError> {
        let cure = "run where the kernel lets a process confine itself (Landlock)";
        sandbox::confined(reach, || self.run_here(run))
            .unwrap_or_else(|e| Err(StackError::path("confine", Path::new(&self.program), e, cure)))
    }

    fn run_here(&self, run: Option<&Run>) -> Result<Output, StackError> {
        let missing = || StackError::MissingTool {
            tool: self.program.clone(),
            package: package_of(&self.program).to_owned(),
        };
        let program = sandbox::find_program(&self.program).ok_or_else(missing)?;
        let failed = |e| StackError::path("run", &program, e, "check that it is a program for this machine");
        let stdin = match run {
            Some(held) => Stdio::from(held.lock.try_clone().map_err(failed)?),
            None => Stdio::null(),
        };
        let mut command = sandbox::command(&program);
        if !self.libraries.is_empty() {
            command.env("LD_LIBRARY_PATH", &self.libraries);
        }
        let mut child = command
            .args(&self.args)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let out = child.stdout.take().map(reader);
        let err = child.stderr.take().map(reader);
        let Waited { status, is_gone } = wait(&mut child, self.limit).map_err(failed)?;
        if !is_gone {
            // What it wrote so far can't be had without waiting for it.
            let nothing = Output {
                stdout: String::new(),
                stderr: String::new(),
            };
            return Err(self.failure(None, &nothing));
        }
        let text =
            |thread: Option<std::thread::JoinHandle<String>>| thread.and_then(|t| t.join().ok()).unwrap_or_default();
        let output = Output {
            stdout: text(out),
            stderr: text(err),
        };
        match status {
            Some(status) if status.success() => Ok(output),
            status => Err(self.failure(status, &output)),
        }
    }

    fn failure(&self, status: Option<ExitStatus>, output: &Output) -> StackError {
        let said = if output.stderr.trim().is_empty() {
            &output.stdout
        } else {
            &output.stderr
        };
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(QUOTED_LINES)..];
        let exited = status.is_some_and(|status| status.code().is_some());
        let status = status.map_or(format!("killed after {} s", self.limit.as_secs()), |s| s.to_string());
        let said = if last.is_empty() {
            "it said nothing".to_owned()
        } else {
            last.join("; ")
        };
        let cure = "run the command by hand to see more; check the options in the study and the kernel log (dmesg)";
        StackError::Tool {
            command: self.line(),
            status,
            exited,
            said,
            cure: cure.to_owned(),
        }
    }
}

/// The first line that a tool prints about its version; empty when it can't be run. Asked once: each stack that is
/// built wants to know.
pub(crate) fn version(program: &str) -> String {
    static KNOWN: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(said) = known().get(program) {
        return said.clone();
    }
    let said = asked_for_version(program);
    if !said.is_empty() {
        known().insert(program.to_owned(), said.clone());
    }
    said
}

fn asked_for_version(program: &str) -> String {
    let flag = match program {
        "mkfs.btrfs" | "losetup" => "--version",
        "lvm" => "version",
        "ganesha.nfsd" => "-v",
        _ => "-V",
    };
    let Ok(output) = Tool::new(program, [flag], Duration::from_secs(10)).run(None) else {
        return String::new();
    };
    let all = format!("{}\n{}", output.stdout, output.stderr);
    all.lines()
        .map(str::trim)
        .find(|l| !l.is_empty())
        .unwrap_or_default()
        .to_owned()
}

fn reader(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut all = Vec::new();
        // What was read before an error is still worth quoting.
        let _ = from.by_ref().take(WORDS_MAX).read_to_end(&mut all);
        let _ = std::io::copy(&mut from, &mut std::io::sink());
        String::from_utf8_lossy(&all).into_owned()
    })
}

/// How a child ended.
struct Waited {
    /// `None` when the time was over and the child was killed.
    status: Option<ExitStatus>,
    /// One that waits in the kernel may not even be killed.
    is_gone: bool,
}

/// How long a killed child may take.
const DEATH: Duration = Duration::from_secs(10);

fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Waited> {
    let start = Instant::now();
    let end = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok();
    let mut pause = Duration::from_millis(1);
    let mut is_killed = false;
    loop {
        if let Some(status) = child.try_wait()? {
            let status = (!is_killed).then_some(status);
            return Ok(Waited { status, is_gone: true });
        }
        if start.elapsed() > limit && !is_killed {
            child.kill()?;
            is_killed = true;
        }
        if start.elapsed() > limit + DEATH {
            let (status, is_gone) = (None, false);
            return Ok(Waited { status, is_gone });
        }
        rest(end.as_ref(), pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Rests until a child ends, and no longer than the pause. Kernels before 5.3 can't say that it ends.
fn rest(end: Option<&OwnedFd>, pause: Duration) {
    let said = end.zip(Timespec::try_from(pause).ok());
    let said = said.map(|(end, pause)| poll(&mut [PollFd::new(end, PollFlags::IN)], Some(&pause)));
    if !matches!(said, Some(Ok(_))) {
        std::thread::sleep(pause);
    }
}

/// A path as an argument; paths that are not UTF-8 can't be journalled either.
pub(crate) fn argument(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_named_with_its_package() {
        let tool = Tool::new("mkfs.nonesuch", ["x"], Duration::from_secs(1));
        let error = tool.run(None).err().expect("an error").to_string();
        assert!(error.starts_with("mkfs.nonesuch not found\n  install"), "{error}");
        assert_eq!(package_of("mkfs.btrfs"), "btrfs-progs");
    }

    #[test]
    fn a_failure_quotes_command_status_and_last_words() {
        let tool = Tool::new(
            "sh",
            ["-c", "echo one >&2; echo two words >&2; exit 3"],
            Duration::from_secs(10),
        );
        let error = tool.run(None).err().expect("an error").to_string();
        assert!(
            error.contains("sh -c 'echo one") && error.contains("exit status: 3"),
            "{error}"
        );
        assert!(error.contains("one; two words"), "{error}");
    }

    #[test]
    fn a_tool_that_hangs_is_killed() {
        let start = Instant::now();
        let error = Tool::new("sleep", ["60"], Duration::from_millis(200))
            .run(None)
            .err()
            .expect("an error");
        assert!(error.to_string().contains("killed after"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_tool_that_makes_devices_writes_below_its_places_and_nowhere_else() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        let script = format!("echo x >{}", file.display());
        let limit = Duration::from_secs(10);
        let refused = Tool::new("sh", ["-c", &script], limit).making_devices_of(&[]).run(None);
        let confined = sandbox::confinement() == "by the kernel (Landlock)";
        assert_eq!((refused.is_err(), file.exists()), (confined, !confined));
        let own = format!("/dev/assay-test-{}", std::process::id());
        let script = format!("mkfifo {own} && rm {own}");
        let may = Tool::new("sh", ["-c", &script], limit).making_devices_of(&[]).run(None);
        assert!(may.is_ok() || !crate::is_root(), "{:?}", may.err());
    }
}
