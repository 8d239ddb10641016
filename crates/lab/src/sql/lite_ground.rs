//! Places where a trial's SQLite databases are made: in a directory through the page cache or around it, or in files of
//! a disk group.
//!
//! Takes a place and a name, gives a database of that name and takes it away again. Prevents: files of a database that
//! is gone.

use super::contract::Tables;
use super::lite_temp::Temp;
use crate::group::grouped;
use crate::host::site::undone;
use anyhow::{Context, ensure};
use databases::sqlite::{
    self, Connections, DirectFiles, FileSet, FileSetSpec, Image, Place, READER_MEMORY_MIN, Role, SharedWriter,
    WRITER_MEMORY_MIN,
};
use diskgroup::{Group, GroupPort, Stripe};
use plan::{Sqlite, Synchronous};
use rustix::fs::OFlags;
use sandbox::{Directory, Identity};
use stacks::{Journal, Undo};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use targets::{BasePort, Method, OpenSpec, Port};

/// Memory and depth of a port that writes; readers have one I/O at a time.
const WRITER_MEMORY: u64 = 4 << 20;
const WRITER_DEPTH: usize = 32;

/// A file set in files of a group.
type Grouped = Arc<FileSet<GroupPort<BasePort>>>;

/// Where databases can be made.
pub(super) enum Ground {
    Buffered(PathBuf),
    Direct(PathBuf),
    Group {
        group: Box<Group<BasePort>>,
        disks: Vec<OpenSpec>,
    },
}

/// The ports of a database.
#[derive(Clone, Copy)]
pub(super) struct Ports {
    /// Those that read beside the one that writes.
    pub(super) readers: usize,
    /// How the one that writes does its I/O. A ring moves between threads only while nothing is in flight.
    pub(super) writer: Method,
}

/// One database.
pub(super) struct Base {
    pub(super) place: Place,
    file_set: Option<Grouped>,
    _files: Option<DirectFiles>,
}

impl Ground {
    /// An empty database; `seed` tells file sets apart; `temp`: where its temporary files go, if not into memory.
    pub(super) fn make(
        &self,
        name: &str,
        (spec, ports): (FileSetSpec, Ports),
        seed: u64,
        temp: Option<&Temp>,
    ) -> anyhow::Result<Base> {
        let Ports { readers, writer } = ports;
        // A port that reads has one request at a time, for which a ring is no help.
        let way = |depth: usize| if depth > 1 { writer } else { Method::Pread };
        match self {
            Ground::Buffered(dir) => Ok(Base {
                place: match temp.and_then(Temp::directory) {
                    Some(temp) => Place::buffered_with_temp(&dir.join(name), temp),
                    None => Place::buffered(&dir.join(name)),
                },
                file_set: None,
                _files: None,
            }),
            Ground::Direct(dir) => {
                let files = DirectFiles::claim(&dir.join(name))?;
                let open = |specs: &[OpenSpec], memory, depth| BasePort::open(way(depth), specs, memory, depth);
                let file_set = files.create(&open, readers, spec, seed)?;
                Ok(Base {
                    place: place_on(Arc::new(file_set), temp)?,
                    file_set: None,
                    _files: Some(files),
                })
            }
            Ground::Group { group, disks } => {
                let names = names(name);
                for name in &names {
                    grouped::make_file(group, name, 1 << 20, Stripe::Coarse)?;
                }
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let port = |memory, depth| -> anyhow::Result<_> {
                    Ok(group.open(BasePort::open(way(depth), disks, memory, depth)?, &names)?)
                };
                let readers = (0..readers).map(|_| port(READER_MEMORY_MIN.max(1 << 20), 1));
                let readers = readers.collect::<anyhow::Result<Vec<_>>>()?;
                let writer = port(WRITER_MEMORY.max(WRITER_MEMORY_MIN), WRITER_DEPTH)?;
                let file_set = Arc::new(FileSet::create(writer, readers, spec, seed)?);
                Ok(Base {
                    place: place_on(file_set.clone(), temp)?,
                    file_set: Some(file_set),
                    _files: None,
                })
            }
        }
    }

    /// Takes the files of a database away that is closed.
    pub(super) fn remove(&self, name: &str) -> anyhow::Result<()> {
        match self {
            Ground::Buffered(dir) | Ground::Direct(dir) => {
                for file in names(name) {
                    let path = dir.join(file);
                    match std::fs::remove_file(&path) {
                        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                            return Err(e).with_context(|| format!("remove {}", path.display()));
                        }
                        _ => {}
                    }
                }
            }
            Ground::Group { group, .. } => {
                for file in names(name) {
                    group.delete_file(&file)?;
                }
            }
        }
        Ok(())
    }

    /// How files are reached, in words.
    pub(super) fn access(&self) -> &'static str {
        match self {
            Ground::Buffered(_) => "page cache",
            Ground::Direct(_) => "direct file",
            Ground::Group { .. } => "disk group",
        }
    }
}

