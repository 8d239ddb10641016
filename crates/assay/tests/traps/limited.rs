//! A control group with a part of a processor, for a run that is held back.
//!
//! Gives the group, what its own account says, and a command in it; taken away when dropped. Prevents: a group that
//! outlives its test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A control group with little processor time, removed when dropped.
pub(crate) struct Limited(PathBuf);

impl Limited {
    /// A tenth of a processor; `None` where no such group can be made.
    pub(crate) fn new() -> Option<Limited> {
        let name = format!("assay-test-{}", std::process::id());
        let old = Path::new("/sys/fs/cgroup/cpu");
        let dir = if old.is_dir() {
            old.join(name)
        } else {
            Path::new("/sys/fs/cgroup").join(name)
        };
        std::fs::create_dir(&dir).ok()?;
        let made = Limited(dir);
        let is_set = std::fs::write(made.0.join("cpu.cfs_quota_us"), "20000").is_ok()
            || std::fs::write(made.0.join("cpu.max"), "20000 100000").is_ok();
        is_set.then_some(made)
    }

    /// Time that it was held back so far, by the kernel's own account, read here and not by the tool.
    pub(crate) fn held_back(&self) -> Duration {
        let stat = std::fs::read_to_string(self.0.join("cpu.stat")).unwrap_or_default();
        let field = |name: &str| {
            stat.lines()
                .find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
        };
        let micros = field("throttled_usec ").or_else(|| field("throttled_time ").map(|ns| ns / 1_000));
        Duration::from_micros(micros.unwrap_or(0))
    }

    /// Starts the command in it.
    pub(crate) fn command(&self, command: &Command) -> Command {
        let mut inside = Command::new("sh");
        inside.args(["-c", "echo $$ > \"$1\" && shift && exec \"$@\"", "sh"]);
        inside
            .arg(self.0.join("cgroup.procs"))
            .arg(command.get_program())
            .args(command.get_args());
        inside
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        // Its processes may take a moment to be gone.
        for _ in 0..50 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
