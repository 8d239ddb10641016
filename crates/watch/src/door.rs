//! Who is let in: a request's head against the token, the host name and the method.
//!
//! Takes the bytes that came so far, gives a [`Decision`]; it makes nothing and reads nothing else. Prevents: an answer
//! for a site that a browser was led to by a name of its own (DNS rebinding), and a head without an end.

use crate::answer::Refusal;
use crate::token::Token;
use std::net::IpAddr;

/// Longest head of a request, in bytes.
pub const HEAD_BYTES_MAX: usize = 8 << 10;
/// Most headers of a request.
const HEADERS_MAX: usize = 64;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The whole page.
    Page,
    /// How far the study is now: the part of the page that changes most.
    Now,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Its head has not ended.
    More,
    /// It is let in.
    Open(Asked),
    /// It is not.
    Refused(Refusal),
}

/// Knows the token, and by which names the page is reached.
pub struct Door {
    token: Token,
    listens_on: IpAddr,
}

impl Door {
    /// For a server that listens on this address.
    pub fn new(token: Token, listens_on: IpAddr) -> Door {
        Door { token, listens_on }
    }

    /// The token.
    pub fn token(&self) -> &Token {
        &self.token
    }

    /// Decides on what came so far.
    pub fn decide(&self, head: &[u8]) -> Decision {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        let refused = match request.parse(&head[..head.len().min(HEAD_BYTES_MAX)]) {
            Ok(httparse::Status::Complete(_)) => match self.judge(&request) {
                Ok(asked) => return Decision::Open(asked),
                Err(refusal) => refusal,
            },
            Ok(httparse::Status::Partial) if head.len() < HEAD_BYTES_MAX => return Decision::More,
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => Refusal::TooLarge,
            Err(_) => Refusal::Malformed,
        };
        Decision::Refused(refused)
    }

    fn judge(&self, request: &httparse::Request<'_, '_>) -> Result<Asked, Refusal> {
        let path = request.path.and_then(|path| path.strip_prefix('/'));
        let (token, rest) = path.map_or(("", ""), |path| path.split_once('/').unwrap_or((path, "")));
        if !self.token.is(token) || !self.is_asked_by_name(request.headers) {
            return Err(Refusal::NotFound);
        }
        if request.method != Some("GET") {
            return Err(Refusal::OnlyGet);
        }
        let has_body = |header: &httparse::Header<'_>| {
            let name = header.name;
            name.eq_ignore_ascii_case("transfer-encoding")
                || (name.eq_ignore_ascii_case("content-length") && header.value != b"0")
        };
        if request.headers.iter().any(has_body) {
            return Err(Refusal::Malformed);
        }
        match rest {
            "" => Ok(Asked::Page),
            "now" => Ok(Asked::Now),
            _ => Err(Refusal::NotFound),
        }
    }

    /// One header `Host`, which names this host: by the address that it listens on, or by one of loopback. The port may
    /// be another, as at the end of a tunnel.
    fn is_asked_by_name(&self, headers: &[httparse::Header<'_>]) -> bool {
        let mut hosts = headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return false;
        };
        let Some(name) = std::str::from_utf8(host.value).ok().and_then(name_of) else {
            return false;
        };
        match name.parse::<IpAddr>() {
            // A number is nobody's name. Where all addresses are listened on, any of them may have been asked.
            Ok(address) => address.is_loopback() || address == self.listens_on || self.listens_on.is_unspecified(),
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        }
    }
}

