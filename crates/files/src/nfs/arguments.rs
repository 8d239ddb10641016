//! Arguments of calls, written behind the head of a call.

use super::Handle;
use crate::client::{Call, Node};
use crate::nfs::Procedure;
use crate::rpc::{Program, Writer};

/// Bytes of names and cookies, and bytes in all, that a listing asks for at most.
pub const LISTING_NAMES: u32 = 8192;
/// Bytes of a READDIRPLUS reply, at most.
pub const LISTING_ALL: u32 = 32_768;

/// GETPORT of the port mapper: the TCP port of a program.
pub fn port_of(writer: &mut Writer<'_>, program: Program) {
    let (number, version) = program.number();
    writer.u32(number).u32(version).u32(6).u32(0);
}

/// The procedure that carries out a call.
pub fn procedure(call: &Call<'_>) -> Procedure {
    match call {
        Call::Getattr { .. } => Procedure::Getattr,
        Call::Setattr { .. } => Procedure::Setattr,
        Call::Lookup { .. } => Procedure::Lookup,
        Call::Access { .. } => Procedure::Access,
        Call::Readlink { .. } => Procedure::Readlink,
        Call::Read { .. } => Procedure::Read,
        Call::Write { .. } => Procedure::Write,
        Call::Create { .. } => Procedure::Create,
        Call::Mkdir { .. } => Procedure::Mkdir,
        Call::Symlink { .. } => Procedure::Symlink,
        Call::Remove { .. } => Procedure::Remove,
        Call::Rmdir { .. } => Procedure::Rmdir,
        Call::Rename { .. } => Procedure::Rename,
        Call::List { sizes: false, .. } => Procedure::Readdir,
        Call::List { sizes: true, .. } => Procedure::Readdirplus,
        Call::Fsstat => Procedure::Fsstat,
        Call::Fsinfo => Procedure::Fsinfo,
        Call::Commit { .. } => Procedure::Commit,
    }
}

/// Writes the arguments of a call. `handle_of`: the handles that are known.
pub fn write<'h>(writer: &mut Writer<'_>, call: &Call<'_>, handle_of: impl Fn(Node) -> &'h Handle) {
    let handle = |writer: &mut Writer<'_>, node: Node| _ = writer.opaque(handle_of(node).bytes());
    match *call {
        Call::Getattr { of } | Call::Readlink { of } => handle(writer, of),
        Call::Setattr { of, size } => {
            handle(writer, of);
            attributes(writer, Some(0o644), size);
            writer.u32(0);
        }
        Call::Lookup { dir, name, .. } | Call::Remove { dir, name } | Call::Rmdir { dir, name } => {
            handle(writer, dir);
            writer.opaque(name);
        }
        Call::Rename { dir, name, to, .. } => {
            for name in [name, to] {
                handle(writer, dir);
                writer.opaque(name);
            }
        }
        Call::Access { of } => {
            handle(writer, of);
            writer.u32(0x3f);
        }
        Call::Read { of, offset, len } => {
            handle(writer, of);
            writer.u64(offset).u32(len);
        }
        Call::Write {
            of,
            offset,
            stable,
            content,
        } => {
            handle(writer, of);
            let len = content.len();
            writer.u64(offset).u32(len as u32).u32(if stable { 2 } else { 0 });
            writer.data(len, |out| content.append_to(out));
        }
        Call::Create { dir, name, .. } => {
            handle(writer, dir);
            // GUARDED: a name that is there already is refused.
            writer.opaque(name).u32(1);
            attributes(writer, Some(0o644), None);
        }
        Call::Mkdir { dir, name, .. } => {
            handle(writer, dir);
            writer.opaque(name);
            attributes(writer, Some(0o755), None);
        }
        Call::Symlink { dir, name, target, .. } => {
            handle(writer, dir);
            writer.opaque(name);
            attributes(writer, None, None);
            writer.opaque(target);
        }
        Call::List { dir, sizes } => {
            handle(writer, dir);
            writer.u64(0).u64(0).u32(LISTING_NAMES);
            if sizes {
                writer.u32(LISTING_ALL);
            }
        }
        Call::Fsstat | Call::Fsinfo => handle(writer, Node::ROOT),
        Call::Commit { of } => {
            handle(writer, of);
            writer.u64(0).u32(0);
        }
    }
}

/// `sattr3`: mode and size, if given; nothing else is set.
fn attributes(writer: &mut Writer<'_>, mode: Option<u32>, size: Option<u64>) {
    match mode {
        Some(mode) => writer.u32(1).u32(mode),
        None => writer.u32(0),
    };
    writer.u32(0).u32(0);
    match size {
        Some(size) => writer.u32(1).u64(size),
        None => writer.u32(0),
    };
    writer.u32(0).u32(0);
}
