//! Answers held against the model: status, size, identity, listing, bytes.
//!
//! Takes an answer; says what the session does next. Prevents: an answer that is booked because it parses.

use super::session::{Now, Session};
use super::state::State;
use crate::client::{Answer, Entries, Found, Identity, Kept, Listed, short_of};
use crate::error::FilesError;
use crate::grain::{GRAIN, Wrong};
use crate::status::Status;
use crate::tree::{Kind, LINK_TEXT, Named, named};

/// What a session does after an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// The operation is done.
    Done,
    /// The session makes the call that its state names.
    Call,
    /// The same call after a while.
    Later,
}

impl State {
    /// Judges the answer to the call under way.
    pub(crate) fn answered(&mut self, nth: u32, answer: Answer<'_>) -> Result<Next, FilesError> {
        let session = self.sessions[nth as usize];
        match answer {
            Answer::Again => {
                self.counts.repeated += 1;
                self.sessions[nth as usize].repeated = true;
                return Ok(Next::Call);
            }
            Answer::Refused(Status::LATER) => {
                self.counts.later += 1;
                return Ok(Next::Later);
            }
            Answer::Refused(status) => {
                if let Some(next) = self.refused(nth, &session, status)? {
                    return Ok(next);
                }
            }
            _ if session.now == Now::Missing => self.note(|| format!("a name that never was is found ({session:?})")),
            answer => {
                if let Some(kib) = self.granted(nth, &session, answer)? {
                    self.rest_after(nth, kib);
                    return Ok(Next::Call);
                }
            }
        }
        self.counts.calls += 1;
        if self.next_call(nth) {
            return Ok(Next::Call);
        }
        self.end(nth);
        Ok(Next::Done)
    }

    /// A read or write came short by the server's choice: the same operation goes on with what is left of it.
    fn rest_after(&mut self, nth: u32, kib: u32) {
        self.counts.calls += 1;
        let session = &mut self.sessions[nth as usize];
        session.repeated = false;
        (session.first, session.kib) = (session.first + kib, session.kib - kib);
    }

    /// The operation is over: its file is free again, unless the next row takes it.
    fn end(&mut self, nth: u32) {
        let session = &mut self.sessions[nth as usize];
        session.now = Now::Idle;
        if !session.keeps {
            self.release(nth);
        }
    }

    /// A refusal: what was asked for, a trace of our own, a loss, or the end of the phase.
    fn refused(&mut self, nth: u32, session: &Session, status: Status) -> Result<Option<Next>, FilesError> {
        match (session.now, status) {
            (Now::Missing, Status::NOT_FOUND) => Ok(None),
            (Now::Create | Now::Mkdir, Status::EXISTS) if session.repeated => {
                self.counts.traces += 1;
                self.name_is(session, true);
                // The handle is not known: it is looked up, inside of the same operation.
                self.sessions[nth as usize].now = Now::Lookup;
                Ok(Some(Next::Call))
            }
            (Now::Remove | Now::Rmdir, Status::NOT_FOUND) if session.repeated => {
                self.counts.traces += 1;
                self.name_is(session, false);
                Ok(None)
            }
            (Now::Rename, Status::NOT_FOUND) if session.repeated => {
                self.counts.traces += 1;
                self.renamed(session);
                Ok(None)
            }
            // nfs-ganesha reads the names and then looks at each: one that went meanwhile makes it refuse them all. The
            // directory is there, and a second look says so.
            (Now::List { .. }, Status::NOT_FOUND) if !session.refused_once => {
                self.counts.listed_again += 1;
                let changes = self.tree.changes;
                let session = &mut self.sessions[nth as usize];
                (session.refused_once, session.changes) = (true, changes);
                Ok(Some(Next::Call))
            }
            (_, Status::NOT_FOUND | Status::EXISTS) => {
                self.note(|| format!("{session:?} was refused with status {}", status.0));
                if matches!(session.now, Now::Create | Now::Mkdir | Now::Remove | Now::Rmdir) {
                    let there = matches!(session.now, Now::Create | Now::Mkdir) == (status == Status::EXISTS);
                    self.name_is(session, there && status == Status::EXISTS);
                }
                Ok(None)
            }
            _ => Err(FilesError::Refused {
                what: format!("{} of file {}", session.class.name(), session.file),
                status,
            }),
        }
    }

