//! A server of our own: made, started, stopped, crashed, and started again on the same data.
//!
//! Takes an [`Install`], an empty directory on the stack under test and [`Settings`]; gives a [`Server`] with its
//! [`Address`] and plain facts for an undo journal. Its socket and its log lie in a private directory elsewhere, so
//! that the stack carries nothing but the database. Prevents: a server that the network can reach, and one whose death
//! is taken for slowness.

use crate::postgres::connection::{Connection, log_end};
use crate::postgres::error::{FULL, PostgresError, no_answer, shown};
use crate::postgres::login::address::Address;
use crate::postgres::server::image::{ClusterImage, is_segment};
use crate::postgres::server::installs::Install;
use crate::postgres::server::process::{self, Child, RunAs, split};
use crate::postgres::server::settings::{RecordedSetting, Settings};
use rustix::fs::OFlags;
use rustix::process::Signal;
use sandbox::{Directory, Reach, Removal};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Longest path of a socket: `sockaddr_un` has 108 bytes with the closing zero.
pub(crate) const SOCKET_BYTES_MAX: usize = 107;
/// The name of the one user and of the first database.
const USER: &str = "assay";
const STOP_PATIENCE: Duration = Duration::from_secs(120);
/// Recovery after a crash may take its time.
const START_PATIENCE: Duration = Duration::from_secs(300);
const CONFIGURATION: &str = "assay.conf";
/// The directory of the sockets in the private one: as short as can be, for the path of a socket is.
const SOCKETS: &str = "s";

/// Data of a server, made by `initdb`.
#[derive(Clone, Debug)]
pub struct Cluster {
    install: Install,
    data: PathBuf,
    run_as: RunAs,
    /// A directory of its tablespace for temporary files.
    temp: Option<PathBuf>,
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
    /// Removed with its contents at the end.
    private: Option<Directory>,
    address: Address,
}

impl Cluster {
    /// Makes a database in `data`, which must be empty or missing. `options`: more arguments of `initdb`, as
    /// `--data-checksums`.
    ///
    /// # Errors
    /// The directory has something in it, can't be reached by the user, or `initdb` failed.
    pub fn create(install: Install, data: &Path, run_as: RunAs, options: &[&str]) -> Result<Cluster, PostgresError> {
        let made = empty_directory(data)?;
        let data = made.path().to_owned();
        run_as.own(&made)?;
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
        let mut reach = Reach::nothing();
        reach.add_directory(&made)?;
        // It tries which kind of shared memory the machine has.
        reach.add(Path::new("/dev/shm"))?;
        let apart = options.iter().find_map(|option| option.strip_prefix("--waldir="));
        if let Some(wal) = apart {
            let (above, name) = split(Path::new(wal))?;
            reach.add_directory(&above.enter(name)?)?;
        }
        let cure = "run it by hand as that user to see more";
        process::run(&install.bin.join("initdb"), &args, &run_as, &reach, cure)?;
        Ok(Cluster {
            install,
            data,
            run_as,
            temp: None,
        })
    }

    /// The same from an image, of a server of the same major version. `wal`: an empty directory for its log, if that
    /// lies apart. It is durable when this returns.
    ///
    /// # Errors
    /// As [`Cluster::create`]; a copy that is not what was written; [`PostgresError::Interrupted`] once `cancel` is
    /// set.
    pub fn copied(
        install: Install,
        (data, wal): (&Path, Option<&Path>),
        run_as: RunAs,
        image: &ClusterImage,
        cancel: &AtomicBool,
    ) -> Result<Cluster, PostgresError> {
        let made = empty_directory(data)?;
        reachable(made.path(), &run_as)?;
        let wal = wal.map(empty_directory).transpose()?;
        if let Some(wal) = &wal {
            reachable(wal.path(), &run_as)?;
        }
        image.copy_into(&made, wal.as_ref(), &run_as, cancel)?;
        Ok(Cluster::at(install, made.path(), run_as))
    }

    /// One that was made before.
    pub fn at(install: Install, data: &Path, run_as: RunAs) -> Cluster {
        Cluster {
            install,
            data: data.to_owned(),
            run_as,
            temp: None,
        }
    }

