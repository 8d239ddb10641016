//! The server process: answers on the control socket, one question after another, until the other side closes it.
//!
//! When the socket closes, whether in good order or because the lab was killed, ports end, pools are exported and the
//! process ends; in a bounded time, whatever it was doing. A pool that stops because a device failed ends the process
//! at once: nothing of it could be answered any more. Prevents: a pool that outlives the run, and a lab that waits for
//! ever.
#![allow(unsafe_code)]

use crate::error::Refused;
use crate::message::{Answer, Ask, Counted, FileName, Imported, PortShape, Tuning};
use crate::openzfs::file::File;
use crate::openzfs::library::{Library, Opaque};
use crate::openzfs::pool::Pool;
use crate::openzfs::{counters, device, extents, handover, heap, layout, patch};
use crate::serving::Serving;
use crate::{rings, wire};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Read and write, in the library's numbers.
const READ_WRITE: i32 = 3;
/// The least minimum of the cache that the library takes: two of its largest blocks.
const ARC_MIN_LEAST: u64 = 33 << 20;
/// Exit codes besides 0.
const STOPPED: i32 = 70;
/// How often the thread that watches pools looks.
const LOOK: Duration = Duration::from_millis(100);
/// So many looks without any device at work, after one has failed: the question is not answered any more. However slow
/// devices are, one of them is at work while OpenZFS waits for it.
const STILL: u32 = 30;

/// Pools that a thread looks after. A pool is taken out before it is closed.
static WATCHED: Mutex<Vec<(String, usize)>> = Mutex::new(Vec::new());
/// See [`Tuning::export_s`].
static EXPORT_S: AtomicU32 = AtomicU32::new(120);
/// The question that is being answered: its number, and how many device operations had failed before it.
static ASKED: Mutex<Option<(u64, u64)>> = Mutex::new(None);

struct Server {
    library: &'static Library,
    tuning: Tuning,
    pools: BTreeMap<String, Pool>,
    ports: BTreeMap<u64, Serving>,
    next_port: u64,
    replayed: u64,
}

/// Serves the socket that is this process's standard input, until it is closed. Gives the exit code.
pub fn serve_standard_input() -> u8 {
    let Ok(input) = std::io::stdin().as_fd().try_clone_to_owned() else {
        return STOPPED as u8;
    };
    // A failed assertion of the library aborts: its words are enough.
    let none = rustix::process::Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    let socket = UnixStream::from(input);
    match run(&socket) {
        Ok(()) => 0,
        Err(error) => {
            say(&format!("the control socket failed: {error}"));
            STOPPED as u8
        }
    }
}

/// The last words of the process, for the other side.
fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "{what}");
}

fn run(socket: &UnixStream) -> std::io::Result<()> {
    end_after(socket)?;
    let mut server: Option<Server> = None;
    let mut number = 0;
    while let Some((ask, fds)) = wire::receive::<Ask>(socket)? {
        number += 1;
        asked(Some((number, device::failed())));
        let answer = match (&mut server, ask) {
            (None, Ask::Start(tuning)) => Server::start(tuning).map(|started| {
                let version = started.library.version.clone();
                server = Some(started);
                Answer::Started { version }
            }),
            (None, _) | (Some(_), Ask::Start(_)) => {
                Err(Refused::new("a question out of order", "start the library once, first"))
            }
            (Some(server), ask) => server.answer(ask, fds),
        };
        asked(None);
        wire::send(socket, &answer.unwrap_or_else(Answer::Refused), &[])?;
    }
    asked(Some((number + 1, device::failed())));
    if let Some(server) = server {
        server.end();
    }
    Ok(())
}

fn watched() -> MutexGuard<'static, Vec<(String, usize)>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn asked(question: Option<(u64, u64)>) {
    *ASKED.lock().unwrap_or_else(PoisonError::into_inner) = question;
}

