//! Servers that are none, or mean ill: what they say is refused with a clear error, after a bounded time and within
//! bounded memory.
//!
//! Each is played by a listener of the test. A client that hung would hang its test.

use crate::played::{Client, authentication, error, message, notice, play, ready};
use databases::order_entry::{Home, Scale};
use databases::postgres::{
    Address, Connection, Isolation, PostgresError, Scattered, ScatteredSpec, Terminals, TerminalsSpec, load_scattered,
};
use std::io::Read;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use workloads::Operation;

const PASSWORD: &str = "pencil-of-joe";

fn address(port: u16, parameters: &str) -> Address {
    Address::parse(&format!("postgres://joe:{PASSWORD}@127.0.0.1:{port}/joe?{parameters}")).unwrap()
}

fn assert_told(failed: &PostgresError, words: &[&str]) {
    let text = failed.to_string();
    for word in words {
        assert!(text.contains(word), "not said: {word}\n{text}");
    }
    assert!(text.contains("\n  ") && !text.contains(PASSWORD), "{text}");
    assert!(!text.chars().any(|sign| sign.is_control() && sign != '\n'), "{text:?}");
    assert!(text.len() < 4000, "{} bytes", text.len());
}

/// Who asks like this during the login is refused with these words.
fn assert_login_refused(parameters: &str, words: &[&str], part: impl Fn(Client) + Send + 'static) {
    let (port, played) = play(1, part);
    let failed = Connection::open(&address(port, parameters), &[]).unwrap_err();
    assert_told(&failed, words);
    played.join().unwrap();
}

const CLEAR: &str = "sslmode=disable&connect_timeout=60";

/// Says this to who has introduced himself, and listens on.
fn after_startup(bytes: Vec<u8>) -> impl Fn(Client) + Send + 'static {
    move |mut client| {
        client.startup();
        client.say(&bytes);
        client.until_gone();
    }
}