/// The file set of a database under these settings.
pub(super) fn file_set_spec(asked: &Sqlite) -> FileSetSpec {
    FileSetSpec {
        log_memory: asked.wal_memory.0,
        ..FileSetSpec::default()
    }
}

/// Settings of a connection with so much cache.
pub(super) fn settings_with(asked: &Sqlite, cache_bytes: u64) -> sqlite::Settings {
    sqlite::Settings {
        page_bytes: u32::try_from(asked.page.0).expect("the plan lets pages of at most 64 KiB through"),
        cache_bytes,
        journal: match asked.journal {
            plan::Journal::Wal => sqlite::Journal::Wal,
            plan::Journal::Delete => sqlite::Journal::Delete,
        },
        synchronous: match asked.synchronous {
            Synchronous::Normal => sqlite::Synchronous::Normal,
            Synchronous::Full => sqlite::Synchronous::Full,
            Synchronous::Extra => sqlite::Synchronous::Extra,
        },
        wal_autocheckpoint_pages: asked.wal_autocheckpoint,
        ..sqlite::Settings::default()
    }
}

/// The connection that writes, and those of so many workers. In a study of one worker they are one connection, with all
/// of the cache. A step of a load curve that has one user does not decide it.
pub(super) fn connections(
    place: &Place,
    asked: &Sqlite,
    (workers, alone): (usize, bool),
) -> anyhow::Result<(Arc<SharedWriter>, Vec<Connections>)> {
    let cache = asked.cache.0;
    let open = |cache_bytes| place.connect(&settings_with(asked, cache_bytes));
    if alone {
        let writer = Arc::new(SharedWriter::new(open(cache)?));
        return Ok((writer.clone(), vec![Connections::alone(writer)]));
    }
    let writer = Arc::new(SharedWriter::new(open(cache / 2)?));
    let of_worker = |_| {
        let reader = open(cache / 2 / workers.max(1) as u64)?;
        Ok(Connections::among_others(reader, writer.clone()))
    };
    let all = (0..workers).map(of_worker).collect::<anyhow::Result<_>>()?;
    Ok((writer, all))
}

/// Loads tables of decision support once, in a file of `dir` that has no name afterwards.
pub(super) fn load_image(
    tables: &Tables<'_>,
    settings: sqlite::Settings,
    dir: &Directory,
    (journal, cancel): (&mut Journal, &Arc<AtomicBool>),
) -> anyhow::Result<Image> {
    let name = format!("tables-{}", settings.page_bytes);
    let path = dir.path().join(&name);
    let mark = journal.mark();
    let step = journal.before(Undo::RemoveFile { path: path.clone() })?;
    let file = dir.create(&name, OFlags::RDWR).map_err(std::io::Error::from);
    let file = file.with_context(|| format!("make {}", path.display()))?;
    journal.made(step, Identity::of(&file)?)?;
    let place = Place::in_file(&dir.by_descriptor().join(&name));
    let made = insert(tables, &place, settings, cancel).and_then(|()| Ok(Image::of(file.into())?));
    // Whoever holds it open has it without its name.
    undone(&journal.undo_to(mark))?;
    let image = made.with_context(|| format!("load the tables that are copied, in {}", dir.path().display()))?;
    ensure!(
        image.bytes() > 0,
        "{} was replaced by another directory",
        dir.path().display()
    );
    Ok(image)
}

/// Inserts the rows of decision support. Each page is written once. Without its load a database is thrown away, so
/// nothing needs to be rolled back.
pub(super) fn insert(
    tables: &Tables<'_>,
    place: &Place,
    settings: sqlite::Settings,
    cancel: &Arc<AtomicBool>,
) -> anyhow::Result<()> {
    let settings = sqlite::Settings {
        journal: sqlite::Journal::Off,
        ..settings
    };
    let mut session = place.connect(&settings)?;
    session.interrupted_by(cancel.clone())?;
    sqlite::load_decision_support(&session, tables.scale, tables.source)?;
    Ok(())
}

fn place_on<P: Port + Send + 'static>(file_set: Arc<FileSet<P>>, temp: Option<&Temp>) -> anyhow::Result<Place> {
    Ok(match temp.and_then(Temp::space) {
        Some(space) => Place::with_temp(file_set, space.clone())?,
        None => Place::on(file_set)?,
    })
}

/// The files of a database.
fn names(name: &str) -> [String; 3] {
    Role::ALL.map(|role| format!("{name}{}", role.suffix()))
}

/// Gives ports of a group back, so that it can be closed.
pub(super) fn close(base: Base) {
    drop(base.place);
    if let Some(file_set) = base.file_set.and_then(|file_set| Arc::try_unwrap(file_set).ok()) {
        drop(file_set.into_ports());
    }
}
