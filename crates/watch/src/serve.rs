//! The server: a listener, and a thread for each of a few connections.
//!
//! Takes whoever makes the page, answers until told to stop. Every connection has one request and one deadline.
//! Prevents: a client that holds a thread by silence, and a page that outlives its command.

use crate::answer::{Answer, Refusal};
use crate::door::{Asked, Decision, Door, HEAD_BYTES_MAX};
use crate::token::Token;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Connections at once; one more is closed unheard.
pub const CONNECTIONS_MAX: usize = 16;
/// Longest time from the first byte of a connection to the end of a request's head.
const HEARD_WITHIN: Duration = Duration::from_secs(5);
/// Longest time of sending an answer.
const SENT_WITHIN: Duration = Duration::from_secs(30);
/// After an answer, for what is still on its way: closing at once would take the answer back.
const LEFT_WITHIN: Duration = Duration::from_millis(300);
/// Longest wait before the server looks whether it is to stop.
const TICK: Duration = Duration::from_millis(250);

/// Whoever makes the page. It is asked by several threads.
pub trait Site: Sync {
    /// The answer to a request that was let in.
    fn answer(&self, asked: Asked) -> Answer;

    /// Whether nobody is waited for any more: then the server ends. It is asked while nobody is connected.
    fn is_left(&self) -> bool {
        false
    }
}

/// A listener with its door.
pub struct Server {
    listener: TcpListener,
    door: Door,
    address: SocketAddr,
}

impl Server {
    /// Listens on the address; port 0 takes a free one.
    ///
    /// # Errors
    /// The address is not this host's, or is taken; the kernel has no random numbers.
    pub fn listen(address: SocketAddr) -> std::io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let door = Door::new(Token::draw()?, address.ip());
        Ok(Server {
            listener,
            door,
            address,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the page is, the token in it. Where all addresses are listened on, by loopback: that of all addresses
    /// leads nowhere from another host.
    pub fn url(&self) -> String {
        let ip = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        let address = SocketAddr::new(ip, self.address.port());
        format!("http://{address}/{}", self.door.token().as_str())
    }

    /// Answers until `stop` says so, which is asked at least four times a second, or the site is left.
    ///
    /// # Errors
    /// The listener fails.
    pub fn serve(&self, site: &dyn Site, stop: impl Fn() -> bool) -> std::io::Result<()> {
        let (stopping, open) = (AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            let served = loop {
                if stop() {
                    break Ok(());
                }
                match self.next() {
                    // Who is slow on a busy machine still waits for an answer.
                    Ok(None) if open.load(Ordering::Relaxed) == 0 && site.is_left() => break Ok(()),
                    Ok(None) => {}
                    Ok(Some(stream)) if open.load(Ordering::Relaxed) < CONNECTIONS_MAX => {
                        let place = Place::taken(&open);
                        let stopping = &stopping;
                        scope.spawn(move || {
                            let _place = place;
                            // A client that goes away is its own affair.
                            let _ = self.connection(&stream, site, stopping);
                        });
                    }
                    Ok(Some(full)) => drop(full),
                    Err(error) => break Err(error),
                }
            };
            stopping.store(true, Ordering::Relaxed);
            served
        })
    }

    /// The next connection, if one comes within a tick.
    fn next(&self) -> std::io::Result<Option<TcpStream>> {
        let mut waiting = [PollFd::new(&self.listener, PollFlags::IN)];
        let tick = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(TICK.subsec_nanos()),
        };
        match poll(&mut waiting, Some(&tick)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        match self.listener.accept() {
            Ok((stream, _)) => Ok(Some(stream)),
            // Gone again, or too many files are open: the next one may do.
            Err(error) if is_passing(error.kind()) => Ok(None),
            Err(_) => {
                std::thread::sleep(TICK);
                Ok(None)
            }
        }
    }

    fn connection(&self, stream: &TcpStream, site: &dyn Site, stopping: &AtomicBool) -> std::io::Result<()> {
        stream.set_nonblocking(false)?;
        let clock = Clock {
            stream,
            stopping,
            until: Instant::now() + HEARD_WITHIN,
        };
        let decision = self.heard(&clock)?;
        // Making the page takes as long as it takes; sending it has a limit.
        let text = match decision {
            Decision::Open(asked) => {
                let answer = site.answer(asked);
                answer.head() + &answer.body
            }
            Decision::Refused(refusal) => refusal.text(),
            Decision::More => return Ok(()),
        };
        let clock = Clock {
            until: Instant::now() + SENT_WITHIN,
            ..clock
        };
        clock.send(text.as_bytes())?;
        stream.shutdown(Shutdown::Write)?;
        Clock {
            until: Instant::now() + LEFT_WITHIN,
            ..clock
        }
        .drain()
    }

    /// What is decided on the request; [`Decision::More`] where the client hung up.
    fn heard(&self, clock: &Clock<'_>) -> std::io::Result<Decision> {
        let mut head = Vec::with_capacity(1024);
        let mut part = [0; 1024];
        loop {
            let length = match clock.read(&mut part) {
                Ok(0) => return Ok(Decision::More),
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::TimedOut => {
                    return Ok(Decision::Refused(Refusal::TooSlow));
                }
                Err(error) => return Err(error),
            };
            head.extend_from_slice(&part[..length]);
            match self.door.decide(&head) {
                Decision::More => debug_assert!(head.len() < HEAD_BYTES_MAX),
                decided => return Ok(decided),
            }
        }
    }
}

/// One of the places for connections, given back when dropped.
struct Place<'a>(&'a AtomicUsize);

