//! The login: what a server may ask of us, in which order, and what we say to it.
//!
//! Takes messages and how they came, gives messages; it touches no socket. A password goes out as it is, or as MD5,
//! only where nobody can listen: through TLS or a socket of this host. What is heard of MD5 on a network can be tried
//! against billions of guesses a second, and it opens the door as the password does. Prevents: a password for who only
//! asks for it, and a server that lets us in before it has shown that it knows the password too.

use crate::postgres::error::shown;
use crate::postgres::login::encryption::ChannelBinding;
use crate::postgres::wire::messages::{Failure, Malformed, Message, word};
use crate::postgres::wire::requests;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{self, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256};

/// Rounds of SCRAM at most, each of which costs us as much as the server: twenty-four times PostgreSQL's usual, as in
/// its JDBC driver, and a tenth of a second.
const ROUNDS_MAX: u32 = 100_000;
/// Rounds at least where others listen (RFC 7677, section 4; PostgreSQL's usual): of fewer, what was heard is soon
/// guessed.
const ROUNDS_MIN_IN_CLEAR: u32 = 4096;

/// The way to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// A socket of this host.
    Local,
    /// The network, for everybody to read.
    Clear,
    /// TLS, and the hash of the server's certificate, where it has one.
    Tls(Option<Vec<u8>>),
}

enum Stage {
    Begun,
    /// The password, in clear or as MD5.
    Given,
    /// SCRAM has begun.
    Greeted(ScramSha256),
    /// We have proved that we know the password.
    Proved(ScramSha256),
    /// The server has, too.
    Agreed,
    /// We are in.
    In,
    /// We are in, and can cancel.
    Keyed,
}

/// What comes after a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another one.
    Wait,
    /// What was put out is to be sent.
    Send,
    /// Work.
    Ready,
}

/// Why there is no login.
#[derive(Debug)]
pub(crate) enum NoLogin {
    /// The server says so.
    Refused(Failure),
    /// We say so: what is wrong, and what to do.
    Ours(String, &'static str),
    /// It is not the protocol.
    Malformed(Malformed),
}

impl From<Malformed> for NoLogin {
    fn from(found: Malformed) -> Self {
        NoLogin::Malformed(found)
    }
}

/// A login under way.
pub(crate) struct Login<'a> {
    user: &'a str,
    password: Option<&'a str>,
    way: Way,
    binding: ChannelBinding,
    stage: Stage,
    /// Tied to the server's certificate.
    bound: bool,
}

const NO_PROOF: &str = "the server lets us in without having shown that it knows the password";
const NO_PROOF_CURE: &str = "somebody else may answer there: check the address, and use sslmode=verify-full";

impl<'a> Login<'a> {
    pub(crate) fn new(user: &'a str, password: Option<&'a str>, way: Way, binding: ChannelBinding) -> Self {
        Login {
            user,
            password,
            way,
            binding,
            stage: Stage::Begun,
            bound: false,
        }
    }

