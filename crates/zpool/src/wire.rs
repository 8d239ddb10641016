//! The control socket: a message is its length and its number of descriptors, then JSON; descriptors travel with the
//! first bytes.
//!
//! Prevents: a message that is cut, and a descriptor that is left open in a process that did not ask for it.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::IoSliceMut;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;

/// Most descriptors of one message.
const DESCRIPTORS: usize = 2;
/// A message is never longer: extents of a file in a million pieces.
const BYTES_MAX: u32 = 64 << 20;

/// Sends one message.
pub(crate) fn send<T: Serialize>(mut socket: &UnixStream, message: &T, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let mut head = [0; 4];
    head.copy_from_slice(&(body.len() as u32).to_le_bytes());
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(fds));
    }
    let sent = sendmsg(socket, &[IoSlice::new(&head)], &mut ancillary, SendFlags::NOSIGNAL)?;
    if sent != head.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    socket.write_all(&body)
}

/// Receives one message; `None` when the other side has closed.
pub(crate) fn receive<T: DeserializeOwned>(socket: &UnixStream) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut head = [0u8; 4];
    let mut fds = Vec::new();
    let mut got = 0;
    while got < head.len() {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut into = [IoSliceMut::new(&mut head[got..])];
        let received = match recvmsg(socket.as_fd(), &mut into, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(rustix::io::Errno::CONNRESET) => return Ok(None),
            other => other?,
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                fds.extend(received);
            }
        }
        if received.bytes == 0 {
            return Ok(None);
        }
        got += received.bytes;
    }
    let bytes = u32::from_le_bytes(head);
    if bytes > BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // Memory is taken as bytes come: a length is only a promise.
    let mut body = Vec::new();
    match socket.take(bytes.into()).read_to_end(&mut body) {
        Err(e) if e.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
        other => other?,
    };
    if body.len() < bytes as usize {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&body)?, fds)))
}
