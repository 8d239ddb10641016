//! What a server or a system call says of a call that it refused.
//!
//! Prevents: two lists of the same numbers.

/// A status of NFS version 3 (RFC 1813, 2.6); errors of system calls are translated to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status(pub u32);

impl Status {
    /// Its number and what it means. Up to 40 the numbers of the protocol and of system calls are the same.
    pub fn words(self) -> String {
        let meaning = match self {
            Status::NO_SPACE | Status::QUOTA => "no space is left".to_owned(),
            Status::STALE => "stale handle".to_owned(),
            Status::LATER => "try again later".to_owned(),
            Status(number @ 1..=40) => std::io::Error::from_raw_os_error(number as i32).to_string(),
            Status(_) => return format!("status {}", self.0),
        };
        format!("status {}, {meaning}", self.0)
    }

    /// No error.
    pub const OK: Status = Status(0);
    /// There is no such name.
    pub const NOT_FOUND: Status = Status(2);
    /// The device does not read or write.
    pub const IO: Status = Status(5);
    /// The user may not do it.
    pub const ACCESS: Status = Status(13);
    /// The name exists.
    pub const EXISTS: Status = Status(17);
    /// The device is full.
    pub const NO_SPACE: Status = Status(28);
    /// The user's share is full.
    pub const QUOTA: Status = Status(69);
    /// The object behind the handle is gone.
    pub const STALE: Status = Status(70);
    /// Try again after a while (NFS3ERR_JUKEBOX).
    pub const LATER: Status = Status(10_008);
}
