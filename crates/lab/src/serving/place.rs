//! Where the files of a stack are reached: in its directory, or on a server.
//!
//! Prevents: a study of a server that this machine cannot start, found out when its stacks have been built.

use super::server::{PATIENCE, Server};
use crate::host::descriptors;
use crate::host::stand::Stand;
use anyhow::{Context, ensure};
use files::{LocalDirectory, NfsServer, Place};
use ledger::Skipped;
use plan::{Access, Files, Stack};
use std::net::{IpAddr, ToSocketAddrs};

/// A session keeps the directory, and a call opens up to two files more.
const FILES_OF_A_SESSION: u64 = 3;
/// Of the rest of the process: the result file, journals, devices, descriptors of observers.
const FILES_BESIDE: u64 = 200;

/// A server that was there, as a study names it.
struct Address {
    host: String,
    nfs_port: Option<u16>,
    mount_port: Option<u16>,
    export: String,
}

/// Why this machine cannot serve a stack's files, and the cure.
pub(crate) fn unable(stack: &Stack) -> Option<Skipped> {
    let asked = stack.engine.files()?.server?;
    let here = stacks::file_servers().into_iter().find(|here| here.server == asked)?;
    (!here.able).then_some(Skipped {
        reason: here.reason,
        cure: here.cure,
    })
}

/// The place of a stack; `server`: the one that was started for it.
pub(super) fn of(stand: &Stand, files: &Files, sessions: u32, server: Option<&Server>) -> anyhow::Result<Place> {
    if let Some(server) = server {
        return server.place().map(Place::Nfs3);
    }
    if let Some(url) = stand.stack.kind.server() {
        return there(url, files).map(Place::Nfs3);
    }
    let wanted = u64::from(sessions) * FILES_OF_A_SESSION + FILES_BESIDE;
    let may = descriptors::raise_to(wanted);
    ensure!(
        may >= wanted,
        "{sessions} sessions need {wanted} open files, and this process may have {may}\n  \
         raise the hard limit (`ulimit -Hn`), or write fewer `sessions`"
    );
    let directory = stand.directory()?;
    let held = sandbox::Directory::open(&directory)?;
    let directory = rustix::io::fcntl_dupfd_cloexec(&held, 0).context("hold the directory of the files")?;
    Ok(Place::Posix(LocalDirectory {
        directory,
        direct: stand.stack.access == Access::Direct,
        threads: sessions,
    }))
}

fn there(url: &str, files: &Files) -> anyhow::Result<NfsServer> {
    let address = Address::of(url).context("the address of the NFS server")?;
    let host: IpAddr = (address.host.as_str(), 0)
        .to_socket_addrs()
        .with_context(|| format!("look up {}", address.host))?
        .next()
        .with_context(|| format!("{} has no address", address.host))?
        .ip();
    Ok(NfsServer {
        nfs_port: address.nfs_port,
        mount_port: address.mount_port,
        patience: PATIENCE,
        ..NfsServer::new(host, &address.export, files.connections)
    })
}

impl Address {
    /// `nfs://HOST[:PORT]/EXPORT[?mountport=PORT]`, whose words `plan` has checked.
    fn of(url: &str) -> Option<Address> {
        let (authority, path) = url.strip_prefix("nfs://")?.split_once('/')?;
        let (path, asked) = path.split_once('?').unwrap_or((path, ""));
        let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let number = |text: &str| text.parse().ok();
        Some(Address {
            host: host.to_string(),
            nfs_port: port.and_then(number),
            mount_port: asked.strip_prefix("mountport=").and_then(number),
            export: format!("/{path}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_apart() {
        let of = |url: &str| {
            let address = Address::of(url).unwrap();
            (address.host, address.nfs_port, address.mount_port, address.export)
        };
        let plain = ("filer".to_string(), None, None, "/export/a".to_string());
        assert_eq!(of("nfs://filer/export/a"), plain);
        let ports = ("fe80::1".to_string(), Some(2049), Some(20048), "/e".to_string());
        assert_eq!(of("nfs://[fe80::1]:2049/e?mountport=20048"), ports);
    }
}
