//! Where a SQLite database is, and connections to it under settings that are all said and all read back.
//!
//! Takes a path (through the page cache, by SQLite's own VFS) or a [`FileSet`] (past it, by ours), gives [`Session`]s.
//! Prevents: a durability setting that was asked for and not kept, and a comparison of two places with different
//! settings.

use super::counts::{CacheCounts, CacheSums, IoCounts};
use super::error::SqliteError;
use super::file_set::layout::Role;
use super::file_set::{FileSet, Main, not_made};
use super::handle::Site;
use super::temp::{TempCounts, TempSpace};
use super::vfs::{self, Registered};
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use targets::Port;

/// How a transaction becomes durable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Journal {
    /// Write-ahead log.
    Wal,
    /// Rollback journal, deleted at each commit.
    Delete,
    /// None: for the load of a database that is thrown away where the load fails. Everything is home with its commit.
    Off,
}

/// When SQLite asks for a sync.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Synchronous {
    /// With a write-ahead log only at checkpoints: the last commits may be lost with the power, the database is sound.
    Normal,
    /// At each commit.
    Full,
    /// At each commit, and the deletion of the rollback journal too.
    Extra,
}

/// Where a connection keeps what it sorts and groups.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TempStore {
    /// In memory.
    Memory,
    /// In files of the place, once the connection's cache is full.
    Files,
}

/// Settings of a database and of each connection to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Bytes of a page: 512 to 65536, a power of two. Counts when the database is made.
    pub page_bytes: u32,
    /// Bytes of the page cache of each connection: SQLite's connections share none.
    pub cache_bytes: u64,
    /// How transactions become durable.
    pub journal: Journal,
    /// When it syncs.
    pub synchronous: Synchronous,
    /// Pages in the log after which a commit also runs a checkpoint; 0: never.
    pub wal_autocheckpoint_pages: u32,
    /// How long a statement waits for another connection's lock.
    pub busy_timeout: Duration,
    /// Where temporary tables and sorts go.
    pub temp: TempStore,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            page_bytes: 8192,
            cache_bytes: 64 << 20,
            journal: Journal::Wal,
            synchronous: Synchronous::Full,
            wal_autocheckpoint_pages: 1000,
            busy_timeout: Duration::from_secs(60),
            temp: TempStore::Memory,
        }
    }
}

impl Settings {
    fn journal_word(&self) -> &'static str {
        match self.journal {
            Journal::Wal => "wal",
            Journal::Delete => "delete",
            Journal::Off => "off",
        }
    }

    fn temp_word(&self) -> &'static str {
        match self.temp {
            TempStore::Memory => "MEMORY",
            TempStore::Files => "FILE",
        }
    }

    fn synchronous_number(&self) -> i64 {
        match self.synchronous {
            Synchronous::Normal => 1,
            Synchronous::Full => 2,
            Synchronous::Extra => 3,
        }
    }

    /// SQLite's setting in KiB, negative so that it is not a number of pages.
    fn cache_size(&self) -> i64 {
        -i64::try_from(self.cache_bytes.div_ceil(1024)).unwrap_or(i64::MAX)
    }
}

/// Steps of SQLite's virtual machine between looks at the flag of [`Session::interrupted_by`] and at its counters: a
/// fraction of a millisecond.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

#[derive(Clone)]
enum Way {
    Buffered {
        path: PathBuf,
        /// The directory of temporary files; `None`: where SQLite would have them.
        temp: Option<PathBuf>,
        /// The file may be made with the first connection.
        makes: bool,
    },
    FileSet(Arc<Registered>),
}

/// Where a database is. Cheap to clone; for any number of connections of this process.
#[derive(Clone)]
pub struct Place {
    way: Way,
}

/// A connection to a database. From one thread at a time.
pub struct Session {
    /// Before the place: a VFS goes after its last connection.
    connection: Connection,
    place: Place,
    settings: Settings,
    /// Pages so far. Its handler adds to them, so that no statement is long enough for SQLite's counters to go round.
    pages: Arc<Mutex<CacheSums>>,
}

