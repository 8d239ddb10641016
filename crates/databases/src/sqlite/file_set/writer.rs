//! The write side of a file set: gathers what SQLite writes in pieces, keeps the three heads, grows the files below.
//!
//! SQLite writes a log frame as 24 bytes and a page behind them. Here pieces that follow each other are gathered in a
//! buffer of the port and sent as whole blocks; the bytes of a block that were not written now are read first, or known
//! from the write before. A block is rewritten with the same bytes in all places that were written earlier, so
//! whichever of its sectors a power cut leaves old or new, what was synced is unharmed. Prevents: a frame that damages
//! the frame before it.

use super::lane::{BUFFER, InFlight, Lane};
use super::layout::{BLOCK, DATA_AT, Found, Role, SetFiles, Slot};
use crate::sqlite::error::SqliteError;
use targets::{FileId, Port};

/// The log's recorded size goes in such steps, so that an appended commit costs one flush. What lies behind its end is
/// older and does not carry the salt of the log's header, which is how SQLite finds the end of a log anyway.
const WAL_STEP: u64 = 4 << 20;

/// What must be zeros so that a log or a journal has no head: inside one sector.
const HEAD_BYTES: usize = 32;

/// A run of bytes that was written and not yet sent.
struct Gather {
    buffer: usize,
    /// The first byte in the buffer: a multiple of a block.
    start: u64,
    /// The end of what was written.
    end: u64,
    /// The end of what the buffer knows: `end`, or the end of a block that was read.
    known_to: u64,
}

/// One of the three files.
struct File {
    role: Role,
    id: FileId,
    there: bool,
    size: u64,
    /// What the newest slot on storage says.
    recorded: Slot,
    /// Bytes that the file of the port has room for.
    room: u64,
    gather: Option<Gather>,
    /// The last block that was sent and not full: where it begins, its bytes.
    tail: Option<(u64, Vec<u8>)>,
    /// The first block as it was sent last: a journal's head is written again and again.
    first: Option<Vec<u8>>,
}

/// The one that writes to a file set.
pub(crate) struct Writer<P> {
    pub(crate) lane: Lane<P>,
    files: [File; 3],
    grow_step: u64,
}

/// Writes the heads of three files that are not there, and makes them durable.
pub(crate) fn format<P: Port>(lane: &mut Lane<P>, files: &SetFiles, file_set: u64) -> Result<(), SqliteError> {
    for role in Role::ALL {
        let id = files.of(role);
        lane.port_mut().grow(id, DATA_AT)?;
        for sequence in [1, 2] {
            let slot = Slot {
                role,
                file_set,
                sequence,
                size: 0,
                there: false,
            };
            let mut bytes = [0; 512];
            slot.encode(&mut bytes);
            lane.write_block(id, slot.offset(), &bytes)?;
            lane.flush(id)?;
        }
    }
    Ok(())
}

fn head<P: Port>(lane: &mut Lane<P>, role: Role, id: FileId) -> Result<Slot, SqliteError> {
    let foreign = |what: String, cure| SqliteError::Foreign { what, cure };
    let file = id.0;
    if lane.port().size(id)? < DATA_AT {
        let what = format!("file {file} of the port is too short to be a SQLite file");
        return Err(foreign(what, "make the file set first"));
    }
    let mut newest: Option<Slot> = None;
    for at in [0, BLOCK] {
        let mut bytes = [0; 512];
        lane.read(id, at, &mut bytes)?;
        match Slot::decode(&bytes) {
            Found::Slot(slot) if slot.role != role => {
                let what = format!(
                    "file {file} of the port is the {:?} file of a file set, not its {role:?} file",
                    slot.role
                );
                return Err(foreign(
                    what,
                    "name the three files in their order: database, log, journal",
                ));
            }
            Found::Slot(slot) if newest.is_none_or(|n| slot.sequence > n.sequence) => newest = Some(slot),
            Found::Newer(version) => {
                let what = format!("file {file} of the port was written in format version {version}");
                return Err(foreign(what, "use a newer assay"));
            }
            Found::Slot(_) | Found::Zeros | Found::Other => {}
        }
    }
    newest.ok_or_else(|| {
        let what = format!("file {file} of the port holds no SQLite file of ours");
        foreign(what, "make the file set first, or name the right files")
    })
}

