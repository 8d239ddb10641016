//! A small server of NFS version 3 in this process, for tests: files in memory, and answers that can be spoiled.
//!
//! Prevents: a protocol test that depends on what a real server happens to do.

use files::rpc::{Program, Reader, Records, Writer};
use files::{NfsServer, Status};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a server does wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spoiled {
    Nothing,
    /// Each reply in pieces of so many bytes.
    Fragments(usize),
    /// From so many replies on: fragments that never end.
    EndlessFragments(u64),
    /// A reply with the number of no call.
    UnknownNumber(u64),
    /// A reply that comes twice.
    Twice(u64),
    /// A reply of a gigabyte is announced.
    Huge(u64),
    /// The connection ends, once.
    Ends(u64),
    /// The connection ends, and no other one is taken.
    Dies(u64),
    /// No answer comes any more.
    Silent(u64),
    /// "Try again later", every so often.
    Later(u64),
    /// READ brings bytes that were not written, every so often.
    Damaged(u64),
    /// READDIR lists a name twice.
    ListsTwice,
    /// READDIR lists without an end of the reply.
    ListsForEver,
    /// READDIR leaves entries out.
    ListsLess,
    /// GETATTR shows another size.
    OtherSize,
    /// LOOKUP leads to another file.
    OtherHandle,
    /// CREATE, REMOVE and RENAME are carried out, but the connection ends before the answer, every so often.
    EndsAfterChange(u64),
    /// MKDIR is refused for want of space from so many replies on.
    NoMoreDirectories(u64),
    /// CREATE says that the name is there already; it is not.
    SaysThere,
    /// READ and WRITE move at most so many bytes in one answer.
    Short(usize),
    /// READ says that the file ends with the first so many bytes of each answer.
    EndsEarly(usize),
    /// From so many replies on: a byte now and then, and never a whole reply.
    Trickles(u64),
}

#[derive(Clone, Default)]
struct Object {
    name: Vec<u8>,
    dir: u32,
    there: bool,
    data: Vec<u8>,
    link: Vec<u8>,
}

struct Inner {
    objects: Vec<Object>,
    spoiled: Spoiled,
}

/// A server that listens on loopback until it is dropped.
pub(crate) struct Server {
    port: u16,
    inner: Arc<Mutex<Inner>>,
    replies: Arc<AtomicU64>,
}

impl Server {
    pub(crate) fn start() -> Server {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let root = Object {
            there: true,
            ..Object::default()
        };
        let server = Server {
            port: listener.local_addr().unwrap().port(),
            inner: Arc::new(Mutex::new(Inner {
                objects: vec![root],
                spoiled: Spoiled::Nothing,
            })),
            replies: Arc::default(),
        };
        let (inner, replies) = (server.inner.clone(), server.replies.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (inner, replies) = (inner.clone(), replies.clone());
                let dead =
                    matches!(inner.lock().unwrap().spoiled, Spoiled::Dies(at) if replies.load(Ordering::SeqCst) >= at);
                if !dead {
                    std::thread::spawn(move || _ = serve(stream, &inner, &replies));
                }
            }
        });
        server
    }

    /// Spoils answers from now on; counts of replies begin here.
    pub(crate) fn spoil(&self, spoiled: Spoiled) {
        self.replies.store(0, Ordering::SeqCst);
        self.inner.lock().unwrap().spoiled = spoiled;
    }

    /// Names that are there.
    pub(crate) fn names(&self) -> usize {
        let inner = self.inner.lock().unwrap();
        inner.objects.iter().skip(1).filter(|object| object.there).count()
    }

    pub(crate) fn place(&self, connections: u32) -> NfsServer {
        NfsServer {
            nfs_port: Some(self.port),
            mount_port: Some(self.port),
            patience: Duration::from_secs(2),
            ..NfsServer::new(Ipv4Addr::LOCALHOST.into(), "/export", connections)
        }
    }
}

