//! The control socket as somebody hostile sees it: what is said on it, and whether bytes are taken for something said.
//!
//! For the search with hostile inputs alone (`benches/hostile`). Prevents: a reader of messages that nothing attacks
//! because nothing outside can reach it.

use crate::error::Refused;
use crate::message::{
    Answer, Ask, Counted, DeviceFault, DeviceOp, FaultDone, FileName, FileSpec, Piece, PoolSpec, PortShape, Redundancy,
    Tuning,
};
use crate::wire;
use serde::Serialize;
use std::io::Read;
use std::os::unix::net::UnixStream;

/// Whether a socket holds a question, or else an answer.
#[doc(hidden)]
pub fn heard(socket: &UnixStream, question: bool) -> bool {
    match question {
        true => matches!(wire::receive::<Ask>(socket), Ok(Some(_))),
        false => matches!(wire::receive::<Answer>(socket), Ok(Some(_))),
    }
}

/// Messages as they lie in the socket.
#[doc(hidden)]
pub type Spoken = Vec<Vec<u8>>;

/// Messages of each kind: questions, then answers.
///
/// # Errors
/// Those of the socket.
#[doc(hidden)]
pub fn spoken() -> std::io::Result<(Spoken, Spoken)> {
    let pool = PoolSpec {
        name: "p".into(),
        data: vec!["/dev/a".into(), "/dev/b".into()],
        log: vec!["/dev/c".into()],
        redundancy: Redundancy::Mirror,
        ashift: 12,
        overwrite: false,
    };
    let name = FileName::new("p", "f");
    let file = FileSpec {
        name: name.clone(),
        bytes: 1 << 20,
        record_bytes: 8192,
        properties: vec![("compression".into(), "lz4".into())],
    };
    let fault = DeviceFault {
        device: None,
        op: DeviceOp::Write,
        after: 1,
        times: 2,
        done: FaultDone::Error(5),
    };
    let shape = PortShape {
        memory: 1 << 20,
        depth: 8,
    };
    let asked = [
        Ask::Start(Tuning::new(Tuning::ARC_LEAST)),
        Ask::Create(pool),
        Ask::CreateFile(file),
        Ask::OpenPort {
            files: vec![name.clone()],
            shape,
        },
        Ask::Grow(name, 1 << 21),
        Ask::Fault(Some(fault)),
    ];
    let answered = [
        Answer::Started { version: "2.1".into() },
        Answer::Port {
            id: 1,
            sizes: vec![1, 2],
        },
        Answer::Extents(vec![Piece(0, 4096, 8192, false); 20]),
        Answer::Counted(Box::<Counted>::default()),
        Answer::Refused(Refused::new("what", "cure")),
    ];
    let asked = asked.iter().map(bytes).collect::<std::io::Result<_>>()?;
    Ok((asked, answered.iter().map(bytes).collect::<std::io::Result<_>>()?))
}

fn bytes<T: Serialize>(message: &T) -> std::io::Result<Vec<u8>> {
    let (mut ours, theirs) = UnixStream::pair()?;
    wire::send(&theirs, message, &[])?;
    drop(theirs);
    let mut bytes = Vec::new();
    ours.read_to_end(&mut bytes)?;
    Ok(bytes)
}
