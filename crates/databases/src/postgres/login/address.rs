//! Where a server is and who asks: from a url, or of a server of our own.
//!
//! Takes `postgres://USER:PASSWORD@HOST:PORT/DATABASE?host=/SOCKET/DIR&sslmode=verify-full`; gives an [`Address`].
//! Prevents: a password that reaches a message, a result or a debug print (it is in none of them), and a url that moves
//! a terminal's cursor.

use crate::postgres::error::{PostgresError, shown};
use crate::postgres::login::encryption::{Encryption, Said, Words};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Longest wait for a connection and its login together: what listens there may be no server at all.
const CONNECT_PATIENCE: Duration = Duration::from_secs(30);
/// As many seconds may be asked for.
const CONNECT_SECONDS: std::ops::RangeInclusive<u64> = 1..=3600;

/// The place of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A directory with its socket.
    Unix(PathBuf),
    /// A name or number on the network.
    Tcp(String),
}

/// A server, a database and a user.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// Where.
    pub host: Host,
    /// Port, also part of a socket's name.
    pub port: u16,
    /// User.
    pub user: String,
    /// Database.
    pub database: String,
    password: Option<String>,
    encryption: Arc<Encryption>,
    connect_patience: Duration,
    /// The log of a server of our own: quoted when a connection breaks.
    pub log: Option<PathBuf>,
}

impl Address {
    /// A server behind a socket that trusts who can reach it.
    pub fn unix(dir: impl Into<PathBuf>, user: &str, database: &str) -> Self {
        Address {
            host: Host::Unix(dir.into()),
            port: 5432,
            user: user.to_owned(),
            database: database.to_owned(),
            password: None,
            encryption: Arc::default(),
            connect_patience: CONNECT_PATIENCE,
            log: None,
        }
    }

    /// From a url alone.
    ///
    /// # Errors
    /// What is no such url, or promises a check that it does not make.
    pub fn parse(url: &str) -> Result<Self, PostgresError> {
        Address::parse_in(url, |_| None)
    }

    /// From a url, and what libpq's variables (`PGPASSWORD`, `PGSSLMODE`, ...) say where it says nothing.
    ///
    /// # Errors
    /// As [`Address::parse`].
    pub fn parse_in(url: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, PostgresError> {
        let mut address = Address::of_url(url)?;
        let query = url.split_once('?').map_or("", |(_, query)| query);
        let mut parameters = Parameters::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = plain(decoded(value)?)?;
            match name {
                "host" => address.host = place_of(value),
                name => match parameters.of(name) {
                    Some(place) => *place = Some((value, true)),
                    None => return Err(wrong(&format!("an unknown parameter ({})", shown(name)))),
                },
            }
        }
        let is_socket = matches!(address.host, Host::Unix(_));
        for (name, variable_name) in PARAMETERS {
            // As in libpq: what variables say of TLS does not concern a socket.
            if is_socket && name.starts_with("ssl") {
                continue;
            }
            if let (Some(place @ None), Some(value)) = (parameters.of(name), variable(variable_name)) {
                *place = Some((plain(value)?, false));
            }
        }
        if let Some((seconds, _)) = parameters.connect_timeout {
            let seconds = seconds.parse().ok().filter(|seconds| CONNECT_SECONDS.contains(seconds));
            let seconds = seconds.ok_or_else(|| wrong("a connect_timeout that is not 1 to 3600 seconds"))?;
            address.connect_patience = Duration::from_secs(seconds);
        }
        address.encryption = Arc::new(parameters.words.meaning()?);
        Ok(address.or_password(variable("PGPASSWORD")))
    }

    /// Without what stands behind the question mark.
    fn of_url(url: &str) -> Result<Self, PostgresError> {
        let rest = url
            .strip_prefix("postgres://")
            .or_else(|| url.strip_prefix("postgresql://"))
            .ok_or_else(|| wrong("no postgres:// at the beginning"))?;
        let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => match decoded(password)? {
                password if password.contains('\0') => return Err(wrong("a zero in the password")),
                password => (user, Some(password)),
            },
            None => (login, None),
        };
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                let port = port.parse().map_err(|_| wrong("a port that is no number"))?;
                (host, port)
            }
            _ => (place, 5432),
        };
        let host = plain(decoded(host.trim_start_matches('[').trim_end_matches(']'))?)?;
        let user = match plain(decoded(user)?)? {
            user if user.is_empty() => return Err(wrong("no user")),
            user => user,
        };
        let database = match plain(decoded(database)?)? {
            database if database.is_empty() => user.clone(),
            database => database,
        };
        Ok(Address {
            host: place_of(host),
            port,
            user,
            database,
            password,
            encryption: Arc::default(),
            connect_patience: CONNECT_PATIENCE,
            log: None,
        })
    }

    /// The same with a password from elsewhere, where it has none.
    fn or_password(mut self, password: Option<String>) -> Self {
        self.password = self.password.or(password);
        self
    }

    pub(crate) fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    pub(crate) fn encryption(&self) -> &Encryption {
        &self.encryption
    }

    pub(crate) fn connect_patience(&self) -> Duration {
        self.connect_patience
    }

    /// The socket, where it is one.
    pub fn socket(&self) -> Option<PathBuf> {
        match &self.host {
            Host::Unix(dir) => Some(dir.join(format!(".s.PGSQL.{}", self.port))),
            Host::Tcp(_) => None,
        }
    }
}

