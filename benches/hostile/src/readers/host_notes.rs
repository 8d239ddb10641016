//! What a rank hears from another host: notes, messages in pieces, stamps of a clock, facts.

use super::{Trial, Verdict};
use crate::{Dice, damage};
use anyhow::Context;
use hosts::{Assembly, Cause, Exchange, HostFacts, MESSAGE_MAX, Note, Offset, Piece, Reading, Window};

const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "null",
    "host",
    "kernel",
    "cores",
    "binary",
    "boot",
    "process",
    "-1",
    "4294967296",
    "\\u001b[2J",
];
/// Bytes of a piece here.
const PIECE: usize = 700;

struct Notes {
    facts: String,
}

pub(crate) fn make() -> anyhow::Result<Box<dyn Trial>> {
    let here = HostFacts::here().context("facts of this host")?;
    let facts = String::from_utf8(here.bytes()).context("facts as text")?;
    Ok(Box::new(Notes { facts }))
}

/// Notes as a rank sends them.
fn spoken(facts: &str, dice: &mut Dice) -> Vec<Vec<u8>> {
    let message = facts.repeat(dice.below(4));
    let chunks: Vec<&[u8]> = match message.is_empty() {
        true => vec![b""],
        false => message.as_bytes().chunks(PIECE).collect(),
    };
    let piece = |(nth, bytes): (usize, &&[u8])| {
        let piece = Piece {
            number: 0,
            total: message.len() as u64,
            at: (nth * PIECE) as u64,
            bytes,
        };
        Note::Piece(piece).bytes()
    };
    let mut notes: Vec<Vec<u8>> = chunks.iter().enumerate().map(piece).collect();
    let answered = Note::Answered {
        number: 7,
        received: 1_000_000_000,
        answered: 1_000_050_000,
    };
    for note in [
        Note::Beat,
        Note::Asked(7),
        answered,
        Note::Ending(Cause::Silent { rank: 1, seconds: 5 }),
        Note::Closed,
        Note::Done,
    ] {
        notes.push(note.bytes());
    }
    notes
}

impl Trial for Notes {
    fn input(&mut self, dice: &mut Dice) -> Vec<u8> {
        if dice.once_in(3) {
            let facts = if dice.once_in(8) {
                self.facts.clone()
            } else {
                damage::text(&self.facts, dice, WORDS)
            };
            return [b"f", facts.as_bytes()].concat();
        }
        let mut notes = spoken(&self.facts, dice);
        if !dice.once_in(8) {
            for _ in 0..dice.few() {
                let nth = dice.below(notes.len());
                match dice.below(4) {
                    0 => drop(notes.remove(nth)),
                    1 => notes.push(notes[nth].clone()),
                    2 => damage::number(&mut notes[nth], dice, 5),
                    _ => damage::bytes(&mut notes[nth], dice),
                }
                if notes.is_empty() {
                    break;
                }
            }
        }
        let framed = notes.iter().flat_map(|note| {
            let length = (note.len() as u32).to_le_bytes();
            [&length[..], note].concat()
        });
        [b'n'].into_iter().chain(framed).collect()
    }

    fn read(&mut self, input: &[u8]) -> Result<Verdict, String> {
        let (kind, mut rest) = input.split_first().ok_or("an empty input")?;
        if *kind == b'f' {
            return Ok(match HostFacts::read(rest) {
                Ok(facts) if facts.host.contains('\u{1b}') => return Err("a name that acts on a terminal".into()),
                Ok(_) => Verdict::Accepted,
                Err(_) => Verdict::Refused,
            });
        }
        let mut assembly = Assembly::new(MESSAGE_MAX);
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let length = after.len().min(u32::from_le_bytes(*length) as usize);
            let (note, after) = after.split_at(length);
            rest = after;
            let Ok(note) = Note::read(note) else {
                return Ok(Verdict::Refused);
            };
            if !taken(&note, &mut assembly)? {
                return Ok(Verdict::Refused);
            }
        }
        Ok(Verdict::Accepted)
    }
}

/// Whether a note is used.
fn taken(note: &Note<'_>, assembly: &mut Assembly) -> Result<bool, String> {
    match note {
        Note::Piece(piece) => match assembly.take(piece) {
            Ok(Some(message)) if message.len() as u64 != piece.total => Err("a message of another length".into()),
            taken => Ok(taken.is_ok()),
        },
        Note::Answered { received, answered, .. } => {
            let exchange = Exchange {
                asked: 500_000_000,
                received: *received,
                answered: *answered,
                heard: 500_100_000,
            };
            Ok(exchange.reading().is_some_and(|reading| is_used(&reading)))
        }
        _ => Ok(true),
    }
}

/// As rank 0 does it with the clock of another host.
fn is_used(reading: &Reading) -> bool {
    let offset: Offset = Reading::over_phase(reading, reading).offset;
    let began = offset.theirs(500_000_000);
    began.is_none_or(|began| Window { began, ended: began }.ours(&offset).is_some())
}