/// Ends the process a while after the other side has gone, whatever keeps it: the thread that answers may be in the
/// middle of a question, and sees the end of the socket only after it.
fn end_after(socket: &UnixStream) -> std::io::Result<()> {
    let socket = socket.try_clone()?;
    std::thread::spawn(move || {
        loop {
            // What it says is for the other thread; only its end is waited for.
            let mut fds = [PollFd::new(&socket, PollFlags::RDHUP)];
            let ended = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
            match poll(&mut fds, None) {
                Ok(_) if fds[0].revents().intersects(ended) => break,
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => break,
            }
        }
        std::thread::sleep(Duration::from_secs(EXPORT_S.load(Ordering::Relaxed).into()));
        stop_now("the pools could not be exported in time");
    });
    Ok(())
}

/// Ends the process without the library's own end, which would wait for its pools.
fn stop_now(why: &str) -> ! {
    say(why);
    // SAFETY: runs nothing of this process any more.
    unsafe { libc::_exit(STOPPED) }
}

/// Whether a question hangs on a device that failed: a pool that is only being made, found or closed is in nobody's
/// list.
#[derive(Default)]
struct Stillness {
    /// The number of the question, and how many operations of devices had ended.
    at: (u64, u64),
    looks: u32,
}

impl Stillness {
    fn look(&mut self) -> bool {
        let asked = *ASKED.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some((number, failed)), Some(ended)) = (asked, device::at_rest()) else {
            self.looks = 0;
            return false;
        };
        if (number, ended) != self.at || device::failed() == failed {
            *self = Stillness {
                at: (number, ended),
                looks: 0,
            };
        }
        self.looks += 1;
        self.looks > STILL && device::failed() != failed
    }
}

fn watch(library: &'static Library) {
    std::thread::spawn(move || {
        let mut stillness = Stillness::default();
        loop {
            std::thread::sleep(LOOK);
            if stillness.look() {
                stop_now("a device failed, and OpenZFS waits for it");
            }
            for (name, pool) in watched().iter() {
                // SAFETY: a pool is taken out of the list, under its lock, before it is closed.
                if unsafe { (library.call.spa_suspended)(*pool as Opaque) } != 0 {
                    stop_now(&format!(
                        "pool `{name}` has stopped: a device failed and no copy is left"
                    ));
                }
            }
        }
    });
}

impl Server {
    fn start(tuning: Tuning) -> Result<Server, Refused> {
        if tuning.arc_max_bytes < Tuning::ARC_LEAST {
            return Err(Refused::new(
                &format!(
                    "an ARC of at most {} bytes: OpenZFS ignores a maximum under 64 MiB",
                    tuning.arc_max_bytes
                ),
                "give it 64 MiB or more, or keep data out of it with primarycache = \"metadata\"",
            ));
        }
        let min = tuning.arc_min_bytes.unwrap_or(ARC_MIN_LEAST);
        if min < ARC_MIN_LEAST || min >= tuning.arc_max_bytes {
            return Err(Refused::new(
                &format!("an ARC of at least {min} bytes and at most {}", tuning.arc_max_bytes),
                "let the minimum be 33 MiB or more, and less than the maximum",
            ));
        }
        EXPORT_S.store(tuning.export_s, Ordering::Relaxed);
        let library: &'static Library = Box::leak(Box::new(Library::load()?));
        patch::replace(library, &device::ours())?;
        patch::replace(library, &handover::ours(library)?)?;
        patch::replace(library, &heap::ours())?;
        let nowhere = c"/nonexistent/zpool.cache".as_ptr();
        let known = library.set("zfs_arc_max", tuning.arc_max_bytes)
            && library.set("zfs_arc_min", min)
            // The library is built with its assertions' tracing on.
            && library.set("zfs_flags", 0i32)
            && library.set("zfs_prefetch_disable", i32::from(!tuning.prefetch))
            && tuning
                .prefetch_distance_bytes
                .is_none_or(|bytes| library.set("zfetch_max_distance", bytes))
            && library.set("zfs_txg_timeout", tuning.txg_timeout_s.unwrap_or(5) as i32)
            && library.set("spa_config_path", nowhere)
            && tuning.dirty_max_bytes.is_none_or(|bytes| library.set("zfs_dirty_data_max", bytes));
        if !known {
            return Err(Refused::new(
                "the library lacks one of its parameters",
                "install OpenZFS 2.1 as the distribution ships it",
            ));
        }
        // SAFETY: once, before anything else of the library.
        unsafe { (library.call.kernel_init)(READ_WRITE) };
        layout::agree(library)?;
        watch(library);
        let (pools, ports) = (BTreeMap::new(), BTreeMap::new());
        Ok(Server {
            library,
            tuning,
            pools,
            ports,
            next_port: 1,
            replayed: 0,
        })
    }

