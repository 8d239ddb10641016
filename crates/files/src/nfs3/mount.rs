//! Finding ports and mounting: a call and its answer on a connection of its own.
//!
//! Prevents: a wait without end (each connection has a time limit) and a reply of any length (it is bounded).

use crate::error::FilesError;
use crate::nfs::{Handle, arguments, results};
use crate::rpc::{self, Program, Reader, Records, Writer};
use crate::serving::NfsServer;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Port of the port mapper.
const PORT_MAPPER: u16 = 111;
/// How long mounting may take.
const TIME_LIMIT: Duration = Duration::from_secs(20);
/// Longest reply of MOUNT and of the port mapper.
const REPLY_MAX: usize = 4096;
const XID: u32 = 0x6173_7361;

/// Opens a connection as the caller says.
pub(super) fn dial(server: &mut NfsServer, port: u16) -> Result<TcpStream, FilesError> {
    let address = SocketAddr::new(server.host, port);
    (server.dial)(address).map_err(|source| FilesError::Connect {
        address: address.to_string(),
        source,
    })
}

/// The port of a program: named, or asked for.
pub(super) fn port(server: &mut NfsServer, program: Program) -> Result<u16, FilesError> {
    let named = if program == Program::Mount {
        server.mount_port
    } else {
        server.nfs_port
    };
    if let Some(port) = named {
        return Ok(port);
    }
    let address = SocketAddr::new(server.host, PORT_MAPPER).to_string();
    let mut stream = dial(server, PORT_MAPPER)?;
    let port = ask(
        (&mut stream, &address),
        (Program::Portmap, 3),
        |writer| arguments::port_of(writer, program),
        |reader| reader.u32(),
    )?;
    match u16::try_from(port) {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(FilesError::NoPort {
            address,
            program: if program == Program::Mount { "MOUNT 3" } else { "NFS 3" },
        }),
    }
}

/// The root of the export.
pub(super) fn root(server: &mut NfsServer) -> Result<Handle, FilesError> {
    let port = port(server, Program::Mount)?;
    let address = SocketAddr::new(server.host, port).to_string();
    let mut stream = dial(server, port)?;
    let export = server.export.clone();
    let mounted = ask(
        (&mut stream, &address),
        (Program::Mount, 1),
        |writer| _ = writer.opaque(export.as_bytes()),
        |reader| results::mounted(*reader),
    )?;
    mounted.map_err(|status| FilesError::Export {
        address,
        export,
        status: status.0,
    })
}

/// One call that is waited for.
fn ask<T>(
    (stream, address): (&mut TcpStream, &str),
    (program, procedure): (Program, u32),
    arguments: impl FnOnce(&mut Writer<'_>),
    read: impl FnOnce(&mut Reader<'_>) -> Result<T, rpc::Garbled>,
) -> Result<T, FilesError> {
    let mut out = Vec::new();
    let at = rpc::begin(&mut out, XID, program, procedure);
    arguments(&mut Writer::new(&mut out));
    rpc::end(&mut out, at);
    let mut records = Records::new(REPLY_MAX);
    let place = exchange(stream, &out, &mut records).map_err(|failed| match failed {
        Failed::System(error) => FilesError::Gone {
            address: address.to_owned(),
            under_way: 1,
            words: error.to_string(),
        },
        Failed::Garbled(what) => garbled(address, what),
    })?;
    let accepted = rpc::open(records.message(place)).map_err(|bad| garbled(address, bad.0))?;
    if accepted.xid != XID {
        return Err(garbled(address, "an answer to another call"));
    }
    let mut results = accepted.results.map_err(|what| FilesError::Denied {
        address: address.to_owned(),
        what,
    })?;
    read(&mut results).map_err(|bad| garbled(address, bad.0))
}

fn garbled(address: &str, what: &'static str) -> FilesError {
    FilesError::Garbled {
        address: address.to_owned(),
        what,
    }
}

enum Failed {
    System(io::Error),
    Garbled(&'static str),
}

fn exchange(stream: &mut TcpStream, out: &[u8], records: &mut Records) -> Result<std::ops::Range<usize>, Failed> {
    stream.set_nonblocking(false).map_err(Failed::System)?;
    let began = Instant::now();
    stream.set_write_timeout(Some(TIME_LIMIT)).map_err(Failed::System)?;
    stream.write_all(out).map_err(Failed::System)?;
    loop {
        if let Some(place) = records.next_message().map_err(|bad| Failed::Garbled(bad.0))? {
            return Ok(place);
        }
        // One limit for the whole answer: a server may send it byte by byte.
        let left = TIME_LIMIT.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Err(Failed::System(io::ErrorKind::TimedOut.into()));
        }
        stream.set_read_timeout(Some(left)).map_err(Failed::System)?;
        match stream.read(records.room()).map_err(Failed::System)? {
            0 => return Err(Failed::System(io::ErrorKind::UnexpectedEof.into())),
            got => records.received(got),
        }
    }
}
