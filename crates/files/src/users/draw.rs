//! What a session does next: a class of the mix or a row of steps, and the file for it.
//!
//! Prevents: two sessions whose calls on one file could not be judged (a file that is written has one user).

use super::session::{Now, Session};
use super::state::State;
use crate::load::{Class, Row, Step, Steps, Which, Work};
use crate::tree::{Hold, Kind, below};

/// Files drawn before a session does something else.
const DRAWS_MAX: u32 = 48;

impl State {
    /// Begins the next operation of a session.
    pub(crate) fn begin(&mut self, nth: u32) {
        let session = &mut self.sessions[nth as usize];
        (session.units, session.left, session.then_append) = (0, 0, 0);
        (session.repeated, session.refused_once) = (false, false);
        match self.config.work {
            Work::Mix(_) => self.begin_of_mix(nth),
            Work::Steps(steps) => self.begin_of_steps(nth, steps),
        }
        let changes = self.tree.changes;
        self.sessions[nth as usize].changes = changes;
    }

    fn draw(&mut self, n: u32) -> u32 {
        below(&mut self.random, n)
    }

    fn one_of(&mut self, pct: u8) -> bool {
        pct > 0 && self.draw(100) < u32::from(pct)
    }

    fn begin_of_mix(&mut self, nth: u32) {
        if self.one_of(self.config.rename_pct) && self.rename(nth) {
            return;
        }
        let drawn = self.draw(100) as u8;
        let Work::Mix(mix) = &self.config.work else {
            unreachable!("a mix was asked for")
        };
        let class = mix.class(drawn);
        self.sessions[nth as usize].class = class;
        let done = match class {
            Class::Fsstat => self.without_file(nth, Now::Fsstat),
            Class::Fsinfo => self.without_file(nth, Now::Fsinfo),
            Class::Lookup if self.one_of(self.config.lookups_failed_pct) => self.reading(nth, Now::Missing),
            Class::Lookup => self.reading(nth, Now::Lookup),
            Class::Getattr => self.reading(nth, Now::Getattr),
            Class::Access => self.reading(nth, Now::Access),
            Class::Readlink => self.reading(nth, Now::Readlink),
            Class::Commit => self.reading(nth, Now::Commit),
            Class::Readdir => self.reading(nth, Now::List { sizes: false }),
            Class::Readdirplus => self.reading(nth, Now::List { sizes: true }),
            Class::Read => self.read(nth, self.config.whole),
            Class::Write => self.write(nth),
            Class::Setattr => self.setattr(nth),
            Class::Create | Class::Remove | Class::Mkdir | Class::Rmdir => self.change_name(nth, class),
        };
        if !done {
            self.substitute(nth);
        }
    }

    /// Nothing was free: attributes of the home directory.
    fn substitute(&mut self, nth: u32) {
        self.counts.substituted += 1;
        self.sessions[nth as usize].class = Class::Getattr;
        self.without_file(nth, Now::Home);
    }

    /// A file gets another name of its directory: one that is not there, or that of a file, which is no more then. Half
    /// of a directory's files stay, so that every cut has something at stake. It is counted as CREATE.
    fn rename(&mut self, nth: u32) -> bool {
        if !self.take_file(nth, Hold::Alone) {
            return false;
        }
        let from = self.sessions[nth as usize].file;
        let directory = self.tree.directory_of(from);
        let (first, count) = (directory.first, directory.count);
        let (start, second) = (self.draw(count), self.draw(2) == 0);
        let names = || (0..count).map(|at| first + (start + at) % count);
        let there = names().filter(|at| self.tree.files[*at as usize].there).count() as u32;
        let replaces = there == count || (second && 2 * there > count);
        let free = |onto: &u32| *onto != from && self.tree.can_be_replaced(*onto);
        let wanted = |onto: &u32| self.tree.files[*onto as usize].there == replaces;
        let Some(onto) = names().filter(free).find(wanted) else {
            self.release(nth);
            return false;
        };
        self.tree.files[onto as usize].hold(Hold::Alone);
        let session = &mut self.sessions[nth as usize];
        (session.now, session.class, session.onto) = (Now::Rename, Class::Create, Some(onto));
        true
    }

    fn without_file(&mut self, nth: u32, now: Now) -> bool {
        self.sessions[nth as usize].now = now;
        true
    }

    /// Draws an accessed file that is free for `hold`, and holds it.
    fn take_file(&mut self, nth: u32, hold: Hold) -> bool {
        let many = self.tree.accessed.len() as u32;
        if many == 0 {
            return false;
        }
        for _ in 0..DRAWS_MAX {
            let at = self.draw(many) as usize;
            let file = self.tree.accessed[at];
            if self.tree.files[file as usize].is_free_for(hold) {
                self.take(nth, file, hold);
                return true;
            }
            self.counts.redraws += 1;
        }
        false
    }

    fn take(&mut self, nth: u32, file: u32, hold: Hold) {
        self.tree.files[file as usize].hold(hold);
        let session = &mut self.sessions[nth as usize];
        (session.file, session.hold) = (file, hold);
    }

