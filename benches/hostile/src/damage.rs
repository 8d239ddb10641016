//! Damage to bytes and to text, as it happens and as somebody would do it on purpose.
//!
//! Takes what is good, gives what is not. Prevents: inputs that are all refused at the first byte.

use crate::Dice;

/// Numbers at which arithmetic breaks.
pub(crate) const EDGES: [u64; 22] = [
    0,
    1,
    2,
    3,
    7,
    8,
    63,
    64,
    127,
    255,
    256,
    4095,
    4096,
    65_535,
    65_536,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
];

/// Words that a terminal would act on, and some that hide.
pub(crate) const ESCAPES: [&str; 8] = [
    "\x1b]0;taken\x07",
    "\x1b[2J\x1b[31m",
    "\u{9b}2J",
    "\u{202e}",
    "\u{7f}\u{8}\u{8}",
    "\r",
    "\u{0}",
    "a\nb",
];

/// Writes an edge, or something near what is there, over one, two, four or eight bytes.
pub(crate) fn number(bytes: &mut [u8], dice: &mut Dice, from: usize) {
    let width = *dice.pick(&[1_usize, 2, 4, 8]);
    if bytes.len() < from + width {
        return;
    }
    let mut at = from + dice.below(bytes.len() - from - width + 1);
    if dice.below(4) > 0 {
        // Fields lie at multiples of their width.
        at = (at / width * width).max(from);
    }
    let field = &mut bytes[at..at + width];
    let mut was = [0; 8];
    was[..width].copy_from_slice(field);
    let new = match dice.below(6) {
        0 => u64::from_le_bytes(was).wrapping_add(1),
        1 => u64::from_le_bytes(was).wrapping_sub(1),
        2 => dice.any(),
        3 => u64::from_le_bytes(was) ^ 1 << dice.below(width * 8),
        _ => dice.pick(&EDGES).wrapping_add(*dice.pick(&[0, 0, 1, u64::MAX])),
    };
    let little = dice.below(4) > 0;
    let new = if little {
        new.to_le_bytes()
    } else {
        (new << (64 - 8 * width)).to_be_bytes()
    };
    field.copy_from_slice(&new[..width]);
}

/// Any damage to bytes that have no structure of their own here.
pub(crate) fn bytes(good: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..dice.few() {
        let len = good.len();
        match dice.below(8) {
            0 if len > 0 => good.truncate(dice.below(len)),
            1 => {
                let at = dice.below(len + 1);
                let more = (0..dice.few()).map(|_| dice.any() as u8).collect::<Vec<_>>();
                good.splice(at..at, more);
            }
            2 if len > 1 => {
                // A part twice, or gone.
                let (a, b) = (dice.below(len), dice.below(len));
                let part = good[a.min(b)..a.max(b).min(a.min(b) + 4096)].to_vec();
                let at = dice.below(len);
                match dice.once_in(2) {
                    true => drop(good.splice(at..at, part)),
                    false => drop(good.drain(a.min(b)..a.max(b).min(a.min(b) + 4096))),
                }
            }
            3 if len > 0 => {
                let at = dice.below(len);
                good[at] = dice.any() as u8;
            }
            _ => number(good, dice, 0),
        }
    }
}

/// Damage to text: its words and lines are cut, swapped, doubled, replaced by others of `words`.
pub(crate) fn text(good: &str, dice: &mut Dice, words: &[&str]) -> String {
    let mut text = good.to_string();
    for _ in 0..dice.few() {
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        if lines.is_empty() {
            lines.push("");
        }
        let at = dice.below(lines.len());
        let made = match dice.below(10) {
            0 => {
                lines.remove(at);
                lines.concat()
            }
            1 => {
                let other = lines[dice.below(lines.len())];
                lines.insert(at, other);
                lines.concat()
            }
            2 => {
                let other = dice.below(lines.len());
                lines.swap(at, other);
                lines.concat()
            }
            3 if dice.once_in(8) => {
                let line = lines[at].repeat((1 << dice.below(12)).min(1 + (1 << 20) / lines[at].len().max(1)));
                lines[at] = &line;
                lines.concat()
            }
            _ => {
                let line = word(lines[at], dice, words);
                lines[at] = &line;
                lines.concat()
            }
        };
        // Repeats of repeats would only measure the size of the input.
        if made.len() <= 1 << 20 {
            text = made;
        }
    }
    text
}

/// One word of a line becomes another, goes, or gets a neighbour.
fn word(line: &str, dice: &mut Dice, words: &[&str]) -> String {
    let number = match dice.below(4) {
        0 => dice.pick(&EDGES).to_string(),
        1 => format!("-{}", dice.pick(&EDGES)),
        2 => (*dice.pick(&[
            "1e308",
            "1e400",
            "-1e-320",
            "nan",
            "inf",
            "0.0",
            "1,5",
            "1.2.3",
            "99999999999999999999",
        ]))
        .to_string(),
        _ => dice.pick(words).to_string(),
    };
    let put = match dice.below(12) {
        0 => (*dice.pick(&ESCAPES)).to_string(),
        1 => "x".repeat(1 << dice.below(17)),
        2..=5 => number,
        _ => (*dice.pick(words)).to_string(),
    };
    let is_word = |c: char| c.is_alphanumeric() || "._%+-".contains(c);
    let starts: Vec<usize> = line
        .char_indices()
        .filter(|(at, c)| is_word(*c) && !line[..*at].chars().next_back().is_some_and(is_word))
        .map(|(at, _)| at)
        .collect();
    if starts.is_empty() || dice.once_in(6) {
        let at = line
            .char_indices()
            .nth(dice.below(line.chars().count()))
            .map_or(0, |(at, _)| at);
        return format!("{}{put}{}", &line[..at], &line[at..]);
    }
    let from = *dice.pick(&starts);
    let to = line[from..].find(|c| !is_word(c)).map_or(line.len(), |len| from + len);
    match dice.below(5) {
        0 => format!("{}{}", &line[..from], &line[to..]),
        1 => format!("{} {put} {}", &line[..from], &line[from..]),
        _ => format!("{}{put}{}", &line[..from], &line[to..]),
    }
}