impl<P: Port> Writer<P> {
    /// Reads the heads.
    pub(crate) fn open(mut lane: Lane<P>, ids: &SetFiles, grow_step: u64) -> Result<Writer<P>, SqliteError> {
        let mut all = Vec::with_capacity(3);
        for role in Role::ALL {
            let id = ids.of(role);
            let recorded = head(&mut lane, role, id)?;
            let room = (lane.port().size(id)? - DATA_AT) / BLOCK * BLOCK;
            all.push(File {
                role,
                id,
                there: recorded.there,
                // The log's may be rounded up past its room.
                size: recorded.size.min(room),
                recorded,
                room,
                gather: None,
                tail: None,
                first: None,
            });
        }
        let files: [File; 3] = all.try_into().unwrap_or_else(|_| unreachable!("one for each role"));
        if files.iter().any(|f| f.recorded.file_set != files[0].recorded.file_set) {
            return Err(SqliteError::Foreign {
                what: "the three files of the port belong to different file sets".into(),
                cure: "name three files that were made together",
            });
        }
        if let Some(cut) = files
            .iter()
            .find(|f| f.there && f.role == Role::Main && f.recorded.size > f.room)
        {
            return Err(SqliteError::Foreign {
                what: format!("file {} of the port is shorter than the database in it", cut.id.0),
                cure: "the file was cut off: take it from a copy",
            });
        }
        Ok(Writer { lane, files, grow_step })
    }

    fn file(&mut self, role: Role) -> &mut File {
        &mut self.files[role.index()]
    }

    /// Is it there, and how long is it.
    pub(crate) fn state(&self, role: Role) -> (bool, u64) {
        let file = &self.files[role.index()];
        (file.there, file.size)
    }

    pub(crate) fn id(&self, role: Role) -> FileId {
        self.files[role.index()].id
    }

    /// Bytes that the file below has, its head among them.
    pub(crate) fn allocated(&self, role: Role) -> u64 {
        self.files[role.index()].room + DATA_AT
    }

    /// Bytes of the file that storage does not have yet.
    pub(crate) fn unwritten(&self, role: Role) -> impl Iterator<Item = (u64, u64)> {
        let file = &self.files[role.index()];
        let sent = self.lane.in_flight().filter(|w| w.file == file.id && w.from >= DATA_AT);
        let sent = sent.map(|w| (w.from - DATA_AT, w.to - DATA_AT));
        sent.chain(file.gather.as_ref().map(|g| (g.start, g.end)))
    }

    /// Makes an empty file; on storage with the first sync.
    pub(crate) fn create(&mut self, role: Role) {
        let file = self.file(role);
        file.there = true;
        file.size = 0;
        file.tail = None;
    }

    pub(crate) fn write(&mut self, role: Role, offset: u64, data: &[u8]) -> Result<(), SqliteError> {
        self.lane.check()?;
        let end = offset + data.len() as u64;
        self.grow(role, end)?;
        let size = self.file(role).size;
        if offset > size {
            // What an earlier file left in the gap must not be seen.
            self.zeros(role, size, offset)?;
        }
        self.put(role, offset, data)?;
        let file = self.file(role);
        file.size = file.size.max(end);
        // A log is recovered after the end of its process also where it was not synced.
        if role == Role::Wal && file.there && file.recorded.there && file.size > file.recorded.size {
            self.record(role)?;
        }
        Ok(())
    }

    fn zeros(&mut self, role: Role, from: u64, to: u64) -> Result<(), SqliteError> {
        let zeros = [0; 16 << 10];
        let mut at = from;
        while at < to {
            let len = (to - at).min(zeros.len() as u64);
            self.put(role, at, &zeros[..len as usize])?;
            at += len;
            self.file(role).size = at;
        }
        Ok(())
    }

