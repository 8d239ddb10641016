//! The file system that FUSE asks: one directory, one file for each LUN, nothing else.
//!
//! Takes requests of the kernel, lets [`Files`] move their data and hands answers to the clockwork. Prevents: an answer
//! that goes out before the model's time, and a flush that ends here.

use super::clockwork::{Clockwork, Reply};
use super::files::{BLOCK, Files, WRITE_MAX, name};
use crate::model::{Ask, Command};
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request,
    WriteFlags,
};
use std::ffi::OsStr;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

const FOREVER: Duration = Duration::from_secs(1 << 30);

/// Requests that the kernel may have sent without an answer.
const IN_BACKGROUND: u16 = 4096;

/// What the kernel talks to.
pub(super) struct Window {
    files: Arc<Files>,
    clockwork: Clockwork,
}

impl Window {
    pub(super) fn new(files: Arc<Files>, clockwork: Clockwork) -> Window {
        Window { files, clockwork }
    }

    fn lun(&self, ino: INodeNo) -> Option<u16> {
        let nth = u64::from(ino).checked_sub(2)?;
        ((nth as usize) < self.files.count()).then_some(nth as u16)
    }

    fn attributes(&self, ino: u64, size: u64, kind: FileType) -> FileAttr {
        FileAttr {
            ino: INodeNo(ino),
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm: if kind == FileType::Directory { 0o700 } else { 0o600 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            flags: 0,
            blksize: BLOCK as u32,
        }
    }

    fn of_lun(&self, lun: u16) -> FileAttr {
        let bytes = self.files.bytes(lun);
        self.attributes(u64::from(lun) + 2, bytes, FileType::RegularFile)
    }

    /// Tells the model that a request has come.
    fn arrived(&self, lun: u16, command: Command, offset: u64, len: usize) -> Option<u64> {
        let ask = Ask {
            id: 0,
            lun,
            command,
            offset,
            len: len as u32,
        };
        // Without power nothing takes time.
        self.files.alive().ok()?;
        Some(self.clockwork.arrived(ask, self.files.faults.slower_ns(lun)))
    }

    /// Answers a request whose work is done.
    fn answer(&self, id: Option<u64>, reply: Reply) {
        match id {
            Some(id) => self.clockwork.worked(id, reply),
            None => reply(),
        }
    }
}

impl Filesystem for Window {
    /// Loop devices ask asynchronously; the kernel keeps such requests to a dozen unless told otherwise, which would be
    /// a queue of ours before the model's.
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // Without it the kernel waits for each direct read before it sends the next, and the model sees a queue of one.
        let asynchronous = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        asynchronous.map_err(|_| std::io::Error::from(std::io::ErrorKind::Unsupported))?;
        // Longer requests would not fit a buffer.
        let _ = config.set_max_write(WRITE_MAX);
        for set in [KernelConfig::set_max_background, KernelConfig::set_congestion_threshold] {
            if let Err(nearest) = set(config, IN_BACKGROUND) {
                let _ = set(config, nearest);
            }
        }
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, file: &OsStr, reply: ReplyEntry) {
        let nth = (0..self.files.count()).find(|nth| parent == INodeNo::ROOT && file == OsStr::new(&name(*nth)));
        match nth {
            Some(nth) => reply.entry(&FOREVER, &self.of_lun(nth as u16), Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match (ino == INodeNo::ROOT, self.lun(ino)) {
            (true, _) => reply.attr(&FOREVER, &self.attributes(1, 0, FileType::Directory)),
            (_, Some(lun)) => reply.attr(&FOREVER, &self.of_lun(lun)),
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.lun(ino) {
            Some(_) => reply.opened(
                FileHandle(0),
                FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES,
            ),
            None => reply.error(Errno::EISDIR),
        }
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let Some(lun) = self.lun(ino) else {
            return reply.error(Errno::EISDIR);
        };
        let size = self.files.bytes(lun).saturating_sub(offset).min(u64::from(size)) as usize;
        let id = self.arrived(lun, Command::Read, offset, size);
        let read = self.files.buffer().and_then(|mut buffer| {
            let at = self.files.read(lun, offset, size, &mut buffer)?;
            Ok((buffer, at))
        });
        let files = self.files.clone();
        self.answer(
            id,
            Box::new(move || match read {
                Ok((buffer, at)) => {
                    reply.data(buffer.bytes(at as u64, size));
                    files.give_back(buffer);
                }
                Err(errno) => reply.error(errno),
            }),
        );
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let Some(lun) = self.lun(ino) else {
            return reply.error(Errno::EISDIR);
        };
        if offset + data.len() as u64 > self.files.bytes(lun) {
            return reply.error(Errno::ENOSPC);
        }
        let id = self.arrived(lun, Command::Write { through: false }, offset, data.len());
        let written = self.files.write(lun, offset, data);
        let len = data.len() as u32;
        self.answer(
            id,
            Box::new(move || match written {
                Ok(()) => reply.written(len),
                Err(errno) => reply.error(errno),
            }),
        );
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let Some(lun) = self.lun(ino) else {
            return reply.ok();
        };
        let id = self.arrived(lun, Command::Flush, 0, 0);
        let flushed = self.files.flush(lun);
        self.answer(
            id,
            Box::new(move || match flushed {
                Ok(()) => reply.ok(),
                Err(errno) => reply.error(errno),
            }),
        );
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        for nth in offset as usize..self.files.count() {
            if reply.add(
                INodeNo(nth as u64 + 2),
                nth as u64 + 1,
                FileType::RegularFile,
                name(nth),
            ) {
                break;
            }
        }
        reply.ok();
    }
}
