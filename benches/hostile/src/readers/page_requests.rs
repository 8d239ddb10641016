//! Requests to the live page: what a browser, another program or a stranger sends to its port.
//!
//! An input is a head, cut where the dice say: the door hears it in two parts, as the network may bring it. Prevents: a
//! request without the token that is let in, and a decision that changes with where a head was cut.

use super::{Trial, Verdict};
use crate::{Dice, damage};
use std::net::IpAddr;
use watch::{Decision, Door, HEAD_BYTES_MAX, Refusal, Token};

struct Requests {
    door: Door,
    token: String,
}

pub(crate) fn make() -> anyhow::Result<Box<dyn Trial>> {
    let token = Token::draw()?;
    Ok(Box::new(Requests {
        token: token.as_str().into(),
        door: Door::new(token, IpAddr::from([127, 0, 0, 1])),
    }))
}

/// In its place stands the token of the run; so the same dice give the same input.
const TOKEN: &str = "@@token@@";

const WORDS: &[&str] = &[
    TOKEN,
    "GET",
    "POST",
    "HEAD",
    "/",
    "//",
    "/now",
    "?",
    "#",
    "%2e%2e",
    "..",
    " HTTP/1.1",
    " HTTP/1.0",
    "\r\n",
    "\n",
    "\r",
    "\0",
    "Host: ",
    "Host:",
    "localhost",
    "127.0.0.1",
    "[::1]",
    "evil.example",
    ":",
    "Content-Length: 1\r\n",
    "Transfer-Encoding: chunked\r\n",
    "http://",
    " ",
    "\t",
    "é",
];

impl Trial for Requests {
    fn input(&mut self, dice: &mut Dice) -> Vec<u8> {
        let path = *dice.pick(&["", "/", "/now", "/x"]);
        let host = *dice.pick(&["localhost:80", "127.0.0.1", "[::1]:9", "evil.example"]);
        let mut text = format!("GET /{TOKEN}{path} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\nCookie: a=b\r\n\r\n");
        if dice.below(8) > 0 {
            text = damage::text(&text, dice, WORDS);
        }
        if dice.below(20) == 0 {
            let long = "x".repeat(dice.below(2 * HEAD_BYTES_MAX));
            text = text.replacen('/', &format!("/{long}"), 1);
        }
        let cut = dice.below(text.len().max(1)) as u16;
        let mut input = cut.to_le_bytes().to_vec();
        input.extend_from_slice(text.as_bytes());
        if dice.below(6) == 0 {
            damage::bytes(&mut input, dice);
        }
        input
    }

    fn read(&mut self, input: &[u8]) -> Result<Verdict, String> {
        let Some((cut, text)) = input.split_at_checked(2) else {
            return Ok(Verdict::Refused);
        };
        let text = String::from_utf8_lossy(text).replace(TOKEN, &self.token);
        let cut = usize::from(u16::from_le_bytes([cut[0], cut[1]])).min(text.len());
        let (first, whole) = (
            self.door.decide(&text.as_bytes()[..cut]),
            self.door.decide(text.as_bytes()),
        );
        // A part of a head may be too little to judge, or as bad as the whole.
        // It never opens for a whole that does not.
        if matches!(first, Decision::Open(_)) && first != whole && !text.is_empty() {
            return Err(format!("a part opens ({first:?}), the whole does not ({whole:?})"));
        }
        match whole {
            Decision::Open(_) if !text.contains(&self.token) => Err("it opens without the token".into()),
            Decision::Open(_) => Ok(Verdict::Accepted),
            Decision::More if text.len() >= HEAD_BYTES_MAX => Err("a head without an end".into()),
            Decision::Refused(Refusal::OnlyGet) if !text.contains(&self.token) => {
                Err("a method is refused as such without the token".into())
            }
            Decision::More | Decision::Refused(_) => Ok(Verdict::Refused),
        }
    }
}