    /// Makes room for bytes up to `end`, in steps.
    pub(crate) fn grow(&mut self, role: Role, end: u64) -> Result<(), SqliteError> {
        let (id, room) = (self.file(role).id, self.file(role).room);
        if end <= room {
            return Ok(());
        }
        let least = DATA_AT + end.div_ceil(BLOCK) * BLOCK;
        let wanted = (DATA_AT + end).div_ceil(self.grow_step) * self.grow_step;
        let port = self.lane.port_mut();
        let grown = port.grow(id, wanted).or_else(|_| port.grow(id, least));
        if let Err(error) = grown {
            return Err(match error {
                targets::TargetError::PowerCut => error.into(),
                error => SqliteError::Full {
                    file: format!("number {} of the port", id.0),
                    bytes: least,
                    why: error.to_string().lines().next().unwrap_or_default().to_string(),
                },
            });
        }
        let size = self.lane.port().size(id)?;
        self.file(role).room = (size - DATA_AT) / BLOCK * BLOCK;
        Ok(())
    }

    fn put(&mut self, role: Role, mut offset: u64, mut data: &[u8]) -> Result<(), SqliteError> {
        while !data.is_empty() {
            let file = &mut self.files[role.index()];
            let fits = |g: &&mut Gather| g.start <= offset && offset <= g.end && offset < g.start + BUFFER;
            let Some(gather) = file.gather.as_mut().filter(fits) else {
                self.push(role)?;
                self.begin(role, offset)?;
                continue;
            };
            let take = (gather.start + BUFFER - offset).min(data.len() as u64);
            let (now, later) = data.split_at(take as usize);
            self.lane
                .bytes_mut(gather.buffer, offset - gather.start, take)
                .copy_from_slice(now);
            offset += take;
            data = later;
            gather.end = gather.end.max(offset);
            gather.known_to = gather.known_to.max(gather.end);
            if gather.end == gather.start + BUFFER {
                self.push(role)?;
            }
        }
        Ok(())
    }

    /// Begins to gather at a byte: the bytes before it in its block are known, read, or behind the end.
    fn begin(&mut self, role: Role, offset: u64) -> Result<(), SqliteError> {
        let buffer = self.lane.buffer()?;
        let begun = self.begin_in(role, offset, buffer);
        if begun.is_err() {
            self.lane.give_back(buffer);
        }
        begun
    }

    fn begin_in(&mut self, role: Role, offset: u64, buffer: usize) -> Result<(), SqliteError> {
        let file = &mut self.files[role.index()];
        let start = offset / BLOCK * BLOCK;
        let mut known_to = offset;
        let tail = file.tail.take();
        if offset > start {
            let mut block = [0; BLOCK as usize];
            match (&tail, &file.first) {
                (Some((at, bytes)), _) if *at == start => block.copy_from_slice(bytes),
                (_, Some(first)) if start == 0 => block.copy_from_slice(first),
                _ if start < file.size => self.lane.read(file.id, DATA_AT + start, &mut block)?,
                _ => {}
            }
            self.lane.bytes_mut(buffer, 0, BLOCK).copy_from_slice(&block);
            known_to = start + BLOCK;
        }
        file.gather = Some(Gather {
            buffer,
            start,
            end: offset,
            known_to,
        });
        Ok(())
    }