    /// With a directory that the server may write temporary files to: made here, for the server's user alone.
    ///
    /// # Errors
    /// It can't be made.
    pub fn with_temp(mut self, dir: &Path) -> Result<Cluster, PostgresError> {
        self.run_as.make_directory(dir)?;
        reachable(dir, &self.run_as)?;
        self.temp = Some(dir.to_owned());
        Ok(self)
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Starts the server and waits until it answers; after a crash that is after recovery. `private_parent`: where its
    /// private directory is made, usually the system's place for temporary files.
    ///
    /// # Errors
    /// A setting that is refused, a socket path that is too long, or the server ends instead: with the end of its log.
    pub fn start(&self, settings: &Settings, private_parent: &Path) -> Result<Server, PostgresError> {
        let cure = "use a kernel with random numbers";
        let name = sandbox::unique_name("assay-pg-");
        let name = name.map_err(|e| PostgresError::path("name a directory in", private_parent, e, cure))?;
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
            let _ = sandbox::remove(private.path(), Removal::Tree, Some(&private.identity()));
        }
        started
    }

    /// What the server may write to: its data, its log where that lies apart, its sockets and shared memory.
    fn reach(&self, sockets: &Directory) -> Result<Reach, PostgresError> {
        let (above, name) = split(&self.data)?;
        let data = above.enter(name)?;
        let mut reach = Reach::nothing();
        reach.add_directory(&data)?;
        reach.add_directory(sockets)?;
        if let Some(temp) = &self.temp {
            let (above, name) = split(temp)?;
            reach.add_directory(&above.enter(name)?)?;
        }
        // A link of the server's user: it adds nothing to what that user may write to.
        let wal = std::fs::canonicalize(self.data.join("pg_wal"));
        for path in wal.iter().map(PathBuf::as_path).chain([Path::new("/dev/shm")]) {
            reach.add(path)?;
        }
        Ok(reach)
    }

