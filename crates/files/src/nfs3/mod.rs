//! The client of NFS version 3: a few connections, many calls on their way on each, one place to wait.
//!
//! A call's number (XID) is its tag and a turn, 16 bits each: it finds the call, and an answer that nobody asked for is
//! seen. Prevents: a session that waits for another one's answer, and a wait without end.

mod link;
mod mount;
mod waiting;

use crate::client::{Answer, Call, Client, Kept, Node, Traffic};
use crate::error::FilesError;
use crate::nfs::{Handle, Procedure, arguments, results};
use crate::rpc::{self, Program, Writer};
use crate::serving::NfsServer;
use link::Link;
use rustix::event::epoll;
use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use targets::{Nanos, monotonic_ns};

/// Longest reply beside the data that it brings.
const HEAD_MAX: usize = 4096;
/// Longest READ of what is not measured, bytes.
const BULK: usize = 64 << 10;
/// Events taken at once.
const EVENTS: usize = 64;

/// A call under way, by its tag.
#[derive(Clone, Copy)]
struct Pending {
    xid: u32,
    busy: bool,
    procedure: Procedure,
    /// Bytes of a READ.
    asked: u32,
    /// Whose handle the answer brings.
    node: Option<Node>,
    /// What a client with a planted loss makes of the answer.
    told: Told,
}

/// What was asked for, where something less was sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    /// Nothing less.
    AsItIs,
    /// A stable write.
    Stable,
    /// A COMMIT, answered with this write verifier.
    Committed(u64),
}

const FREE: Pending = Pending {
    xid: 0,
    busy: false,
    procedure: Procedure::Getattr,
    asked: 0,
    node: None,
    told: Told::AsItIs,
};

/// The client.
pub(crate) struct Nfs3 {
    server: NfsServer,
    address: SocketAddr,
    links: Vec<Link>,
    epoll: OwnedFd,
    handles: Vec<Option<Handle>>,
    calls: Vec<Pending>,
    under_way: usize,
    last_heard: Nanos,
    traffic: Traffic,
    longest_reply: usize,
    /// Bytes that all calls of one connection may need.
    room_a_call: usize,
    /// The last write verifier; `None`: not heard of since the server began.
    verifier: Option<u64>,
    /// Longest READ and WRITE that the server takes, bytes.
    pub(crate) limits: (u32, u32),
}