impl Place<'_> {
    fn taken(open: &AtomicUsize) -> Place<'_> {
        open.fetch_add(1, Ordering::Relaxed);
        Place(open)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream with the moment at which it ends.
#[derive(Clone, Copy)]
struct Clock<'a> {
    stream: &'a TcpStream,
    stopping: &'a AtomicBool,
    until: Instant,
}

impl Clock<'_> {
    /// What is left, in pieces that let a stop through. `TimedOut` when nothing is.
    fn piece(&self) -> std::io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() || self.stopping.load(Ordering::Relaxed) {
            return Err(ErrorKind::TimedOut.into());
        }
        Ok(left.min(TICK))
    }

    fn read(&self, part: &mut [u8]) -> std::io::Result<usize> {
        loop {
            self.stream.set_read_timeout(Some(self.piece()?))?;
            let mut stream = self.stream;
            match stream.read(part) {
                Err(error) if is_passing(error.kind()) => {}
                other => return other,
            }
        }
    }

    fn send(&self, mut bytes: &[u8]) -> std::io::Result<()> {
        while !bytes.is_empty() {
            self.stream.set_write_timeout(Some(self.piece()?))?;
            let mut stream = self.stream;
            match stream.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) if is_passing(error.kind()) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes what still comes, and forgets it.
    fn drain(&self) -> std::io::Result<()> {
        let mut part = [0; 4096];
        while self.read(&mut part)? > 0 {}
        Ok(())
    }
}

