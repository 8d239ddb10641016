//! What listens where a PostgreSQL server should: it sends what it likes, in answer to nothing.
//!
//! An input is what it sends (the first byte says which reader gets it). All of it is sent at once, but for what has
//! to hold the client's own nonce, which waits for it.

use super::{Trial, Verdict};
use crate::{Dice, damage};
use anyhow::Context;
use databases::order_entry::{Home, Scale};
use databases::postgres::{Address, Connection, Isolation, ServerCounters, Terminals, TerminalsSpec, readers};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use workloads::Operation;

/// In its place the server puts the client's nonce, which is as long.
const NONCE: &[u8] = b"@@@@@@@@@@@@@@@@@@@@@@@@";

/// Longest wait for it.
const NONCE_WAIT: Duration = Duration::from_millis(100);

struct Server {
    dir: tempfile::TempDir,
    scripts: Sender<Vec<u8>>,
}

pub(crate) fn make() -> anyhow::Result<Box<dyn Trial>> {
    let dir = tempfile::tempdir().context("make a directory")?;
    let listener = UnixListener::bind(dir.path().join(".s.PGSQL.5432")).context("listen")?;
    let (scripts, next) = channel::<Vec<u8>>();
    std::thread::spawn(move || {
        for script in next {
            if let Ok((client, _)) = listener.accept() {
                // A client that hangs up early is as it should be.
                let _ = serve(client, &script);
            }
        }
    });
    Ok(Box::new(Server { dir, scripts }))
}

fn serve(mut client: UnixStream, script: &[u8]) -> std::io::Result<()> {
    let mut got = Vec::new();
    let mut rest = script.to_vec();
    let find = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).position(|part| part == what);
    if let Some(at) = find(&rest, NONCE) {
        // What stands before the message with the nonce begins at its tag.
        let message = rest[..at].iter().rposition(|byte| *byte == b'R').unwrap_or(0);
        client.write_all(&rest[..message])?;
        // A client that was not made to say it waits too: then it gets the rest as it is.
        client.set_read_timeout(Some(NONCE_WAIT))?;
        let nonce = loop {
            if let Some(from) = find(&got, b",r=").filter(|from| got.len() >= from + 3 + NONCE.len()) {
                break got[from + 3..from + 3 + NONCE.len()].to_vec();
            }
            let mut some = [0; 4096];
            match client.read(&mut some) {
                Ok(0) => return Ok(()),
                Ok(len) => got.extend_from_slice(&some[..len]),
                Err(_) => break NONCE.to_vec(),
            }
        };
        client.set_read_timeout(None)?;
        rest.drain(..message);
        rest[at - message..at - message + NONCE.len()].copy_from_slice(&nonce);
    }
    client.write_all(&rest)?;
    client.shutdown(std::net::Shutdown::Write)?;
    std::io::copy(&mut client, &mut std::io::sink()).map(drop)
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[tag][..], &length, body].concat()
}

fn row(cells: &[&[u8]]) -> Vec<u8> {
    let mut body = (cells.len() as u16).to_be_bytes().to_vec();
    for cell in cells {
        body.extend((cell.len() as u32).to_be_bytes());
        body.extend_from_slice(cell);
    }
    message(b'D', &body)
}

