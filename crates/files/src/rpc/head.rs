//! Heads of calls and replies (RFC 5531, chapters 9 and 14), and record marks of calls.
//!
//! Prevents: a reply that was denied and is read as if it were an answer.

use super::xdr::{Garbled, Reader, Writer};
use std::sync::LazyLock;

/// A program of the RPC world, and its version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Program {
    /// The port mapper, version 2.
    Portmap,
    /// Mounting, version 3.
    Mount,
    /// NFS, version 3.
    Nfs,
}

impl Program {
    /// Its number and version.
    pub fn number(self) -> (u32, u32) {
        match self {
            Program::Portmap => (100_000, 2),
            Program::Mount => (100_005, 3),
            Program::Nfs => (100_003, 3),
        }
    }
}

/// AUTH_SYS: stamp 0, machine "assay", the effective user and group of this process, no further groups; then AUTH_NONE
/// as verifier.
static CREDENTIAL: LazyLock<[u32; 11]> = LazyLock::new(|| {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    [1, 28, 0, 5, 0x6173_7361, 0x7900_0000, user, group, 0, 0, 0]
});

/// Longest verifier and credential body that RFC 5531 allows.
const AUTHENTICATION_MAX: usize = 400;

/// Begins a call at the end of `out`; gives its place for [`end`]. Arguments follow by a [`Writer`].
pub fn begin(out: &mut Vec<u8>, xid: u32, program: Program, procedure: u32) -> usize {
    let at = out.len();
    let (number, version) = program.number();
    let mut head = [0; 4 * 18];
    let words = [0, xid, 0, 2, number, version, procedure]
        .into_iter()
        .chain(*CREDENTIAL);
    for (bytes, word) in head.chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    out.extend_from_slice(&head);
    at
}

/// Ends the call that began at `at`: writes its record mark.
pub fn end(out: &mut [u8], at: usize) {
    let len = u32::try_from(out.len() - at - 4).expect("our own messages are far below 2 GiB");
    out[at..at + 4].copy_from_slice(&(len | 0x8000_0000).to_be_bytes());
}

/// A reply whose head was read.
#[derive(Clone, Copy, Debug)]
pub struct Accepted<'a> {
    /// The call it answers.
    pub xid: u32,
    /// The results; or why the server did not carry out the call.
    pub results: Result<Reader<'a>, &'static str>,
}

/// Reads the head of a reply.
pub fn open(message: &[u8]) -> Result<Accepted<'_>, Garbled> {
    let mut reader = Reader::new(message);
    let xid = reader.u32()?;
    if reader.u32()? != 1 {
        return Err(Garbled("the server sent a call, not a reply"));
    }
    let denied = match reader.u32()? {
        0 => {
            reader.u32()?;
            reader.opaque(AUTHENTICATION_MAX)?;
            match reader.u32()? {
                0 => None,
                1 => Some("the server does not have this program"),
                2 => Some("the server does not have this version of the program"),
                3 => Some("the server does not have this procedure"),
                4 => Some("the server could not read the arguments"),
                5 => Some("the server had an error of its own"),
                _ => return Err(Garbled("an unknown state of acceptance")),
            }
        }
        1 => match reader.u32()? {
            0 => Some("the server does not speak version 2 of RPC"),
            1 => Some("the server does not accept the credential (AUTH_SYS of this user)"),
            _ => return Err(Garbled("an unknown reason of denial")),
        },
        _ => return Err(Garbled("a reply is neither accepted nor denied")),
    };
    let results = denied.map_or(Ok(reader), Err);
    Ok(Accepted { xid, results })
}

/// For tests and scripted servers: an accepted reply with its record mark and `body` as results.
impl Program {
    /// Appends a whole accepted reply to `out`.
    pub fn reply(out: &mut Vec<u8>, xid: u32, body: impl FnOnce(&mut Writer<'_>)) {
        let at = out.len();
        let mut writer = Writer::new(out);
        for word in [0, xid, 1, 0, 0, 0, 0] {
            writer.u32(word);
        }
        body(&mut writer);
        end(out, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_the_layout_of_the_standard() {
        let mut out = vec![9, 9];
        let at = begin(&mut out, 0x0102_0304, Program::Nfs, 6);
        Writer::new(&mut out).u32(5);
        end(&mut out, at);
        let mut reader = Reader::new(&out[2..]);
        let words: Vec<u32> = std::iter::from_fn(|| reader.u32().ok()).collect();
        let (mark, rest) = words.split_first().unwrap();
        assert_eq!(*mark, 0x8000_0000 | (out.len() as u32 - 6));
        assert_eq!(rest[..8], [0x0102_0304, 0, 2, 100_003, 3, 6, 1, 28]);
        let own = [rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()];
        assert_eq!(rest[12..14], own, "who this process is");
        assert_eq!(rest.last(), Some(&5));
    }

    #[test]
    fn a_denial_is_no_answer() {
        let words = |list: &[u32]| list.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
        let good = words(&[7, 1, 0, 0, 0, 0, 42]);
        assert_eq!(open(&good).unwrap().results.unwrap().u32(), Ok(42));
        assert!(open(&words(&[7, 1, 1, 1, 5])).unwrap().results.is_err());
        assert!(open(&words(&[7, 1, 0, 0, 0, 3])).unwrap().results.is_err());
        assert!(open(&words(&[7, 0, 2, 100_003, 3, 6])).is_err(), "a call");
        assert!(open(&words(&[7, 1, 2])).is_err());
        assert!(open(&words(&[7, 1, 0, 0, 401])).is_err(), "a verifier above 400 bytes");
    }
}
