//! The server of a stack's files in a trial: started by us, or there already.
//!
//! Takes a stack that stands; gives the place where its users find the files. Prevents: a client that asks a server
//! which is not up yet, and a dead server whose last words nobody hears.

use crate::host::stand::Stand;
use anyhow::Context;
use files::{FilesError, NfsServer};
use plan::Files;
use sandbox::Directory;
use stacks::{FileService, Journal};
use std::time::{Duration, Instant};

/// No answer for so long, and the phase ends.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// How long its export may take after it listens.
const UP: Duration = Duration::from_secs(30);

/// A server that we start.
pub(super) struct Server {
    server: FileService,
    connections: u32,
    /// Its clients ask for nothing stable: a planted loss.
    flush_lost: bool,
    /// As it says itself.
    version: String,
}

impl Server {
    /// Of a stack whose study asks for one; `None`: nobody starts a server for it.
    pub(super) fn make(
        (stand, files): (&Stand, &Files),
        work_dir: &Directory,
        journal: &mut Journal,
    ) -> anyhow::Result<Option<Server>> {
        let Some(kind) = files.server else { return Ok(None) };
        let export = stand.directory()?;
        let server = FileService::make((&stand.stack, kind, files.threads), &export, work_dir, journal)?;
        let version = server.version();
        Ok(Some(Server {
            server,
            connections: files.connections,
            flush_lost: stand.stack.inject.flush_lost,
            version,
        }))
    }

    /// Starts it, anew if it runs, with a write verifier that it never had, and waits until its export is there.
    pub(super) fn start(&mut self, journal: &Journal) -> anyhow::Result<()> {
        self.server.kill()?;
        self.server.start(journal)?;
        let began = Instant::now();
        loop {
            match files::reach(self.place()?) {
                Ok(()) => return Ok(()),
                Err(error) if error.is_not_up_yet() && began.elapsed() < UP => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(error) => return Err(self.blame(error.into())),
            }
        }
    }

    /// Ends it without asking, as the loss of power does.
    pub(super) fn kill(&self) -> anyhow::Result<()> {
        Ok(self.server.kill()?)
    }

    /// The process that does the work; `None`: it does not run, or threads of the kernel's do it.
    pub(super) fn pid(&self) -> Option<u32> {
        self.server.pid()
    }

    /// What it is.
    pub(super) fn version(&self) -> String {
        self.version.clone()
    }

    /// Where its users find it.
    pub(super) fn place(&self) -> anyhow::Result<NfsServer> {
        let dialer = self.server.dialer().context("a server that was started")?;
        let (host, nfs_port, mount_port) = self.server.address();
        let export = self.server.export().to_str().context("a path as text")?;
        Ok(NfsServer {
            nfs_port: Some(nfs_port),
            mount_port: Some(mount_port),
            patience: PATIENCE,
            flush_lost: self.flush_lost,
            dial: Box::new(move |address| dialer.dial(address)),
            ..NfsServer::new(host.into(), export, self.connections)
        })
    }

    /// An error of a user of it, with the server's own last words where it is gone.
    pub(super) fn blame(&self, error: anyhow::Error) -> anyhow::Error {
        let gone = |cause: &(dyn std::error::Error + 'static)| {
            cause
                .downcast_ref()
                .is_some_and(FilesError::is_of_a_server_that_is_gone)
        };
        if !error.chain().any(gone) {
            return error;
        }
        let state = if self.server.runs() {
            "runs and"
        } else {
            "has ended and"
        };
        let words = self.server.last_words().unwrap_or_else(|| "nothing".to_string());
        error.context(format!("the NFS server {state} said last: {words}"))
    }
}