impl Place {
    /// A file of the operating system, by SQLite's own VFS and through the page cache. It is made with the first
    /// connection.
    pub fn buffered(path: &Path) -> Place {
        Place {
            way: Way::Buffered {
                path: path.to_path_buf(),
                temp: None,
                makes: true,
            },
        }
    }

    /// The same in a file that is there, and may be empty. Who puts another directory in the place of its own gets no
    /// file made in it: SQLite opens by path, and follows no link in its last part.
    pub fn in_file(path: &Path) -> Place {
        Place {
            way: Way::Buffered {
                path: path.to_path_buf(),
                temp: None,
                makes: false,
            },
        }
    }

    /// The same with temporary files in a directory. SQLite has one such directory in a process: who closes the last
    /// connection calls [`Place::forget_temp`].
    pub fn buffered_with_temp(path: &Path, temp: &Path) -> Place {
        Place {
            way: Way::Buffered {
                path: path.to_path_buf(),
                temp: Some(temp.to_path_buf()),
                makes: true,
            },
        }
    }

    /// SQLite's temporary files go again where they went without [`Place::buffered_with_temp`].
    ///
    /// # Errors
    /// [`SqliteError::Sql`].
    pub fn forget_temp(&self) -> Result<(), SqliteError> {
        let Way::Buffered { temp: Some(_), .. } = self.way else {
            return Ok(());
        };
        let text = "PRAGMA temp_store_directory = ''";
        let done = Connection::open_in_memory().and_then(|connection| connection.execute_batch(text));
        done.map_err(|source| self.error(text, source))
    }

