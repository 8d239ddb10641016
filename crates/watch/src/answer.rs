//! An answer as it is sent: status, headers, body.
//!
//! Prevents: a page that a browser keeps, frames, or takes for another kind of file, and a refusal that says more than
//! its number.

/// What [`Site`](crate::Site) gives for a request that was let in.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Value of the header `Content-Security-Policy`; printable ASCII.
    pub policy: String,
    /// A page of HTML, or a part of one.
    pub body: String,
}

/// Of every answer: nothing is kept, nothing is sent on, nothing is guessed, and the connection ends.
const ALWAYS: &str = "Connection: close\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\
                      X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
                      Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n";

impl Answer {
    /// The head as it is sent.
    pub(crate) fn head(&self) -> String {
        // Whoever makes the policy makes it of hashes; a line end in it would be a header of its own.
        let policy: String = self.policy.chars().filter(|c| (' '..='~').contains(c)).collect();
        format!(
            "HTTP/1.1 200 OK\r\n{ALWAYS}Content-Type: text/html; charset=utf-8\r\nContent-Security-Policy: {policy}\r\n\
             Content-Length: {}\r\n\r\n",
            self.body.len()
        )
    }
}

/// Why a request is refused. Its answer has no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is no request of HTTP/1.
    Malformed,
    /// Wrong token, wrong host, or no such page: they look alike from outside.
    NotFound,
    /// Another method than GET, with the right token.
    OnlyGet,
    /// It did not end in time.
    TooSlow,
    /// Its head is too long.
    TooLarge,
}

impl Refusal {
    /// The whole answer.
    pub(crate) fn text(self) -> String {
        let (status, more) = match self {
            Refusal::Malformed => ("400 Bad Request", ""),
            Refusal::NotFound => ("404 Not Found", ""),
            Refusal::OnlyGet => ("405 Method Not Allowed", "Allow: GET\r\n"),
            Refusal::TooSlow => ("408 Request Timeout", ""),
            Refusal::TooLarge => ("431 Request Header Fields Too Large", ""),
        };
        format!("HTTP/1.1 {status}\r\n{ALWAYS}{more}Content-Length: 0\r\n\r\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_cannot_begin_a_header() {
        let answer = Answer {
            policy: "default-src 'none'\r\nSet-Cookie: a=b".into(),
            body: "ä".into(),
        };
        let head = answer.head();
        assert!(
            !head.contains("\r\nSet-Cookie") && head.contains("Content-Length: 2\r\n"),
            "{head}"
        );
    }

    #[test]
    fn a_refusal_says_its_number_alone() {
        let text = Refusal::NotFound.text();
        assert!(
            text.ends_with("Content-Length: 0\r\n\r\n") && !text.to_lowercase().contains("assay"),
            "{text}"
        );
    }
}
