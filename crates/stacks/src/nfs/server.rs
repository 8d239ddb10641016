//! A server of a stack's files on a directory of it: made once, started anew each time, killed.
//!
//! It gets network, mount, host name and message queues of its own, a /run in memory with a port mapper in it, and a
//! configuration that Assay writes. It works in the run's directory, by which it is known. nfs-ganesha stays in the
//! control group of the run and starts with a new epoch each time; the kernel's server is threads of the kernel's, of
//! no group and no epoch of ours. Prevents: a server that comes back with the write verifier of the one before, which
//! would hide what was lost, and a host's configuration that changes a study.

use super::configuration::{self, KERNEL_OPTIONS, MOUNT_PORT, NFS_PORT, Told};
use super::dialer::Dialer;
use super::processes::SETTINGS;
use super::{needs, processes, script};
use crate::built::own_name;
use crate::error::StackError;
use crate::host::process::Who;
use crate::journal::Journal;
use crate::tool::{Tool, argument};
use crate::undo::Undo;
use plan::{FileServer, Stack};
use rustix::fs::OFlags;
use sandbox::Directory;
use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest wait for its first answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// What nfs-ganesha is told, in its directory.
const CONFIGURATION: &str = "ganesha.conf";
/// What nfs-ganesha writes, in its directory.
const WORDS: &str = "ganesha.log";
/// What all processes write before they have a log.
const FIRST_WORDS: &str = "started.log";
/// How much of that is quoted.
const QUOTED_LINES: usize = 4;
/// As many as rpc.nfsd starts by itself.
const KERNEL_THREADS: u32 = 8;

/// A server of a stack's files. It is stopped by the journal it was made with.
#[derive(Debug)]
pub struct FileService {
    server: FileServer,
    export: PathBuf,
    dir: Directory,
    /// Worker threads; `None`: as many as it takes by itself.
    threads: Option<u32>,
    /// Of nfs-ganesha's last start, which its write verifiers follow. No number is used twice.
    epoch: u32,
    /// It comes back with the write verifier that it had: a planted loss.
    same_verifier: bool,
    /// Where it runs.
    running: Option<Dialer>,
}

impl FileService {
    /// Makes the directory of a server of `export`, which is a directory of the stack, and writes its configuration.
    /// The server is not started. `threads`: that work; `None`: as many as it takes by itself.
    ///
    /// # Errors
    /// A path that its configuration cannot name.
    pub fn make(
        (stack, server, threads): (&Stack, FileServer, Option<u32>),
        export: &Path,
        work_dir: &Directory,
        journal: &mut Journal,
    ) -> Result<FileService, StackError> {
        let name = own_name(journal, stack, "-nfs");
        let told = Told {
            export,
            state: &work_dir.path().join(&name),
            threads,
        };
        let text = configuration::text(&told).ok_or_else(|| StackError::Unbuildable {
            stack: stack.name.clone(),
            why: format!("an NFS server cannot export the path {}", export.display()),
            cure: "name a directory without quotes, dollars, backslashes and control characters".to_owned(),
        })?;
        let dir = journal.make_directory(work_dir, &name, 0o700, true)?;
        journal.before(Undo::StopFileServer {
            dir: dir.path().to_owned(),
        })?;
        let path = dir.path().join(CONFIGURATION);
        if server == FileServer::Ganesha {
            let failed = |e: std::io::Error| StackError::path("write", &path, e, "free space there");
            let file = dir.create(CONFIGURATION, OFlags::WRONLY);
            let written = file.map_err(std::io::Error::from).map(File::from);
            written
                .and_then(|mut file| file.write_all(text.as_bytes()))
                .map_err(failed)?;
        }
        let drawn =
            sandbox::random_number().map_err(|e| StackError::path("draw a number for", &path, e, "try again"))?;
        Ok(FileService {
            server,
            export: export.to_owned(),
            dir,
            threads,
            // Below 2^30: it counts up from here, and the server reads a signed number.
            epoch: (drawn as u32 >> 2).max(1),
            same_verifier: stack.inject.same_verifier,
            running: None,
        })
    }