impl Nfs3 {
    /// Mounts the export and makes all connections. `transfer`: longest READ or WRITE, bytes.
    pub(crate) fn connect(mut server: NfsServer, transfer: usize) -> Result<Nfs3, FilesError> {
        if server.connections == 0 {
            return Err(FilesError::Settings("0 connections\ngive at least 1 connection".into()));
        }
        let root = mount::root(&mut server)?;
        let port = mount::port(&mut server, Program::Nfs)?;
        let address = SocketAddr::new(server.host, port);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| connect_error(address, error.into()))?;
        let longest = transfer.max(BULK).max(arguments::LISTING_ALL as usize) + HEAD_MAX;
        let mut client = Nfs3 {
            server,
            address,
            links: Vec::new(),
            epoll,
            handles: vec![Some(root)],
            calls: Vec::new(),
            under_way: 0,
            last_heard: monotonic_ns(),
            traffic: Traffic::default(),
            longest_reply: longest,
            room_a_call: transfer + 512,
            verifier: None,
            limits: (0, 0),
        };
        for nth in 0..client.server.connections as usize {
            let link = client.open(nth)?;
            client.links.push(link);
        }
        client.reserve(2, 1);
        client.ask_limits()?;
        Ok(client)
    }

    /// The server is at another place now, or is another one.
    pub(crate) fn moved(&mut self, server: NfsServer) {
        self.server = server;
    }

    fn open(&mut self, nth: usize) -> Result<Link, FilesError> {
        let stream = mount::dial(&mut self.server, self.address.port())?;
        let link = Link::new(stream, self.longest_reply).map_err(|error| connect_error(self.address, error))?;
        epoll::add(
            &self.epoll,
            &link.stream,
            epoll::EventData::new_u64(nth as u64),
            epoll::EventFlags::IN,
        )
        .map_err(|error| connect_error(self.address, error.into()))?;
        Ok(link)
    }

    fn ask_limits(&mut self) -> Result<(), FilesError> {
        self.send(0, &Call::Fsinfo)?;
        let mut limits = None;
        while self.under_way > 0 {
            self.wait(None, &mut |_, _, answer| {
                if let Answer::Limits { read, write } = answer {
                    limits = Some((read, write));
                }
                Ok(())
            })?;
        }
        self.limits = limits.ok_or(FilesError::Denied {
            address: self.address.to_string(),
            what: "FSINFO was refused",
        })?;
        Ok(())
    }

    fn garbled(&self, bad: rpc::Garbled) -> FilesError {
        FilesError::Garbled {
            address: self.address.to_string(),
            what: bad.0,
        }
    }

    fn flush(&mut self) -> Result<(), FilesError> {
        for nth in 0..self.links.len() {
            let link = &mut self.links[nth];
            if !link.is_full() && !link.watched_for_room {
                continue;
            }
            // An end of the connection is seen by the receiving side, where calls under way are known.
            let _ = link.flush(&mut self.traffic.sends);
            if link.is_full() != link.watched_for_room {
                link.watched_for_room = link.is_full();
                let room = if link.is_full() {
                    epoll::EventFlags::OUT
                } else {
                    epoll::EventFlags::empty()
                };
                let data = epoll::EventData::new_u64(nth as u64);
                epoll::modify(&self.epoll, &link.stream, data, epoll::EventFlags::IN | room)
                    .map_err(|error| connect_error(self.address, error.into()))?;
            }
        }
        Ok(())
    }

    /// Receives on one link and hands out what came. Gives the number of answers.
    fn receive(
        &mut self,
        (nth, mut waits): (usize, bool),
        each: &mut impl FnMut(u32, Nanos, Answer<'_>) -> Result<(), FilesError>,
    ) -> Result<usize, FilesError> {
        let mut answers = 0;
        loop {
            let more = match self.links[nth].receive(std::mem::take(&mut waits), &mut self.traffic.receives) {
                Ok(None) => return Ok(answers),
                Ok(Some(more)) => more,
                Err(error) => return Ok(answers + self.again(nth, &error, each)?),
            };
            let at = monotonic_ns();
            while let Some(place) = self.links[nth]
                .records
                .next_message()
                .map_err(|bad| self.garbled(bad))?
            {
                answers += 1;
                // A part of an answer is none: a server could send a byte a second for ever.
                self.last_heard = at;
                self.links[nth].heard = true;
                let (links, calls) = (self.links.len(), &mut self.calls);
                let message = self.links[nth].records.message(place);
                let known = |tag: usize, pending: &Pending| pending.busy && tag % links == nth;
                let read = answer(calls, known, message);
                let (tag, read) = read.map_err(|bad| bad.error(self.address))?;
                self.under_way -= 1;
                if let (Some(node), Some(handle)) = (self.calls[tag].node, read.handle) {
                    self.handles[node.0 as usize] = Some(handle);
                } else if self.calls[tag].node.is_some() && matches!(read.answer, Answer::Found(_)) {
                    return Err(FilesError::Denied {
                        address: self.address.to_string(),
                        what: "it makes files and does not say their handles",
                    });
                }
                let answer = planted(self.calls[tag].told, &mut self.verifier, read.answer);
                each(tag as u32, at, answer)?;
            }
            if !more {
                return Ok(answers);
            }
        }
    }

    /// A connection ended: another one is made, and the calls on it are handed back. A server that ends it again
    /// without an answer, or cannot be reached, is gone.
    fn again(
        &mut self,
        nth: usize,
        error: &io::Error,
        each: &mut impl FnMut(u32, Nanos, Answer<'_>) -> Result<(), FilesError>,
    ) -> Result<usize, FilesError> {
        let (address, under_way) = (self.address.to_string(), self.under_way);
        let gone = |words: String| FilesError::Gone {
            address,
            under_way,
            words,
        };
        if !self.links[nth].heard {
            return Err(gone(error.to_string()));
        }
        // The end of the old socket takes it out of the epoll set.
        let words = gone(format!("{error}; then no new connection"));
        self.links[nth] = self.open(nth).map_err(|_| words)?;
        self.reserve_links();
        self.traffic.reconnects += 1;
        self.last_heard = monotonic_ns();
        let mut answers = 0;
        for tag in (nth..self.calls.len()).step_by(self.links.len()) {
            if std::mem::take(&mut self.calls[tag].busy) {
                self.under_way -= 1;
                answers += 1;
                each(tag as u32, self.last_heard, Answer::Again)?;
            }
        }
        Ok(answers)
    }

    fn reserve_links(&mut self) {
        let each = self.calls.len().div_ceil(self.links.len()) * self.room_a_call;
        for link in &mut self.links {
            link.out.reserve(each.saturating_sub(link.out.len()));
        }
    }

    fn silent(&self) -> FilesError {
        FilesError::Silent {
            address: self.address.to_string(),
            seconds: self.server.patience.as_secs(),
            under_way: self.under_way,
        }
    }

    /// Waits for the sockets, to the nanosecond, and receives. Gives the number of answers.
    fn turn(
        &mut self,
        until: Option<Nanos>,
        each: &mut impl FnMut(u32, Nanos, Answer<'_>) -> Result<(), FilesError>,
    ) -> Result<usize, FilesError> {
        let silent_at = self.last_heard + self.server.patience.as_nanos() as u64;
        let wake = if self.under_way > 0 {
            until.map_or(silent_at, |until| until.min(silent_at))
        } else {
            until.unwrap_or(0)
        };
        let left = wake.saturating_sub(monotonic_ns());
        if self.links.len() == 1 && !self.links[0].is_full() && left >= link::PATIENCE.as_nanos() as u64 {
            return self.receive((0, true), each);
        }
        let mut room = [MaybeUninit::<epoll::Event>::uninit(); EVENTS];
        let events = match waiting::events(&self.epoll, &mut room, left) {
            Ok(events) => events,
            Err(rustix::io::Errno::INTR) => return Ok(0),
            Err(error) => return Err(connect_error(self.address, error.into())),
        };
        let mut answers = 0;
        for event in &*events {
            let nth = event.data.u64() as usize;
            answers += self.receive((nth, false), each)?;
        }
        if answers == 0 && self.under_way > 0 && monotonic_ns() >= silent_at {
            return Err(self.silent());
        }
        Ok(answers)
    }
}

enum Bad {
    Garbled(rpc::Garbled),
    Denied(&'static str),
}

impl From<rpc::Garbled> for Bad {
    fn from(bad: rpc::Garbled) -> Bad {
        Bad::Garbled(bad)
    }
}

impl Bad {
    fn error(self, address: SocketAddr) -> FilesError {
        let address = address.to_string();
        match self {
            Bad::Garbled(bad) => FilesError::Garbled { address, what: bad.0 },
            Bad::Denied(what) => FilesError::Denied { address, what },
        }
    }
}

/// The answer to what was asked for, made of the answer to what was sent.
fn planted<'m>(told: Told, heard: &mut Option<u64>, answer: Answer<'m>) -> Answer<'m> {
    if let Answer::Written { verifier, .. } | Answer::Committed { verifier } = &answer {
        *heard = Some(*verifier);
    }
    match (told, answer) {
        (Told::Stable, Answer::Written { count, verifier, .. }) => Answer::Written {
            count,
            kept: Kept::File,
            verifier,
        },
        (Told::Committed(verifier), Answer::Found(_)) => Answer::Committed { verifier },
        (_, answer) => answer,
    }
}

/// What is sent in place of a call by a client with a planted loss. A COMMIT is sent while no write verifier is known.
fn less<'c>(call: &Call<'c>, verifier: Option<u64>) -> (Call<'c>, Told) {
    match (*call, verifier) {
        (
            Call::Write {
                of,
                offset,
                stable: true,
                content,
            },
            _,
        ) => {
            let unstable = Call::Write {
                of,
                offset,
                stable: false,
                content,
            };
            (unstable, Told::Stable)
        }
        (Call::Commit { of }, Some(verifier)) => (Call::Getattr { of }, Told::Committed(verifier)),
        _ => (*call, Told::AsItIs),
    }
}