    /// Sends what is gathered.
    pub(crate) fn push(&mut self, role: Role) -> Result<(), SqliteError> {
        let file = &mut self.files[role.index()];
        let Some(gather) = file.gather.take() else {
            return Ok(());
        };
        let to = gather.end.div_ceil(BLOCK) * BLOCK;
        let last = to.saturating_sub(BLOCK);
        if gather.known_to < to {
            let missing = to - gather.end;
            let mut block = [0; BLOCK as usize];
            if last == 0
                && let Some(first) = &file.first
            {
                block.copy_from_slice(first);
            } else if gather.end < file.size {
                let read = self.lane.read(file.id, DATA_AT + last, &mut block);
                if let Err(error) = read {
                    self.lane.break_off(&error);
                    return Err(error);
                }
            }
            let rest = &block[(gather.end - last) as usize..];
            self.lane
                .bytes_mut(gather.buffer, gather.end - gather.start, missing)
                .copy_from_slice(rest);
        }
        if gather.end % BLOCK != 0 {
            let bytes = self.lane.bytes(gather.buffer, last - gather.start, BLOCK);
            file.tail = Some((last, bytes.to_vec()));
        }
        if gather.start == 0 && file.role != Role::Main {
            file.first = Some(self.lane.bytes(gather.buffer, 0, BLOCK).to_vec());
        }
        let write = InFlight {
            file: file.id,
            from: DATA_AT + gather.start,
            to: DATA_AT + to,
        };
        self.lane.send(gather.buffer, write)
    }

    /// Sends what is gathered of a file and waits until storage has it.
    pub(crate) fn settle(&mut self, role: Role) -> Result<(), SqliteError> {
        self.push(role)?;
        let id = self.file(role).id;
        self.lane.settle(id, 0, u64::MAX)
    }

    /// The slot that the file's state asks for, if it is not the newest on storage.
    fn due(&self, role: Role) -> Option<Slot> {
        let file = &self.files[role.index()];
        let size = match role {
            Role::Wal => file.size.div_ceil(WAL_STEP) * WAL_STEP,
            Role::Main | Role::Journal => file.size,
        };
        let slot = Slot {
            size,
            there: file.there,
            ..file.recorded
        };
        (slot != file.recorded).then(|| Slot {
            sequence: slot.sequence + 1,
            ..slot
        })
    }

    /// Makes everything durable that was written to the file, and its size.
    pub(crate) fn sync(&mut self, role: Role) -> Result<(), SqliteError> {
        self.settle(role)?;
        match self.due(role) {
            Some(_) => self.record(role),
            None => {
                let id = self.file(role).id;
                self.lane.flush(id)
            }
        }
    }

    fn record(&mut self, role: Role) -> Result<(), SqliteError> {
        let Some(slot) = self.due(role) else {
            return Ok(());
        };
        self.settle(role)?;
        let (id, had) = (self.file(role).id, self.file(role).recorded.size);
        if role == Role::Journal && had > 0 && slot.size > had {
            // A journal may have several heads. Behind the old size stands what an older journal left, and one of its
            // heads must not follow ours when the new size is there and the new bytes are not. (From nothing there is
            // no such danger: the first head is zeros until a sync later.)
            self.lane.flush(id)?;
        }
        let mut bytes = [0; 512];
        slot.encode(&mut bytes);
        self.lane.write_block(id, slot.offset(), &bytes)?;
        self.lane.flush(id)?;
        self.lane.counters().head();
        self.file(role).recorded = slot;
        Ok(())
    }

    /// Cuts a file off. With size 0 its first bytes become zeros: a log or journal that grows again from nothing may
    /// come back from a power cut with its new size and its old bytes, and must not have a valid head then. No other
    /// byte is touched: as long as the old head is there, all that it stands for must be there.
    pub(crate) fn truncate(&mut self, role: Role, size: u64) -> Result<(), SqliteError> {
        self.settle(role)?;
        let file = self.file(role);
        file.tail = None;
        if size >= file.size {
            return Ok(());
        }
        let had = std::mem::replace(&mut file.size, size);
        let id = file.id;
        if size == 0 && had > 0 {
            let mut block = vec![0; BLOCK as usize];
            match file.first.take() {
                Some(first) => block = first,
                None => self.lane.read(id, DATA_AT, &mut block)?,
            }
            block[..HEAD_BYTES].fill(0);
            self.lane.write_block(id, DATA_AT, &block)?;
            if role != Role::Main {
                self.file(role).first = Some(block);
            }
        }
        Ok(())
    }

    /// Deletes a file; durable on return.
    pub(crate) fn delete(&mut self, role: Role) -> Result<(), SqliteError> {
        self.truncate(role, 0)?;
        self.file(role).there = false;
        self.record(role)
    }
}