    fn answer(&mut self, ask: Ask, fds: Vec<OwnedFd>) -> Result<Answer, Refused> {
        match ask {
            Ask::Start(_) => unreachable!("answered before"),
            Ask::Create(spec) => {
                let pool = Pool::create(self.library, &spec, self.tuning.direct)?;
                self.take(spec.name, pool);
                Ok(Answer::Done)
            }
            Ask::Import { pool: name, devices } => {
                let pool = Pool::import(self.library, &name, &devices, self.tuning.direct)?;
                let replayed_records = pool
                    .files
                    .values()
                    .map(|file| file.replayed.load(Ordering::Relaxed))
                    .sum();
                self.replayed += replayed_records;
                self.take(name, pool);
                Ok(Answer::Imported(Imported { replayed_records }))
            }
            Ask::Export(name) => self.give(&name)?.export().map(|()| Answer::Done),
            Ask::Destroy(name) => self.give(&name)?.destroy().map(|()| Answer::Done),
            Ask::CreateFile(spec) => self.pool(&spec.name.pool)?.create_file(&spec).map(|()| Answer::Done),
            Ask::RemoveFile(name) => {
                self.idle(&name)?;
                self.pool(&name.pool)?.remove_file(&name.file).map(|()| Answer::Done)
            }
            Ask::OpenPort { files, shape } => self.open_port(&files, shape, fds),
            Ask::ClosePort(id) => {
                self.ports.remove(&id);
                Ok(Answer::Done)
            }
            Ask::Size(name) => Ok(Answer::Size(self.file(&name)?.0.size())),
            Ask::Grow(name, bytes) => self
                .file(&name)
                .and_then(|(file, groups)| file.grow(bytes, groups))
                .map(Answer::Size),
            Ask::Truncate(name, bytes) => self
                .file(&name)
                .and_then(|(file, groups)| file.truncate(bytes, groups))
                .map(Answer::Size),
            Ask::Extents(name) => self
                .file(&name)
                .and_then(|(file, groups)| extents::of(&file, groups))
                .map(Answer::Extents),
            Ask::Sync => {
                self.pools.values().for_each(Pool::sync);
                Ok(Answer::Done)
            }
            Ask::Count => Ok(Answer::Counted(Box::new(self.counted()))),
            Ask::Fault(fault) => {
                device::plant(fault);
                Ok(Answer::Done)
            }
            Ask::Freeze(name) => {
                self.pool(&name)?.freeze();
                Ok(Answer::Done)
            }
        }
    }

    /// A pool is open from now on.
    fn take(&mut self, name: String, pool: Pool) {
        watched().push((name.clone(), pool.address()));
        self.pools.insert(name, pool);
    }

    /// A pool is to be closed; no port may use it.
    fn give(&mut self, name: &str) -> Result<Pool, Refused> {
        for file in self
            .pool(name)?
            .files
            .values()
            .map(|file| file.name.clone())
            .collect::<Vec<FileName>>()
        {
            self.idle(&file)?;
        }
        // What is not written yet is written while the pool is watched.
        self.pool(name)?.sync();
        watched().retain(|(watched, _)| watched != name);
        self.pools.remove(name).ok_or_else(|| no_pool(name))
    }