fn serve(mut stream: TcpStream, inner: &Mutex<Inner>, replies: &AtomicU64) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut records = Records::new(2 << 20);
    let mut out = Vec::new();
    let mut heard = false;
    loop {
        out.clear();
        while let Some(place) = records.next_message().map_err(|bad| std::io::Error::other(bad.0))? {
            let from = out.len();
            let mut inner = inner.lock().unwrap();
            let nth = replies.fetch_add(1, Ordering::SeqCst) + 1;
            // A connection that ends before its first answer is a server that is gone.
            let ends = inner.answer(records.message(place), nth, &mut out) && heard;
            heard = true;
            let spoiled = inner.spoiled;
            drop(inner);
            if matches!(spoiled, Spoiled::Trickles(at) if nth >= at) {
                stream.write_all(&out[..from])?;
                return trickle(&mut stream);
            }
            spoil(spoiled, nth, from, &mut out);
            if ends
                || matches!(spoiled, Spoiled::Ends(at) if at == nth)
                || matches!(spoiled, Spoiled::Dies(at) if nth >= at)
            {
                stream.write_all(&out[..from])?;
                return Ok(());
            }
        }
        stream.write_all(&out)?;
        match stream.read(records.room())? {
            0 => return Ok(()),
            got => records.received(got),
        }
    }
}

/// A reply that takes far longer than any client is patient.
fn trickle(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(&0x8000_0fa0u32.to_be_bytes())?;
    (0..3_999).try_for_each(|_| {
        std::thread::sleep(Duration::from_millis(10));
        stream.write_all(&[0])
    })
}

/// Spoils the reply that begins at `from`.
fn spoil(spoiled: Spoiled, nth: u64, from: usize, out: &mut Vec<u8>) {
    let body = out[from..].get(4..).unwrap_or_default().to_vec();
    match spoiled {
        Spoiled::Fragments(piece) => {
            out.truncate(from);
            let last = body.len().div_ceil(piece) - 1;
            for (at, piece) in body.chunks(piece).enumerate() {
                out.extend((piece.len() as u32 | u32::from(at == last) << 31).to_be_bytes());
                out.extend(piece);
            }
        }
        Spoiled::EndlessFragments(at) if nth >= at => {
            out.truncate(from);
            (0..200).for_each(|_| out.extend([0, 0, 0, 1, 7]));
        }
        Spoiled::UnknownNumber(at) if nth == at => out[from + 4..from + 8].copy_from_slice(&[0xff; 4]),
        Spoiled::Twice(at) if nth == at => out.extend_from_within(from..),
        Spoiled::Huge(at) if nth == at => out[from..from + 4].copy_from_slice(&0xbfff_ffffu32.to_be_bytes()),
        Spoiled::Silent(at) if nth >= at => out.truncate(from),
        _ => {}
    }
}

fn handle(writer: &mut Writer<'_>, node: usize) {
    writer.opaque(&(node as u64).to_be_bytes());
}

impl Inner {
    /// Answers one call. `true`: the connection ends without the answer.
    fn answer(&mut self, message: &[u8], nth: u64, out: &mut Vec<u8>) -> bool {
        let mut r = Reader::new(message);
        let word = |r: &mut Reader<'_>| r.u32().unwrap();
        let (xid, _call, _rpc, program, _version) =
            (word(&mut r), word(&mut r), word(&mut r), word(&mut r), word(&mut r));
        let procedure = word(&mut r);
        for _ in 0..2 {
            r.u32().unwrap();
            r.opaque(400).unwrap();
        }
        let later = matches!(self.spoiled, Spoiled::Later(each) if nth.is_multiple_of(each));
        Program::reply(out, xid, |w| match (program, procedure) {
            (100_005, _) => {
                w.u32(0);
                handle(w, 0);
                w.u32(1).u32(1);
            }
            _ if later => _ = w.u32(Status::LATER.0).u32(0).u32(0),
            _ => self.nfs(procedure, &mut r, (w, nth)),
        });
        matches!(procedure, 8 | 9 | 12 | 14)
            && matches!(self.spoiled, Spoiled::EndsAfterChange(each) if nth.is_multiple_of(each))
    }

