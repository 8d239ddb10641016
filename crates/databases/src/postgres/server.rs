//! A server of our own: made, started, stopped, crashed, and started again on the same data.
//!
//! Takes an [`Install`], an empty directory on the stack under test and [`Settings`]; gives a [`Server`] with its [`Address`] and
//! plain facts for an undo journal. Its socket and its log lie in a private directory elsewhere, so that the stack carries
//! nothing but the database. Prevents: a server that the network can reach, and one whose death is taken for slowness.

use super::address::Address;
use super::connection::{Connection, log_end};
use super::error::{NO_ANSWER, PostgresError, shown};
use super::installs::Install;
use super::process::{self, Child, RunAs};
use super::settings::{RecordedSetting, Settings};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Longest path of a socket: `sockaddr_un` has 108 bytes with the closing zero.
pub(super) const SOCKET_BYTES_MAX: usize = 107;
/// The name of the one user and of the first database.
const USER: &str = "assay";
const STOP_PATIENCE: Duration = Duration::from_secs(120);
/// Recovery after a crash may take its time.
const START_PATIENCE: Duration = Duration::from_secs(300);
const CONFIGURATION: &str = "assay.conf";

/// Data of a server, made by `initdb`.
#[derive(Clone, Debug)]
pub struct Cluster {
    install: Install,
    data: PathBuf,
    run_as: RunAs,
}

/// What an undo journal has to know of a running server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFacts {
    /// Process that started all others; SIGQUIT to it ends them all.
    pub pid: u32,
    /// Its start time, clock ticks since boot.
    pub started: u64,
    /// The data.
    pub data: PathBuf,
    /// Directory of socket and log, to be removed with its contents.
    pub private: PathBuf,
}

/// A running server. Dropped, it is stopped at once, as by a crash.
#[derive(Debug)]
pub struct Server {
    child: Child,
    facts: ServerFacts,
    address: Address,
}