/// Finds the call of a reply and reads it.
fn answer<'m>(
    calls: &mut [Pending],
    known: impl Fn(usize, &Pending) -> bool,
    message: &'m [u8],
) -> Result<(usize, results::Read<'m>), Bad> {
    let accepted = rpc::open(message)?;
    let tag = (accepted.xid & 0xffff) as usize;
    let pending = calls
        .get_mut(tag)
        .filter(|pending| pending.xid == accepted.xid && known(tag, pending))
        .ok_or(rpc::Garbled("an answer to a call that is not under way"))?;
    let results = accepted.results.map_err(Bad::Denied)?;
    let read = results::read(pending.procedure, pending.asked, results)?;
    pending.busy = false;
    Ok((tag, read))
}

fn connect_error(address: SocketAddr, source: io::Error) -> FilesError {
    FilesError::Connect {
        address: address.to_string(),
        source,
    }
}

impl Client for Nfs3 {
    fn now(&self) -> Nanos {
        monotonic_ns()
    }

    fn reserve(&mut self, nodes: u32, tags: u32) {
        let nodes = self.handles.len().max(nodes as usize);
        self.handles.resize(nodes, None);
        let tags = self.calls.len().max(tags as usize);
        self.calls.resize(tags, FREE);
        self.reserve_links();
    }