/// A conversation that goes well, message by message.
fn good(dice: &mut Dice) -> Vec<Vec<u8>> {
    let ready = || message(b'Z', b"I");
    let mut all = Vec::new();
    match dice.below(4) {
        0 => all.push(message(b'R', &[0, 0, 0, 3])),
        1 => {
            all.push(message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0"));
            let rounds = *dice.pick(&["1", "4096", "20000", "4294967295", "-1", "x"]);
            let first = [b"\0\0\0\x0br=", NONCE, b"server,s=c2FsdHNhbHQ=,i=", rounds.as_bytes()].concat();
            all.push(message(b'R', &first));
            all.push(message(
                b'R',
                b"\0\0\0\x0cv=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
            ));
        }
        _ => {}
    }
    all.extend([message(b'R', &[0; 4]), message(b'S', b"server_version\x0015.2\0")]);
    all.extend([message(b'K', &[0; 8]), ready()]);
    match dice.below(3) {
        0 => {
            all.extend([row(&[b"150018"]), message(b'C', b"SELECT 1\0"), ready()]);
            all.extend([
                row(&[b"on", b"\xff\xfe"]),
                message(b'N', b"SNOTICE\0Mwords\0\0"),
                ready(),
            ]);
        }
        1 => {
            all.extend([
                message(b'E', b"SERROR\0C42P01\0Mno \x1b]0;x\x07table\0Dit is\0\0"),
                ready(),
            ]);
        }
        _ => {
            all.extend((0..60).map(|_| message(b'1', b"")));
            all.extend([
                ready(),
                message(b'2', b""),
                message(b'C', b"BEGIN\0"),
                message(b'2', b""),
            ]);
            all.extend([
                row(&[&[0, 0, 0, 9]]),
                message(b'C', b"SELECT 1\0"),
                row(&[&[0; 8], b"text"]),
            ]);
            all.extend([message(b'C', b"UPDATE 1\0"), message(b'C', b"COMMIT\0"), ready()]);
        }
    }
    all
}

impl Trial for Server {
    fn input(&mut self, dice: &mut Dice) -> Vec<u8> {
        let mut all = good(dice);
        let way = dice.below(3 + BYTES) as u8;
        if way == CERTIFICATE_WAY {
            let mut bytes = CERTIFICATE.to_vec();
            damage::bytes(&mut bytes, dice);
            return [&[way][..], &bytes].concat();
        }
        if way == URL_WAY {
            return [&[way][..], damage::text(URL, dice, URL_WORDS).as_bytes()].concat();
        }
        if dice.below(10) > 0 {
            for _ in 0..dice.few().min(8) {
                let at = dice.below(all.len());
                match dice.below(6) {
                    0 => drop(all.remove(at)),
                    1 => {
                        let times = (1 << dice.below(10)).min(1 + (1 << 18) / all[at].len());
                        all.insert(at, all[at].repeat(times));
                    }
                    2 => {
                        let mut body = all[at].get(5..).unwrap_or_default().to_vec();
                        damage::bytes(&mut body, dice);
                        all[at] = message(all[at][0], &body);
                    }
                    3 => damage::number(&mut all[at], dice, 1),
                    4 => all[at][0] = dice.any() as u8,
                    _ => {
                        let at_byte = dice.below(all[at].len());
                        all[at][at_byte] = dice.any() as u8;
                    }
                }
                if all.is_empty() {
                    all.push(message(b'Z', b"I"));
                }
                all.retain(|message| !message.is_empty());
            }
        }
        [&[way][..], &all.concat()].concat()
    }

    fn read(&mut self, input: &[u8]) -> Result<Verdict, String> {
        let (way, script) = input.split_first().ok_or("an empty input")?;
        if *way > 2 {
            return Ok(bytes_alone(*way, script));
        }
        self.scripts.send(script.to_vec()).map_err(|error| error.to_string())?;
        let url = format!("postgres://joe:tiger@localhost/joe?host={}", self.dir.path().display());
        let address = Address::parse(&url).map_err(|error| error.to_string())?;
        if *way == 2 {
            return terminals(&address);
        }
        let mut connection = match Connection::open(&address, &[]) {
            Ok(connection) => connection,
            Err(error) => return said(&error.to_string()),
        };
        let answer = match way {
            0 => connection
                .version()
                .map(drop)
                .and_then(|()| connection.run("SELECT 1").map(drop)),
            _ => ServerCounters::read(&mut connection).map(drop),
        };
        match answer {
            Ok(()) => Ok(Verdict::Accepted),
            Err(error) => said(&error.to_string()),
        }
    }
}

/// Readers that need no connection.
const BYTES: usize = 8;
const CERTIFICATE_WAY: u8 = 3;
const URL_WAY: u8 = 4;
/// Of a server of the tests, signed by itself.
const CERTIFICATE: &[u8] = include_bytes!("../../corpus/certificate.der");
const URL: &str = "postgres://joe:tiger@localhost:5432/joe?sslmode=verify-full&sslrootcert=system&connect_timeout=10";
const URL_WORDS: &[&str] = &[
    "%", "%zz", "%00", "@", ":", "/", "?", "&", "=", "[::1]", "sslmode", "prefer", "host", "/tmp", "\u{0}",
];

fn bytes_alone(way: u8, bytes: &[u8]) -> Verdict {
    let accepted = match way {
        CERTIFICATE_WAY => readers::certificate(bytes).is_some(),
        URL_WAY => readers::url(&String::from_utf8_lossy(bytes)),
        5 => readers::messages(bytes) > 0,
        6 => readers::login(bytes),
        7 => readers::fields(bytes),
        8 => readers::offer(bytes),
        9 => readers::touched(bytes, bytes.first().copied().unwrap_or(0)).is_some(),
        _ => {
            readers::answer(bytes);
            false
        }
    };
    match accepted {
        true => Verdict::Accepted,
        false => Verdict::Refused,
    }
}

fn terminals(address: &Address) -> Result<Verdict, String> {
    let spec = TerminalsSpec {
        scale: Scale::reduced(1).map_err(|error| error.to_string())?,
        home: Home::Fixed,
        load_seed: 1,
        run_seed: 2,
        isolation: Isolation::ReadCommitted,
        pauses: false,
        first: 0,
        sessions: 1,
        now_us: 0,
    };
    let mut terminals = match Terminals::connect(address, &spec) {
        Ok(terminals) => terminals,
        Err(error) => return said(&error.to_string()),
    };
    let mut done = Vec::new();
    let went = terminals
        .start(0, &mut done)
        .and_then(|_| terminals.advance(None, &mut done));
    match went {
        Ok(()) => Ok(Verdict::Accepted),
        Err(error) => said(&error.to_string()),
    }
}

fn said(error: &str) -> Result<Verdict, String> {
    match error.len() > 1 << 20 {
        true => Err(format!("an error of {} bytes", error.len())),
        false => Ok(Verdict::Refused),
    }
}
