//! The client of plain files: system calls in a directory that is held by descriptor, one call at a time, by the thread
//! that asks. A thread more for each call would cost more than the call.
//!
//! Prevents: a path that somebody renames on the way (all paths begin at the descriptor, and no link is followed).

mod crew;
mod listing;
mod numbers;
mod threads;

pub(crate) use crew::Crew;

use crate::client::{Answer, Call, Client, Entries, Found, Kept, Node, PlainEntry, Traffic};
use crate::error::FilesError;
use crate::status::Status;
use numbers::Numbers;
use rustix::fs::{Access, AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use targets::{Nanos, monotonic_ns};

/// Room for the longest read or write.
const ROOM: usize = 1 << 20;
/// What `O_DIRECT` wants addresses, offsets and lengths to be multiples of.
const ALIGNED: usize = 4096;

/// What an answer is, until it is handed out.
enum Held {
    None,
    Refused(Status),
    Found(Found),
    Link(Vec<u8>),
    Bytes { len: usize, ends: bool },
    Written { count: u32, stable: bool },
    Committed,
    Listing,
    Limits,
    Done,
}

/// The client.
pub(crate) struct Posix {
    root: OwnedFd,
    numbers: Numbers,
    direct: bool,
    paths: Vec<Option<PathBuf>>,
    room: Vec<u8>,
    held: (u32, Held),
    listing: Vec<PlainEntry>,
    traffic: Traffic,
}

impl Posix {
    pub(crate) fn new(root: OwnedFd, direct: bool) -> Posix {
        Posix {
            numbers: Numbers::of(&root),
            root,
            direct,
            paths: vec![Some(PathBuf::from("."))],
            room: vec![0; ROOM + ALIGNED],
            held: (0, Held::None),
            listing: Vec::new(),
            traffic: Traffic::default(),
        }
    }

    /// The files are in another directory now (after a mount).
    pub(crate) fn moved(&mut self, root: OwnedFd) {
        self.numbers = Numbers::of(&root);
        self.root = root;
    }

    fn path(&self, node: Node) -> &PathBuf {
        match &self.paths[node.0 as usize] {
            Some(path) => path,
            None => panic!("a call on node {} before its name was found", node.0),
        }
    }

    /// The path of a name, which is also noted for its node.
    fn learn(&mut self, dir: Node, name: &[u8], node: Option<Node>) -> PathBuf {
        let path = self.path(dir).join(String::from_utf8_lossy(name).as_ref());
        if let Some(node) = node.filter(|node| self.paths[node.0 as usize].is_none()) {
            self.paths[node.0 as usize] = Some(path.clone());
        }
        path
    }

    fn open(&self, node: Node, flags: OFlags) -> Result<OwnedFd, Errno> {
        let direct = if self.direct { OFlags::DIRECT } else { OFlags::empty() };
        let flags = flags | direct | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.root, self.path(node), flags, Mode::empty())
    }

    fn found(&self, path: &PathBuf) -> Result<Held, Errno> {
        let stat = rustix::fs::statat(&self.root, path, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Held::Found(self.numbers.found(&stat)))
    }

    fn aligned(&mut self) -> &mut [u8] {
        let at = self.room.as_ptr().align_offset(ALIGNED);
        &mut self.room[at..at + ROOM]
    }

    fn read(&mut self, of: Node, offset: u64, len: usize) -> Result<Held, Errno> {
        let file = self.open(of, OFlags::RDONLY)?;
        let room = &mut self.aligned()[..len];
        let mut got = 0;
        while got < len {
            match rustix::io::pread(&file, &mut room[got..], offset + got as u64) {
                Ok(0) => break,
                Ok(more) => got += more,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
            // A short read of O_DIRECT is the end of the file.
            if !got.is_multiple_of(ALIGNED) {
                break;
            }
        }
        Ok(Held::Bytes {
            len: got,
            ends: got < len,
        })
    }

    fn write(&mut self, call: &Call<'_>) -> Result<Held, Errno> {
        let Call::Write {
            of,
            offset,
            stable,
            content,
        } = call
        else {
            unreachable!("a write was asked for")
        };
        let file = self.open(*of, OFlags::WRONLY)?;
        let len = content.len();
        let room = &mut self.aligned()[..len];
        content.fill(room);
        let mut put = 0;
        while put < len {
            match rustix::io::pwrite(&file, &room[put..], offset + put as u64) {
                Ok(more) => put += more,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        if *stable {
            rustix::fs::fsync(&file)?;
        }
        Ok(Held::Written {
            count: len as u32,
            stable: *stable,
        })
    }

    fn setattr(&self, of: Node, size: Option<u64>) -> Result<Held, Errno> {
        let file = self.open(of, OFlags::WRONLY)?;
        rustix::fs::fchmod(&file, Mode::from_raw_mode(0o644))?;
        if let Some(size) = size {
            rustix::fs::ftruncate(&file, size)?;
        }
        Ok(Held::Done)
    }

    fn create(&mut self, (dir, name, node): (Node, &[u8], Node)) -> Result<Held, Errno> {
        let path = self.learn(dir, name, Some(node));
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = rustix::fs::openat(&self.root, &path, flags, Mode::from_raw_mode(0o644))?;
        let stat = rustix::fs::fstat(&file)?;
        Ok(Held::Found(self.numbers.found(&stat)))
    }

    fn carry_out(&mut self, call: &Call<'_>) -> Result<Held, Errno> {
        match *call {
            Call::Getattr { of } => self.found(self.path(of)),
            Call::Setattr { of, size } => self.setattr(of, size),
            Call::Lookup { dir, name, node } => {
                let path = self.learn(dir, name, node);
                self.found(&path)
            }
            Call::Access { of } => {
                let access = Access::READ_OK | Access::WRITE_OK;
                rustix::fs::accessat(&self.root, self.path(of), access, AtFlags::empty()).map(|()| Held::Done)
            }
            Call::Readlink { of } => {
                let text = rustix::fs::readlinkat(&self.root, self.path(of), Vec::new())?;
                Ok(Held::Link(text.into_bytes()))
            }
            Call::Read { of, offset, len } => self.read(of, offset, len as usize),
            Call::Write { .. } => self.write(call),
            Call::Create { dir, name, node } => self.create((dir, name, node)),
            Call::Mkdir { dir, name, node } => {
                let path = self.learn(dir, name, Some(node));
                rustix::fs::mkdirat(&self.root, &path, Mode::from_raw_mode(0o755))?;
                self.found(&path)
            }
            Call::Symlink {
                dir,
                name,
                target,
                node,
            } => {
                let path = self.learn(dir, name, Some(node));
                rustix::fs::symlinkat(target, &self.root, &path)?;
                self.found(&path)
            }
            Call::Remove { dir, name } => {
                let path = self.learn(dir, name, None);
                rustix::fs::unlinkat(&self.root, &path, AtFlags::empty()).map(|()| Held::Done)
            }
            Call::Rmdir { dir, name } => {
                let path = self.learn(dir, name, None);
                rustix::fs::unlinkat(&self.root, &path, AtFlags::REMOVEDIR).map(|()| Held::Done)
            }
            Call::Rename { dir, name, to, node } => {
                let (from, onto) = (self.learn(dir, name, None), self.learn(dir, to, None));
                rustix::fs::renameat(&self.root, &from, &self.root, &onto)?;
                self.paths[node.0 as usize] = Some(onto);
                Ok(Held::Done)
            }
            Call::List { dir, sizes } => {
                let directory = rustix::fs::openat(
                    &self.root,
                    self.path(dir),
                    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
                    Mode::empty(),
                )?;
                listing::read(&directory, (sizes, self.numbers), &mut self.listing)?;
                Ok(Held::Listing)
            }
            Call::Fsstat => rustix::fs::fstatvfs(&self.root).map(|_| Held::Done),
            Call::Fsinfo => Ok(Held::Limits),
            Call::Commit { of } => {
                let file = self.open(of, OFlags::WRONLY)?;
                rustix::fs::fsync(&file).map(|()| Held::Committed)
            }
        }
    }

    fn answer(&mut self, held: Held) -> Answer<'_> {
        match held {
            Held::None => unreachable!("an answer is held"),
            Held::Refused(status) => Answer::Refused(status),
            Held::Found(found) => Answer::Found(found),
            Held::Link(text) => {
                let room = self.aligned();
                let len = text.len().min(room.len());
                room[..len].copy_from_slice(&text[..len]);
                Answer::Link(&self.aligned()[..len])
            }
            Held::Bytes { len, ends } => Answer::Bytes {
                bytes: &self.aligned()[..len],
                ends,
            },
            Held::Written { count, stable } => Answer::Written {
                count,
                kept: if stable { Kept::File } else { Kept::Unstable },
                verifier: 0,
            },
            Held::Committed => Answer::Committed { verifier: 0 },
            Held::Listing => Answer::Listing(Entries::Plain(&self.listing)),
            Held::Limits => Answer::Limits {
                read: ROOM as u32,
                write: ROOM as u32,
            },
            Held::Done => Answer::Done,
        }
    }
}

/// The same words for the same refusals.
fn status(error: Errno) -> Status {
    match error {
        Errno::DQUOT => Status::QUOTA,
        Errno::STALE => Status::STALE,
        error => Status(error.raw_os_error().unsigned_abs()),
    }
}

impl Client for Posix {
    fn now(&self) -> Nanos {
        monotonic_ns()
    }

    fn reserve(&mut self, nodes: u32, _: u32) {
        let nodes = self.paths.len().max(nodes as usize);
        self.paths.resize(nodes, None);
    }

    fn knows(&self, node: Node) -> bool {
        self.paths.get(node.0 as usize).is_some_and(Option::is_some)
    }

    fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn names_are_stable(&self) -> bool {
        false
    }

    fn most_calls(&self) -> u32 {
        1
    }

    fn renew(&mut self) -> Result<(), FilesError> {
        self.held = (0, Held::None);
        Ok(())
    }

    fn send(&mut self, tag: u32, call: &Call<'_>) -> Result<(), FilesError> {
        assert!(matches!(self.held.1, Held::None), "plain files take one call at a time");
        let held = self
            .carry_out(call)
            .unwrap_or_else(|error| Held::Refused(status(error)));
        self.held = (tag, held);
        Ok(())
    }

    fn wait(
        &mut self,
        until: Option<Nanos>,
        each: &mut impl FnMut(u32, Nanos, Answer<'_>) -> Result<(), FilesError>,
    ) -> Result<(), FilesError> {
        match std::mem::replace(&mut self.held.1, Held::None) {
            Held::None => {
                if let Some(left) = until
                    .map(|until| until.saturating_sub(monotonic_ns()))
                    .filter(|left| *left > 0)
                {
                    std::thread::sleep(std::time::Duration::from_nanos(left));
                }
                Ok(())
            }
            held => {
                let at = monotonic_ns();
                let tag = self.held.0;
                each(tag, at, self.answer(held))
            }
        }
    }
}
