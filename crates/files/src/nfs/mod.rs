//! NFS version 3 (RFC 1813), MOUNT version 3 and the port mapper: arguments of our calls, results of their replies.
//!
//! Prevents: results that are believed because they parse. Lengths are bounded by what the call asked for.

pub mod arguments;
pub mod results;

/// Procedures of NFS version 3 that the room uses, with their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "they are named in RFC 1813, chapter 3.3")]
pub enum Procedure {
    Getattr = 1,
    Setattr = 2,
    Lookup = 3,
    Access = 4,
    Readlink = 5,
    Read = 6,
    Write = 7,
    Create = 8,
    Mkdir = 9,
    Symlink = 10,
    Remove = 12,
    Rmdir = 13,
    Rename = 14,
    Readdir = 16,
    Readdirplus = 17,
    Fsstat = 18,
    Fsinfo = 19,
    Commit = 21,
}

/// Longest file handle, bytes (RFC 1813, 2.4).
pub const HANDLE_MAX: usize = 64;

/// A file handle, held by value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handle {
    len: u8,
    bytes: [u8; HANDLE_MAX],
}

impl Handle {
    /// `None` above [`HANDLE_MAX`] bytes.
    pub fn new(from: &[u8]) -> Option<Handle> {
        let mut bytes = [0; HANDLE_MAX];
        bytes.get_mut(..from.len())?.copy_from_slice(from);
        let len = u8::try_from(from.len()).ok()?;
        Some(Handle { len, bytes })
    }

    /// As the server made it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}
