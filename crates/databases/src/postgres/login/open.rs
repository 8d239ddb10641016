//! The way into a server: which kinds of stream are tried, and the login on one.
//!
//! Takes an [`Address`], gives a [`Connection`] that has logged in. `allow` and `prefer` try the other kind where libpq
//! does: the server refuses this one before it asks for anything, or TLS fails. Prevents: a wait for ever on what
//! listens there (one deadline holds for everything up to the end of the login).

use crate::postgres::connection::{Connection, broken_at_login, refused};
use crate::postgres::error::{PostgresError, shown};
use crate::postgres::login::address::{Address, Host};
use crate::postgres::login::encryption::SslMode;
use crate::postgres::login::exchange::{Login, Next, NoLogin, Way};
use crate::postgres::login::stream::{self, Offer, Stream};
use crate::postgres::login::tls::{self, TlsStream};
use crate::postgres::wire::requests;
use rustls::pki_types::ServerName;
use std::io::{Error, ErrorKind};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// How one try goes about encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Plain,
    TlsWhereOffered,
    Tls,
}

/// A try that failed.
struct Failed {
    error: PostgresError,
    /// The other kind of stream may do better.
    otherwise: bool,
}

impl From<PostgresError> for Failed {
    fn from(error: PostgresError) -> Self {
        let otherwise = false;
        Failed { error, otherwise }
    }
}

impl Connection {
    /// Connects and logs in. `options`: settings of this session.
    ///
    /// # Errors
    /// No server there, one that is not ready or does not let us in, one that is not what the url asks for, or who only
    /// plays one.
    pub fn open(address: &Address, options: &[(&str, &str)]) -> Result<Self, PostgresError> {
        let (first, second) = match (&address.host, address.encryption().mode) {
            (Host::Unix(_), _) | (_, SslMode::Disable) => (Wish::Plain, None),
            (_, SslMode::Allow) => (Wish::Plain, Some(Wish::Tls)),
            (_, SslMode::Prefer) => (Wish::TlsWhereOffered, Some(Wish::Plain)),
            _ => (Wish::Tls, None),
        };
        let failed = match attempt(address, options, first) {
            Ok(connection) => return Ok(connection),
            Err(failed) => failed,
        };
        match second.filter(|_| failed.otherwise) {
            Some(second) => attempt(address, options, second).map_err(|again| both(failed.error, again.error)),
            None => Err(failed.error),
        }
    }
}

/// The error for two tries: the one that got further, or both.
fn both(first: PostgresError, second: PostgresError) -> PostgresError {
    match (&first, second) {
        (_, PostgresError::Refused { code, .. }) if code == "28000" => first,
        (_, PostgresError::Gone { address, what, cure }) => {
            let first = first.to_string();
            let first = first.lines().next().unwrap_or_default();
            let what = format!("{what} (tried after this failed: {first})");
            PostgresError::Gone { address, what, cure }
        }
        (_, second) => second,
    }
}

fn gone(address: &Address, what: String, cure: &str) -> PostgresError {
    PostgresError::Gone {
        address: address.to_string(),
        what,
        cure: cure.to_owned(),
    }
}

fn attempt(address: &Address, options: &[(&str, &str)], wish: Wish) -> Result<Connection, Failed> {
    let deadline = Instant::now() + address.connect_patience();
    let (stream, way) = reach(address, wish, deadline)?;
    let other_is_allowed = match (address.encryption().mode, &way) {
        (SslMode::Allow, Way::Clear) => true,
        (SslMode::Prefer, Way::Tls(_)) => true,
        (_, _) => false,
    };
    let mut connection = Connection::begin(stream, address, deadline);
    connection.log_in(options, way, other_is_allowed)?;
    connection.logged_in().map_err(|e| not_reached(address, &e))?;
    Ok(connection)
}

fn not_reached(address: &Address, error: &Error) -> PostgresError {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => {
            let what = format!("no answer within {} s", address.connect_patience().as_secs());
            gone(
                address,
                what,
                "is the server up, and is this its address? connect_timeout=SECONDS in the url waits longer",
            )
        }
        _ => {
            let what = format!("can't connect: {error}");
            gone(address, what, "is the server up, and is this its address?")
        }
    }
}

