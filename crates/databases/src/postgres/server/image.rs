//! A cluster that is loaded once and copied into fresh places.
//!
//! Takes the data of a server that was stopped in good order, keeps them in one file, and gives them to any empty
//! directory. Each copy is read back and held against the checksums of the first. Prevents: tables that storage changed
//! on the way, a copy through which a link of the server's user leads, and a load for each trial of a study that only
//! asks.

use crate::postgres::error::PostgresError;
use crate::postgres::server::process::{RunAs, split};
use rustix::fs::{Advice, FileType, OFlags, fadvise, fstat};
use sandbox::Directory;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes that are copied and checked at once.
const PIECE: usize = 1 << 20;
/// Directories of data, at most: a server has two dozen, and one for each database. All of a copy are held open.
const DIRS_MAX: usize = 200;
/// The directory of the write-ahead log, which may lie apart.
const WAL: &str = "pg_wal";
/// Digits of the name of a segment of that log.
const SEGMENT_DIGITS: usize = 24;
/// For what is written to a stack, for what is read, and for what is kept beside the stacks.
const STACK: &str = "check the device and the kernel's log, or use a larger LUN set";
const CURE: &str = "check the device and the kernel's log";
const ROOM: &str = "free space beside the LUN files, or write load = \"insert\"";

/// A directory in the data, by the one that it lies in; the data themselves come first.
#[derive(Debug)]
struct Inner {
    above: usize,
    name: String,
}

/// A file of the data.
#[derive(Debug)]
struct Held {
    dir: usize,
    name: String,
    /// Where its bytes begin in the image.
    at: u64,
    bytes: u64,
    /// CRC32C of each piece of 1 MiB.
    sums: Vec<u32>,
}

/// The data of a server that was stopped in good order.
#[derive(Debug)]
pub struct ClusterImage {
    file: File,
    bytes: u64,
    dirs: Vec<Inner>,
    files: Vec<Held>,
}

/// How the data are read.
struct Reading<'a> {
    last: String,
    /// Whose they are.
    user: u32,
    cancel: &'a AtomicBool,
}

impl Reading<'_> {
    /// A segment that no start needs.
    fn leaves_out(&self, in_log: bool, name: &str) -> bool {
        in_log && is_segment(name) && name > self.last.as_str()
    }
}

/// The name of a segment of the write-ahead log.
pub(crate) fn is_segment(name: &str) -> bool {
    name.len() == SEGMENT_DIGITS && name.bytes().all(|digit| digit.is_ascii_hexdigit())
}

impl ClusterImage {
    /// Reads `data`, which no server has open, into `file`, which is empty and may have no name any more. `last`: the
    /// segment of the log that a start needs; what the server keeps for later is left out.
    pub(crate) fn of(
        data: &Path,
        last: String,
        file: File,
        cancel: &AtomicBool,
    ) -> Result<ClusterImage, PostgresError> {
        let (above, name) = split(data)?;
        let top = above.enter(name)?;
        let found = fstat(&top).map_err(|e| PostgresError::path("look at", data, e.into(), CURE))?;
        let user = found.st_uid;
        let mut image = ClusterImage {
            file,
            bytes: 0,
            dirs: Vec::new(),
            files: Vec::new(),
        };
        image.take(&top, &Reading { last, user, cancel }, None)?;
        image
            .settle()
            .map_err(|e| PostgresError::path("keep a copy of", data, e, ROOM))?;
        Ok(image)
    }

