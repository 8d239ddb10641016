//! The contract between the work and who carries it out: calls on objects of a tree, and their answers.
//!
//! A client knows objects by [`Node`] and keeps what it needs to reach them (a file handle, a directory descriptor);
//! the model keeps what they must be. Prevents: a mix, a check or a schedule that is written once for each protocol.

use crate::error::FilesError;
use crate::grain::{Content, GRAIN};
use crate::rpc::{Garbled, Reader};
use crate::status::Status;
use targets::Nanos;

/// An object of the tree: a number that the model gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct Node(pub u32);

impl Node {
    /// The directory of the export.
    pub const ROOT: Node = Node(0);
}

/// One call. Offsets and lengths are bytes.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "fields are named after those of RFC 1813")]
pub enum Call<'a> {
    /// Size and identity.
    Getattr { of: Node },
    /// Sets the mode to 0644, and the size if one is given.
    Setattr { of: Node, size: Option<u64> },
    /// Finds a name. `node`: what it should lead to; a client may learn the way to it.
    Lookup {
        dir: Node,
        name: &'a [u8],
        node: Option<Node>,
    },
    /// What the user may do.
    Access { of: Node },
    /// The text of a symbolic link.
    Readlink { of: Node },
    /// At most `len` bytes.
    Read { of: Node, offset: u64, len: u32 },
    /// The content is made where it is sent from. `stable`: FILE_SYNC; otherwise UNSTABLE.
    Write {
        of: Node,
        offset: u64,
        stable: bool,
        content: Content<'a>,
    },
    /// Makes a file; a name that exists is refused.
    Create { dir: Node, name: &'a [u8], node: Node },
    /// Makes a directory.
    Mkdir { dir: Node, name: &'a [u8], node: Node },
    /// Makes a symbolic link.
    Symlink {
        dir: Node,
        name: &'a [u8],
        target: &'a [u8],
        node: Node,
    },
    /// Removes a file or a link.
    Remove { dir: Node, name: &'a [u8] },
    /// Removes an empty directory.
    Rmdir { dir: Node, name: &'a [u8] },
    /// Gives a file another name of its directory; what had that name is no more.
    Rename {
        dir: Node,
        name: &'a [u8],
        to: &'a [u8],
        node: Node,
    },
    /// Lists a directory from its beginning, one call. `sizes`: READDIRPLUS.
    List { dir: Node, sizes: bool },
    /// Space of the file system.
    Fsstat,
    /// Limits of the server.
    Fsinfo,
    /// Makes what was written to a file stable.
    Commit { of: Node },
}

impl Call<'_> {
    /// The object that a client must know the way to for this call.
    pub(crate) fn needs(&self) -> Option<Node> {
        match *self {
            Call::Getattr { of }
            | Call::Setattr { of, .. }
            | Call::Access { of }
            | Call::Readlink { of }
            | Call::Read { of, .. }
            | Call::Write { of, .. }
            | Call::Commit { of } => Some(of),
            Call::Lookup { dir, .. }
            | Call::Create { dir, .. }
            | Call::Mkdir { dir, .. }
            | Call::Symlink { dir, .. }
            | Call::Remove { dir, .. }
            | Call::Rmdir { dir, .. }
            | Call::Rename { dir, .. }
            | Call::List { dir, .. } => Some(dir),
            Call::Fsstat | Call::Fsinfo => None,
        }
    }
}

/// What carries out calls; one thread, any number of calls under way. Never boxed.
pub trait Client {
    /// The clock of all stamps, ns.
    fn now(&self) -> Nanos;

    /// Takes memory for nodes below `nodes` and tags below `tags`, so that none is taken later.
    fn reserve(&mut self, nodes: u32, tags: u32);

    /// Whether the way to a node is known: without it no call on the node can be made.
    fn knows(&self, node: Node) -> bool;

    /// What it did so far.
    fn traffic(&self) -> Traffic;

    /// Whether an answered CREATE, REMOVE, MKDIR, RMDIR or SYMLINK is stable (RFC 1813, 1.6). Plain files promise that
    /// only after `fsync` of the directory.
    fn names_are_stable(&self) -> bool;

    /// Most calls under way at once.
    fn most_calls(&self) -> u32;

    /// Forgets what is under way and makes connections anew; what is known of nodes stays.
    fn renew(&mut self) -> Result<(), FilesError>;

    /// Takes a call on. `tag` names it and has no other call under way.
    /// The call may leave as late as in [`Self::wait`].
    fn send(&mut self, tag: u32, call: &Call<'_>) -> Result<(), FilesError>;

    /// Sends what was taken on, waits for at least one answer or until `until` has come, and hands each answer over
    /// with its tag and the time at which it came. Without calls under way it returns when `until` has come.
    fn wait(
        &mut self,
        until: Option<Nanos>,
        each: &mut impl FnMut(u32, Nanos, Answer<'_>) -> Result<(), FilesError>,
    ) -> Result<(), FilesError>;
}

/// System calls and connections of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// System calls that sent.
    pub sends: u64,
    /// System calls that received.
    pub receives: u64,
    /// Connections that ended and were made again.
    pub reconnects: u64,
}

/// What came back.
#[derive(Clone, Debug)]
pub enum Answer<'a> {
    /// None: the connection ended, and another one stands. The call may have been carried out or not.
    Again,
    /// Limits of the server: of FSINFO.
    Limits {
        /// Longest READ, bytes.
        read: u32,
        /// Longest WRITE, bytes.
        write: u32,
    },
    /// The server says no, and why.
    Refused(Status),
    /// Size and identity: of GETATTR, LOOKUP, CREATE, MKDIR, SYMLINK.
    Found(Found),
    /// The text of a link.
    Link(&'a [u8]),
    /// Bytes of a file. Fewer than were asked for: at its end, or because the server gives no more in one answer
    /// (RFC 1813, 3.3.6).
    Bytes {
        /// From the offset on.
        bytes: &'a [u8],
        /// The file ends behind them.
        ends: bool,
    },
    /// A write: bytes taken, how they are kept, and what changes when the server loses what it did not keep. A server
    /// may take fewer than it was given (RFC 1813, 3.3.7).
    Written {
        /// Bytes taken.
        count: u32,
        /// How.
        kept: Kept,
        /// The write verifier.
        verifier: u64,
    },
    /// A commit.
    Committed {
        /// The write verifier.
        verifier: u64,
    },
    /// Entries of a directory.
    Listing(Entries<'a>),
    /// Everything else that went well.
    Done,
}

/// What an answer says about an object. Not everything is said by every server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// Which one it is.
    pub identity: Identity,
    /// Bytes in it.
    pub size: Option<u64>,
}

/// Which object it is, as its server says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Identity {
    /// The number of its inode.
    pub file_id: Option<u64>,
    /// CRC32C of its file handle.
    pub handle: Option<u32>,
}

impl Identity {
    /// Nothing that both know differs.
    pub fn agrees(&self, other: &Identity) -> bool {
        let differs = |one: Option<u64>, two: Option<u64>| one.zip(two).is_some_and(|(one, two)| one != two);
        !differs(self.file_id, other.file_id) && !differs(self.handle.map(u64::from), other.handle.map(u64::from))
    }
}

/// How a write is kept (`stable_how`), in ascending order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kept {
    /// Until the server fails.
    Unstable,
    /// Its data, whatever happens.
    Data,
    /// Data and attributes, whatever happens.
    File,
}

/// One entry of a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// What is said about it.
    pub about: Found,
}