    fn knows(&self, node: Node) -> bool {
        self.handles.get(node.0 as usize).is_some_and(Option::is_some)
    }

    fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn names_are_stable(&self) -> bool {
        true
    }

    fn most_calls(&self) -> u32 {
        0xffff
    }

    fn renew(&mut self) -> Result<(), FilesError> {
        self.calls.iter_mut().for_each(|call| call.busy = false);
        self.under_way = 0;
        self.verifier = None;
        self.handles[0] = Some(mount::root(&mut self.server)?);
        let port = mount::port(&mut self.server, Program::Nfs)?;
        self.address = SocketAddr::new(self.server.host, port);
        self.links.clear();
        for nth in 0..self.server.connections as usize {
            let link = self.open(nth)?;
            self.links.push(link);
        }
        self.reserve_links();
        self.last_heard = monotonic_ns();
        Ok(())
    }

    fn send(&mut self, tag: u32, call: &Call<'_>) -> Result<(), FilesError> {
        if call.needs().is_some_and(|node| !self.knows(node)) {
            return Err(FilesError::Denied {
                address: self.address.to_string(),
                what: "it said that a name is there, and never what the name leads to",
            });
        }
        let links = self.links.len();
        let pending = &mut self.calls[tag as usize];
        assert!(!pending.busy, "tag {tag} has a call under way");
        if self.under_way == 0 {
            self.last_heard = monotonic_ns();
        }
        let (less, told) = match self.server.flush_lost {
            true => less(call, self.verifier),
            false => (*call, Told::AsItIs),
        };
        let call = &less;
        let turn = (pending.xid >> 16).wrapping_add(1) & 0xffff;
        let procedure = arguments::procedure(call);
        *pending = Pending {
            xid: turn << 16 | tag,
            busy: true,
            procedure,
            asked: if let Call::Read { len, .. } = call { *len } else { 0 },
            node: match call {
                Call::Lookup { node, .. } => *node,
                Call::Create { node, .. } | Call::Mkdir { node, .. } | Call::Symlink { node, .. } => Some(*node),
                _ => None,
            },
            told,
        };
        let xid = pending.xid;
        let (handles, out) = (&self.handles, &mut self.links[tag as usize % links].out);
        let known = |node: Node| match &handles[node.0 as usize] {
            Some(handle) => handle,
            None => panic!("a call on node {} before its name was found", node.0),
        };
        let at = rpc::begin(out, xid, Program::Nfs, procedure as u32);
        arguments::write(&mut Writer::new(out), call, known);
        rpc::end(out, at);
        self.under_way += 1;
        Ok(())
    }

    fn wait(
        &mut self,
        until: Option<Nanos>,
        each: &mut impl FnMut(u32, Nanos, Answer<'_>) -> Result<(), FilesError>,
    ) -> Result<(), FilesError> {
        loop {
            self.flush()?;
            if self.under_way == 0 && until.is_none() {
                return Ok(());
            }
            if self.turn(until, each)? > 0 || until.is_some_and(|until| monotonic_ns() >= until) {
                return Ok(());
            }
        }
    }
}