/// An error after which the same may be tried again.
fn is_passing(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted | ErrorKind::ConnectionAborted
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed;

    impl Site for Fixed {
        fn answer(&self, asked: Asked) -> Answer {
            let body = match asked {
                Asked::Page => "x".repeat(1 << 20),
                Asked::Now => "now".to_string(),
            };
            Answer {
                policy: "default-src 'none'".into(),
                body,
            }
        }
    }

    /// Sets the flag when it goes, also in a panic: the server would wait for ever.
    struct Over<'a>(&'a AtomicBool);

    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// A server while `work` is done with its address and its path.
    fn serving(work: impl FnOnce(SocketAddr, &str)) {
        let server = Server::listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let served = scope.spawn(|| server.serve(&Fixed, || over.load(Ordering::Relaxed)));
            let path = format!("/{}", server.door.token().as_str());
            let ending = Over(&over);
            work(server.address(), &path);
            drop(ending);
            served.join().unwrap().unwrap();
        });
    }

    /// Everything that is answered to these bytes.
    fn answered(address: SocketAddr, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_page_comes_whole_and_a_stranger_gets_a_number() {
        serving(|address, path| {
            let page = answered(
                address,
                format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes(),
            );
            assert!(
                page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("xxx"),
                "{}",
                page.len()
            );
            assert!(page.len() > 1 << 20);
            let now = answered(
                address,
                format!("GET {path}/now HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes(),
            );
            assert!(now.ends_with("\r\n\r\nnow"), "{now}");
            let stranger = answered(address, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
            assert!(
                stranger.starts_with("HTTP/1.1 404 ") && stranger.ends_with("\r\n\r\n"),
                "{stranger}"
            );
        });
    }

    #[test]
    fn where_all_addresses_are_listened_on_the_page_is_named_by_one_that_answers() {
        let all = [SocketAddr::from(([0; 4], 0)), SocketAddr::from(([0; 8], 0))];
        // A host may have no IPv6.
        for server in all.into_iter().filter_map(|address| Server::listen(address).ok()) {
            let url = server.url();
            let (host, path) = url["http://".len()..].split_once('/').unwrap();
            let address: SocketAddr = host.parse().unwrap();
            assert!(
                address.ip().is_loopback() && address.port() == server.address().port(),
                "{url}"
            );
            let head = format!("GET /{path}/now HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert_eq!(server.door.decide(head.as_bytes()), Decision::Open(Asked::Now), "{url}");
        }
    }

    #[test]
    fn silence_ends_and_leaves_room_for_others() {
        serving(|address, path| {
            let silent: Vec<TcpStream> = (0..4).map(|_| TcpStream::connect(address).unwrap()).collect();
            let now = format!("GET {path}/now HTTP/1.1\r\nHost: localhost\r\n\r\n");
            assert!(
                answered(address, now.as_bytes()).ends_with("now"),
                "others are answered meanwhile"
            );
            for mut one in silent {
                one.write_all(b"GET /").unwrap();
                let mut answer = String::new();
                one.read_to_string(&mut answer).unwrap();
                assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
            }
        });
    }

    #[test]
    fn a_client_too_many_is_closed_unheard() {
        serving(|address, path| {
            let mut all: Vec<TcpStream> = (0..CONNECTIONS_MAX + 4)
                .map(|_| TcpStream::connect(address).unwrap())
                .collect();
            let mut unheard = 0;
            for one in &mut all {
                let mut answer = Vec::new();
                // One that is closed unheard may be reset too.
                let _ = one.read_to_end(&mut answer);
                unheard += usize::from(answer.is_empty());
            }
            assert_eq!(unheard, 4);
            drop(all);
            let now = format!("GET {path}/now HTTP/1.1\r\nHost: localhost\r\n\r\n");
            // The places are given back a moment after the clients have gone.
            let mut tries = (0..600).map(|_| {
                std::thread::sleep(Duration::from_millis(50));
                let mut stream = TcpStream::connect(address).unwrap();
                let mut answer = String::new();
                let _ = stream.write_all(now.as_bytes());
                let _ = stream.read_to_string(&mut answer);
                answer
            });
            assert!(
                tries.any(|answer| answer.ends_with("now")),
                "and then there is room again"
            );
        });
    }

    /// Left from the first question on, and slow in its answer.
    struct Slow(AtomicBool);

    impl Site for Slow {
        fn answer(&self, asked: Asked) -> Answer {
            self.0.store(true, Ordering::Relaxed);
            std::thread::sleep(3 * TICK);
            Fixed.answer(asked)
        }

        fn is_left(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn who_still_waits_is_answered_before_a_server_that_is_left_ends() {
        let server = Server::listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let site = Slow(AtomicBool::new(false));
        std::thread::scope(|scope| {
            let served = scope.spawn(|| server.serve(&site, || false));
            let now = format!(
                "GET /{}/now HTTP/1.1\r\nHost: localhost\r\n\r\n",
                server.door.token().as_str()
            );
            assert!(answered(server.address(), now.as_bytes()).ends_with("now"));
            served.join().unwrap().unwrap();
        });
    }
}