/// The next of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listed<'a> {
    /// An entry.
    Entry(Entry<'a>),
    /// No more. `whole`: the directory ends here, not only the reply.
    End {
        /// The directory ends here.
        whole: bool,
    },
}

/// Entries of one reply, read one after the other.
#[derive(Clone, Debug)]
pub enum Entries<'a> {
    /// In a message.
    Wire {
        /// Where the next one lies.
        reader: Reader<'a>,
        /// Reads it.
        read: for<'b> fn(&mut Reader<'b>) -> Result<Listed<'b>, Garbled>,
    },
    /// A list of our own, that is whole.
    Plain(&'a [PlainEntry]),
}

/// An entry that is held by value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlainEntry {
    /// Its name.
    pub name: Vec<u8>,
    /// What is said about it.
    pub about: Found,
}

impl<'a> Entries<'a> {
    /// The next one. After [`Listed::End`] it is not asked again.
    pub fn next_listed(&mut self) -> Result<Listed<'a>, Garbled> {
        match self {
            Entries::Wire { reader, read } => read(reader),
            Entries::Plain(list) => Ok(match list.split_first() {
                None => Listed::End { whole: true },
                Some((first, rest)) => {
                    *list = rest;
                    Listed::Entry(Entry {
                        name: &first.name,
                        about: first.about,
                    })
                }
            }),
        }
    }
}

/// Whole KiB of an answer that is shorter than what was asked: the same call is made for the rest. `None`: there is no
/// rest, or less than a KiB came, so that nothing goes on.
pub(crate) fn short_of(asked_kib: u32, bytes: usize) -> Option<u32> {
    let kib = u32::try_from(bytes / GRAIN).unwrap_or(u32::MAX);
    (kib > 0 && kib < asked_kib).then_some(kib)
}
