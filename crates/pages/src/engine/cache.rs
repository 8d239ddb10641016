//! The buffer cache of one worker without its I/O: frames, the map from page to frame, clock replacement, the dirty
//! list.
//!
//! Frames are slots of the port's memory, so reads land in place. One worker owns all of it: no lock. The dirty list is
//! in the order of first change, so that writers and checkpoints take the oldest first. Prevents: a frame that is
//! reused while somebody needs it.

/// No frame, no page, no slot.
pub(crate) const NONE: u32 = u32::MAX;

/// One frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Local page number, or [`NONE`].
    pub(crate) page: u32,
    /// Operations that need it to stay.
    pub(crate) pins: u32,
    /// First of the wait slots to resume when the read is done.
    pub(crate) waiters: u32,
    previous: u32,
    next: u32,
    referenced: bool,
    /// Being read.
    pub(crate) loading: bool,
    /// Changed since it was last copied for writing.
    pub(crate) dirty: bool,
    /// A copy of it is on its way to its home.
    pub(crate) writing: bool,
    /// LSN of the first change that is not in the copy being written or at home.
    pub(crate) first_lsn: u64,
}

const EMPTY: Frame = Frame {
    page: NONE,
    pins: 0,
    waiters: NONE,
    previous: NONE,
    next: NONE,
    referenced: false,
    loading: false,
    dirty: false,
    writing: false,
    first_lsn: 0,
};

/// Frames and maps of one worker.
pub(crate) struct Cache {
    pub(crate) frames: Vec<Frame>,
    map: Vec<u32>,
    /// Low 32 bits of the version of each page at home; 0 where recovery has not met it yet.
    pub(crate) home_version: Vec<u32>,
    hand: u32,
    dirty_head: u32,
    dirty_tail: u32,
    /// Frames with changes that no write under way holds.
    pub(crate) dirty: u32,
}

impl Cache {
    pub(crate) fn new(frames: u32, pages: u32, home_version: u32) -> Cache {
        Cache {
            frames: vec![EMPTY; frames as usize],
            map: vec![NONE; pages as usize],
            home_version: vec![home_version; pages as usize],
            hand: 0,
            dirty_head: NONE,
            dirty_tail: NONE,
            dirty: 0,
        }
    }

    #[inline]
    pub(crate) fn lookup(&self, page: u32) -> Option<u32> {
        let frame = self.map[page as usize];
        (frame != NONE).then_some(frame)
    }

    #[inline]
    pub(crate) fn touch(&mut self, frame: u32) {
        self.frames[frame as usize].referenced = true;
    }

    /// A frame whose page may go, already taken out of the map: the first that the clock finds clean, unpinned and not
    /// referenced since the hand last passed. `None` when every frame is needed.
    pub(crate) fn evict(&mut self) -> Option<u32> {
        for _ in 0..2 * self.frames.len() + 1 {
            let index = self.hand;
            let next = index + 1;
            self.hand = if next as usize == self.frames.len() { 0 } else { next };
            let frame = &mut self.frames[index as usize];
            if frame.pins > 0 || frame.dirty || frame.writing || frame.loading {
                continue;
            }
            if frame.referenced {
                frame.referenced = false;
                continue;
            }
            if frame.page != NONE {
                self.map[frame.page as usize] = NONE;
                frame.page = NONE;
            }
            return Some(index);
        }
        None
    }

    /// Gives an evicted frame to a page.
    #[inline]
    pub(crate) fn assign(&mut self, frame: u32, page: u32) {
        self.map[page as usize] = frame;
        self.frames[frame as usize] = Frame {
            page,
            referenced: true,
            ..EMPTY
        };
    }

    #[inline]
    pub(crate) fn unpin(&mut self, frame: u32) {
        let frame = &mut self.frames[frame as usize];
        assert!(frame.pins > 0, "a frame was unpinned more often than pinned");
        frame.pins -= 1;
    }