    fn start_in(&self, settings: &Settings, private: &Directory) -> Result<Server, PostgresError> {
        // The directory stays ours, so that no link of the server's user leads us; his is the one with the sockets.
        let sockets = private.make(SOCKETS, 0o700)?;
        self.run_as.own(&sockets)?;
        let mut address = Address::unix(sockets.path(), USER, "postgres");
        let socket = address.socket().unwrap_or_default();
        if socket.as_os_str().len() > SOCKET_BYTES_MAX {
            return Err(PostgresError::SocketPath { path: socket });
        }
        let log_path = private.path().join("server.log");
        let cure = "is there room, and may it be written?";
        let log = private.create("server.log", OFlags::WRONLY | OFlags::APPEND);
        let log = File::from(log.map_err(|e| PostgresError::path("make", &log_path, e.into(), cure))?);
        let args = self.arguments(&self.configure(settings, private, &sockets)?);
        let reach = self.reach(&sockets)?;
        let program = self.install.bin.join("postgres");
        let begin = Instant::now();
        loop {
            let child = Child::spawn(&program, &args, &self.run_as, &log, reach.clone());
            let child =
                child.map_err(|e| PostgresError::path("run", &program, e, "is it a program for this machine?"))?;
            address.log = Some(log_path.clone());
            let mut server = Server {
                facts: ServerFacts {
                    pid: child.pid,
                    started: child.started,
                    data: self.data.clone(),
                    private: private.path().to_owned(),
                },
                private: Some(private.clone()),
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
                    server.private = None;
                    std::thread::sleep(Duration::from_millis(200));
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// Writes the configuration, which the server's user can read and not change, and others can't read.
    fn configure(
        &self,
        settings: &Settings,
        private: &Directory,
        sockets: &Directory,
    ) -> Result<PathBuf, PostgresError> {
        let path = private.path().join(CONFIGURATION);
        let text = settings.text(&sockets.path().to_string_lossy())?;
        // initdb's own file is left as it is: what ours says comes after it.
        let base = self.data.join("postgresql.conf");
        let base = base.to_string_lossy().replace('\'', "''");
        let made = private
            .create(CONFIGURATION, OFlags::WRONLY)
            .map_err(std::io::Error::from);
        let made = made.map(File::from).and_then(|mut file| {
            file.write_all(format!("include '{base}'\n{text}").as_bytes())?;
            self.run_as.let_read(&file)
        });
        made.map_err(|e| PostgresError::path("write", &path, e, "is there room, and may it be written?"))?;
        Ok(path)
    }

    fn arguments(&self, configuration: &Path) -> Vec<OsString> {
        let option = |name: &str, path: &Path| {
            let mut text = OsString::from(name);
            text.push(path);
            text
        };
        vec![
            "-D".into(),
            self.data.clone().into(),
            "-c".into(),
            option("config_file=", configuration),
            "-c".into(),
            option("hba_file=", &self.data.join("pg_hba.conf")),
            "-c".into(),
            option("ident_file=", &self.data.join("pg_ident.conf")),
        ]
    }

    /// A new directory of ours, through which only the server's user gets to his own.
    fn private_dir(&self, path: &Path) -> Result<Directory, PostgresError> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let (above, name) = split(&path)?;
        let made = above.make(name, 0o700)?;
        let entered = self.run_as.let_through(&made).map_err(PostgresError::from);
        let entered = entered.and_then(|()| reachable(&made.path().join(SOCKETS), &self.run_as));
        if entered.is_err() {
            let _ = sandbox::remove(made.path(), Removal::EmptyDirectory, Some(&made.identity()));
        }
        entered.map(|()| made)
    }
}

/// A directory that is made, or has nothing in it; of this user alone.
fn empty_directory(path: &Path) -> Result<Directory, PostgresError> {
    let (above, name) = split(path)?;
    if above.look(name)?.is_none() {
        return Ok(above.make(name, 0o700)?);
    }
    let there = above.enter(name)?;
    if !there.names()?.is_empty() {
        return Err(PostgresError::NotEmpty { path: path.to_owned() });
    }
    there.protect(0o700)?;
    Ok(there)
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

    fn wait_ready(&mut self, begin: Instant) -> Result<(), PostgresError> {
        loop {
            if let Some(status) = self.child.status() {
                return Err(self.died(&format!("did not start ({status})")));
            }
            let refused = match Connection::open(&self.address, &[]) {
                Ok(_) => return Ok(()),
                Err(refused) => refused,
            };
            if begin.elapsed() > START_PATIENCE {
                return Err(self.died(&no_answer(&refused)));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn died(&self, what: &str) -> PostgresError {
        let log = self.address.log.as_deref().map(log_end).unwrap_or_default();
        let cure = match () {
            () if log.contains("No space left") => FULL,
            () if log.contains("unrecognized configuration parameter")
                || log.contains("invalid value for parameter") =>
            {
                "correct the setting in the study"
            }
            () if log.contains("could not map anonymous shared memory") || log.contains("Cannot allocate memory") => {
                "a smaller shared_buffers, or a larger memory budget"
            }
            () if log.contains("signal 9") => {
                "somebody killed it, or memory ran out (dmesg tells which): raise `budget` under [memory], or lower \
                 shared_buffers"
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

    /// Stops it and reads its data into `file`, which is empty and may have no name any more.
    ///
    /// # Errors
    /// As [`Server::stop`]; data that are no plain files of its user; [`PostgresError::Interrupted`] once `cancel` is
    /// set.
    pub fn into_image(self, file: File, cancel: &AtomicBool) -> Result<ClusterImage, PostgresError> {
        let last = self.last_segment()?;
        let data = self.facts.data.clone();
        self.stop()?;
        ClusterImage::of(&data, last, file, cancel)
    }

    /// The segment of the log that a start needs once the server has been stopped: a new one, so that what is still to
    /// come fits into it.
    fn last_segment(&self) -> Result<String, PostgresError> {
        let mut connection = Connection::open(&self.address, &[])?;
        connection.run("SELECT pg_switch_wal()")?;
        connection.run("CHECKPOINT")?;
        let rows = connection.run("SELECT pg_walfile_name(pg_current_wal_insert_lsn())")?;
        let name = rows.first().and_then(|row| row.first()).cloned().flatten();
        name.filter(|name| is_segment(name)).ok_or(PostgresError::Protocol {
            during: "asking for the segment of the log",
            got: "no name of one".to_owned(),
        })
    }

    /// Kills it, all processes at once, as a loss of power would: nothing is written any more.
    pub fn crash(mut self) {
        // One that has ended by itself has given back its number.
        if process::start_of(self.child.pid) != Some(self.child.started) {
            return;
        }
        let children = process::children_of(self.child.pid);
        // Some that only its children have: the counters of its statistics grow there.
        let family = std::iter::once(self.child.pid).chain(children.iter().copied());
        let shared: BTreeSet<(String, u64)> = family.flat_map(process::shared_memory_of).collect();
        let of: Vec<_> = children.iter().map(|pid| (*pid, process::start_of(*pid))).collect();
        process::signal(self.child.pid, Signal::KILL);
        for (pid, started) in of {
            if process::start_of(pid) == started {
                process::signal(pid, Signal::KILL);
            }
        }
        self.child.wait(STOP_PATIENCE);
        // A server that is started again would remove it; not every one is, and it finds the children's by the first
        // one's.
        for file in shared {
            process::remove_shared_memory(&file);
        }
    }
}

/// Every setting, as the server at `address` has it. Those that only a superuser may see are left out where we are
/// none.
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
        if let Some(private) = &self.private {
            let _ = sandbox::remove(private.path(), Removal::Tree, Some(&private.identity()));
        }
    }
}