    fn node(&self, r: &mut Reader<'_>) -> usize {
        let bytes = r.opaque(64).unwrap();
        u64::from_be_bytes(bytes.try_into().unwrap()) as usize
    }

    fn attributes(&self, w: &mut Writer<'_>, node: usize, more: u64) {
        w.u32(1)
            .u32(0o644)
            .u32(1)
            .u32(0)
            .u32(0)
            .u64(self.objects[node].data.len() as u64 + more);
        w.u64(0).u64(0).u64(0).u64(node as u64 + 1).u64(0).u64(0).u64(0);
    }

    fn find(&self, dir: usize, name: &[u8]) -> Option<usize> {
        let found = |object: &Object| object.there && object.dir as usize == dir && object.name == name;
        self.objects.iter().position(found).filter(|at| *at > 0)
    }

    fn make(&mut self, r: &mut Reader<'_>, procedure: u32, w: &mut Writer<'_>) {
        let dir = self.node(r);
        let name = r.opaque(255).unwrap().to_vec();
        if self.find(dir, &name).is_some() {
            w.u32(Status::EXISTS.0);
            return;
        }
        let link = if procedure == 10 {
            r.take(24).unwrap();
            r.opaque(1024).unwrap().to_vec()
        } else {
            Vec::new()
        };
        self.objects.push(Object {
            name,
            dir: dir as u32,
            there: true,
            data: Vec::new(),
            link,
        });
        let node = self.objects.len() - 1;
        w.u32(0).u32(1);
        handle(w, node);
        w.u32(1);
        self.attributes(w, node, 0);
    }

    fn write(&mut self, r: &mut Reader<'_>, w: &mut Writer<'_>) {
        let node = self.node(r);
        let offset = r.u64().unwrap() as usize;
        let (_count, stable) = (r.u32().unwrap(), r.u32().unwrap());
        let mut bytes = r.opaque(1 << 21).unwrap();
        if let Spoiled::Short(most) = self.spoiled {
            bytes = &bytes[..bytes.len().min(most)];
        }
        let data = &mut self.objects[node].data;
        data.resize(data.len().max(offset + bytes.len()), 0);
        data[offset..offset + bytes.len()].copy_from_slice(bytes);
        let count = bytes.len() as u32;
        w.u32(0).u32(0).u32(0).u32(count).u32(stable).u64(77);
    }

