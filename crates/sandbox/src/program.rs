//! Programs: found where only root can put them, started with an environment of our own choice.
//!
//! Takes a name or a path, gives a command. Every child process of the house begins here. Prevents: root that runs a
//! program which another user has put into a directory of the search path, and a child led by a variable of its
//! caller's.

use crate::trust;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where administration tools live when the `PATH` of an ordinary user leaves them out.
const ADMIN_DIRECTORIES: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];
/// What a child keeps of our environment: nothing that loads code, moves files or changes what a tool does.
const KEPT: [&str; 6] = ["PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ"];

/// The place of a program, in `PATH` and the directories of administration tools. Root looks only where no other user
/// can write.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(ADMIN_DIRECTORIES.iter().map(PathBuf::from))
        .map(|dir| dir.join(name))
        .find(|candidate| is_safe_program(candidate))
}

/// Whether a file can be run, and root alone can put another one in its place where root asks.
pub fn is_safe_program(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && is_safe_code(path)
}

/// Whether a file is there, and root alone can put another one in its place where root asks: a program, or a library to
/// load.
pub fn is_safe_code(path: &Path) -> bool {
    // A name in PATH may be a link: what it leads to is what runs.
    let real = || std::fs::canonicalize(path).ok();
    let is_safe = |path: &Path| path.parent().is_some_and(|dir| trust::walk(dir).is_ok());
    path.is_file() && is_safe(path) && real().is_some_and(|real| is_safe(&real))
}

/// A command that runs this program with a clean environment, in English.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    command.envs(KEPT.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))));
    command.env("LC_ALL", "C");
    command
}

/// A command that runs this very program again, whatever its file is called by now.
pub fn ourselves() -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new("/proc/self/exe");
    command.arg0("assay").env("LC_ALL", "C");
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_program_in_a_directory_of_another_user_is_not_found_by_root() {
        assert!(find_program("sh").is_some());
        assert!(find_program("nonesuch-program").is_none());
        if !rustix::process::geteuid().is_root() {
            assert!(std::env::var_os("CI").is_none(), "this test needs root");
            return;
        }
        let dir = tempfile::tempdir().expect("a directory");
        let program = dir.path().join("tool");
        std::fs::write(&program, "#!/bin/sh\n").expect("written");
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("its mode");
        assert!(is_safe_program(&program));
        std::os::unix::fs::chown(dir.path(), Some(12345), None).expect("its owner");
        assert!(!is_safe_program(&program));
    }

    #[test]
    fn a_child_gets_nothing_that_loads_code() {
        let shell = find_program("sh").expect("a shell");
        let said = command(&shell).args(["-c", "env"]).output().expect("its words");
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(said.contains("LC_ALL=C") && said.contains("PATH="), "{said}");
        assert!(!said.contains("CARGO"), "{said}");
    }
}