/// The parameters of a url, with the variables of libpq that say them for all urls.
pub const PARAMETERS: [(&str, &str); 6] = [
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
    ("channel_binding", "PGCHANNELBINDING"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
];

#[derive(Default)]
struct Parameters {
    words: Words,
    connect_timeout: Option<Said>,
}

impl Parameters {
    fn of(&mut self, name: &str) -> Option<&mut Option<Said>> {
        Some(match name {
            "sslmode" => &mut self.words.mode,
            "sslrootcert" => &mut self.words.roots,
            "sslcert" => &mut self.words.certificate,
            "sslkey" => &mut self.words.key,
            "channel_binding" => &mut self.words.binding,
            "connect_timeout" => &mut self.connect_timeout,
            _ => return None,
        })
    }
}

fn wrong(what: &str) -> PostgresError {
    PostgresError::Url { what: what.to_owned() }
}

/// Text that may be shown and sent: names of places are in messages.
fn plain(text: String) -> Result<String, PostgresError> {
    match shown(&text) == text {
        true => Ok(text),
        false => Err(wrong("a control character, or a value of more than a thousand signs")),
    }
}

fn place_of(host: String) -> Host {
    match host {
        host if host.starts_with('/') => Host::Unix(host.into()),
        host if host.is_empty() => Host::Tcp("localhost".to_owned()),
        host => Host::Tcp(host),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Unix(dir) => {
                let Address {
                    user, database, port, ..
                } = self;
                write!(f, "postgres://{user}@:{port}/{database}?host={}", dir.display())
            }
            Host::Tcp(host) => write!(f, "postgres://{}@{host}:{}/{}", self.user, self.port, self.database),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

/// With `%41` as `A`.
fn decoded(text: &str) -> Result<String, PostgresError> {
    let wrong = || PostgresError::Url {
        what: "a percent sign without two hexadecimal digits".to_owned(),
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = tail.get(..2).and_then(|d| std::str::from_utf8(d).ok());
        let byte = digits
            .filter(|d| !d.starts_with('+'))
            .and_then(|d| u8::from_str_radix(d, 16).ok());
        bytes.push(byte.ok_or_else(wrong)?);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::login::encryption::SslMode;

    #[test]
    fn urls_are_taken_apart_and_passwords_are_never_shown() {
        let a = Address::parse("postgres://joe:s%40cret:x@db.example:6000/shop?sslmode=disable").unwrap();
        assert_eq!((a.port, a.user.as_str(), a.database.as_str()), (6000, "joe", "shop"));
        assert_eq!(a.password(), Some("s@cret:x"));
        assert_eq!(a.host, Host::Tcp("db.example".to_owned()));
        assert_eq!(a.to_string(), "postgres://joe@db.example:6000/shop");
        assert!(!format!("{a:?} {a}").contains("cret"));
        let a = Address::parse("postgresql://joe@/?host=/run/postgresql").unwrap();
        assert_eq!(a.database, "joe");
        assert_eq!(a.socket().unwrap().to_str(), Some("/run/postgresql/.s.PGSQL.5432"));
        let a = Address::parse("postgres://joe@[::1]/x").unwrap();
        assert_eq!((a.host, a.port), (Host::Tcp("::1".to_owned()), 5432));
    }

    #[test]
    fn what_the_url_says_wins_over_the_environment() {
        let variables = |name: &str| match name {
            "PGPASSWORD" => Some("s3cret".to_owned()),
            "PGSSLMODE" => Some("verify-full".to_owned()),
            "PGSSLROOTCERT" => Some("/etc/ca.pem".to_owned()),
            "PGCONNECT_TIMEOUT" => Some("7".to_owned()),
            _ => None,
        };
        let a = Address::parse_in("postgres://joe@h/d", variables).unwrap();
        assert_eq!(
            (a.encryption().mode, a.password()),
            (SslMode::VerifyFull, Some("s3cret"))
        );
        assert_eq!(a.connect_patience(), Duration::from_secs(7));
        let a = Address::parse_in("postgres://joe:own@h/d?sslmode=require", variables).unwrap();
        assert_eq!((a.encryption().mode, a.password()), (SslMode::Require, Some("own")));
        assert!(a.encryption().roots.is_some(), "require checks what it can");
        let a = Address::parse("postgres://joe@h/d").unwrap();
        assert_eq!((a.encryption().mode, a.password()), (SslMode::Prefer, None));
        let alone = |name: &str| (name == "PGSSLMODE").then(|| "verify-full".to_owned());
        assert!(
            Address::parse_in("postgres://joe@h/d", alone).is_err(),
            "nothing to check with"
        );
        assert!(Address::parse_in("postgres://joe@/d?host=/run", alone).is_ok());
    }

    #[test]
    fn what_is_no_url_is_refused_without_showing_it() {
        for url in [
            "mysql://joe@h/d",
            "postgres://joe:secret@h:port/d",
            "postgres://:secret@h/d",
            "postgres://joe:secret%4@h/d",
            "postgres://joe:secret@h/d?sslmode=verify-full",
            "postgres://joe:secret@h/d?sslmode=on",
            "postgres://joe:secret@h/d?sslcert=/a.pem",
            "postgres://joe:secret@h/d?connect_timeout=0",
            "postgres://joe:secret@h/d?\u{1b}[2J=1",
            "postgres://joe%00x:secret@h/d",
            "postgres://joe:secret%00@h/d",
            "postgres://joe:secret@h%1b]0;x%07/d",
            "postgres://joe:secret@h/d?host=/run%0a",
            "postgres://joe:secret@h/d?colour=red",
        ] {
            let error = Address::parse(url).unwrap_err().to_string();
            assert!(
                !error.contains("secret") && !error.contains('\u{1b}') && error.contains("\n  write postgres://"),
                "{error}"
            );
        }
    }
}