    /// Writes the file out and lets go of its memory: later that would happen while a phase is measured.
    fn settle(&self) -> io::Result<()> {
        self.file.sync_data()?;
        Ok(fadvise(&self.file, 0, None, Advice::DontNeed)?)
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes in a directory and what is below it; `inner`: its place among the others, which the data do not have.
    fn take(&mut self, dir: &Directory, reading: &Reading<'_>, inner: Option<Inner>) -> Result<(), PostgresError> {
        let in_log = inner
            .as_ref()
            .is_some_and(|inner| inner.above == 0 && inner.name == WAL);
        let inner = inner.unwrap_or_else(|| Inner {
            above: 0,
            name: String::new(),
        });
        if self.dirs.len() == DIRS_MAX {
            return Err(not_plain(dir.path(), "there are too many directories"));
        }
        self.dirs.push(inner);
        let number = self.dirs.len() - 1;
        let mut names = dir.names()?;
        // The same order in each run.
        names.sort();
        for name in names {
            let path = dir.path().join(&name);
            let strange = |what: &str| not_plain(&path, what);
            let name = name.into_string().map_err(|_| strange("its name is no text"))?;
            if reading.leaves_out(in_log, &name) {
                continue;
            }
            let opened = dir.open_file(&name, OFlags::RDONLY);
            let opened = opened.map_err(|e| PostgresError::path("read", &path, e.into(), CURE))?;
            let found = fstat(&opened).map_err(|e| PostgresError::path("look at", &path, e.into(), CURE))?;
            if found.st_uid != reading.user {
                // A link that the server's user made would bring him what is another's.
                return Err(strange("it belongs to another user"));
            }
            match FileType::from_raw_mode(found.st_mode) {
                FileType::Directory => {
                    let inner = Inner { above: number, name };
                    self.take(&dir.enter(&inner.name)?, reading, Some(inner))?;
                }
                FileType::RegularFile => self.read_in(File::from(opened), &path, (number, name), reading.cancel)?,
                _ => return Err(strange("it is neither a file nor a directory")),
            }
        }
        Ok(())
    }

    fn read_in(
        &mut self,
        from: File,
        path: &Path,
        (dir, name): (usize, String),
        cancel: &AtomicBool,
    ) -> Result<(), PostgresError> {
        let failed = |e| PostgresError::path("read", path, e, CURE);
        let bytes = from.metadata().map_err(failed)?.len();
        let mut held = Held {
            dir,
            name,
            at: self.bytes,
            bytes,
            sums: Vec::new(),
        };
        let mut piece = vec![0; PIECE.min(bytes as usize)];
        for (at, len) in pieces(bytes) {
            go_on(cancel)?;
            let piece = &mut piece[..len];
            from.read_exact_at(piece, at).map_err(failed)?;
            held.sums.push(targets::crc32c(piece));
            let written = self.file.write_all_at(piece, held.at + at);
            written.map_err(|e| PostgresError::path("keep a copy of", path, e, ROOM))?;
        }
        self.bytes += bytes;
        self.files.push(held);
        Ok(())
    }

    /// Copies it into `top`, which is empty and the caller's alone, with the log in `wal` if that is given; reads the
    /// copy back and hands all of it to `run_as`. It is durable when this returns.
    pub(crate) fn copy_into(
        &self,
        top: &Directory,
        wal: Option<&Directory>,
        run_as: &RunAs,
        cancel: &AtomicBool,
    ) -> Result<(), PostgresError> {
        let dirs = self.make_directories(top, wal)?;
        for held in &self.files {
            self.write_out(held, &dirs[held.dir], run_as, cancel)?;
        }
        let places = [Some(top), wal];
        places.into_iter().flatten().try_for_each(sync)?;
        for held in &self.files {
            read_back(held, &dirs[held.dir], cancel)?;
        }
        // The data come last: until then nobody else gets to what is in them.
        for dir in dirs.iter().rev() {
            run_as.own(dir)?;
        }
        places.into_iter().flatten().try_for_each(sync)
    }

    fn make_directories(&self, top: &Directory, wal: Option<&Directory>) -> Result<Vec<Directory>, PostgresError> {
        let mut dirs = vec![top.clone()];
        for inner in &self.dirs[1..] {
            let above = &dirs[inner.above];
            let made = match wal.filter(|_| inner.above == 0 && inner.name == WAL) {
                Some(wal) => {
                    let linked = rustix::fs::symlinkat(wal.path(), top, WAL);
                    let path = top.path().join(WAL);
                    linked.map_err(|e| PostgresError::path("make the link", path, e.into(), STACK))?;
                    wal.clone()
                }
                None => above.make(&inner.name, 0o700)?,
            };
            dirs.push(made);
        }
        Ok(dirs)
    }

    fn write_out(
        &self,
        held: &Held,
        dir: &Directory,
        run_as: &RunAs,
        cancel: &AtomicBool,
    ) -> Result<(), PostgresError> {
        let path = dir.path().join(&held.name);
        let failed = |e: io::Error| PostgresError::path("write", &path, e, STACK);
        let to = File::from(dir.create(&held.name, OFlags::WRONLY).map_err(|e| failed(e.into()))?);
        if let RunAs::User { uid, gid, .. } = run_as {
            fchown(&to, Some(*uid), Some(*gid)).map_err(failed)?;
        }
        let mut piece = vec![0; PIECE.min(held.bytes as usize)];
        for ((at, len), sum) in pieces(held.bytes).zip(&held.sums) {
            go_on(cancel)?;
            let piece = &mut piece[..len];
            let changed = || io::Error::other("its bytes have changed");
            let read = self.file.read_exact_at(piece, held.at + at);
            let read = read.and_then(|()| (targets::crc32c(piece) == *sum).then_some(()).ok_or_else(changed));
            let kept = "free memory and space beside the LUN files, and start the run again";
            read.map_err(|e| PostgresError::path("read the copy that is kept of", &path, e, kept))?;
            to.write_all_at(piece, at).map_err(failed)?;
        }
        Ok(())
    }
}

/// Makes all durable that was written to the file system of a directory.
fn sync(dir: &Directory) -> Result<(), PostgresError> {
    let opened = dir.open_file(".", OFlags::RDONLY | OFlags::DIRECTORY);
    let synced = opened.and_then(rustix::fs::syncfs);
    synced.map_err(|e| PostgresError::path("flush", dir.path(), e.into(), STACK))
}

/// An error unless the file is what was written.
fn read_back(held: &Held, dir: &Directory, cancel: &AtomicBool) -> Result<(), PostgresError> {
    let path = dir.path().join(&held.name);
    let failed = |e: io::Error| PostgresError::path("read back", &path, e, CURE);
    let from = File::from(
        dir.open_file(&held.name, OFlags::RDONLY)
            .map_err(|e| failed(e.into()))?,
    );
    // What is read is what the storage has, as far as the file system lets go of it.
    fadvise(&from, 0, None, Advice::DontNeed).map_err(|e| failed(e.into()))?;
    let other = || failed(io::Error::other("it is not what was written"));
    if from.metadata().map_err(failed)?.len() != held.bytes {
        return Err(other());
    }
    let mut piece = vec![0; PIECE.min(held.bytes as usize)];
    for ((at, len), sum) in pieces(held.bytes).zip(&held.sums) {
        go_on(cancel)?;
        let piece = &mut piece[..len];
        from.read_exact_at(piece, at).map_err(failed)?;
        if targets::crc32c(piece) != *sum {
            return Err(other());
        }
    }
    Ok(())
}

fn not_plain(path: &Path, what: &str) -> PostgresError {
    let cure = "the data of a server that Assay made hold no such thing: look who else works there";
    PostgresError::path("copy", PathBuf::from(path), io::Error::other(what.to_owned()), cure)
}

fn pieces(bytes: u64) -> impl Iterator<Item = (u64, usize)> {
    let at = (0..bytes).step_by(PIECE);
    at.map(move |at| (at, (bytes - at).min(PIECE as u64) as usize))
}

fn go_on(cancel: &AtomicBool) -> Result<(), PostgresError> {
    match cancel.load(Ordering::Relaxed) {
        false => Ok(()),
        true => Err(PostgresError::Interrupted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(dir: &Path) -> PathBuf {
        let data = dir.join("data");
        std::fs::create_dir_all(data.join("base/5")).unwrap();
        std::fs::create_dir_all(data.join("pg_wal/archive_status")).unwrap();
        let bytes: Vec<u8> = (0..PIECE * 5 / 2).map(|at| (at / 7 % 251) as u8).collect();
        std::fs::write(data.join("base/5/1259"), bytes).unwrap();
        std::fs::write(data.join("base/5/empty"), "").unwrap();
        std::fs::write(data.join("PG_VERSION"), "17").unwrap();
        for segment in ["000000010000000000000003", "000000010000000000000004"] {
            std::fs::write(data.join("pg_wal").join(segment), segment).unwrap();
        }
        data
    }

    fn image(data: &Path) -> Result<ClusterImage, PostgresError> {
        let (file, on) = (tempfile::tempfile().unwrap(), AtomicBool::new(false));
        ClusterImage::of(data, "000000010000000000000003".into(), file, &on)
    }

    fn copy(image: &ClusterImage, to: &Path, wal: Option<&Path>, cancel: bool) -> Result<(), PostgresError> {
        let made = |path: &Path| {
            std::fs::create_dir(path).unwrap();
            Directory::open(path).unwrap()
        };
        let (top, wal) = (made(to), wal.map(made));
        image.copy_into(&top, wal.as_ref(), &RunAs::Ourselves, &AtomicBool::new(cancel))
    }

    #[test]
    fn a_copy_is_the_same_but_for_segments_that_no_start_needs() {
        let dir = tempfile::tempdir().unwrap();
        let from = data(dir.path());
        let image = image(&from).unwrap();
        let (beside, apart, wal) = (dir.path().join("a"), dir.path().join("b"), dir.path().join("wal"));
        copy(&image, &beside, None, false).unwrap();
        copy(&image, &apart, Some(&wal), false).unwrap();
        for to in [&beside, &apart] {
            for name in [
                "base/5/1259",
                "base/5/empty",
                "PG_VERSION",
                "pg_wal/000000010000000000000003",
            ] {
                let read = |top: &Path| std::fs::read(top.join(name)).unwrap();
                assert!(read(to) == read(&from), "{name}");
            }
            assert!(!to.join("pg_wal/000000010000000000000004").exists());
            assert!(to.join("pg_wal/archive_status").is_dir());
        }
        assert_eq!(
            std::fs::read_link(apart.join("pg_wal")).unwrap(),
            wal.canonicalize().unwrap()
        );
        assert!(beside.join("pg_wal").symlink_metadata().unwrap().is_dir());
        let ended = copy(&image, &dir.path().join("c"), None, true).unwrap_err();
        assert!(matches!(ended, PostgresError::Interrupted), "{ended}");
    }

    #[test]
    fn an_image_or_a_copy_that_has_changed_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let image = image(&data(dir.path())).unwrap();
        let to = dir.path().join("a");
        copy(&image, &to, None, false).unwrap();
        let held = image.files.iter().find(|held| held.name == "1259").unwrap();
        let inner = Directory::open(&to.join("base/5")).unwrap();
        let on = AtomicBool::new(false);
        read_back(held, &inner, &on).unwrap();
        let path = to.join("base/5/1259");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[2 * PIECE] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(read_back(held, &inner, &on).is_err(), "a byte");
        bytes[2 * PIECE] ^= 1;
        bytes.push(0);
        std::fs::write(&path, &bytes).unwrap();
        assert!(read_back(held, &inner, &on).is_err(), "a byte more");
        image.file.write_all_at(b"x", held.at + 5).unwrap();
        assert!(copy(&image, &dir.path().join("b"), None, false).is_err(), "the image");
    }

    #[test]
    fn links_in_the_data_lead_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let from = data(dir.path());
        std::fs::write(dir.path().join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(dir.path().join("secret"), from.join("base/5/link")).unwrap();
        let error = image(&from).unwrap_err();
        assert!(error.to_string().contains("base/5/link"), "{error}");
        std::fs::remove_file(from.join("base/5/link")).unwrap();
        let base = Directory::open(&from.join("base")).unwrap();
        rustix::fs::mknodat(&base, "pipe", FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        let error = image(&from).unwrap_err();
        assert!(error.to_string().contains("neither a file"), "{error}");
    }
}