#[test]
fn a_password_is_not_given_to_who_only_asks_for_it() {
    let words = ["over TCP without TLS, where others can read it"];
    for (method, rest) in [(3, &b""[..]), (5, b"salt")] {
        let (port, played) = play(1, move |mut client| {
            client.startup();
            client.say(&authentication(method, rest));
            assert_eq!(client.next(), None, "the client says nothing more");
        });
        assert_told(&Connection::open(&address(port, CLEAR), &[]).unwrap_err(), &words);
        played.join().unwrap();
    }
    for method in [2, 6, 7, 9, 13, u32::MAX] {
        let words = ["a way to log in that this client does not speak"];
        assert_login_refused(CLEAR, &words, after_startup(authentication(method, b"")));
    }
    let only = authentication(10, b"SCRAM-SHA-1\0\x1b]0;x\x07\0\0");
    assert_login_refused(
        CLEAR,
        &["the server offers SCRAM-SHA-1", "not SCRAM-SHA-256"],
        after_startup(only),
    );
    let plus = authentication(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
    assert_login_refused(CLEAR, &["tied to TLS, and there is none"], after_startup(plus));
}

/// Plays SCRAM up to the first message of the server, with as many rounds; gives the client's proof.
fn scram(client: &mut Client, rounds: &str) -> Option<Vec<u8>> {
    client.startup();
    client.say(&authentication(10, b"SCRAM-SHA-256\0\0"));
    let (_, first) = client.next()?;
    let first = String::from_utf8(first[18..].to_vec()).unwrap();
    let nonce = first.rsplit_once("r=").unwrap().1;
    let first = format!("r={nonce}ofserver,s=c2FsdHNhbHQ=,i={rounds}");
    client.say(&authentication(11, first.as_bytes()));
    client.next().map(|(_, proof)| proof)
}

#[test]
fn a_server_that_does_not_know_the_password_is_found_out() {
    const NO_PROOF: &str = "without having shown that it knows the password";
    assert_login_refused(CLEAR, &[NO_PROOF, "verify-full"], |mut client| {
        assert!(scram(&mut client, "4096").is_some());
        client.say(&[authentication(0, b""), ready()].concat());
        client.until_gone();
    });
    assert_login_refused(CLEAR, &[NO_PROOF], |mut client| {
        client.startup();
        client.say(&authentication(10, b"SCRAM-SHA-256\0\0"));
        client.next();
        client.say(&[authentication(0, b""), ready()].concat());
        client.until_gone();
    });
    for last in [
        "v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "v=AA==",
        "v=!",
        "",
        "e=\x1b[2Jno",
    ] {
        assert_login_refused(CLEAR, &["SCRAM", "somebody else answers there"], move |mut client| {
            assert!(scram(&mut client, "4096").is_some());
            client.say(&authentication(12, last.as_bytes()));
            client.until_gone();
        });
    }
    // What comes out of order, or twice, is no login.
    let words = ["with a message 'R' whose fields do not fit it"];
    assert_login_refused(CLEAR, &words, after_startup(authentication(12, b"v=AA==")));
    assert_login_refused(CLEAR, &words, after_startup(authentication(11, b"r=x,s=AA==,i=4096")));
    let twice = [authentication(0, b""), authentication(3, b"")].concat();
    assert_login_refused(CLEAR, &["'R', which has no place here"], after_startup(twice));
    assert_login_refused(CLEAR, &["'Z', which has no place here"], after_startup(ready()));
}

#[test]
fn rounds_without_end_are_not_begun() {
    for rounds in ["2147483648", "2147483647", "100001", "1", "0", "99999999999999999999"] {
        let words = match rounds.len() > 19 {
            true => ["fields do not fit it", "is it PostgreSQL"],
            false => ["rounds of SCRAM (4096 to 100000 are accepted)", "scram_iterations"],
        };
        assert_login_refused(CLEAR, &words, move |mut client| {
            assert_eq!(scram(&mut client, rounds), None, "no proof");
        });
    }
}

#[test]
fn what_is_no_message_is_refused_at_once() {
    for length in [0u32, 3, (1 << 20) + 1, i32::MAX as u32, u32::MAX] {
        let bytes = [&b"R"[..], &length.to_be_bytes(), &[0; 64]].concat();
        let words = ["(4 to 1048576 are possible)", "is it PostgreSQL that listens there?"];
        assert_login_refused(CLEAR, &words, after_startup(bytes));
    }
    let words = ["fields do not fit it"];
    for bytes in [
        message(b'R', b"\0\0"),
        authentication(0, b"more"),
        authentication(10, b"SCRAM-SHA-256"),
        authentication(10, b"SCRAM-SHA-256\0\0more"),
        message(b'E', b"M"),
        message(b'N', b"Mtext\0"),
        [authentication(0, b""), message(b'S', b"TimeZone\0")].concat(),
        [authentication(0, b""), message(b'K', b"key")].concat(),
        [authentication(0, b""), message(b'Z', b"Q")].concat(),
    ] {
        assert_login_refused(CLEAR, &words, after_startup(bytes));
    }
    assert_login_refused(CLEAR, &["the server closed the connection"], |mut client| {
        client.startup();
        client.say(b"R\0\0");
    });
}

#[test]
fn silence_and_talk_without_end_are_given_up() {
    let soon = "sslmode=disable&connect_timeout=1";
    assert_login_refused(soon, &["no answer within 1 s"], Client::until_gone);
    assert_login_refused("connect_timeout=1", &["no answer within 1 s"], Client::until_gone);
    assert_login_refused(CLEAR, &["more than 16 MiB and no end"], |mut client| {
        client.startup();
        let notice = notice();
        while client.say(&notice) {}
    });
    // A word now and then ends no wait.
    assert_login_refused(soon, &["no answer within 1 s"], |mut client| {
        client.startup();
        let notice = message(b'N', b"SNOTICE\0C00000\0Mx\0\0");
        while client.say(&notice) {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    });
}

#[test]
fn nothing_is_believed_that_comes_before_tls() {
    let certificate = "sslmode=require&connect_timeout=60";
    for (answer, words) in [
        (&b"N"[..], &["the server has no TLS", "set ssl = on"][..]),
        (b"SZ\0\0\0\x05I", &["more than an answer came"]),
        (b"NR\0\0\0\x08\0\0\0\0", &["more than an answer came"]),
        (b"E\0\0\0\x0cM\x1b[2J\0", &["asked for TLS, the server answers 'E'"]),
        (b"HTTP/1.1 400", &["is it PostgreSQL that listens there?"]),
        (b"\x1b", &["answers '\\u{1b}'"]),
    ] {
        for mode in [certificate, "sslmode=prefer&connect_timeout=60"] {
            if mode != certificate && answer == b"N" {
                continue;
            }
            assert_login_refused(mode, words, after_startup(answer.to_vec()));
        }
    }
    // Bytes that come a moment later meet TLS, which does not believe them either.
    assert_login_refused(certificate, &["TLS: "], |mut client| {
        client.startup();
        client.say(b"S");
        assert!(matches!(client.0.read(&mut [0]), Ok(1)), "TLS has begun");
        client.say(&[authentication(0, b""), ready()].concat());
        client.until_gone();
    });
    assert_login_refused(
        "sslmode=require&connect_timeout=1",
        &["no answer within 1 s"],
        after_startup(b"S".to_vec()),
    );
}

/// Who answers a statement like this is refused with these words.
fn assert_answer_refused(words: &[&str], answer: impl Fn(&mut Client) + Send + 'static) {
    let (port, played) = play(1, move |mut client| {
        client.let_in();
        client.next();
        answer(&mut client);
        client.until_gone();
    });
    let mut connection = Connection::open(&address(port, CLEAR), &[]).unwrap();
    assert_told(&connection.run("SELECT 1").unwrap_err(), words);
    drop(connection);
    played.join().unwrap();
}

#[test]
fn answers_that_do_not_fit_are_refused() {
    let column = [&b"n\0"[..], &[0; 18]].concat();
    let one = message(b'T', &[&[0, 1], column.as_slice()].concat());
    let row = |cells: &[u8]| [one.clone(), message(b'D', cells), message(b'C', b"SELECT 1\0"), ready()].concat();
    let fields = "whose fields do not fit it";
    for (bytes, word) in [
        (row(&[255, 255, 0, 0, 0, 1, b'1']), fields),
        (row(&[0, 2, 0, 0, 0, 1, b'1', 255, 255, 255, 255]), fields),
        (row(&[0, 0]), fields),
        (row(&[0, 1, 127, 255, 255, 255]), fields),
        (row(&[0, 1, 255, 255, 255, 254]), fields),
        (row(&[0, 1, 0, 0, 0, 1, b'1', b'2']), fields),
        (message(b'T', &[255, 255]), fields),
        (message(b'T', &[0, 1, b'n']), fields),
        (message(b'D', &[0, 0]), fields),
        (message(b'C', b"SELECT 1"), fields),
        (message(b'Z', b""), fields),
        (message(b'E', b"C42601\0\0"), fields),
        (message(b'W', b""), "'W', which has no place here"),
        (message(b'\x1b', b""), "'\\u{1b}', which has no place here"),
        (b"D\xff\xff\xff\xff".to_vec(), "4294967295 bytes"),
        (b"D\x7f\xff\xff\xff".to_vec(), "2147483647 bytes"),
    ] {
        assert_answer_refused(&[word], move |client| {
            client.say(&bytes);
        });
    }
    for endless in [notice(), row(&[0, 1, 0, 0, 0, 1, b'1'])[..one.len() + 12].to_vec()] {
        assert_answer_refused(&["more than 16 MiB and no end"], move |client| {
            while client.say(&endless.repeat(100)) {}
        });
    }
}

#[test]
fn text_of_a_server_moves_no_terminal() {
    let hostile = "no\x1b]0;owned\x07\x1b[2J\r\n  do this\u{9b}31m\u{202e}";
    assert_answer_refused(
        &["42601: no\\u{1b}]0;owned\\u{7}", "\\r\\n  do this\\u{9b}31m"],
        move |client| {
            client.say(&[error(hostile), ready()].concat());
        },
    );
    let long = "x".repeat(1 << 19);
    assert_answer_refused(&["xxx..."], move |client| {
        client.say(&[error(&long), ready()].concat());
    });
    let text = error(hostile);
    assert_login_refused(CLEAR, &["42601: no\\u{1b}]0;owned\\u{7}"], after_startup(text));
    // The severity, and a code that is none.
    let body = b"S\x1b[1m\0V\x1b[2m\0C42601\0Mx\0\0";
    assert_answer_refused(&["\\u{1b}[2m 42601"], |client| {
        client.say(&[message(b'E', body), ready()].concat());
    });
    let body = b"SERROR\0C\x1b[1m\0Mx\0\0";
    assert_answer_refused(&["fields do not fit it"], |client| {
        client.say(&[message(b'E', body), ready()].concat());
    });
}

/// Reads up to the end of what the client asks.
fn asked(client: &mut Client) -> bool {
    loop {
        match client.next() {
            Some((b'S', _)) => return true,
            Some(_) => {}
            None => return false,
        }
    }
}

fn users() -> TerminalsSpec {
    TerminalsSpec {
        scale: Scale::reduced(1).unwrap(),
        home: Home::Fixed,
        load_seed: 7,
        run_seed: 9,
        isolation: Isolation::ReadCommitted,
        pauses: false,
        first: 0,
        sessions: 1,
        now_us: 0,
    }
}

const KEYS: ScatteredSpec = ScatteredSpec {
    rows: 100,
    work_unit: 8,
    update_pct: 0,
    sessions: 1,
};

#[test]
fn users_at_work_refuse_what_does_not_fit() {
    let row = |cells: &[u8]| [message(b'2', b""), message(b'D', cells), message(b'C', b"SELECT 1\0")].concat();
    for (bytes, words) in [
        (b"D\xff\xff\xff\xff".to_vec(), ["4294967295 bytes", "a transaction"]),
        (
            [row(&[255, 255]), ready()].concat(),
            ["a row where none belongs", "a transaction"],
        ),
        (
            [message(b'C', b"BEGIN\0"), row(&[255, 255]), ready()].concat(),
            ["with 65535 columns", "a transaction"],
        ),
        (
            [message(b'C', b"BEGIN\0"), row(&[0, 0]), ready()].concat(),
            ["with 0 columns", "a transaction"],
        ),
        (message(b'G', b""), ["a transaction", "the server answered"]),
        (ready(), ["to 0 of", "statements"]),
        (notice().repeat(300), ["more than 16 MiB and no end", "a transaction"]),
        (
            [error("no\x1b[2J"), ready()].concat(),
            ["42601: no\\u{1b}[2J", "see the server's log"],
        ),
    ] {
        let (port, played) = play(1, move |mut client| {
            client.let_in();
            asked(&mut client);
            client.say(&ready());
            asked(&mut client);
            client.say(&bytes);
            if bytes.len() > 1 && bytes[0] == b'G' {
                client.say(&ready());
            }
            client.until_gone();
        });
        let mut terminals = Terminals::connect(&address(port, CLEAR), &users()).unwrap();
        let mut done = Vec::new();
        terminals.start(0, &mut done).unwrap();
        assert_told(&terminals.advance(None, &mut done).unwrap_err(), &words);
        assert!(done.is_empty());
        drop(terminals);
        played.join().unwrap();
    }
}

/// The answer to a select of [`KEYS`].
fn keys_answered() -> Vec<u8> {
    let row = [&[0, 2, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0][..], &[8, 255, 255, 255, 255]].concat();
    let parts = [
        message(b'2', b""),
        message(b'D', &row),
        message(b'C', b"SELECT 1\0"),
        ready(),
    ];
    parts.concat()
}

/// Lets a session in and answers what it prepares with `first`; says `later` once the test tells it to.
fn stray(first: Vec<u8>, later: Vec<u8>, told: Receiver<()>) -> impl Fn(Client) + Send + 'static {
    move |mut client| {
        client.let_in();
        asked(&mut client);
        client.say(&first);
        let _ = told.recv();
        client.say(&later);
        client.until_gone();
    }
}

const STRAY: [&str; 1] = ["'Z', which has no place here"];

#[test]
fn an_answer_before_anything_is_asked_ends_no_operation() {
    // With the answer to what is prepared.
    let twice = || {
        let (tell, told) = channel();
        drop(tell);
        play(1, stray([ready(), ready()].concat(), Vec::new(), told))
    };
    let (port, played) = twice();
    assert_told(
        &Scattered::connect(&address(port, CLEAR), &KEYS, 1).err().unwrap(),
        &STRAY,
    );
    played.join().unwrap();
    let (port, played) = twice();
    assert_told(
        &Terminals::connect(&address(port, CLEAR), &users()).err().unwrap(),
        &STRAY,
    );
    played.join().unwrap();
    // When the session is there, after a notice, which may come at any time.
    let small = message(b'N', b"SNOTICE\0C00000\0Mx\0\0");
    for later in [ready(), [small, ready()].concat()] {
        let mut done = Vec::new();
        let (tell, told) = channel();
        let (port, played) = play(1, stray(ready(), later.clone(), told));
        let mut scattered = Scattered::connect(&address(port, CLEAR), &KEYS, 1).unwrap();
        tell.send(()).unwrap();
        assert_told(&scattered.advance(None, &mut done).unwrap_err(), &STRAY);
        drop(scattered);
        played.join().unwrap();
        let (tell, told) = channel();
        let (port, played) = play(1, stray(ready(), later, told));
        let mut terminals = Terminals::connect(&address(port, CLEAR), &users()).unwrap();
        tell.send(()).unwrap();
        assert_told(&terminals.advance(None, &mut done).unwrap_err(), &STRAY);
        drop(terminals);
        played.join().unwrap();
        assert!(done.is_empty());
    }
}

#[test]
fn an_answer_that_comes_twice_ends_one_operation() {
    let begins = "'2', which has no place here";
    // Both at once: the second would be taken for the answer to the next.
    let (port, played) = play(1, |mut client| {
        client.let_in();
        asked(&mut client);
        client.say(&ready());
        asked(&mut client);
        client.say(&keys_answered().repeat(2));
        client.until_gone();
    });
    let mut scattered = Scattered::connect(&address(port, CLEAR), &KEYS, 1).unwrap();
    let mut done = Vec::new();
    scattered.start(0, &mut done).unwrap();
    assert_told(&scattered.advance(None, &mut done).unwrap_err(), &[begins]);
    assert!(done.is_empty());
    drop(scattered);
    played.join().unwrap();
    // The second when the first has been taken.
    let (tell, told) = channel();
    let (port, played) = play(1, move |mut client| {
        client.let_in();
        asked(&mut client);
        client.say(&ready());
        asked(&mut client);
        client.say(&keys_answered());
        let _ = told.recv();
        client.say(&keys_answered());
        client.until_gone();
    });
    let mut scattered = Scattered::connect(&address(port, CLEAR), &KEYS, 1).unwrap();
    scattered.start(0, &mut done).unwrap();
    scattered.advance(None, &mut done).unwrap();
    assert_eq!((done.len(), done[0].units), (1, 8));
    tell.send(()).unwrap();
    assert_told(&scattered.advance(None, &mut done).unwrap_err(), &[begins]);
    assert_eq!(done.len(), 1);
    drop(scattered);
    played.join().unwrap();
    // A connection that waits for its answers.
    let (port, played) = play(1, |mut client| {
        client.let_in();
        client.next();
        client.say(&[message(b'C', b"CHECKPOINT\0"), ready()].concat().repeat(2));
        client.until_gone();
    });
    let mut connection = Connection::open(&address(port, CLEAR), &[]).unwrap();
    connection.run("CHECKPOINT").unwrap();
    let failed = connection.run("SELECT 1").unwrap_err();
    assert_told(&failed, &["a request", "'C', which has no place here"]);
    drop(connection);
    played.join().unwrap();
}

#[test]
fn a_load_that_is_refused_sends_nothing_more() {
    let (port, played) = play(1, |mut client| {
        client.let_in();
        client.next();
        client.say(&[message(b'C', b"CREATE TABLE\0"), ready()].concat());
        client.next();
        client.say(&[message(b'G', &[0, 0, 0]), error("no room"), ready()].concat());
        let said = client.next().map(|(tag, _)| tag);
        assert_ne!(said, Some(b'd'), "rows after the refusal");
    });
    let failed = load_scattered(&address(port, CLEAR), 1_000, 1, &AtomicBool::new(false)).unwrap_err();
    assert_told(&failed, &["load of scattered", "42601: no room"]);
    played.join().unwrap();
}

#[test]
fn scattered_work_and_loads_refuse_what_does_not_fit() {
    let numbers = [&[0, 2, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0][..], &[9, 255, 255, 255, 255]].concat();
    let cell = |row: &[u8]| [message(b'D', row), message(b'C', b"SELECT 1\0"), ready()].concat();
    for (bytes, word) in [
        (b"D\0\0\0\x03".to_vec(), "3 bytes"),
        (cell(&numbers), "Some(9) rows"),
        (cell(&numbers[..13]), "fields do not fit"),
        (cell(&[0, 1, 0, 0, 0, 0]), "fields do not fit"),
        (ready(), "None rows"),
    ] {
        let (port, played) = play(1, move |mut client| {
            client.let_in();
            asked(&mut client);
            client.say(&ready());
            asked(&mut client);
            client.say(&bytes);
            client.until_gone();
        });
        let mut scattered = Scattered::connect(&address(port, CLEAR), &KEYS, 1).unwrap();
        let mut done = Vec::new();
        scattered.start(0, &mut done).unwrap();
        assert_told(&scattered.advance(None, &mut done).unwrap_err(), &[word]);
        drop(scattered);
        played.join().unwrap();
    }
    for answer in [
        message(b'G', &[0, 0, 9]),
        message(b'H', &[0, 0, 0]),
        message(b'G', &[1, 0, 0]),
    ] {
        let (port, played) = play(1, move |mut client| {
            client.let_in();
            client.next();
            client.say(&[message(b'C', b"CREATE TABLE\0"), ready()].concat());
            client.next();
            client.say(&answer);
            client.until_gone();
        });
        let failed = load_scattered(&address(port, CLEAR), 10, 1, &AtomicBool::new(false)).unwrap_err();
        assert_told(&failed, &["COPY"]);
        played.join().unwrap();
    }
}
