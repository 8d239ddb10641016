//! What each I/O of a worker was for, packed into the token of its request.
//!
//! Prevents: a completion that is taken for another one's.

/// What an I/O was for; packed into the token of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A page into this frame.
    Page(u32),
    /// A multiblock read into this buffer.
    Scan(u32),
    /// The page of this writer's slot to its home.
    Home(u32),
    /// Part of a redo batch.
    Redo,
    RedoFlush,
    /// A data file, by index.
    DataFlush(u32),
    Control,
    ControlFlush,
    /// The batch of pages to the doublewrite area.
    Doublewrite,
    DoublewriteFlush,
    /// A data file, by index, after the homes of a doublewrite batch.
    HomeFlush(u32),
    /// A large request of loader or recovery.
    Bulk(u32),
}

impl Purpose {
    #[inline(always)]
    pub(crate) fn token(self) -> u64 {
        let (kind, value) = match self {
            Purpose::Page(v) => (0, v),
            Purpose::Scan(v) => (1, v),
            Purpose::Home(v) => (2, v),
            Purpose::Redo => (3, 0),
            Purpose::RedoFlush => (4, 0),
            Purpose::DataFlush(v) => (5, v),
            Purpose::Control => (6, 0),
            Purpose::ControlFlush => (7, 0),
            Purpose::Doublewrite => (8, 0),
            Purpose::DoublewriteFlush => (9, 0),
            Purpose::HomeFlush(v) => (10, v),
            Purpose::Bulk(v) => (11, v),
        };
        kind << 32 | u64::from(value)
    }

    #[inline]
    pub(crate) fn of(token: u64) -> Purpose {
        let value = token as u32;
        match token >> 32 {
            0 => Purpose::Page(value),
            1 => Purpose::Scan(value),
            2 => Purpose::Home(value),
            3 => Purpose::Redo,
            4 => Purpose::RedoFlush,
            5 => Purpose::DataFlush(value),
            6 => Purpose::Control,
            7 => Purpose::ControlFlush,
            8 => Purpose::Doublewrite,
            9 => Purpose::DoublewriteFlush,
            10 => Purpose::HomeFlush(value),
            _ => Purpose::Bulk(value),
        }
    }

    /// For error messages.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Purpose::Page(_) => "page read",
            Purpose::Scan(_) => "multiblock read",
            Purpose::Home(_) => "page write",
            Purpose::Redo => "redo write",
            Purpose::RedoFlush => "redo flush",
            Purpose::DataFlush(_) | Purpose::HomeFlush(_) => "data file flush",
            Purpose::Control => "checkpoint record write",
            Purpose::ControlFlush => "checkpoint record flush",
            Purpose::Doublewrite => "doublewrite area write",
            Purpose::DoublewriteFlush => "doublewrite area flush",
            Purpose::Bulk(_) => "large read or write",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_gives_back_its_purpose() {
        let all = [
            Purpose::Page(u32::MAX),
            Purpose::Scan(1),
            Purpose::Home(2),
            Purpose::Redo,
            Purpose::RedoFlush,
            Purpose::DataFlush(3),
            Purpose::Control,
            Purpose::ControlFlush,
            Purpose::Doublewrite,
            Purpose::DoublewriteFlush,
            Purpose::HomeFlush(4),
            Purpose::Bulk(5),
        ];
        for purpose in all {
            assert_eq!(Purpose::of(purpose.token()), purpose);
        }
    }
}