fn reach(address: &Address, wish: Wish, deadline: Instant) -> Result<(Stream, Way), Failed> {
    let failed = |e: Error| Failed::from(not_reached(address, &e));
    let host = match &address.host {
        Host::Unix(_) => {
            let socket = address.socket().unwrap_or_default();
            if socket.as_os_str().len() > crate::postgres::server::cluster::SOCKET_BYTES_MAX {
                return Err(PostgresError::SocketPath { path: socket }.into());
            }
            return Ok((Stream::Unix(UnixStream::connect(socket).map_err(failed)?), Way::Local));
        }
        Host::Tcp(host) => host,
    };
    // Before anything is said to anybody.
    if wish != Wish::Plain {
        tls::config(address.encryption())?;
    }
    let mut socket = stream::connect_tcp(host, address.port, deadline).map_err(failed)?;
    if wish == Wish::Plain {
        return Ok((Stream::Tcp(socket), Way::Clear));
    }
    let offer = stream::ask_for_tls(&mut socket, deadline).map_err(|e| broken_at_login(address, &e))?;
    match offer {
        Offer::Tls => seal(address, host, socket, deadline),
        Offer::Plain if wish == Wish::TlsWhereOffered => Ok((Stream::Tcp(socket), Way::Clear)),
        Offer::Plain => {
            let cure = "set ssl = on in the server, or write sslmode=disable where nobody else can listen";
            Err(gone(address, "the server has no TLS".to_owned(), cure).into())
        }
        Offer::Injected => {
            let what = "more than an answer came when the server was asked for TLS: somebody else may have sent it";
            Err(gone(
                address,
                what.to_owned(),
                "look at what lies between this host and the server",
            )
            .into())
        }
        // An error, perhaps; nobody vouches for its text.
        Offer::Other(byte) => {
            let what = format!("asked for TLS, the server answers {:?}", char::from(byte));
            Err(gone(
                address,
                what,
                "is it PostgreSQL that listens there? if it is, see its log",
            )
            .into())
        }
    }
}

fn seal(address: &Address, host: &str, socket: TcpStream, deadline: Instant) -> Result<(Stream, Way), Failed> {
    // A name goes to the server in the clear (SNI), an address does not.
    let name = ServerName::try_from(host.to_owned()).map_err(|_| Failed {
        error: gone(
            address,
            "no certificate can name this host".to_owned(),
            "write a host name or an IP address",
        ),
        otherwise: true,
    })?;
    let config = tls::config(address.encryption())?;
    let begun = TlsStream::begin(config, name, socket, |socket| stream::tcp_until(socket, deadline));
    let stream = begun.map_err(|e| match e.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => not_reached(address, &e).into(),
        _ => {
            let cure = tls::cure_of(&e).unwrap_or("is it PostgreSQL that listens there? if it is, see its log");
            Failed {
                error: gone(address, format!("TLS: {}", shown(&e.to_string())), cure),
                otherwise: true,
            }
        }
    })?;
    let way = Way::Tls(stream.end_point());
    Ok((Stream::Tls(Box::new(stream)), way))
}

impl Connection {
    fn log_in(&mut self, options: &[(&str, &str)], way: Way, other_is_allowed: bool) -> Result<(), Failed> {
        let address = self.address().clone();
        let mut parameters = vec![
            ("user", address.user.as_str()),
            ("database", address.database.as_str()),
            ("client_encoding", "UTF8"),
            // Answers are compared by their text, whatever the role or the database has set.
            ("DateStyle", "ISO"),
            ("application_name", "assay"),
        ];
        parameters.extend_from_slice(options);
        requests::startup(self.out(), &parameters);
        self.send()?;
        let mut login = Login::new(&address.user, address.password(), way, address.encryption().binding);
        loop {
            let came = self.receive()?;
            match login.take(came.message(), self.out()) {
                Ok(Next::Wait) => {}
                Ok(Next::Send) => self.send()?,
                Ok(Next::Ready) => return Ok(()),
                Err(NoLogin::Refused(failure)) => {
                    // The rules of the server name the kinds of streams that they are for.
                    let otherwise = other_is_allowed && login.is_new() && failure.code == "28000";
                    let error = refused(&address, &format!("log in at {address}"), failure);
                    return Err(Failed { error, otherwise });
                }
                Err(NoLogin::Ours(what, cure)) => return Err(gone(&address, what, cure).into()),
                Err(NoLogin::Malformed(found)) => return Err(self.broken(&found.to_string()).into()),
            }
        }
    }
}
