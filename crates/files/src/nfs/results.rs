//! Results of replies, read where they lie.

use super::{HANDLE_MAX, Handle, Procedure};
use crate::client::{Answer, Entries, Entry, Found, Identity, Kept, Listed};
use crate::rpc::{Garbled, Reader};
use crate::status::Status;

/// Longest name of a file, bytes.
const NAME_MAX: usize = 255;
/// Longest text of a symbolic link, bytes.
const LINK_MAX: usize = 1024;
/// Flavours of authentication that a server may list.
const FLAVOURS_MAX: u32 = 64;

/// What an answered CREATE, MKDIR, SYMLINK or LOOKUP brings beside its [`Answer`].
pub struct Read<'a> {
    /// The answer.
    pub answer: Answer<'a>,
    /// The handle in it.
    pub handle: Option<Handle>,
}

/// Reads the results of `procedure`; READ may bring at most `asked` bytes.
pub fn read(procedure: Procedure, asked: u32, mut reader: Reader<'_>) -> Result<Read<'_>, Garbled> {
    let status = Status(reader.u32()?);
    if status != Status::OK {
        return Ok(Read {
            answer: Answer::Refused(status),
            handle: None,
        });
    }
    let mut found = None;
    let answer = match procedure {
        Procedure::Getattr => Answer::Found(attributes(&mut reader)?),
        Procedure::Lookup | Procedure::Create | Procedure::Mkdir | Procedure::Symlink => {
            let handle = match procedure {
                Procedure::Lookup => Some(handle(&mut reader)?),
                _ if reader.flag()? => Some(handle(&mut reader)?),
                _ => None,
            };
            let mut about = maybe_attributes(&mut reader)?.unwrap_or_default();
            about.identity.handle = handle.as_ref().map(checksum);
            found = handle;
            Answer::Found(about)
        }
        Procedure::Readlink => {
            maybe_attributes(&mut reader)?;
            Answer::Link(reader.opaque(LINK_MAX)?)
        }
        Procedure::Read => bytes(&mut reader, asked)?,
        Procedure::Write => written(&mut reader)?,
        Procedure::Commit => {
            weak_consistency(&mut reader)?;
            Answer::Committed {
                verifier: reader.u64()?,
            }
        }
        Procedure::Readdir | Procedure::Readdirplus => listing(reader, procedure == Procedure::Readdirplus)?,
        Procedure::Setattr
        | Procedure::Access
        | Procedure::Remove
        | Procedure::Rmdir
        | Procedure::Rename
        | Procedure::Fsstat => Answer::Done,
        Procedure::Fsinfo => limits(&mut reader)?,
    };
    Ok(Read { answer, handle: found })
}

fn limits<'a>(reader: &mut Reader<'a>) -> Result<Answer<'a>, Garbled> {
    maybe_attributes(reader)?;
    let read = reader.u32()?;
    reader.take(8)?;
    let write = reader.u32()?;
    Ok(Answer::Limits { read, write })
}

fn bytes<'a>(reader: &mut Reader<'a>, asked: u32) -> Result<Answer<'a>, Garbled> {
    maybe_attributes(reader)?;
    let count = reader.u32()?;
    let ends = reader.flag()?;
    let bytes = reader.opaque(asked as usize)?;
    if bytes.len() != count as usize {
        return Err(Garbled("a READ names another number of bytes than it brings"));
    }
    Ok(Answer::Bytes { bytes, ends })
}

fn written<'a>(reader: &mut Reader<'a>) -> Result<Answer<'a>, Garbled> {
    weak_consistency(reader)?;
    let count = reader.u32()?;
    let kept = match reader.u32()? {
        0 => Kept::Unstable,
        1 => Kept::Data,
        2 => Kept::File,
        _ => return Err(Garbled("a WRITE was kept in an unknown way")),
    };
    let verifier = reader.u64()?;
    Ok(Answer::Written { count, kept, verifier })
}

fn listing(mut reader: Reader<'_>, sizes: bool) -> Result<Answer<'_>, Garbled> {
    maybe_attributes(&mut reader)?;
    reader.u64()?;
    let read = if sizes { with_size } else { name_only };
    Ok(Answer::Listing(Entries::Wire { reader, read }))
}

fn name_only<'a>(reader: &mut Reader<'a>) -> Result<Listed<'a>, Garbled> {
    entry(reader, false)
}

fn with_size<'a>(reader: &mut Reader<'a>) -> Result<Listed<'a>, Garbled> {
    entry(reader, true)
}

fn entry<'a>(reader: &mut Reader<'a>, sizes: bool) -> Result<Listed<'a>, Garbled> {
    if !reader.flag()? {
        return Ok(Listed::End { whole: reader.flag()? });
    }
    let file_id = reader.u64()?;
    let name = reader.opaque(NAME_MAX)?;
    reader.u64()?;
    let mut about = Found {
        identity: Identity {
            file_id: Some(file_id),
            handle: None,
        },
        size: None,
    };
    if sizes {
        let attributes = maybe_attributes(reader)?;
        about.size = attributes.and_then(|attributes| attributes.size);
        if reader.flag()? {
            about.identity.handle = Some(checksum(&handle(reader)?));
        }
    }
    Ok(Listed::Entry(Entry { name, about }))
}

/// MNT: the root of an export, or the status that refused it.
pub fn mounted(mut reader: Reader<'_>) -> Result<Result<Handle, Status>, Garbled> {
    let status = Status(reader.u32()?);
    if status != Status::OK {
        return Ok(Err(status));
    }
    let root = handle(&mut reader)?;
    let flavours = reader.u32()?.min(FLAVOURS_MAX);
    let mut system = flavours == 0;
    for _ in 0..flavours {
        system |= reader.u32()? == 1;
    }
    if system {
        Ok(Ok(root))
    } else {
        Err(Garbled("the export does not allow AUTH_SYS"))
    }
}

fn handle(reader: &mut Reader<'_>) -> Result<Handle, Garbled> {
    let bytes = reader.opaque(HANDLE_MAX)?;
    Handle::new(bytes).ok_or(Garbled("a file handle above 64 bytes"))
}

/// How a handle is remembered by the model.
pub fn checksum(handle: &Handle) -> u32 {
    targets::crc32c(handle.bytes())
}

/// `fattr3`: 84 bytes, of which size and file id are used.
fn attributes(reader: &mut Reader<'_>) -> Result<Found, Garbled> {
    let mut all = Reader::new(reader.take(84)?);
    all.take(20)?;
    let size = all.u64()?;
    all.take(24)?;
    let file_id = all.u64()?;
    Ok(Found {
        identity: Identity {
            file_id: Some(file_id),
            handle: None,
        },
        size: Some(size),
    })
}

fn maybe_attributes(reader: &mut Reader<'_>) -> Result<Option<Found>, Garbled> {
    if reader.flag()? {
        attributes(reader).map(Some)
    } else {
        Ok(None)
    }
}

/// `wcc_data`, of which nothing is used.
fn weak_consistency(reader: &mut Reader<'_>) -> Result<(), Garbled> {
    if reader.flag()? {
        reader.take(24)?;
    }
    maybe_attributes(reader).map(|_| ())
}
