//! Messages of the control socket of OpenZFS's process, in both directions.

use super::{Trial, Verdict};
use crate::{Dice, damage};
use anyhow::Context;
use std::io::Write;
use std::os::unix::net::UnixStream;

const WORDS: &[&str] = &[
    "{", "}", "[", "]", "\"", ":", ",", "null", "true", "Start", "Create", "OpenPort", "Extents", "Counted", "Refused",
    "files",
];

struct Messages {
    asked: Vec<Vec<u8>>,
    answered: Vec<Vec<u8>>,
}

pub(crate) fn make() -> anyhow::Result<Box<dyn Trial>> {
    let (asked, answered) = zpool::spoken().context("write messages")?;
    Ok(Box::new(Messages { asked, answered }))
}

impl Trial for Messages {
    fn input(&mut self, dice: &mut Dice) -> Vec<u8> {
        let question = dice.once_in(2);
        let good = dice.pick(if question { &self.asked } else { &self.answered }).clone();
        let mut body = good[4..].to_vec();
        match dice.below(8) {
            0 => {}
            1 => damage::bytes(&mut body, dice),
            2 => body.extend(b"[".repeat(1 << dice.below(16))),
            _ => body = damage::text(&String::from_utf8_lossy(&body), dice, WORDS).into_bytes(),
        }
        let mut length = (body.len() as u32).to_le_bytes().to_vec();
        if dice.once_in(6) {
            damage::number(&mut length, dice, 0);
        }
        [&[u8::from(question)][..], &length, &body].concat()
    }

    fn read(&mut self, input: &[u8]) -> Result<Verdict, String> {
        let (question, message) = input.split_first().ok_or("an empty input")?;
        let (mut theirs, ours) = UnixStream::pair().map_err(|error| error.to_string())?;
        let sent = message.to_vec();
        let other = std::thread::spawn(move || drop(theirs.write_all(&sent)));
        let heard = zpool::heard(&ours, *question == 1);
        drop(ours);
        let _ = other.join();
        Ok(if heard { Verdict::Accepted } else { Verdict::Refused })
    }
}