    fn reading(&mut self, nth: u32, now: Now) -> bool {
        let taken = self.take_file(nth, Hold::Shared);
        self.sessions[nth as usize].now = now;
        taken
    }

    fn read(&mut self, nth: u32, whole: bool) -> bool {
        if !self.take_file(nth, Hold::Shared) {
            return false;
        }
        self.read_part(nth, whole);
        true
    }

    fn read_part(&mut self, nth: u32, whole: bool) {
        let transfer = self.config.transfer_kib;
        let size = self.tree.files[self.sessions[nth as usize].file as usize].size;
        if size == 0 {
            self.sessions[nth as usize].now = Now::Getattr;
            return;
        }
        let first = if whole {
            0
        } else {
            self.draw(size.div_ceil(transfer)) * transfer
        };
        let session = &mut self.sessions[nth as usize];
        (session.now, session.first) = (Now::Read, first);
        session.kib = transfer.min(size - first);
        session.left = if whole { size - session.kib } else { 0 };
    }

    fn write(&mut self, nth: u32) -> bool {
        if !self.take_file(nth, Hold::Alone) {
            return false;
        }
        let transfer = self.config.transfer_kib;
        let file = &self.tree.files[self.sessions[nth as usize].file as usize];
        // A file that was made anew under the name of a renamed one is empty.
        let (size, room, is_empty) = (file.size, file.room, file.size == 0);
        if self.config.whole {
            let size = if is_empty { file.home } else { size };
            self.write_part(nth, (0, transfer.min(size), size - transfer.min(size)));
            return true;
        }
        let kib = if transfer > 1 && self.one_of(self.config.short_writes_pct) {
            1 + self.draw(transfer - 1)
        } else {
            transfer
        };
        if is_empty || (self.one_of(self.config.append_pct) && size + kib <= room) {
            self.write_part(nth, (size, kib, 0));
            let (home, file) = (
                self.tree.files[self.sessions[nth as usize].file as usize].home,
                self.sessions[nth as usize].file,
            );
            self.wants_cutting(file, home);
        } else {
            let kib = kib.min(size);
            let first = self.draw((size - kib) / transfer + 1) * transfer;
            self.write_part(nth, (first.min(size - kib), kib, 0));
        }
        true
    }

    fn wants_cutting(&mut self, file: u32, home: u32) {
        let state = &mut self.tree.files[file as usize];
        if !state.over && state.size > home {
            state.over = true;
            self.tree.over.push_back(file);
        }
    }

    /// A write of `kib` at `first`, and `left` more after it.
    fn write_part(&mut self, nth: u32, (first, kib, left): (u32, u32, u32)) {
        let stable = self.one_of(self.config.stable_pct);
        let session = &mut self.sessions[nth as usize];
        (session.now, session.first, session.kib) = (Now::Write { stable }, first, kib);
        session.left = left;
        let file = session.file;
        self.send_versions(file, first, kib);
    }

    /// Notes that the next versions of a part are on their way.
    pub(super) fn send_versions(&mut self, file: u32, first: u32, kib: u32) {
        let state = &mut self.tree.files[file as usize];
        self.tree.grains.send_next(state.grains + first, kib);
        state.dirty = true;
        if first + kib > state.size {
            state.size = first + kib;
            self.tree.changed(file);
        }
    }

    fn setattr(&mut self, nth: u32) -> bool {
        for _ in 0..self.tree.over.len().min(4) {
            let Some(file) = self.tree.over.pop_front() else { break };
            let state = &mut self.tree.files[file as usize];
            if !state.there || state.size <= state.home {
                // Another file has this name since.
                state.over = false;
                continue;
            }
            if state.is_free_for(Hold::Alone) {
                self.take(nth, file, Hold::Alone);
                self.cut_back(nth);
                return true;
            }
            self.tree.over.push_back(file);
            self.counts.redraws += 1;
        }
        let taken = self.take_file(nth, Hold::Alone);
        self.sessions[nth as usize].now = Now::Setattr { cut: false };
        taken
    }

    fn cut_back(&mut self, nth: u32) {
        let nth_file = self.sessions[nth as usize].file;
        let file = &mut self.tree.files[nth_file as usize];
        (file.size, file.over, file.cut_back, file.dirty) = (file.home, false, true, true);
        let (from, kib) = (file.grains + file.home, file.room - file.home);
        // What was stable there may be gone; what is written there from now on is held to again.
        self.tree.grains.keep_none(from, kib);
        self.tree.changed(nth_file);
        self.sessions[nth as usize].now = Now::Setattr { cut: true };
    }

    /// Makes or removes a name; where there is none for it, the opposite.
    fn change_name(&mut self, nth: u32, class: Class) -> bool {
        let inner = matches!(class, Class::Mkdir | Class::Rmdir);
        let make = matches!(class, Class::Create | Class::Mkdir);
        self.take_name(nth, inner, make) || self.take_name(nth, inner, !make)
    }

