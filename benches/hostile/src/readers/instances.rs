//! Lines between a run and the process of another instance, in both directions.

use super::{Trial, Verdict};
use crate::{Dice, damage};
use anyhow::Context;

const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "null",
    "true",
    "Open",
    "Work",
    "Settle",
    "Opened",
    "Worked",
    "Failed",
    "Alive",
    "18446744073709551615",
    "-1",
    "1e308",
    "255",
];

struct Lines {
    orders: Vec<String>,
    answers: Vec<String>,
}

pub(crate) fn make() -> anyhow::Result<Box<dyn Trial>> {
    let (orders, answers) = lab::instances_spoken().context("write lines")?;
    Ok(Box::new(Lines { orders, answers }))
}

impl Trial for Lines {
    fn input(&mut self, dice: &mut Dice) -> Vec<u8> {
        let is_order = dice.once_in(2);
        let good = dice.pick(if is_order { &self.orders } else { &self.answers }).clone();
        let mut line = good.trim_end().as_bytes().to_vec();
        match dice.below(8) {
            0 => {}
            1 => damage::bytes(&mut line, dice),
            2 => line = b"[".repeat(1 << dice.below(16)),
            _ => line = damage::text(&good, dice, WORDS).into_bytes(),
        }
        if !dice.once_in(20) {
            line.push(b'\n');
        }
        [&[u8::from(is_order)][..], &line].concat()
    }

    fn read(&mut self, input: &[u8]) -> Result<Verdict, String> {
        let (is_order, line) = input.split_first().ok_or("an empty input")?;
        Ok(match lab::instance_heard(line, *is_order == 1) {
            true => Verdict::Accepted,
            false => Verdict::Refused,
        })
    }
}
