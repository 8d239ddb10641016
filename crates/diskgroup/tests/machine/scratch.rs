//! Scratch files beside everything else: made, grown, written, read and deleted, each by a port of its own.
//!
//! Prevents: space of a file that nobody wants any more, still taken after a crash.

use crate::machine::Window;
use crate::machine::content::PAGE;
use crate::machine::life::{Life, Trouble, Went};
use diskgroup::{FileSpec, GroupError, GroupPort, Stripe};
use targets::{FileId, Op, Port, Request};

/// As many at once.
const MOST: usize = 4;
const FILE: FileId = FileId(0);

/// A file that is gone with the next mount.
pub(crate) struct Scratch {
    name: String,
    port: GroupPort<Window>,
    /// What each page was filled with; `None`: not written.
    pages: Vec<Option<u8>>,
}

impl Life<'_> {
    /// One thing with scratch files.
    pub(crate) fn scratch_step(&mut self) -> Went<()> {
        let (what, have) = (self.below(8), self.scratch.len());
        match what {
            0..3 if have < MOST => self.make_scratch(),
            3..7 if have > 0 => {
                let nth = self.below(have as u64) as usize;
                let mut one = self.scratch.swap_remove(nth);
                self.use_scratch(&mut one)?;
                self.scratch.push(one);
                Ok(())
            }
            _ if have > 0 => {
                let nth = self.below(have as u64) as usize;
                let Scratch { name, port, .. } = self.scratch.swap_remove(nth);
                drop(port);
                Ok(self.group.delete_file(&name)?)
            }
            _ => Ok(()),
        }
    }

    fn make_scratch(&mut self) -> Went<()> {
        let (nth, pages) = (self.below(1 << 40), self.below(40));
        let name = format!("scratch{}-{nth}", self.steps);
        let spec = FileSpec {
            name: name.clone(),
            size: pages * PAGE,
            redundancy: None,
            stripe: Stripe::Coarse,
        };
        match self.group.scratch_file(&spec) {
            Ok(()) => {}
            Err(GroupError::Full { .. } | GroupError::Busy { .. } | GroupError::Refused { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let port = self.group.open(self.machine.window(PAGE, 4), &[name.as_str()])?;
        self.scratch.push(Scratch {
            name,
            port,
            pages: vec![None; pages as usize],
        });
        Ok(())
    }

    fn use_scratch(&mut self, file: &mut Scratch) -> Went<()> {
        if self.below(4) == 0 {
            let pages = file.pages.len() + 1 + self.below(30) as usize;
            match file.port.grow(FILE, pages as u64 * PAGE).map_err(Trouble::from) {
                Ok(()) => file.pages.resize(pages, None),
                Err(Trouble::Wrong(what)) if what.contains("bytes are needed") => {}
                Err(trouble) => return Err(trouble),
            }
        }
        if file.pages.is_empty() {
            return Ok(());
        }
        let page = self.below(file.pages.len() as u64) as usize;
        match file.pages[page] {
            Some(byte) if self.below(2) == 0 => {
                self.ask_scratch(file, Op::Read, page)?;
                if file.port.bytes(0, PAGE as usize).iter().any(|found| *found != byte) {
                    return Err(Trouble::Wrong(format!("{} page {page} is not {byte}", file.name)));
                }
            }
            _ => {
                let byte = self.below(256) as u8;
                file.port.bytes_mut(0, PAGE as usize).fill(byte);
                self.ask_scratch(file, Op::Write, page)?;
                file.pages[page] = Some(byte);
            }
        }
        Ok(())
    }

    /// A request and its end; everybody goes on meanwhile, for the upkeep may hold the extent.
    fn ask_scratch(&mut self, file: &mut Scratch, op: Op, page: usize) -> Went<()> {
        file.port.submit(Request {
            op,
            file: FILE,
            offset: page as u64 * PAGE,
            at: 0,
            len: PAGE as u32,
            token: 1,
        })?;
        let mut done = Vec::new();
        for _ in 0..20_000 {
            let until = file.port.now() + 100_000;
            file.port.wait(1, Some(until), &mut done)?;
            if let Some(ended) = done.first() {
                let failed = |fault| format!("{op:?} of {} page {page}: {fault}", file.name);
                return ended.result.map_err(|fault| Trouble::Wrong(failed(fault)));
            }
            // The upkeep waits for requests of others in its turn.
            for worker in 0..self.workers.len() {
                self.wait(worker, 1)?;
            }
            self.keep_up(false)?;
        }
        Err(Trouble::Wrong(format!("{op:?} of {} never ends", file.name)))
    }

    /// Ends all scratch files.
    pub(crate) fn end_scratch(&mut self) -> Went<()> {
        while let Some(Scratch { name, port, .. }) = self.scratch.pop() {
            drop(port);
            self.group.delete_file(&name)?;
        }
        Ok(())
    }

    /// Nothing takes space but the files that are listed and the metadata.
    pub(crate) fn must_own_no_more(&self) -> Went<()> {
        let (info, files) = (self.group.info(), self.group.files());
        let of_files: u64 = files.iter().map(|file| file.allocated_bytes).sum();
        if info.free_bytes + info.metadata_bytes + of_files == info.total_bytes {
            return Ok(());
        }
        Err(Trouble::Wrong(format!(
            "{} bytes, of which {} are free, {} of metadata and {of_files} of files",
            info.total_bytes, info.free_bytes, info.metadata_bytes
        )))
    }
}