    /// A file set. Who keeps a count of it gets its ports back when all places and sessions are gone.
    ///
    /// # Errors
    /// [`SqliteError::Setting`] when SQLite takes no VFS.
    pub fn on<P: Port + Send + 'static>(file_set: Arc<FileSet<P>>) -> Result<Place, SqliteError> {
        Place::made(file_set, None)
    }

    /// The same with a place for temporary files, which are otherwise kept in memory.
    ///
    /// # Errors
    /// As [`Place::on`].
    pub fn with_temp<P: Port + Send + 'static>(
        file_set: Arc<FileSet<P>>,
        temp: Arc<TempSpace>,
    ) -> Result<Place, SqliteError> {
        Place::made(file_set, Some(temp))
    }

    fn made<P: Port + Send + 'static>(
        file_set: Arc<FileSet<P>>,
        temp: Option<Arc<TempSpace>>,
    ) -> Result<Place, SqliteError> {
        let site = Arc::new(Site::new(file_set, temp));
        let registered = Registered::new(site).ok_or(SqliteError::Setting {
            what: "SQLite takes no VFS".into(),
            cure: "free memory",
        })?;
        Ok(Place {
            way: Way::FileSet(Arc::new(registered)),
        })
    }

    /// I/O of the file set so far; `None` through the page cache, where SQLite's own VFS does not count.
    pub fn counts(&self) -> Option<IoCounts> {
        match &self.way {
            Way::Buffered { .. } => None,
            Way::FileSet(registered) => Some(registered.site().store.counts()),
        }
    }

    /// Temporary files so far; `None` where they are in memory, or SQLite's own VFS has them and does not count.
    pub fn temp_counts(&self) -> Option<TempCounts> {
        match &self.way {
            Way::Buffered { .. } => None,
            Way::FileSet(registered) => registered.site().temp.as_ref().map(|temp| temp.counts()),
        }
    }

    /// Bytes of the three files as SQLite sees them: database, log, journal.
    ///
    /// # Errors
    /// [`SqliteError::Path`].
    pub fn file_bytes(&self) -> Result<[u64; 3], SqliteError> {
        let mut sizes = [0; 3];
        for role in Role::ALL {
            sizes[role.index()] = match &self.way {
                Way::FileSet(registered) => registered.site().store.size(role),
                Way::Buffered { path, .. } => match std::fs::metadata(beside(path, role)) {
                    Ok(found) => found.len(),
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
                    Err(source) => {
                        return Err(SqliteError::Path {
                            what: "look at",
                            path: beside(path, role),
                            source,
                            cure: "check the directory and its rights",
                        });
                    }
                },
            };
        }
        Ok(sizes)
    }

    /// Makes the file of a database that is not there, empty, to be written as bytes.
    ///
    /// # Errors
    /// [`SqliteError::Path`], also when it is there; those of the file set.
    pub(super) fn make_main(&self) -> Result<Main<'_>, SqliteError> {
        match &self.way {
            Way::FileSet(registered) => {
                let store = &*registered.site().store;
                if store.is_there(Role::Main) {
                    let there = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
                    return Err(not_made(Path::new("main"), there));
                }
                store.create(Role::Main)?;
                Ok(Main::FileSet(store))
            }
            Way::Buffered { path, .. } => {
                let made = File::options().read(true).write(true).create_new(true).open(path);
                let file = made.map_err(|source| not_made(path, source))?;
                Ok(Main::File { file, path })
            }
        }
    }

    /// Bytes that the file below has, with the room it has to grow; `None` where the operating system keeps that.
    pub fn allocated_bytes(&self, role: Role) -> Option<u64> {
        match &self.way {
            Way::Buffered { .. } => None,
            Way::FileSet(registered) => Some(registered.site().store.allocated(role)),
        }
    }

    /// Opens a connection, making the database if it is not there.
    ///
    /// # Errors
    /// [`SqliteError::Sql`]; [`SqliteError::Setting`] when SQLite does not keep a setting.
    pub fn connect(&self, settings: &Settings) -> Result<Session, SqliteError> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if !matches!(self.way, Way::Buffered { makes: false, .. }) {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
        }
        let opened = match &self.way {
            Way::Buffered { path, .. } => Connection::open_with_flags(path, flags),
            Way::FileSet(registered) => Connection::open_with_flags_and_vfs("main", flags, registered.name()),
        };
        let connection = opened.map_err(|source| self.error("open the database", source))?;
        let mut session = Session {
            connection,
            place: self.clone(),
            settings: *settings,
            pages: Arc::default(),
        };
        session.interrupted_when(|| false)?;
        session.apply(settings)?;
        Ok(session)
    }

    fn error(&self, what: &str, source: rusqlite::Error) -> SqliteError {
        let storage = match &self.way {
            Way::Buffered { .. } => None,
            Way::FileSet(registered) => registered.site().take_error(),
        };
        let cure = match source.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => "free space on the stack, or ask for less data",
            Some(rusqlite::ErrorCode::DatabaseBusy) => "another connection holds the lock: raise the busy timeout",
            Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
                "the database is damaged: take it from a copy"
            }
            Some(rusqlite::ErrorCode::SystemIoFailure) => "check the device and the kernel's log",
            Some(rusqlite::ErrorCode::CannotOpen) => "check that the path is there and may be written",
            _ => "this is not an error of storage: check the statement",
        };
        SqliteError::Sql {
            what: what.to_string(),
            source: Box::new(source),
            storage,
            cure,
        }
    }
}

fn beside(path: &Path, role: Role) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(role.suffix());
    PathBuf::from(name)
}

impl Session {
    /// SQLite's connection.
    pub fn sql(&self) -> &Connection {
        &self.connection
    }

    /// Where it is connected to.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The settings it was opened with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// From now on a statement ends with an error, and its transaction with a rollback, soon after the flag was set.
    ///
    /// # Errors
    /// [`SqliteError::Sql`].
    pub fn interrupted_by(&mut self, flag: Arc<AtomicBool>) -> Result<(), SqliteError> {
        self.interrupted_when(move || flag.load(Ordering::Relaxed))
    }

    /// From now on a statement ends with an error, and its transaction with a rollback, soon after this says so.
    ///
    /// # Errors
    /// [`SqliteError::Sql`].
    pub fn interrupted_when(&mut self, mut asked: impl FnMut() -> bool + Send + 'static) -> Result<(), SqliteError> {
        let pages = self.pages.clone();
        let look = move |counters| {
            pages.lock().unwrap_or_else(PoisonError::into_inner).show(counters);
            asked()
        };
        let set = vfs::while_working(&mut self.connection, STEPS_BETWEEN_LOOKS, look);
        set.map_err(|source| self.error("set the handler of interrupts", source))
    }