/// The name in `NAME`, `NAME:PORT` or `[ADDRESS]:PORT`.
fn name_of(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let (name, rest) = rest.split_once(']')?;
            (name, rest.strip_prefix(':').or(rest.is_empty().then_some("0"))?)
        }
        None => host.split_once(':').unwrap_or((host, "0")),
    };
    port.parse::<u16>().ok().map(|_| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn door() -> Door {
        Door::new(Token::of([0x5a; 16]), IpAddr::V4(Ipv4Addr::new(127, 0, 0, 1)))
    }

    fn decided(path: &str, more: &str) -> Decision {
        let path = path.replace("TOKEN", &"5a".repeat(16));
        door().decide(format!("GET {path} HTTP/1.1\r\n{more}\r\n\r\n").as_bytes())
    }

    const HOST: &str = "Host: 127.0.0.1:4000";

    #[test]
    fn the_token_opens() {
        assert_eq!(decided("/TOKEN", HOST), Decision::Open(Asked::Page));
        assert_eq!(decided("/TOKEN/", HOST), Decision::Open(Asked::Page));
        assert_eq!(decided("/TOKEN/now", HOST), Decision::Open(Asked::Now));
    }

    #[test]
    fn nothing_else_opens() {
        let not_found = Decision::Refused(Refusal::NotFound);
        let almost = format!("/{}5b", "5a".repeat(15));
        for path in [
            "/",
            "//TOKEN",
            "/TOKEN/x",
            "/TOKEN/now/",
            "/TOKENa",
            "/x/TOKEN",
            "*",
            "TOKEN",
            &almost,
        ] {
            assert_eq!(decided(path, HOST), not_found, "{path}");
        }
        assert_eq!(decided("/TOKEN?x=1", HOST), not_found);
        let upper = format!("/{}", "5A".repeat(16));
        assert_eq!(decided(&upper, HOST), not_found);
    }

    #[test]
    fn a_name_that_is_not_ours_is_not_answered() {
        for host in [
            "localhost",
            "localhost:8080",
            "LocalHost:1",
            "127.0.0.1",
            "[::1]:99",
            "127.9.9.9:1",
        ] {
            let host = format!("Host: {host}");
            assert_eq!(decided("/TOKEN", &host), Decision::Open(Asked::Page), "{host}");
        }
        let strange = [
            "Host: evil.example",
            "Host: 127.0.0.1.evil.example",
            "Host: 192.0.2.1:4000",
            "Host: localhost:x",
            "Host: [::1",
            "Host: [::1]x",
            "Host: 127.0.0.1:99999",
            "Host: ",
            "X: y",
            "Host: localhost\r\nHost: localhost",
        ];
        for host in strange {
            assert_eq!(decided("/TOKEN", host), Decision::Refused(Refusal::NotFound), "{host}");
        }
        let open = Door::new(Token::of([0x5a; 16]), IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let asked =
            |host: &str| open.decide(format!("GET /{} HTTP/1.1\r\nHost: {host}\r\n\r\n", "5a".repeat(16)).as_bytes());
        assert_eq!(asked("192.0.2.1:4000"), Decision::Open(Asked::Page));
        assert_eq!(asked("evil.example"), Decision::Refused(Refusal::NotFound));
    }

    #[test]
    fn only_get_and_only_a_head() {
        let with = |method: &str, more: &str| {
            let token = "5a".repeat(16);
            door().decide(format!("{method} /{token} HTTP/1.1\r\n{HOST}\r\n{more}\r\n").as_bytes())
        };
        for method in ["POST", "HEAD", "PUT", "OPTIONS", "get"] {
            assert_eq!(with(method, ""), Decision::Refused(Refusal::OnlyGet), "{method}");
        }
        assert_eq!(
            with("GET", "Content-Length: 5\r\n"),
            Decision::Refused(Refusal::Malformed)
        );
        assert_eq!(
            with("GET", "Transfer-Encoding: chunked\r\n"),
            Decision::Refused(Refusal::Malformed)
        );
        // Without the token a method says nothing of the page either.
        let strange = door().decide(b"POST /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_eq!(strange, Decision::Refused(Refusal::NotFound));
    }

    #[test]
    fn a_head_has_an_end() {
        assert_eq!(door().decide(b"GET / HTTP/1.1\r\nHost: x"), Decision::More);
        assert_eq!(door().decide(b""), Decision::More);
        let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(HEAD_BYTES_MAX));
        assert_eq!(door().decide(long.as_bytes()), Decision::Refused(Refusal::TooLarge));
        let many = format!("GET / HTTP/1.1\r\n{}", "A: b\r\n".repeat(HEADERS_MAX + 1));
        assert_eq!(door().decide(many.as_bytes()), Decision::Refused(Refusal::TooLarge));
        assert_eq!(
            door().decide(b"\x16\x03\x01\x02"),
            Decision::Refused(Refusal::Malformed)
        );
    }
}