    /// Notes a change at `lsn`.
    pub(crate) fn change(&mut self, index: u32, lsn: u64) {
        let tail = self.dirty_tail;
        let frame = &mut self.frames[index as usize];
        if frame.dirty {
            return;
        }
        frame.dirty = true;
        frame.first_lsn = lsn;
        frame.previous = tail;
        frame.next = NONE;
        match tail {
            NONE => self.dirty_head = index,
            tail => self.frames[tail as usize].next = index,
        }
        self.dirty_tail = index;
        self.dirty += 1;
    }

    /// The oldest dirty frame that is not already being written, if its first change is below `before`.
    pub(crate) fn oldest_dirty(&self, before: u64) -> Option<u32> {
        let mut index = self.dirty_head;
        while index != NONE {
            let frame = &self.frames[index as usize];
            if frame.first_lsn >= before {
                return None;
            }
            if !frame.writing {
                return Some(index);
            }
            index = frame.next;
        }
        None
    }

    /// Whether any dirty frame holds a change below `before`.
    pub(crate) fn dirty_before(&self, before: u64) -> bool {
        self.dirty_head != NONE && self.frames[self.dirty_head as usize].first_lsn < before
    }

    /// A copy of the frame goes to its home: it leaves the dirty list and is pinned down by the write. Returns the LSN
    /// of the oldest change in the copy.
    pub(crate) fn begin_write(&mut self, index: u32) -> u64 {
        let Frame {
            previous,
            next,
            first_lsn,
            ..
        } = self.frames[index as usize];
        match previous {
            NONE => self.dirty_head = next,
            previous => self.frames[previous as usize].next = next,
        }
        match next {
            NONE => self.dirty_tail = previous,
            next => self.frames[next as usize].previous = previous,
        }
        self.dirty -= 1;
        let frame = &mut self.frames[index as usize];
        frame.dirty = false;
        frame.writing = true;
        first_lsn
    }

    /// Forgets every page. Panics when one is dirty, pinned or moving.
    pub(crate) fn clear(&mut self) {
        for frame in &mut self.frames {
            assert!(
                frame.pins == 0 && !frame.dirty && !frame.writing && !frame.loading,
                "the cache is cleared while a page of it is in use"
            );
            if frame.page != NONE {
                self.map[frame.page as usize] = NONE;
            }
            *frame = EMPTY;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(cache: &mut Cache, page: u32) -> u32 {
        let frame = cache.evict().unwrap();
        cache.assign(frame, page);
        frame
    }

    #[test]
    fn pinned_and_dirty_frames_stay() {
        let mut cache = Cache::new(3, 10, 1);
        let (a, b, c) = (put(&mut cache, 0), put(&mut cache, 1), put(&mut cache, 2));
        cache.frames[a as usize].pins = 1;
        cache.change(b, 5);
        let d = put(&mut cache, 3);
        assert_eq!((d, cache.lookup(2)), (c, None));
        cache.frames[d as usize].pins = 1;
        assert_eq!(cache.evict(), None);
        assert_eq!((cache.lookup(0), cache.lookup(1)), (Some(a), Some(b)));
    }

    #[test]
    fn the_dirty_list_is_in_order_of_first_change_and_a_change_during_a_write_counts_anew() {
        let mut cache = Cache::new(4, 10, 1);
        let frames: Vec<u32> = (0..4).map(|p| put(&mut cache, p)).collect();
        for (i, lsn) in [(2, 10), (0, 20), (2, 25), (1, 30)] {
            cache.change(frames[i], lsn);
        }
        assert_eq!(cache.oldest_dirty(u64::MAX), Some(frames[2]));
        assert_eq!(cache.oldest_dirty(10), None);
        assert_eq!(cache.begin_write(frames[0]), 20);
        assert_eq!(cache.begin_write(frames[2]), 10);
        cache.change(frames[2], 40);
        assert_eq!((cache.dirty, cache.oldest_dirty(u64::MAX)), (2, Some(frames[1])));
        cache.begin_write(frames[1]);
        assert_eq!(cache.oldest_dirty(u64::MAX), None, "it is still being written");
        assert!(cache.dirty_before(41) && !cache.dirty_before(40));
        cache.frames[frames[2] as usize].writing = false;
        assert_eq!(cache.oldest_dirty(u64::MAX), Some(frames[2]));
    }
}