    /// Nothing was asked of us so far.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.stage, Stage::Begun)
    }

    /// Takes a message; what is to be said to it stands in `out`.
    pub(crate) fn take(&mut self, message: Message<'_>, out: &mut Vec<u8>) -> Result<Next, NoLogin> {
        match (message.tag, &self.stage) {
            (b'E', _) => return Err(NoLogin::Refused(message.failure()?)),
            (b'N', _) | (b'S', Stage::In | Stage::Keyed) => message.check()?,
            (b'K', Stage::In) => {
                message.check()?;
                self.stage = Stage::Keyed;
            }
            (b'R', Stage::In | Stage::Keyed) => return Err(Malformed::Kind { tag: b'R' }.into()),
            (b'R', _) => return self.authenticate(message.body, out),
            (b'Z', Stage::In | Stage::Keyed) => {
                message.check()?;
                return Ok(Next::Ready);
            }
            (tag, _) => return Err(Malformed::Kind { tag }.into()),
        }
        Ok(Next::Wait)
    }

    fn authenticate(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Next, NoLogin> {
        let malformed = NoLogin::Malformed(Malformed::Fields { tag: b'R' });
        let Some((method, rest)) = body.split_first_chunk::<4>() else {
            return Err(malformed);
        };
        let method = u32::from_be_bytes(*method);
        let stage = std::mem::replace(&mut self.stage, Stage::Given);
        match (method, stage) {
            (0, stage) if rest.is_empty() => return self.let_in(&stage),
            (3, Stage::Begun) if rest.is_empty() => {
                let password = self.password_itself("as it is")?;
                requests::message(out, Some(b'p'), |out| requests::text(out, password));
            }
            (5, Stage::Begun) if rest.len() == 4 => {
                let salt = rest.try_into().map_err(|_| malformed)?;
                let password = self.password_itself("as MD5")?;
                let hash = md5_hash(self.user.as_bytes(), password.as_bytes(), salt);
                requests::message(out, Some(b'p'), |out| requests::text(out, &hash));
            }
            (10, Stage::Begun) => {
                let state = self.greet(rest, out)?;
                self.stage = Stage::Greeted(state);
            }
            (11, Stage::Greeted(mut state)) => {
                self.check_rounds(rest)?;
                state.update(rest).map_err(scram_failed)?;
                requests::message(out, Some(b'p'), |out| out.extend_from_slice(state.message()));
                self.stage = Stage::Proved(state);
            }
            (12, Stage::Proved(mut state)) => {
                state.finish(rest).map_err(scram_failed)?;
                self.stage = Stage::Agreed;
                return Ok(Next::Wait);
            }
            (0 | 3 | 5 | 10..=12, _) => return Err(malformed),
            (method, _) => {
                let what =
                    format!("the server wants a way to log in that this client does not speak (number {method})");
                return Err(NoLogin::Ours(
                    what,
                    "use scram-sha-256 or cert in the server's pg_hba.conf",
                ));
            }
        }
        Ok(Next::Send)
    }

    fn let_in(&mut self, stage: &Stage) -> Result<Next, NoLogin> {
        let ours = |what: &str, cure| Err(NoLogin::Ours(what.to_owned(), cure));
        match stage {
            Stage::Greeted(_) | Stage::Proved(_) => return ours(NO_PROOF, NO_PROOF_CURE),
            _ if self.binding == ChannelBinding::Require && !self.bound => {
                let what = "the server lets us in without channel binding, which channel_binding=require asks for";
                return ours(what, "use scram-sha-256 in the server's pg_hba.conf");
            }
            _ => self.stage = Stage::In,
        }
        Ok(Next::Wait)
    }

    fn password(&self) -> Result<&'a str, NoLogin> {
        let none = || NoLogin::Ours("the server wants a password".to_owned(), "set PGPASSWORD");
        self.password.ok_or_else(none)
    }

    /// The password where it may go out by itself.
    fn password_itself(&self, how: &str) -> Result<&'a str, NoLogin> {
        if self.binding == ChannelBinding::Require {
            let what = format!("the server wants the password {how}, and channel_binding=require asks for SCRAM");
            return Err(NoLogin::Ours(what, "use scram-sha-256 in the server's pg_hba.conf"));
        }
        if self.way == Way::Clear {
            let what = format!("the server wants the password {how} over TCP without TLS, where others can read it");
            let cure = "write sslmode=verify-full in the url (ssl = on in the server), or use scram-sha-256 in its \
                pg_hba.conf";
            return Err(NoLogin::Ours(what, cure));
        }
        self.password()
    }

    /// Begins SCRAM with one of the ways that the server offers.
    fn greet(&mut self, mut names: &[u8], out: &mut Vec<u8>) -> Result<ScramSha256, NoLogin> {
        let mut offered = Vec::new();
        loop {
            match word(names).ok_or(Malformed::Fields { tag: b'R' })? {
                ([], []) => break,
                ([], _) => return Err(Malformed::Fields { tag: b'R' }.into()),
                (name, rest) => {
                    offered.push(name);
                    names = rest;
                }
            }
        }
        let offers = |name: &str| offered.contains(&name.as_bytes());
        let hash = match &self.way {
            Way::Tls(Some(hash)) if self.binding != ChannelBinding::Disable => Some(hash.clone()),
            _ => None,
        };
        if offers(SCRAM_SHA_256_PLUS) && !matches!(self.way, Way::Tls(_)) {
            let what = "the server offers a login that is tied to TLS, and there is none";
            return Err(NoLogin::Ours(what.to_owned(), NO_PROOF_CURE));
        }
        let (name, tied) = match hash {
            Some(hash) if offers(SCRAM_SHA_256_PLUS) => {
                self.bound = true;
                (SCRAM_SHA_256_PLUS, sasl::ChannelBinding::tls_server_end_point(hash))
            }
            _ if self.binding == ChannelBinding::Require => {
                let what =
                    "channel_binding=require, and the server does not offer it or its certificate has no hash for it";
                let cure = "use TLS, and a server's certificate signed with SHA-256 or longer (RSA, ECDSA)";
                return Err(NoLogin::Ours(what.to_owned(), cure));
            }
            // That we could: a server that offered it then knows that somebody took the offer away.
            Some(_) => (SCRAM_SHA_256, sasl::ChannelBinding::unrequested()),
            None => (SCRAM_SHA_256, sasl::ChannelBinding::unsupported()),
        };
        if !offers(name) {
            let all: Vec<_> = offered
                .iter()
                .map(|name| shown(&String::from_utf8_lossy(name)))
                .collect();
            let what = format!(
                "the server offers {} to log in, and not SCRAM-SHA-256",
                shown(&all.join(", "))
            );
            return Err(NoLogin::Ours(what, "use scram-sha-256 in the server's pg_hba.conf"));
        }
        let state = ScramSha256::new(self.password()?.as_bytes(), tied);
        requests::message(out, Some(b'p'), |out| {
            requests::text(out, name);
            out.extend_from_slice(&(state.message().len() as u32).to_be_bytes());
            out.extend_from_slice(state.message());
        });
        Ok(state)
    }

    /// Holds the number of rounds that the server asks for against what is safe, before any is made.
    fn check_rounds(&self, first: &[u8]) -> Result<(), NoLogin> {
        let mut parts = first.split(|b| *b == b',');
        let rounds = parts.find_map(|part| part.strip_prefix(b"i="));
        let rounds = rounds.and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<u64>().ok());
        let rounds = rounds.ok_or(Malformed::Fields { tag: b'R' })?;
        let least = match self.way {
            Way::Clear => ROUNDS_MIN_IN_CLEAR,
            Way::Local | Way::Tls(_) => 1,
        };
        if (u64::from(least)..=u64::from(ROUNDS_MAX)).contains(&rounds) {
            return Ok(());
        }
        let what = format!("the server asks for {rounds} rounds of SCRAM ({least} to {ROUNDS_MAX} are accepted)");
        let cure = "set scram_iterations there to 4096 or a little more, and the password anew";
        Err(NoLogin::Ours(what, cure))
    }
}

fn scram_failed(error: std::io::Error) -> NoLogin {
    let what = format!("SCRAM: {}", shown(&error.to_string()));
    NoLogin::Ours(what, "check the password; if it is right, somebody else answers there")
}