    /// Pages by SQLite's own count, since the connection was opened.
    pub(super) fn cache_counts(&self) -> CacheCounts {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.show(vfs::cache_counters(&self.connection));
        pages.counts()
    }

    /// SQLite's error with what it was about, and what the storage said.
    pub fn error(&self, what: &str, source: rusqlite::Error) -> SqliteError {
        SqliteError::no_room_for_the_index(&source, vfs::system_errno(&self.connection))
            .unwrap_or_else(|| self.place.error(what, source))
    }

    fn apply(&self, settings: &Settings) -> Result<(), SqliteError> {
        let set = |name: &str, value: String| {
            let text = format!("PRAGMA {name} = {value}");
            let done = self.connection.query_row(&text, [], |_| Ok(()));
            match done {
                Ok(()) | Err(rusqlite::Error::QueryReturnedNoRows) => Ok(()),
                Err(source) => Err(self.error(&text, source)),
            }
        };
        let timeout = self.connection.busy_timeout(settings.busy_timeout);
        timeout.map_err(|source| self.error("set the busy timeout", source))?;
        set("page_size", settings.page_bytes.to_string())?;
        set("mmap_size", "0".into())?;
        if let Way::Buffered { temp: Some(dir), .. } = &self.place.way {
            let dir = dir.to_string_lossy().replace('\'', "''");
            set("temp_store_directory", format!("'{dir}'"))?;
        }
        set("temp_store", settings.temp_word().into())?;
        set("cache_size", settings.cache_size().to_string())?;
        set("synchronous", settings.synchronous_number().to_string())?;
        set("journal_mode", settings.journal_word().into())?;
        set("wal_autocheckpoint", settings.wal_autocheckpoint_pages.to_string())?;
        self.connection.set_prepared_statement_cache_capacity(128);
        self.check("journal_mode", settings.journal_word())?;
        self.check("synchronous", &settings.synchronous_number().to_string())?;
        self.check("page_size", &settings.page_bytes.to_string())
    }

    fn check(&self, name: &str, wanted: &str) -> Result<(), SqliteError> {
        let found = self.pragma(name)?;
        if found == wanted {
            return Ok(());
        }
        Err(SqliteError::Setting {
            what: format!("{name} = {wanted} was asked for, and SQLite has {found}"),
            cure: "make the database anew with the settings wanted, with no other connection open",
        })
    }

    fn pragma(&self, name: &str) -> Result<String, SqliteError> {
        let text = format!("PRAGMA {name}");
        let value = self
            .connection
            .query_row(&text, [], |row| row.get::<_, rusqlite::types::Value>(0));
        Ok(match value.map_err(|source| self.error(&text, source))? {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => format!("{other:?}"),
        })
    }

    /// Every setting that shapes speed or durability, as SQLite itself says it, and the version.
    ///
    /// # Errors
    /// [`SqliteError::Sql`].
    pub fn facts(&self) -> Result<Vec<(String, String)>, SqliteError> {
        let mut facts = vec![("sqlite version".to_string(), rusqlite::version().to_string())];
        let access = match &self.place.way {
            Way::Buffered { .. } => "the operating system's files, through the page cache",
            Way::FileSet(_) => {
                "a VFS of assay on a port: direct I/O, nothing cached below SQLite's own pages but the log"
            }
        };
        facts.push(("sqlite files by".to_string(), access.to_string()));
        if let Way::FileSet(registered) = &self.place.way {
            let powersafe = registered.site().store.powersafe_overwrite();
            facts.push(("sqlite powersafe overwrite".to_string(), powersafe.to_string()));
            let log_memory = registered.site().store.log_memory().to_string();
            facts.push(("sqlite wal_memory".to_string(), log_memory));
        }
        for name in [
            "page_size",
            "cache_size",
            "journal_mode",
            "synchronous",
            "wal_autocheckpoint",
            "mmap_size",
            "temp_store",
            "locking_mode",
            "auto_vacuum",
        ] {
            // `mmap_size` has no answer where the VFS has no mapping.
            let value = match self.pragma(name) {
                Ok(value) => value,
                Err(SqliteError::Sql { source, .. }) if *source == rusqlite::Error::QueryReturnedNoRows => {
                    "0".to_string()
                }
                Err(other) => return Err(other),
            };
            facts.push((format!("sqlite {name}"), value));
        }
        Ok(facts)
    }