    /// Gives the KiB that an answer came to, where the call is made again for the rest.
    fn granted(&mut self, nth: u32, session: &Session, answer: Answer<'_>) -> Result<Option<u32>, FilesError> {
        match (session.now, answer) {
            (Now::Home, Answer::Found(_)) => {}
            (Now::Getattr | Now::Lookup, Answer::Found(found)) => self.found(session, found),
            (Now::Read, Answer::Bytes { bytes, ends }) => {
                let short = short_of(session.kib, bytes.len()).filter(|_| !ends);
                let bytes = short.map_or(bytes, |kib| &bytes[..kib as usize * GRAIN]);
                self.sessions[nth as usize].units += bytes.len() as u64;
                self.counts.read_bytes += bytes.len() as u64;
                self.read_bytes(session, bytes, short.unwrap_or(session.kib));
                return Ok(short);
            }
            (Now::Write { stable }, Answer::Written { count, kept, verifier }) => {
                let short = short_of(session.kib, count as usize);
                let count = short.map_or(count, |kib| kib * 1024);
                self.sessions[nth as usize].units += u64::from(count);
                self.counts.written_bytes += u64::from(count);
                self.same_server(verifier)?;
                self.written((session, short.unwrap_or(session.kib)), stable, (count, kept));
                return Ok(short);
            }
            (Now::Commit, Answer::Committed { verifier }) => {
                self.same_server(verifier)?;
                self.keep(session.file);
            }
            (Now::Readlink, Answer::Link(text)) => {
                if text != LINK_TEXT {
                    self.note(|| format!("the link beside file {} leads elsewhere", session.file));
                }
            }
            (Now::List { .. }, Answer::Listing(entries)) => self.listing(session, entries),
            (Now::Create | Now::Mkdir, Answer::Found(found)) => {
                self.name_is(session, true);
                self.tree.files[session.file as usize].identity = found.identity;
                if found.size.is_some_and(|size| size > 0) && session.now == Now::Create {
                    self.note(|| format!("file {} was created and is not empty", session.file));
                }
            }
            (Now::Remove | Now::Rmdir, Answer::Done) => self.name_is(session, false),
            (Now::Rename, Answer::Done) => self.renamed(session),
            (Now::Access | Now::Setattr { .. } | Now::Fsstat, Answer::Done) => {}
            (Now::Fsinfo, Answer::Limits { .. } | Answer::Done) => {}
            _ => {
                return Err(FilesError::Mixed {
                    what: session.class.name(),
                });
            }
        }
        Ok(None)
    }

    /// The verifier of a server that did not start anew is always the same.
    fn same_server(&mut self, verifier: u64) -> Result<(), FilesError> {
        match self.verifier.replace(verifier) {
            Some(before) if before != verifier => {
                self.verifier = Some(before);
                Err(FilesError::Restarted)
            }
            _ => Ok(()),
        }
    }

    fn found(&mut self, session: &Session, found: Found) {
        let file = &mut self.tree.files[session.file as usize];
        let (bytes, known) = (file.bytes(), file.identity);
        if file.identity.file_id.is_none() {
            file.identity.file_id = found.identity.file_id;
        }
        if file.identity.handle.is_none() {
            file.identity.handle = found.identity.handle;
        }
        let inner = file.kind == Kind::Inner;
        if !known.agrees(&found.identity) {
            self.note(|| format!("file {} is another one: {found:?} instead of {known:?}", session.file));
        } else if found.size.is_some_and(|size| size != bytes) && !inner {
            self.note(|| format!("file {} has {:?} bytes instead of {bytes}", session.file, found.size));
        }
    }

    fn read_bytes(&mut self, session: &Session, bytes: &[u8], kib: u32) {
        let (file, first) = (session.file, session.first);
        if bytes.len() != kib as usize * GRAIN {
            self.note(|| format!("file {file}, KiB {first}: {} bytes instead of {kib} KiB", bytes.len()));
            return;
        }
        let (versions, content) = (self.tree.sent(file, first, kib), self.tree.files[file as usize].content);
        let bad = bytes
            .chunks_exact(GRAIN)
            .zip(versions)
            .zip(first..)
            .find_map(|((grain, version), place)| {
                let wrong = self.pool.check(content, place, *version, grain).err()?;
                Some((place, *version, wrong))
            });
        if let Some((place, version, wrong)) = bad {
            self.note(|| match wrong {
                Wrong::Version(seen) => format!("file {file}, KiB {place}: version {seen} instead of {version}"),
                Wrong::Foreign => format!("file {file}, KiB {place}: not what was written, or damaged"),
            });
        }
    }