    /// Takes a name out of its list and holds it alone.
    fn take_name(&mut self, nth: u32, inner: bool, make: bool) -> bool {
        let steps = matches!(self.config.work, Work::Steps(_));
        let list = |tree: &crate::tree::Tree| match (inner, make) {
            (false, true) => tree.absent.len(),
            (false, false) if steps => tree.accessed.len(),
            (false, false) => tree.spare.len(),
            (true, true) => tree.absent_inner.len(),
            (true, false) => tree.spare_inner.len(),
        } as u32;
        for _ in 0..DRAWS_MAX {
            let many = list(&self.tree);
            if many == 0 {
                return false;
            }
            let at = self.draw(many) as usize;
            let tree = &mut self.tree;
            let names = match (inner, make) {
                (false, true) => &mut tree.absent,
                (false, false) if steps => &mut tree.accessed,
                (false, false) => &mut tree.spare,
                (true, true) => &mut tree.absent_inner,
                (true, false) => &mut tree.spare_inner,
            };
            let file = names[at];
            if !tree.files[file as usize].is_free_for(Hold::Alone) {
                self.counts.redraws += 1;
                continue;
            }
            names.swap_remove(at);
            self.take(nth, file, Hold::Alone);
            self.tree.changed(file);
            let session = &mut self.sessions[nth as usize];
            (session.now, session.class) = match (inner, make) {
                (false, true) => (Now::Create, Class::Create),
                (false, false) => (Now::Remove, Class::Remove),
                (true, true) => (Now::Mkdir, Class::Mkdir),
                (true, false) => (Now::Rmdir, Class::Rmdir),
            };
            return true;
        }
        false
    }

    fn begin_of_steps(&mut self, nth: u32, steps: Steps) {
        let rows = steps.rows();
        let session = &mut self.sessions[nth as usize];
        let at = usize::from(session.row) % rows.len();
        session.row = ((at + 1) % rows.len()) as u16;
        let Row { step, which } = rows[at];
        session.class = step.class();
        session.keeps = rows[(at + 1) % rows.len()].which == Which::Same;
        let held = session.hold != Hold::None;
        let taken = match (step, which) {
            (_, Which::Same) => held,
            (Step::Create, _) => self.take_name(nth, false, true),
            (Step::Remove, _) => self.take_name(nth, false, false),
            (_, Which::Log) => {
                let log = self.tree.logs[nth as usize];
                self.take(nth, log, Hold::Alone);
                true
            }
            (_, Which::Alone) => self.take_file(nth, Hold::Alone),
            (_, Which::Shared) => self.take_file(nth, Hold::Shared),
        };
        if !taken {
            self.sessions[nth as usize].keeps = false;
            return self.substitute(nth);
        }
        self.step(nth, step);
    }

    fn step(&mut self, nth: u32, step: Step) {
        let transfer = self.config.transfer_kib;
        let nth_file = self.sessions[nth as usize].file;
        let file = &self.tree.files[nth_file as usize];
        match step {
            // The call was set when the name was taken.
            Step::Create | Step::Remove => {}
            Step::WriteWhole => {
                let kib = transfer.min(file.home);
                let left = file.home - kib;
                self.write_part(nth, (0, kib, left));
            }
            Step::Append { kib } if file.size + kib > file.room => {
                self.sessions[nth as usize].then_append = kib;
                self.cut_back(nth);
            }
            Step::Append { kib } => self.append(nth, kib),
            Step::ReadWhole => self.read_part(nth, true),
            Step::Commit => self.sessions[nth as usize].now = Now::Commit,
            Step::Stat => self.sessions[nth as usize].now = Now::Getattr,
        }
    }

    fn append(&mut self, nth: u32, kib: u32) {
        let file = &self.tree.files[self.sessions[nth as usize].file as usize];
        let (size, first) = (file.size, kib.min(self.config.transfer_kib));
        self.write_part(nth, (size, first, kib - first));
    }

    /// The next call of the operation, if it has one.
    pub(crate) fn next_call(&mut self, nth: u32) -> bool {
        let Session {
            now,
            left,
            then_append,
            file,
            ..
        } = self.sessions[nth as usize];
        self.sessions[nth as usize].repeated = false;
        if then_append > 0 {
            self.sessions[nth as usize].then_append = 0;
            self.append(nth, then_append);
            return true;
        }
        if left == 0 {
            return false;
        }
        let kib = left.min(self.config.transfer_kib);
        let session = &mut self.sessions[nth as usize];
        (session.first, session.kib, session.left) = (session.first + session.kib, kib, left - kib);
        if matches!(now, Now::Write { .. }) {
            let first = session.first;
            self.send_versions(file, first, kib);
        }
        true
    }

    /// A name was made or removed: it goes to the list of the others.
    pub(crate) fn list_name(&mut self, file: u32) {
        let state = &self.tree.files[file as usize];
        let steps = matches!(self.config.work, Work::Steps(_));
        let list = match (state.kind, state.there) {
            (Kind::Inner, true) => &mut self.tree.spare_inner,
            (Kind::Inner, false) => &mut self.tree.absent_inner,
            (Kind::Data, true) => &mut self.tree.accessed,
            (_, true) if steps => &mut self.tree.accessed,
            (_, true) => &mut self.tree.spare,
            (_, false) => &mut self.tree.absent,
        };
        list.push(file);
    }
}
