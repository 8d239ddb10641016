//! What this machine lacks to serve files, and the cure.
//!
//! Takes nothing, touches nothing. Prevents: a study of file serving that fails when its stacks have been built.

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

/// Programs that a server is started with.
const PROGRAMS: [&str; 6] = ["ganesha.nfsd", "rpcbind", "unshare", "ip", "umount", "setsid"];
/// The part of nfs-ganesha that serves a mounted file system.
const MODULE: &str = "libfsalvfs.so";

/// Every server of files that a study can name.
pub fn file_servers() -> Vec<FileServerHere> {
    let lack = lack_of_ganesha();
    let able = lack.is_none();
    let (reason, cure) = lack.unwrap_or_else(|| ("nfs-ganesha, in a network of its own".to_owned(), String::new()));
    let ganesha = FileServerHere {
        server: FileServer::Ganesha,
        able,
        reason,
        cure,
        version: version(),
    };
    let kernel = FileServerHere {
        server: FileServer::Kernel,
        able: false,
        reason: "this version does not start the kernel's NFS server".to_owned(),
        cure: "write server = \"ganesha\", or export it by hand: kind = \"server\", url = \"nfs://HOST/EXPORT\""
            .to_owned(),
        version: String::new(),
    };
    vec![ganesha, kernel]
}

/// What nfs-ganesha says of its version; empty where it is not here.
pub(super) fn version() -> String {
    tool::version("ganesha.nfsd")
}

/// Why nfs-ganesha cannot be started, and the cure.
fn lack_of_ganesha() -> Option<(String, String)> {
    if let Some(lack) = probe::obstacle() {
        return Some(lack);
    }
    if let Some(lack) = PROGRAMS.into_iter().find_map(probe::no_tool) {
        return Some(lack);
    }
    (!has_module()).then(|| {
        let reason = format!("nfs-ganesha has no module for mounted file systems ({MODULE})");
        (reason, "install nfs-ganesha-vfs".to_owned())
    })
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