    fn nfs(&mut self, procedure: u32, r: &mut Reader<'_>, (w, nth): (&mut Writer<'_>, u64)) {
        match procedure {
            8 if self.spoiled == Spoiled::SaysThere => _ = w.u32(Status::EXISTS.0).u32(0).u32(0),
            9 if matches!(self.spoiled, Spoiled::NoMoreDirectories(at) if nth >= at) => {
                w.u32(Status::NO_SPACE.0).u32(0).u32(0);
            }
            8..=10 => self.make(r, procedure, w),
            7 => self.write(r, w),
            1 => {
                let node = self.node(r);
                let more = if self.spoiled == Spoiled::OtherSize { 1024 } else { 0 };
                w.u32(0);
                self.attributes(w, node, more);
            }
            2 => {
                let node = self.node(r);
                r.take(16).unwrap();
                if r.u32().unwrap() == 1 {
                    let size = r.u64().unwrap() as usize;
                    self.objects[node].data.resize(size, 0);
                }
                w.u32(0).u32(0).u32(0);
            }
            3 => self.lookup(r, w),
            4 => _ = w.u32(0).u32(0).u32(0x3f),
            5 => {
                let node = self.node(r);
                let link = self.objects[node].link.clone();
                w.u32(0).u32(0).opaque(&link);
            }
            6 => self.read(r, (w, nth)),
            12 | 13 => {
                let dir = self.node(r);
                match self.find(dir, r.opaque(255).unwrap()) {
                    Some(node) => {
                        self.objects[node].there = false;
                        w.u32(0).u32(0).u32(0);
                    }
                    None => _ = w.u32(Status::NOT_FOUND.0).u32(0).u32(0),
                }
            }
            14 => self.rename(r, w),
            16 | 17 => self.list(r, procedure == 17, w),
            18 => _ = w.u32(0).u32(0),
            19 => {
                w.u32(0).u32(0);
                w.u32(1 << 20)
                    .u32(1 << 20)
                    .u32(4096)
                    .u32(1 << 20)
                    .u32(1 << 20)
                    .u32(4096)
                    .u32(4096);
            }
            21 => _ = w.u32(0).u32(0).u32(0).u64(77),
            other => panic!("procedure {other}"),
        }
    }

    fn rename(&mut self, r: &mut Reader<'_>, w: &mut Writer<'_>) {
        let dir = self.node(r);
        let from = self.find(dir, r.opaque(255).unwrap());
        let dir = self.node(r);
        let to = r.opaque(255).unwrap().to_vec();
        // Both directories are without attributes before and after.
        let status = if from.is_some() { Status::OK } else { Status::NOT_FOUND };
        w.u32(status.0).u32(0).u32(0).u32(0).u32(0);
        let Some(from) = from else { return };
        if let Some(replaced) = self.find(dir, &to) {
            self.objects[replaced].there = false;
        }
        (self.objects[from].name, self.objects[from].dir) = (to, dir as u32);
    }

    fn lookup(&mut self, r: &mut Reader<'_>, w: &mut Writer<'_>) {
        let dir = self.node(r);
        match self.find(dir, r.opaque(255).unwrap()) {
            Some(node) => {
                w.u32(0);
                handle(
                    w,
                    if self.spoiled == Spoiled::OtherHandle {
                        node + 1
                    } else {
                        node
                    },
                );
                w.u32(0).u32(0);
            }
            None => _ = w.u32(Status::NOT_FOUND.0).u32(0),
        }
    }

    fn read(&mut self, r: &mut Reader<'_>, (w, nth): (&mut Writer<'_>, u64)) {
        let node = self.node(r);
        let (offset, count) = (r.u64().unwrap() as usize, r.u32().unwrap() as usize);
        let data = &self.objects[node].data;
        let from = offset.min(data.len());
        let most = match self.spoiled {
            Spoiled::Short(most) | Spoiled::EndsEarly(most) => count.min(most),
            _ => count,
        };
        let mut bytes = data[from..data.len().min(from + most)].to_vec();
        let ends = from + bytes.len() >= data.len() || matches!(self.spoiled, Spoiled::EndsEarly(_));
        if matches!(self.spoiled, Spoiled::Damaged(each) if nth.is_multiple_of(each)) && !bytes.is_empty() {
            let at = bytes.len() / 2;
            bytes[at] ^= 1;
        }
        let count = bytes.len() as u32;
        w.u32(0).u32(0).u32(count).u32(u32::from(ends)).opaque(&bytes);
    }

    fn list(&mut self, r: &mut Reader<'_>, sizes: bool, w: &mut Writer<'_>) {
        let dir = self.node(r);
        w.u32(0).u32(0).u64(0);
        let listed = |object: &Object| object.there && object.dir as usize == dir;
        let mut nodes: Vec<usize> = (1..self.objects.len())
            .filter(|node| listed(&self.objects[*node]))
            .collect();
        match self.spoiled {
            Spoiled::ListsTwice => nodes.extend(nodes.last().copied()),
            Spoiled::ListsLess => nodes.truncate(3),
            Spoiled::ListsForEver => nodes = nodes.into_iter().cycle().take(400).collect(),
            _ => {}
        }
        for node in nodes {
            w.u32(1)
                .u64(node as u64 + 1)
                .opaque(&self.objects[node].name)
                .u64(node as u64);
            if sizes {
                w.u32(1);
                self.attributes(w, node, 0);
                w.u32(1);
                handle(w, node);
            }
        }
        if self.spoiled != Spoiled::ListsForEver {
            w.u32(0).u32(1);
        }
    }
}
