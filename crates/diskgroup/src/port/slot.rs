//! A request that is more than one request below: what is left of it, and what went wrong.
//!
//! Prevents: a request that ends twice or never.

use targets::{FileId, IoFault, Op, Request};

/// The bit of a token that says that a slot stands behind it.
pub(crate) const SLOT: u64 = 1 << 63;
/// The bit of a token that says from which side of an epoch it is.
pub(crate) const SIDE: u64 = 1 << 62;

pub(crate) const EBADF: i32 = 9;
pub(crate) const EIO: i32 = 5;

/// A range of a read that is tried again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retry {
    pub(crate) offset: u64,
    pub(crate) len: u32,
    /// Copies that were tried, as bits.
    pub(crate) tried: u8,
    /// Cut down to single pages already.
    pub(crate) small: bool,
}

/// One request of the caller.
pub(crate) struct Slot {
    pub(crate) request: Request,
    /// A read in one piece, not tried again so far.
    pub(crate) simple: bool,
    /// Requests below that have not ended.
    pub(crate) left: u32,
    /// The first fault that nothing could make good.
    pub(crate) fault: Option<IoFault>,
    /// Writes: disks written, as bits. Flushes: the count of writes that is covered.
    pub(crate) disks: u64,
    /// Failed flushes of the group when it began.
    pub(crate) faults: u64,
    /// Writes: copies of each piece that arrived.
    pub(crate) arrived: Vec<u8>,
    /// Writes: pieces and disks that failed. Flushes: disks.
    pub(crate) missed: Vec<(u32, u16)>,
    pub(crate) retries: Vec<Retry>,
    /// Its completion was handed out too early (a planted bug).
    pub(crate) early: bool,
}

impl Default for Slot {
    fn default() -> Slot {
        Slot {
            request: Request {
                op: Op::Flush,
                file: FileId(0),
                offset: 0,
                at: 0,
                len: 0,
                token: 0,
            },
            simple: false,
            left: 0,
            fault: None,
            disks: 0,
            faults: 0,
            arrived: Vec::new(),
            missed: Vec::new(),
            retries: Vec::new(),
            early: false,
        }
    }
}

impl Slot {
    pub(crate) fn begin(&mut self, request: Request) {
        self.request = request;
        self.left = 0;
        self.simple = false;
        self.fault = None;
        self.early = false;
        self.disks = 0;
        self.faults = 0;
        self.arrived.clear();
        self.missed.clear();
        self.retries.clear();
    }
}

/// What a token says of a request below: its slot, which piece or retry of it, and the disk it went to.
///
/// | bits | what |
/// | --- | --- |
/// | 0..32 | slot |
/// | 32..40 | disk |
/// | 40..60 | piece, or retry |
/// | 61 | a retry |
/// | 62 | side |
/// | 63 | set |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Child {
    pub(crate) slot: u32,
    pub(crate) disk: u16,
    pub(crate) piece: u32,
    pub(crate) retry: bool,
}

/// Most pieces of one request.
pub(crate) const PIECES_MAX: u64 = 1 << 20;

impl Child {
    pub(crate) fn token(self) -> u64 {
        SLOT | u64::from(self.retry) << 61
            | u64::from(self.piece) << 40
            | u64::from(self.disk) << 32
            | u64::from(self.slot)
    }

    pub(crate) fn of(token: u64) -> Child {
        Child {
            slot: token as u32,
            disk: (token >> 32) as u16 & 0xff,
            piece: (token >> 40) as u32 & 0xf_ffff,
            retry: token >> 61 & 1 == 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_gives_back_its_child() {
        let child = Child {
            slot: u32::MAX,
            disk: 63,
            piece: 0xf_ffff,
            retry: true,
        };
        assert_eq!(Child::of(child.token()), child);
        assert_eq!(Child::of(child.token() | SIDE), child);
    }
}
