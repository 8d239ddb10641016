//! Where a server is and who asks: from a url, or of a server of our own.
//!
//! Takes `postgres://USER:PASSWORD@HOST:PORT/DATABASE?host=/SOCKET/DIR`; gives an [`Address`]. Prevents: a password that
//! reaches a message, a result or a debug print (it is in none of them).

use super::error::PostgresError;
use std::fmt;
use std::path::PathBuf;

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
            log: None,
        }
    }

    /// From a url.
    ///
    /// # Errors
    /// What is no such url, or asks for encryption, which this client does not speak.
    pub fn parse(url: &str) -> Result<Self, PostgresError> {
        let wrong = |what: &str| PostgresError::Url { what: what.to_owned() };
        let rest = url
            .strip_prefix("postgres://")
            .or_else(|| url.strip_prefix("postgresql://"))
            .ok_or_else(|| wrong("no postgres:// at the beginning"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(decoded(password)?)),
            None => (login, None),
        };
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                let port = port.parse().map_err(|_| wrong("a port that is no number"))?;
                (host, port)
            }
            _ => (place, 5432),
        };
        let host = decoded(host.trim_start_matches('[').trim_end_matches(']'))?;
        let user = match decoded(user)? {
            user if user.is_empty() => return Err(wrong("no user")),
            user => user,
        };
        let database = match decoded(database)? {
            database if database.is_empty() => user.clone(),
            database => database,
        };
        let mut address = Address {
            host: place_of(host),
            port,
            user,
            database,
            password,
            log: None,
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match (name, decoded(value)?) {
                ("host", dir) => address.host = place_of(dir),
                ("sslmode", mode) if matches!(mode.as_str(), "disable" | "allow" | "prefer") => {}
                ("sslmode", _) => return Err(wrong("encryption (sslmode), which this client does not speak,")),
                (name, _) => return Err(wrong(&format!("unknown parameter {name}"))),
            }
        }
        Ok(address)
    }

    /// The same with a password from elsewhere, where it has none.
    #[must_use]
    pub fn or_password(mut self, password: Option<String>) -> Self {
        self.password = self.password.or(password);
        self
    }

    pub(super) fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// The socket, where it is one.
    pub fn socket(&self) -> Option<PathBuf> {
        match &self.host {
            Host::Unix(dir) => Some(dir.join(format!(".s.PGSQL.{}", self.port))),
            Host::Tcp(_) => None,
        }
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
    fn what_is_no_url_is_refused_without_showing_it() {
        for url in [
            "mysql://joe@h/d",
            "postgres://joe:secret@h:port/d",
            "postgres://:secret@h/d",
            "postgres://joe:secret%4@h/d",
            "postgres://joe:secret@h/d?sslmode=require",
            "postgres://joe:secret@h/d?colour=red",
        ] {
            let error = Address::parse(url).unwrap_err().to_string();
            assert!(
                !error.contains("secret") && error.contains("\n  write postgres://"),
                "{error}"
            );
        }
    }
}