    fn written(&mut self, (session, kib): (&Session, u32), stable: bool, (count, kept): (u32, Kept)) {
        let (nth, first) = (session.file, session.first);
        if count != kib * 1024 {
            self.note(|| format!("file {nth}, KiB {first}: {count} bytes were taken of {kib} KiB"));
        } else if stable && kept != Kept::File {
            self.note(|| format!("file {nth}, KiB {first}: FILE_SYNC was asked for, {kept:?} was given"));
        } else if kept != Kept::Unstable {
            let file = &self.tree.files[nth as usize];
            self.tree.grains.keep(file.grains + first, kib);
        }
    }

    /// All that was sent to a file is stable.
    pub(super) fn keep(&mut self, nth: u32) {
        let file = &mut self.tree.files[nth as usize];
        if file.room > 0 && file.dirty {
            self.tree.grains.keep(file.grains, file.size);
            self.tree
                .grains
                .keep_none(file.grains + file.size, file.room - file.size);
        }
        (file.dirty, file.cut_back) = (false, false);
    }

    /// The session's file has its other file's name now.
    fn renamed(&mut self, session: &Session) {
        let onto = session.onto.expect("a rename has another name");
        self.tree.renamed(session.file, onto);
    }

    /// A name is there now, or is not.
    fn name_is(&mut self, session: &Session, there: bool) {
        let file = &mut self.tree.files[session.file as usize];
        file.removed = !there && matches!(session.now, Now::Remove | Now::Rmdir);
        (file.there, file.open, file.identity) = (there, false, Identity::default());
        if file.kind != Kind::Inner {
            (file.size, file.dirty, file.cut_back) = (0, false, false);
            let (at, room) = (file.grains, file.room);
            if room > 0 {
                self.tree.grains.keep_none(at, room);
            }
        }
        self.tree.changed(session.file);
        self.list_name(session.file);
    }

    /// Each entry is known, comes once, and is what it was; a whole listing leaves nothing out.
    fn listing(&mut self, session: &Session, mut entries: Entries<'_>) {
        let nth = self.tree.files[session.file as usize].directory;
        let directory = &self.tree.directories[nth as usize];
        let (first, count) = (directory.first, directory.count);
        self.seen.fill(0);
        let mut link = 0;
        let whole = loop {
            let entry = match entries.next_listed() {
                Ok(Listed::End { whole }) => break whole,
                Ok(Listed::Entry(entry)) => entry,
                Err(garbled) => return self.note(|| format!("listing of directory {nth}: {}", garbled.0)),
            };
            let place = match named(entry.name) {
                Some(Named::File(file) | Named::Inner(file)) => file.checked_sub(first).filter(|at| *at < count),
                Some(Named::Link(of)) if of == nth => {
                    link += 1;
                    continue;
                }
                _ if matches!(entry.name, b"." | b"..") => continue,
                _ => None,
            };
            let Some(place) = place else {
                return self.note(|| format!("directory {nth} lists {}", entry.name.escape_ascii()));
            };
            let (word, bit) = (place as usize / 64, 1 << (place % 64));
            if self.seen[word] & bit != 0 {
                return self.note(|| format!("directory {nth} lists {} twice", entry.name.escape_ascii()));
            }
            self.seen[word] |= bit;
            self.entry(session, first + place, entry.about);
        };
        if whole && link != 1 {
            self.note(|| format!("directory {nth} lists its link {link} times"));
        }
        if whole {
            self.left_out(session, (first, count));
        }
    }

    fn is_certain(&self, session: &Session, file: u32) -> bool {
        let file = &self.tree.files[file as usize];
        !file.is_changing() && file.changed <= session.changes
    }

    fn entry(&mut self, session: &Session, nth: u32, about: Found) {
        if !self.is_certain(session, nth) {
            return;
        }
        let file = &self.tree.files[nth as usize];
        let size_differs = file.kind != Kind::Inner && about.size.is_some_and(|size| size != file.bytes());
        if !file.there {
            self.note(|| format!("file {nth} was removed and is listed"));
        } else if size_differs || !file.identity.agrees(&about.identity) {
            self.note(|| format!("file {nth} is listed as another one: {about:?}"));
        }
    }

    fn left_out(&mut self, session: &Session, (first, count): (u32, u32)) {
        for place in 0..count {
            let nth = first + place;
            let seen = self.seen[place as usize / 64] >> (place % 64) & 1 == 1;
            if !seen && self.tree.files[nth as usize].there && self.is_certain(session, nth) {
                self.note(|| format!("file {nth} is there and is not listed"));
            }
        }
    }
}