    /// SQLite's own look at the whole database; `ok`, or what it found.
    ///
    /// # Errors
    /// [`SqliteError::Sql`].
    pub fn integrity(&self) -> Result<String, SqliteError> {
        self.pragma("integrity_check")
    }

    /// Commits a change that no work sees, so that the journal has been written once and keeps its room.
    ///
    /// # Errors
    /// [`SqliteError::Sql`].
    pub fn begin_journal(&self) -> Result<(), SqliteError> {
        let text = "PRAGMA user_version = 1";
        self.connection
            .execute_batch(text)
            .map_err(|source| self.error(text, source))?;
        self.checkpoint_if_logged()
    }

    /// [`Session::checkpoint`] where there is a write-ahead log; without one everything is home with its commit.
    ///
    /// # Errors
    /// As there.
    pub fn checkpoint_if_logged(&self) -> Result<(), SqliteError> {
        match self.settings.journal {
            Journal::Wal => self.checkpoint(),
            Journal::Delete | Journal::Off => Ok(()),
        }
    }

    /// Writes the log home and empties it.
    ///
    /// # Errors
    /// [`SqliteError::Sql`]; busy, when other connections are at work.
    pub fn checkpoint(&self) -> Result<(), SqliteError> {
        let text = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy = self.connection.query_row(text, [], |row| row.get::<_, i64>(0));
        match busy.map_err(|source| self.error(text, source))? {
            0 => Ok(()),
            _ => Err(SqliteError::Setting {
                what: "a checkpoint was held up by another connection".into(),
                cure: "end its transaction first",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_is_made_only_where_it_may_be() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tables");
        assert!(Place::in_file(&path).connect(&Settings::default()).is_err() && !path.exists());
        std::fs::File::create(&path).unwrap();
        let session = Place::in_file(&path).connect(&Settings::default()).unwrap();
        session.sql().execute_batch("CREATE TABLE t (x)").unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() > 0);
    }

    #[test]
    fn pages_are_summed_while_a_statement_runs() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::buffered(&dir.path().join("pages"));
        let mut session = place.connect(&Settings::default()).unwrap();
        let read = "WITH RECURSIVE n(at) AS (SELECT 0 UNION ALL SELECT at + 1 FROM n WHERE at < 50000) \
                    SELECT count(*) FROM n JOIN numbers ON id = at * 1999 % 5000";
        let make = "CREATE TABLE numbers (id INTEGER PRIMARY KEY, filler BLOB NOT NULL); \
                    WITH RECURSIVE n(at) AS (SELECT 0 UNION ALL SELECT at + 1 FROM n WHERE at < 4999) \
                    INSERT INTO numbers SELECT at, zeroblob(200) FROM n";
        session.sql().execute_batch(make).unwrap();
        let flag = Arc::new(AtomicBool::new(false));
        for watched in [false, true] {
            if watched {
                session.interrupted_by(flag.clone()).unwrap();
            }
            let before = session.cache_counts().hits;
            session.sql().query_row(read, [], |_| Ok(())).unwrap();
            // Nobody has asked since, so only the handler can have added.
            let added = session.pages.lock().unwrap().counts().hits - before;
            let all = session.cache_counts().hits - before;
            assert!(added > 0 && added <= all, "{added} of {all} pages");
            assert!(all >= 50_000, "{all} pages");
        }
        flag.store(true, Ordering::Relaxed);
        let ended = session.sql().query_row(read, [], |_| Ok(())).unwrap_err();
        assert_eq!(
            ended.sqlite_error_code(),
            Some(rusqlite::ErrorCode::OperationInterrupted)
        );
    }
}