impl Cluster {
    /// Makes a database in `data`, which must be empty or missing. `options`: more arguments of `initdb`, as `--data-checksums`.
    ///
    /// # Errors
    /// The directory has something in it, can't be reached by the user, or `initdb` failed.
    pub fn create(install: Install, data: &Path, run_as: RunAs, options: &[&str]) -> Result<Cluster, PostgresError> {
        let cure = "give a directory on the stack that can be written";
        let failed = |what| move |e| PostgresError::path(what, data, e, cure);
        match std::fs::read_dir(data).map(Iterator::count) {
            Ok(1..) => {
                return Err(PostgresError::NotEmpty { path: data.to_owned() });
            }
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                DirBuilder::new().mode(0o700).create(data).map_err(failed("make"))?;
            }
            Err(e) => return Err(failed("open")(e)),
        }
        let data = std::fs::canonicalize(data).map_err(failed("open"))?;
        run_as.own(&data).map_err(failed("hand over"))?;
        std::fs::set_permissions(&data, PermissionsExt::from_mode(0o700)).map_err(failed("protect"))?;
        reachable(&data, &run_as)?;
        let mut args: Vec<OsString> = [
            "--auth=trust",
            "--encoding=UTF8",
            "--no-locale",
            "--no-instructions",
            "-U",
            USER,
        ]
        .map(OsString::from)
        .to_vec();
        args.extend(options.iter().map(OsString::from));
        args.extend(["-D".into(), data.clone().into()]);
        process::run(
            &install.bin.join("initdb"),
            &args,
            &run_as,
            "run it by hand as that user to see more",
        )?;
        Ok(Cluster { install, data, run_as })
    }

    /// One that was made before.
    pub fn at(install: Install, data: &Path, run_as: RunAs) -> Cluster {
        Cluster {
            install,
            data: data.to_owned(),
            run_as,
        }
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Starts the server and waits until it answers; after a crash that is after recovery. `private_parent`: where its private
    /// directory is made, usually the system's place for temporary files.
    ///
    /// # Errors
    /// A setting that is refused, a socket path that is too long, or the server ends instead: with the end of its log.
    pub fn start(&self, settings: &Settings, private_parent: &Path) -> Result<Server, PostgresError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("assay-pg-{}-{nth}", std::process::id());
        self.start_at(settings, &private_parent.join(name))
    }

    /// The same with the private directory itself, which is made: for who has to write it down before.
    ///
    /// # Errors
    /// As [`Cluster::start`].
    pub fn start_at(&self, settings: &Settings, private: &Path) -> Result<Server, PostgresError> {
        let private = self.private_dir(private)?;
        let started = self.start_in(settings, &private);
        if started.is_err() {
            let _ = std::fs::remove_dir_all(&private);
        }
        started
    }

    fn start_in(&self, settings: &Settings, private: &Path) -> Result<Server, PostgresError> {
        let mut address = Address::unix(private, USER, "postgres");
        let socket = address.socket().unwrap_or_default();
        if socket.as_os_str().len() > SOCKET_BYTES_MAX {
            return Err(PostgresError::SocketPath { path: socket });
        }
        let log_path = private.join("server.log");
        let cure = "is there room, and may it be written?";
        let log = File::options().create(true).append(true).open(&log_path);
        let log = log.map_err(|e| PostgresError::path("make", &log_path, e, cure))?;
        let conf = private.join(CONFIGURATION);
        let text = settings.text(&private.to_string_lossy())?;
        // initdb's own file is left as it is: what ours says comes after it.
        let base = self.data.join("postgresql.conf");
        let base = base.to_string_lossy().replace('\'', "''");
        let made = std::fs::write(&conf, format!("include '{base}'\n{text}"))
            .and_then(|()| std::fs::set_permissions(&conf, PermissionsExt::from_mode(0o644)));
        made.map_err(|e| PostgresError::path("write", &conf, e, cure))?;
        let option = |name: &str, path: &Path| {
            let mut text = OsString::from(name);
            text.push(path);
            text
        };
        let args: Vec<OsString> = vec![
            "-D".into(),
            self.data.clone().into(),
            "-c".into(),
            option("config_file=", &conf),
            "-c".into(),
            option("hba_file=", &self.data.join("pg_hba.conf")),
            "-c".into(),
            option("ident_file=", &self.data.join("pg_ident.conf")),
        ];
        let program = self.install.bin.join("postgres");
        let begin = Instant::now();
        loop {
            let child = Child::spawn(&program, &args, &self.run_as, &log);
            let child =
                child.map_err(|e| PostgresError::path("run", &program, e, "is it a program for this machine?"))?;
            address.log = Some(log_path.clone());
            let mut server = Server {
                facts: ServerFacts {
                    pid: child.pid,
                    started: child.started,
                    data: self.data.clone(),
                    private: private.to_owned(),
                },
                child,
                address: address.clone(),
            };
            match server.wait_ready(begin) {
                Ok(()) => return Ok(server),
                // Processes of a server that was killed before still hold its memory: they are about to see it and end.
                Err(PostgresError::Died { log, .. })
                    if log.contains("shared memory block") && begin.elapsed() < Duration::from_secs(30) =>
                {
                    // Its directory stays for the next try.
                    server.facts.private = PathBuf::new();
                    std::thread::sleep(Duration::from_millis(200));
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// A new directory that only the server's user, and root, can enter.
    fn private_dir(&self, path: &Path) -> Result<PathBuf, PostgresError> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let failed = |e| PostgresError::path("make", &path, e, "set TMPDIR to a directory that can be written");
        DirBuilder::new().mode(0o700).create(&path).map_err(failed)?;
        let owned = self
            .run_as
            .own(&path)
            .map_err(failed)
            .and_then(|()| reachable(&path, &self.run_as));
        if owned.is_err() {
            let _ = std::fs::remove_dir(&path);
        }
        owned.map(|()| path)
    }
}

/// Can the user enter every directory above?
fn reachable(path: &Path, run_as: &RunAs) -> Result<(), PostgresError> {
    let RunAs::User { name, uid, gid } = run_as else {
        return Ok(());
    };
    for dir in path.ancestors().skip(1) {
        let Ok(found) = std::fs::metadata(dir) else { continue };
        let bit = match () {
            () if found.uid() == *uid => 0o100,
            () if found.gid() == *gid => 0o010,
            () => 0o001,
        };
        if found.mode() & bit == 0 {
            return Err(PostgresError::Barred {
                user: name.clone(),
                barred: dir.to_owned(),
                path: path.to_owned(),
            });
        }
    }
    Ok(())
}

impl Server {
    /// Where it is. Its log is quoted in errors of connections made with it.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What has to be undone if we are killed. The server goes with us in any case.
    pub fn facts(&self) -> &ServerFacts {
        &self.facts
    }

    /// It runs.
    pub fn is_running(&self) -> bool {
        self.child.status().is_none()
    }

    fn wait_ready(&mut self, begin: Instant) -> Result<(), PostgresError> {
        loop {
            if let Some(status) = self.child.status() {
                return Err(self.died(&format!("did not start ({status})")));
            }
            if Connection::open(&self.address, &[]).is_ok() {
                return Ok(());
            }
            if begin.elapsed() > START_PATIENCE {
                return Err(self.died(NO_ANSWER));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn died(&self, what: &str) -> PostgresError {
        let log = self.address.log.as_deref().map(log_end).unwrap_or_default();
        let cure = match () {
            () if log.contains("No space left") => "the file system under it is full: fewer warehouses, or larger LUNs",
            () if log.contains("unrecognized configuration parameter")
                || log.contains("invalid value for parameter") =>
            {
                "correct the setting in the study"
            }
            () if log.contains("could not map anonymous shared memory") || log.contains("Cannot allocate memory") => {
                "a smaller shared_buffers, or a larger memory budget"
            }
            () if log.contains("signal 9") => {
                "somebody killed it, or memory ran out (dmesg tells which): raise `budget` under [memory], or lower shared_buffers"
            }
            () => "the log says why; if it does not, look at the kernel log (dmesg)",
        };
        PostgresError::Died {
            what: what.to_owned(),
            log,
            cure: cure.to_owned(),
        }
    }

    /// An error if it has ended by itself: how, and the last lines of its log.
    ///
    /// # Errors
    /// It has.
    pub fn check_running(&self) -> Result<(), PostgresError> {
        match self.child.status() {
            Some(status) => Err(self.died(&format!("ended by itself ({status})"))),
            None => Ok(()),
        }
    }

    /// Every setting, as the server has it.
    ///
    /// # Errors
    /// No answer.
    pub fn settings(&self) -> Result<Vec<RecordedSetting>, PostgresError> {
        recorded_settings(&self.address)
    }

    /// Stops it: sessions are cut off, a checkpoint is written.
    ///
    /// # Errors
    /// It had ended by itself before, or does not end.
    pub fn stop(mut self) -> Result<(), PostgresError> {
        self.check_running()?;
        process::signal(self.child.pid, Signal::INT);
        match self.child.wait(STOP_PATIENCE) {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(self.died(&format!("did not stop in order ({status})"))),
            None => Err(self.died("does not stop")),
        }
    }

    /// Kills it, all processes at once, as a loss of power would: nothing is written any more.
    pub fn crash(mut self) {
        let children = process::children_of(self.child.pid);
        // Some that only its children have: the counters of its statistics grow there.
        let family = std::iter::once(self.child.pid).chain(children.iter().copied());
        let shared: BTreeSet<PathBuf> = family.flat_map(process::shared_memory_of).collect();
        let of: Vec<_> = children.iter().map(|pid| (*pid, process::start_of(*pid))).collect();
        process::signal(self.child.pid, Signal::KILL);
        for (pid, started) in of {
            if process::start_of(pid) == started {
                process::signal(pid, Signal::KILL);
            }
        }
        self.child.wait(STOP_PATIENCE);
        // A server that is started again would remove it; not every one is, and it finds the children's by the first one's.
        for file in shared {
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Every setting, as the server at `address` has it. Those that only a superuser may see are left out where we are none.
///
/// # Errors
/// No answer.
pub fn recorded_settings(address: &Address) -> Result<Vec<RecordedSetting>, PostgresError> {
    let mut connection = Connection::open(address, &[])?;
    let sql = "SELECT name, current_setting(name, true), source FROM pg_settings ORDER BY name";
    let cell = |row: &Vec<Option<String>>, nth: usize| row.get(nth).cloned().flatten().unwrap_or_default();
    let rows = connection.run(sql)?;
    let recorded = |row: &Vec<Option<String>>| RecordedSetting {
        name: shown(&cell(row, 0)),
        value: shown(&cell(row, 1)),
        source: shown(&cell(row, 2)),
    };
    Ok(rows.iter().map(recorded).collect())
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.status().is_none() {
            process::signal(self.child.pid, Signal::QUIT);
            if self.child.wait(Duration::from_secs(10)).is_none() {
                process::signal(self.child.pid, Signal::KILL);
            }
        }
        self.child.wait(Duration::from_secs(10));
        if !self.facts.private.as_os_str().is_empty() {
            let _ = std::fs::remove_dir_all(&self.facts.private);
        }
    }
}
