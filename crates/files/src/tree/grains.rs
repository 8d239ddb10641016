//! Versions of each KiB: one byte for the last one sent, one for the last one stable. 0: none.
//!
//! Prevents: memory in proportion to data that are never written again (files that are not accessed have none here).

/// The version that every KiB begins with.
pub(crate) const FIRST: u8 = 1;

/// Versions of all accessed files, one file after the other.
#[derive(Default)]
pub(crate) struct Grains {
    sent: Vec<u8>,
    kept: Vec<u8>,
    /// As many first versions as were ever asked for at once.
    first: Vec<u8>,
}

/// What a KiB found after a cut is, in the eyes of the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// The last version sent.
    Newest,
    /// The stable one, or one sent after it.
    Older,
    /// None of them.
    Lost,
}

impl Grains {
    /// Room for a file of at most `kib`; gives its place.
    pub(crate) fn add(&mut self, kib: u32) -> u32 {
        let at = self.sent.len();
        self.sent.resize(at + kib as usize, 0);
        self.kept.resize(at + kib as usize, 0);
        u32::try_from(at).expect("versions of at most 4 TiB of accessed files")
    }

    pub(crate) fn prepare_first(&mut self, kib: u32) {
        let len = self.first.len().max(kib as usize);
        self.first.resize(len, FIRST);
    }

    /// [`FIRST`], so many times; see [`Self::prepare_first`].
    pub(crate) fn first_versions(&self, kib: u32) -> &[u8] {
        &self.first[..kib as usize]
    }

    pub(crate) fn sent(&self, at: u32, kib: u32) -> &[u8] {
        &self.sent[at as usize..(at + kib) as usize]
    }

    pub(crate) fn kept(&self, at: u32, kib: u32) -> &[u8] {
        &self.kept[at as usize..(at + kib) as usize]
    }

    /// The next version of each KiB is sent.
    pub(crate) fn send_next(&mut self, at: u32, kib: u32) {
        for version in &mut self.sent[at as usize..(at + kib) as usize] {
            *version = next(*version);
        }
    }

    /// What was sent is stable.
    pub(crate) fn keep(&mut self, at: u32, kib: u32) {
        let range = at as usize..(at + kib) as usize;
        self.kept[range.clone()].copy_from_slice(&self.sent[range]);
    }

    /// Nothing is stable here.
    pub(crate) fn keep_none(&mut self, at: u32, kib: u32) {
        self.kept[at as usize..(at + kib) as usize].fill(0);
    }
}

/// Where `found` stands between the version last stable (0: none) and the one last sent.
pub(crate) fn standing(kept: u8, sent: u8, found: u8) -> Standing {
    if found == sent {
        return Standing::Newest;
    }
    // With nothing stable, any version sent before may be found, also from before the numbers went round.
    if kept == 0 {
        return Standing::Older;
    }
    let mut version = kept;
    // At most 255 steps, only for what was found to be old.
    while version != sent {
        if version == found {
            return Standing::Older;
        }
        version = next(version);
    }
    Standing::Lost
}

/// The version before.
pub(crate) fn before(version: u8) -> u8 {
    if version <= FIRST { u8::MAX } else { version - 1 }
}

fn next(version: u8) -> u8 {
    if version == u8::MAX { FIRST } else { version + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_from_the_stable_one_to_the_newest_are_allowed() {
        assert_eq!(standing(5, 7, 7), Standing::Newest);
        assert_eq!(standing(5, 7, 6), Standing::Older);
        assert_eq!(standing(5, 7, 5), Standing::Older);
        assert_eq!(standing(5, 7, 4), Standing::Lost);
        assert_eq!(standing(5, 7, 8), Standing::Lost);
        assert_eq!(standing(254, 2, 255), Standing::Older, "versions go round, past 0");
        assert_eq!(standing(254, 2, 3), Standing::Lost);
        assert_eq!(standing(0, 3, 1), Standing::Older);
        assert_eq!(standing(0, 2, 255), Standing::Older, "nothing was stable");
        for version in FIRST..=u8::MAX {
            assert_eq!(before(next(version)), version);
        }
    }

    #[test]
    fn keeping_is_of_what_was_sent() {
        let mut grains = Grains::default();
        let at = grains.add(4);
        grains.send_next(at, 4);
        grains.send_next(at + 1, 2);
        assert_eq!(grains.sent(at, 4), [1, 2, 2, 1]);
        grains.keep(at, 2);
        assert_eq!(grains.kept(at, 4), [1, 2, 0, 0]);
        grains.keep_none(at, 1);
        assert_eq!(grains.kept(at, 4), [0, 2, 0, 0]);
    }
}