    fn pool(&mut self, name: &str) -> Result<&mut Pool, Refused> {
        self.pools.get_mut(name).ok_or_else(|| no_pool(name))
    }

    fn file(&self, name: &FileName) -> Result<(Arc<File>, Opaque), Refused> {
        let pool = self.pools.get(&name.pool).ok_or_else(|| no_pool(&name.pool))?;
        let file = pool.files.get(&name.file);
        let file = file.ok_or_else(|| Refused::new(&format!("no file `{}`", name.dataset()), "create it first"))?;
        Ok((Arc::clone(file), pool.groups()))
    }

    fn idle(&self, name: &FileName) -> Result<(), Refused> {
        if self.ports.values().any(|port| port.uses(name)) {
            return Err(Refused::new(
                &format!("a port has `{}` open", name.dataset()),
                "drop the port first",
            ));
        }
        Ok(())
    }

    fn open_port(&mut self, names: &[FileName], shape: PortShape, fds: Vec<OwnedFd>) -> Result<Answer, Refused> {
        let Ok([memory, bell]) = <[OwnedFd; 2]>::try_from(fds) else {
            return Err(Refused::new("a port without its memory", "see the limit on open files"));
        };
        if shape.depth > rings::DEPTH_MAX {
            return Err(Refused::new(
                &format!("a port for {} requests", shape.depth),
                "ask for 32768 at most",
            ));
        }
        let files = names
            .iter()
            .map(|name| self.file(name).map(|(file, _)| file))
            .collect::<Result<Vec<_>, _>>()?;
        let sizes = files.iter().map(|file| file.size()).collect();
        let serving = Serving::start(memory, bell, shape, files).map_err(|e| {
            Refused::errno(
                "start a port",
                e.raw_os_error().unwrap_or(libc::EIO),
                "see limits on memory and threads",
            )
        })?;
        let id = self.next_port;
        self.next_port += 1;
        self.ports.insert(id, serving);
        Ok(Answer::Port { id, sizes })
    }

    fn counted(&self) -> Counted {
        Counted {
            arc: counters::cache(self.library),
            zil: counters::logs(self.library),
            pools: self.pools.values().map(Pool::counts).collect(),
            files: self
                .pools
                .values()
                .flat_map(|pool| pool.files.values().map(|file| file.counts()))
                .collect(),
            devices: device::counts(),
            replayed_records: self.replayed,
        }
    }

    /// Closes everything in good order, and ends the process.
    fn end(mut self) {
        self.ports.clear();
        let (stopped, sound): (Vec<_>, Vec<_>) = self.pools.into_iter().partition(|(_, pool)| pool.is_suspended());
        watched().retain(|(name, _)| sound.iter().any(|(sound, _)| sound == name));
        let mut is_empty = true;
        for (name, pool) in sound {
            // What is not written yet is written while the pool is watched.
            pool.sync();
            watched().retain(|(watched, _)| *watched != name);
            if let Err(error) = pool.export() {
                say(&error.to_string());
                is_empty = false;
            }
        }
        if let Some((name, _)) = stopped.first() {
            // The library's own end would wait for it for ever.
            stop_now(&format!("pool `{name}` has stopped and is left as it is"));
        }
        if is_empty {
            // The library's own end would take most of a second of a processor to free its memory.
            // SAFETY: runs nothing of this process any more; no pool is open, and all were written.
            unsafe { libc::_exit(0) }
        }
        // SAFETY: nothing of the library is in use any more.
        unsafe { (self.library.call.kernel_fini)() };
    }
}

fn no_pool(name: &str) -> Refused {
    Refused::new(&format!("no pool `{name}` is open here"), "create or import it first")
}
