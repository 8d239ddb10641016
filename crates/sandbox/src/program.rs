//! Programs: found where only root can put them, started with an environment of our own choice.
//!
//! Takes a name or a path, gives a command. Every child process of the house begins here. Prevents: root that runs a
//! program which another user has put into a directory of the search path, and a child led by a variable of its
//! caller's.

use crate::trust;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// Where administration tools live when the `PATH` of an ordinary user leaves them out.
const ADMIN_DIRECTORIES: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];
/// What a child keeps of our environment: nothing that loads code, moves files or changes what a tool does.
const KEPT: [&str; 5] = ["HOME", "USER", "LOGNAME", "TMPDIR", "TZ"];

/// The place of a program, in `PATH` and the directories of administration tools. Root looks only where no other user
/// can write.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let mut candidates = search_path().into_iter().map(|dir| dir.join(name));
    candidates.find(|candidate| is_safe_program(candidate))
}

/// Where programs are looked for, by us and by our children: a child's child is found by name too.
fn search_path() -> Vec<PathBuf> {
    search_in(&std::env::var_os("PATH").unwrap_or_default())
}

fn search_in(path: &OsStr) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for dir in std::env::split_paths(path).chain(ADMIN_DIRECTORIES.iter().map(PathBuf::from)) {
        if !found.contains(&dir) && trust::is_for_code(&dir) {
            found.push(dir);
        }
    }
    found
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
    path.is_file() && trust::is_code(path) && real().is_some_and(|real| trust::is_code(&real))
}

/// Whether every library in a directory is one that root may load where root asks.
pub fn are_safe_libraries(dir: &Path) -> bool {
    let files = || {
        std::fs::read_dir(dir)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
    };
    trust::is_for_code(dir) && files().filter(|path| path.is_file()).all(|path| is_safe_code(&path))
}

/// A command that runs this program with a clean environment, in English.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    command.envs(KEPT.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))));
    // Two entries that hold the separator can't be joined: then a child finds nothing by name.
    command.env("PATH", std::env::join_paths(search_path()).unwrap_or_default());
    command.env("LC_ALL", "C");
    command
}

/// A command that runs this very program again, whatever its file is called by now.
pub fn ourselves() -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new("/proc/self/exe");
    command.arg0("assay").env("LC_ALL", "C");
    // A library may start a program by its name alone, as that of FUSE does.
    command.env("PATH", std::env::join_paths(search_path()).unwrap_or_default());
    command.env_remove("FUSERMOUNT_PATH");
    command
}

/// Starts a child that has this file open too, without knowing it: whoever waits for a lock on it waits for the child.
///
/// # Errors
/// The child does not start.
pub fn start_holding(command: &mut Command, file: &File) -> io::Result<Child> {
    let theirs = file.try_clone()?;
    // A child that another thread starts meanwhile has it too: it is waited for as well.
    rustix::io::fcntl_setfd(&theirs, rustix::io::FdFlags::empty())?;
    command.spawn()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_lock_is_held_until_the_child_that_has_the_file_ends() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("lock");
        let locked = |file: &File| {
            let lock = rustix::fs::FlockOperation::NonBlockingLockExclusive;
            rustix::fs::flock(file, lock).is_ok()
        };
        let ours = File::create(&path).expect("made");
        assert!(locked(&ours));
        let mut sleep = command(&find_program("sleep").expect("sleep"));
        let mut child = start_holding(sleep.arg("600"), &ours).expect("sleep");
        drop(ours);
        let theirs = File::open(&path).expect("opened");
        let is_held = !locked(&theirs);
        child.kill().expect("killed");
        child.wait().expect("its end");
        // Children that other tests started in that moment have it too, and end soon.
        let is_free = (0..1200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            locked(&theirs)
        });
        assert!(is_held && is_free);
    }

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
        let with_mode = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        let owned_by = |path: &Path, uid| std::os::unix::fs::chown(path, Some(uid), None).expect("its owner");
        with_mode(&program, 0o777);
        assert!(!is_safe_program(&program), "everybody may change it");
        with_mode(&program, 0o755);
        owned_by(&program, 12345);
        assert!(!is_safe_program(&program), "its owner may change it");
        owned_by(&program, 0);
        with_mode(dir.path(), 0o1777);
        assert!(!is_safe_program(&program), "everybody may make a program there");
        with_mode(dir.path(), 0o755);
        assert!(is_safe_program(&program));
        owned_by(dir.path(), 12345);
        assert!(!is_safe_program(&program));
        let path = std::env::join_paths([dir.path(), Path::new("."), Path::new("/usr/bin")]).expect("joined");
        let found = search_in(&path);
        let all: Vec<&Path> = found.iter().map(PathBuf::as_path).collect();
        assert_eq!(all[0], Path::new("/usr/bin"));
        assert!(
            all.contains(&Path::new("/usr/sbin")) && !all.contains(&dir.path()),
            "{all:?}"
        );
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
