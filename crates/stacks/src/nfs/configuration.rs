//! What servers are told of their one export: nfs-ganesha's configuration, the options of the kernel's server.
//!
//! Takes what shapes it, gives the text. Prevents: an export whose handles die with a mount, and a path that ends its
//! own quotes.

use std::path::Path;

/// Port of NFS in the server's own network.
pub(super) const NFS_PORT: u16 = 2049;
/// Port of MOUNT there.
pub(super) const MOUNT_PORT: u16 = 20048;

/// Options of the export of the kernel's server, as exportfs takes them. The clients come from any port as any user,
/// and the number stands in handles in place of the device's.
pub(super) const KERNEL_OPTIONS: &str = "rw,sync,no_root_squash,insecure,no_subtree_check,fsid=7";

/// What nfs-ganesha is told.
pub(super) struct Told<'a> {
    /// The directory that is served.
    pub(super) export: &'a Path,
    /// Where it keeps its state and its log.
    pub(super) state: &'a Path,
    /// Worker threads; `None`: as many as it takes by itself.
    pub(super) threads: Option<u32>,
}

/// A path that can stand in quotes there; `None`: it cannot.
fn quotable(path: &Path) -> Option<&str> {
    let path = path.to_str()?;
    let plain = |c: char| !c.is_control() && !"\"'\\$".contains(c);
    path.chars().all(plain).then_some(path)
}

/// The text; `None` where a path cannot be written in it.
pub(super) fn text(told: &Told<'_>) -> Option<String> {
    let (export, state) = (quotable(told.export)?, quotable(told.state)?);
    let threads = told.threads.map_or(String::new(), |threads| {
        // It keeps at least two for its own sake.
        format!(" RPC_Ioq_ThrdMax = {};", threads.max(2))
    });
    // No Bind_addr: in a network that has only `lo` it refuses an address.
    // Filesystem_id: otherwise handles carry the device's number, and are stale after a mount on another loop device.
    Some(format!(
        "NFS_CORE_PARAM {{ NFS_Port = {NFS_PORT}; MNT_Port = {MOUNT_PORT}; Protocols = 3; Enable_UDP = false;\n\
         \x20   Enable_NLM = false; Enable_RQUOTA = false; Enable_NFS_Stats = false;{threads} }}\n\
         NFSv4 {{ Graceless = true; RecoveryRoot = \"{state}\"; }}\n\
         EXPORT {{ Export_Id = 1; Path = \"{export}\"; Pseudo = \"/export\"; Filesystem_id = 7.7; Access_Type = RW;\n\
         \x20   Squash = No_Root_Squash; SecType = sys; PrivilegedPort = false; Protocols = 3; Transports = TCP;\n\
         \x20   FSAL {{ Name = VFS; }} }}\n\
         LOG {{ Default_Log_Level = EVENT;\n\
         \x20   Facility {{ name = FILE; destination = \"{state}/ganesha.log\"; enable = active; }} }}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(export: &str, threads: Option<u32>) -> Option<String> {
        text(&Told {
            export: Path::new(export),
            state: Path::new("/s"),
            threads,
        })
    }

    #[test]
    fn a_path_with_quotes_is_refused_and_threads_are_said() {
        let plain = told("/srv/a b", None).expect("a text");
        assert!(
            plain.contains("Path = \"/srv/a b\"") && !plain.contains("ThrdMax"),
            "{plain}"
        );
        assert!(
            told("/srv", Some(16))
                .expect("a text")
                .contains("RPC_Ioq_ThrdMax = 16;")
        );
        for path in ["/srv/\"; } EXPORT {", "/srv/a\nb", "/srv/$x", "/srv/a\\"] {
            assert!(told(path, None).is_none(), "{path}");
        }
    }
}
