//! The side of an instance that has the group open frozen: takes over what the owner tells, and answers.
//!
//! An instance that does not understand a notice never answers it, and so the owner gives nothing away that it may use.
//! Prevents: an answer before the last request by the old map has ended.

use crate::error::GroupError;
use crate::group::Group;
use crate::layout::disk::Disk;
use crate::layout::file::Pointer;
use crate::layout::header::{DISKS_MAX, Found};
use crate::metadata::core::Core;
use crate::metadata::create::look;
use crate::metadata::files::count;
use crate::metadata::space::Space;
use crate::sharing::heard::DUE_MAX;
use crate::sharing::notice::{Notice, Told};
use std::sync::atomic::Ordering;
use targets::{FileId, Port};

impl<P: Port> Group<P> {
    /// Takes over what the owner tells ([`crate::Follower::notices`]), in a group that is open frozen.
    ///
    /// # Errors
    /// [`GroupError::Refused`] for what no owner of this group has told; the maps may be old then, nothing is answered
    /// any more, and this instance must end. Others are of the devices.
    pub fn hear(&self, piece: &[u8]) -> Result<(), GroupError> {
        let mut core = self.core();
        core.alive()?;
        if !core.frozen {
            return Err(refused(
                "the group is open to be changed here, and nobody else changes it",
            ));
        }
        core.hearing.stream.push(piece);
        let followed = core.follow_all();
        if let Err(error) = &followed {
            core.dead = Some(error.to_string());
        }
        followed
    }

    /// The newest notice that all requests of this instance have followed: to be handed to
    /// [`crate::Follower::answered`] in the owner's process. `None`: nothing new. Ask again after ports were waited on.
    pub fn answer(&self) -> Option<u64> {
        let mut core = self.core();
        if core.dead.is_some() {
            return None;
        }
        let mut reached = None;
        while let Some(&(number, epoch)) = core.hearing.due.front()
            && core.board.all_reached(epoch)
        {
            core.hearing.due.pop_front();
            reached = Some(number);
        }
        reached
    }

    /// Whether something was heard that [`Group::answer`] has not answered yet.
    pub fn owes_answer(&self) -> bool {
        let core = self.core();
        core.dead.is_none() && !core.hearing.due.is_empty()
    }
}

impl<P: Port> Core<P> {
    fn follow_all(&mut self) -> Result<(), GroupError> {
        while let Some(notice) = self.hearing.stream.take()? {
            self.follow(&notice)?;
        }
        Ok(())
    }

    fn follow(&mut self, notice: &Notice) -> Result<(), GroupError> {
        if notice.number <= self.hearing.last {
            return Err(refused("a notice of the group's owner came again, or out of order"));
        }
        for told in &notice.extents {
            self.take_over(told)?;
        }
        self.hearing.last = notice.number;
        let epoch = self.board.advance();
        // Who has followed the newest has followed those before it.
        if self.hearing.due.len() == DUE_MAX {
            self.hearing.due.pop_back();
        }
        self.hearing.due.push_back((notice.number, epoch));
        Ok(())
    }

    fn take_over(&mut self, told: &Told) -> Result<(), GroupError> {
        let has = |file: &crate::layout::file::File| told.extent < file.extents() && file.copies == 1;
        if !self.files.get(&told.file).is_some_and(has) {
            // Made or grown since this instance opened the group: no port here has it.
            return Ok(());
        }
        self.meet(told.disk, told.slot)?;
        let units = self.geometry.extent_units(told.extent);
        let place = self.disks[&told.disk].place;
        let end = told.au.checked_add(units);
        if told.au < place.first_au || end.is_none_or(|end| end > place.aus) {
            return Err(refused("the group's owner names a place outside of a disk"));
        }
        let pointer = Pointer {
            disk: told.disk,
            au: told.au,
            stale: false,
        };
        let file = self.files.get_mut(&told.file).expect("just seen");
        let from = std::mem::replace(&mut file.pointers_of_mut(told.extent)[0], pointer);
        count(&mut file.load, from.disk, 0, -i64::from(units));
        count(&mut file.load, told.disk, 0, i64::from(units));
        if told.held {
            self.held.insert((told.file, told.extent));
        } else {
            self.held.remove(&(told.file, told.extent));
        }
        self.publish(told.file, told.extent);
        Ok(())
    }

    /// A disk that has joined since this instance opened the group says itself what it is.
    fn meet(&mut self, number: u16, slot: u16) -> Result<(), GroupError> {
        let file = FileId(slot);
        if self.disks.get(&number).is_some_and(|disk| disk.live() == Some(file)) {
            return Ok(());
        }
        if number >= DISKS_MAX || usize::from(slot) >= self.names.len() {
            return Err(refused(
                "the group's owner names a disk that this instance has not open",
            ));
        }
        let header = match look(&mut self.store, file)?.0 {
            Found::Header { header, .. } if header.group == self.group && header.number == number && header.member => {
                *header
            }
            _ => {
                return Err(refused(format!(
                    "{} is not the disk that the group's owner says it is",
                    self.names[usize::from(slot)]
                )));
            }
        };
        let disk = Disk {
            number,
            uuid: header.disk,
            name: header.disk_name,
            failure_group: header.failure_group,
            slot: Some(file),
            online: true,
            dropping: false,
            failing: false,
            partners: 0,
            sector: header.sector,
            bytes: header.bytes,
            space: Space::new(header.place),
            place: header.place,
        };
        self.disks.insert(number, disk);
        self.board.slots[usize::from(number)].store(u32::from(slot), Ordering::Release);
        Ok(())
    }
}

fn refused(what: impl Into<String>) -> GroupError {
    GroupError::refused(what, "end this instance: its maps may be old")
}
