//! What this machine lacks to serve files, and the cure.
//!
//! Takes nothing, touches nothing. Prevents: a study of file serving that fails when its stacks have been built.

use crate::host::modules;
use crate::probe;
use crate::tool;
use plan::FileServer;
use std::path::PathBuf;

/// A server of files that a study can name, and whether it can be started here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileServerHere {
    /// Which.
    pub server: FileServer,
    /// Whether it can be started.
    pub able: bool,
    /// Why not, or what it is.
    pub reason: String,
    /// What to do about it; empty when able.
    pub cure: String,
    /// As it says itself; empty where it is not found.
    pub version: String,
}

/// Programs that any server is started with.
const PROGRAMS: [&str; 5] = ["rpcbind", "unshare", "ip", "umount", "setsid"];
/// The part of nfs-ganesha that serves a mounted file system.
const MODULE: &str = "libfsalvfs.so";

/// Every server of files that a study can name.
pub fn file_servers() -> Vec<FileServerHere> {
    let kinds = [
        (FileServer::Ganesha, lack_of_ganesha(), "nfs-ganesha"),
        (FileServer::Kernel, lack_of_kernel(), "the kernel's own"),
    ];
    let here = |(server, lack, what): (FileServer, Option<(String, String)>, &str)| {
        let able = lack.is_none();
        let (reason, cure) = lack.unwrap_or_else(|| (format!("{what}, in a network of its own"), String::new()));
        FileServerHere {
            server,
            able,
            reason,
            cure,
            version: version(server),
        }
    };
    kinds.map(here).into()
}

/// What a server says of its version; empty where it is not here.
pub(super) fn version(server: FileServer) -> String {
    match server {
        FileServer::Ganesha => tool::version("ganesha.nfsd"),
        FileServer::Kernel if probe::kernel_has(KERNEL_FILE_SYSTEM) => {
            let release = rustix::system::uname();
            format!("the NFS server of Linux {}", release.release().to_string_lossy())
        }
        FileServer::Kernel => String::new(),
    }
}

/// What stands in the way of any server: (reason, cure).
fn lack_of(programs: &[&str]) -> Option<(String, String)> {
    let all = programs.iter().chain(&PROGRAMS);
    probe::obstacle().or_else(|| all.copied().find_map(probe::no_tool))
}

/// Why nfs-ganesha cannot be started, and the cure.
fn lack_of_ganesha() -> Option<(String, String)> {
    lack_of(&["ganesha.nfsd"]).or_else(|| {
        (!has_module()).then(|| {
            let reason = format!("nfs-ganesha has no module for mounted file systems ({MODULE})");
            (reason, "install nfs-ganesha-vfs".to_owned())
        })
    })
}

/// The kernel's server shows its settings as a file system of this name, which is its module's, too.
const KERNEL_FILE_SYSTEM: &str = "nfsd";

/// Why the kernel's server cannot be started, and the cure.
fn lack_of_kernel() -> Option<(String, String)> {
    let no_kernel = || {
        (!probe::kernel_has(KERNEL_FILE_SYSTEM)).then(|| {
            let reason = format!("this kernel has no NFS server (module {KERNEL_FILE_SYSTEM})");
            (reason, modules::cure(KERNEL_FILE_SYSTEM))
        })
    };
    probe::obstacle()
        .or_else(no_kernel)
        .or_else(|| lack_of(&["rpc.nfsd", "rpc.mountd", "exportfs"]))
}

fn has_module() -> bool {
    let mut folders: Vec<PathBuf> = ["/usr/lib64/ganesha", "/usr/lib/ganesha"].map(PathBuf::from).into();
    let libraries = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    folders.extend(libraries.map(|entry| entry.path().join("ganesha")));
    folders.iter().any(|folder| folder.join(MODULE).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_that_cannot_be_started_has_a_reason_and_a_cure() {
        let all = file_servers();
        assert_eq!(all.len(), 2);
        for here in all {
            assert!(!here.reason.is_empty() && here.able == here.cure.is_empty(), "{here:?}");
        }
    }
}