    /// Starts it with a write verifier that it never had (unless the study plants that), and waits until it listens.
    /// It may take a moment longer to know its export.
    ///
    /// # Errors
    /// It ended, with its last words; no answer for a minute.
    pub fn start(&mut self, journal: &Journal) -> Result<(), StackError> {
        self.epoch += u32::from(!self.same_verifier);
        self.dir.check()?;
        let (shown, starting) = self.starting()?;
        starting.run(Some(journal.run()))?;
        let begin = Instant::now();
        loop {
            match self.answers() {
                Ok(dialer) => {
                    self.running = Some(dialer);
                    return Ok(());
                }
                // It takes a moment to be seen as what it is.
                Err(silent) if begin.elapsed() > PATIENCE || (silent.ended && begin.elapsed() > PATIENCE / 10) => {
                    return Err(StackError::Tool {
                        command: shown,
                        status: "no answer".to_owned(),
                        exited: false,
                        said: self.last_words().unwrap_or(silent.why),
                        cure: "start it by hand to see more; look into the kernel log (dmesg)".to_owned(),
                    });
                }
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// What starts it, and how that is shown.
    fn starting(&self) -> Result<(String, Tool), StackError> {
        let dir = self.dir.path();
        let (shown, script, own) = match self.server {
            FileServer::Ganesha => {
                let epoch = self.epoch.to_string();
                let shown = format!("ganesha.nfsd -F -f {CONFIGURATION} -E {epoch}");
                let files = [argument(&dir.join(CONFIGURATION)), argument(&dir.join(WORDS))];
                let own = [found("ganesha.nfsd")?, epoch].into_iter().chain(files).collect();
                (shown, script::of_ganesha(), own)
            }
            FileServer::Kernel => {
                let threads = self.threads.unwrap_or(KERNEL_THREADS).to_string();
                let shown = format!("rpc.nfsd -H 127.0.0.1 -p {NFS_PORT} -V 3 {threads}");
                let tools = [found("exportfs")?, found("rpc.mountd")?, found("rpc.nfsd")?];
                let ports = [NFS_PORT, MOUNT_PORT].map(|port| port.to_string());
                let rest = [threads, KERNEL_OPTIONS.to_owned(), SETTINGS.to_owned()];
                let own: Vec<String> = tools.into_iter().chain(ports).chain(rest).collect();
                (shown, script::of_kernel(), own)
            }
        };
        let namespaces = ["--net", "--mount", "--uts", "--ipc", "--propagation", "slave"].map(str::to_owned);
        let script = ["--", "sh", "-c", script.as_str(), "start-file-server"].map(str::to_owned);
        let mut args: Vec<String> = namespaces.into_iter().chain(script).collect();
        args.extend([argument(dir), argument(&self.export), found("rpcbind")?]);
        args.extend(own);
        let tool = Tool::new("unshare", args, PATIENCE).mounting().shown_as(&shown);
        Ok((shown, tool))
    }

    /// The process that ends when the server does.
    fn who(&self) -> Who<'static> {
        match self.server {
            FileServer::Ganesha => Who::Ganesha,
            FileServer::Kernel => Who::MountDaemon,
        }
    }

    /// Whether it listens on both ports.
    fn answers(&self) -> Result<Dialer, Silent> {
        let pid = processes::serving(self.dir.path(), self.who()).ok_or_else(|| Silent {
            ended: true,
            why: "it has ended".to_owned(),
        })?;
        let silent = |e: std::io::Error| Silent {
            ended: false,
            why: e.to_string(),
        };
        let dialer = Dialer::of(pid).map_err(silent)?;
        for port in [NFS_PORT, MOUNT_PORT] {
            dialer
                .dial(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
                .map_err(silent)?;
        }
        Ok(dialer)
    }

    /// Ends it without asking, and waits until it has: what it had not written is lost. Not running: fine.
    ///
    /// # Errors
    /// A process that stays.
    pub fn kill(&self) -> Result<(), StackError> {
        let dir = self.dir.path();
        processes::kill(dir).map_err(|e| StackError::path("end the NFS server in", dir, e, "run `assay clean`"))
    }

    /// Whether it runs.
    pub fn runs(&self) -> bool {
        processes::serving(self.dir.path(), self.who()).is_some()
    }

    /// The process that does the work; `None`: it does not run, or threads of the kernel's do it.
    pub fn pid(&self) -> Option<u32> {
        match self.server {
            FileServer::Ganesha => processes::serving(self.dir.path(), Who::Ganesha),
            FileServer::Kernel => None,
        }
    }

    /// Opens connections to it, as it was last started; `None`: it never was.
    pub fn dialer(&self) -> Option<Dialer> {
        self.running.clone()
    }

    /// Host, port of NFS, port of MOUNT, in its own network.
    pub fn address(&self) -> (Ipv4Addr, u16, u16) {
        (Ipv4Addr::LOCALHOST, NFS_PORT, MOUNT_PORT)
    }

    /// The directory that it serves, by the name that users mount.
    pub fn export(&self) -> &Path {
        &self.export
    }

    /// What it is, as it says itself.
    pub fn version(&self) -> String {
        needs::version(self.server)
    }

    /// The last lines that it wrote.
    pub fn last_words(&self) -> Option<String> {
        let said = |name: &str| {
            let text = std::fs::read(self.dir.path().join(name)).ok()?;
            let text = String::from_utf8_lossy(&text).into_owned();
            let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            let last = lines[lines.len().saturating_sub(QUOTED_LINES)..].join("; ");
            (!last.is_empty()).then_some(last)
        };
        said(WORDS).or_else(|| said(FIRST_WORDS))
    }
}

/// The path of a program.
fn found(name: &str) -> Result<String, StackError> {
    let missing = || StackError::MissingTool {
        tool: name.to_owned(),
        package: crate::tool::package_of(name).to_owned(),
    };
    sandbox::find_program(name)
        .map(|path| argument(&path))
        .ok_or_else(missing)
}

/// A server without an answer.
struct Silent {
    /// It is not there (any more).
    ended: bool,
    why: String,
}
