//! Replies of an NFS server: records in fragments, heads, results of each procedure.

use super::{Trial, Verdict};
use crate::{Dice, damage};
use files::nfs::{Procedure, results};
use files::rpc::{self, Program, Reader, Records, Writer};
use files::{Answer, Listed};

/// Longest reply, as the client sets it for its longest READ.
const LONGEST: usize = 72 << 10;
/// Bytes that a READ asked for.
const ASKED: u32 = 8192;

const PROCEDURES: [Procedure; 18] = [
    Procedure::Getattr,
    Procedure::Setattr,
    Procedure::Lookup,
    Procedure::Access,
    Procedure::Readlink,
    Procedure::Read,
    Procedure::Write,
    Procedure::Create,
    Procedure::Mkdir,
    Procedure::Symlink,
    Procedure::Remove,
    Procedure::Rmdir,
    Procedure::Readdir,
    Procedure::Readdirplus,
    Procedure::Fsstat,
    Procedure::Fsinfo,
    Procedure::Commit,
    Procedure::Rename,
];

/// Good replies: the place of their procedure in [`PROCEDURES`], or one behind it for MOUNT, and the message.
struct Replies(Vec<(u8, Vec<u8>)>);

pub(crate) fn make() -> anyhow::Result<Box<dyn Trial>> {
    let mut good: Vec<(u8, Vec<u8>)> = Vec::new();
    for (nth, procedure) in PROCEDURES.into_iter().enumerate() {
        good.push((nth as u8, reply(|w| results_of(w, procedure))));
    }
    good.push((
        PROCEDURES.len() as u8,
        reply(|w| _ = w.u32(0).opaque(&[7; 28]).u32(2).u32(6).u32(1)),
    ));
    Ok(Box::new(Replies(good)))
}

fn reply(body: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    Program::reply(&mut out, 0x0001_0002, body);
    out.split_off(4)
}

fn attributes(w: &mut Writer<'_>) {
    (0..21).for_each(|word| _ = w.u32(word));
}

fn results_of(w: &mut Writer<'_>, procedure: Procedure) {
    w.u32(0);
    match procedure {
        Procedure::Getattr => attributes(w),
        Procedure::Lookup => _ = w.opaque(&[5; 32]).u32(0).u32(0),
        Procedure::Create | Procedure::Mkdir | Procedure::Symlink => {
            w.u32(1).opaque(&[5; 32]).u32(1);
            attributes(w);
        }
        Procedure::Readlink => _ = w.u32(0).opaque(b"a/place/elsewhere"),
        Procedure::Read => _ = w.u32(0).u32(ASKED).u32(1).opaque(&[9; ASKED as usize]),
        Procedure::Write => _ = w.u32(0).u32(0).u32(ASKED).u32(2).u64(77),
        Procedure::Commit => _ = w.u32(0).u32(0).u64(77),
        Procedure::Readdir | Procedure::Readdirplus => {
            w.u32(0).u64(0);
            for nth in 0..20u64 {
                w.u32(1).u64(nth).opaque(format!("f{nth:010}").as_bytes()).u64(nth);
                if procedure == Procedure::Readdirplus {
                    w.u32(1);
                    attributes(w);
                    w.u32(1).opaque(&[3; 32]);
                }
            }
            w.u32(0).u32(1);
        }
        _ => (0..16).for_each(|_| _ = w.u32(0)),
    }
}

impl Trial for Replies {
    fn input(&mut self, dice: &mut Dice) -> Vec<u8> {
        let (procedure, message) = dice.pick(&self.0).clone();
        let mut message = message;
        match dice.below(4) {
            0 => {}
            1 => damage::bytes(&mut message, dice),
            _ => (0..dice.few()).for_each(|_| damage::number(&mut message, dice, 0)),
        }
        let piece = 1 + dice.below(message.len().max(1));
        let mut input = vec![procedure];
        for (nth, part) in message.chunks(piece).enumerate() {
            let last = u32::from((nth + 1) * piece >= message.len()) << 31;
            input.extend((part.len() as u32 | last).to_be_bytes());
            input.extend(part);
        }
        if dice.once_in(4) {
            damage::number(&mut input, dice, 1);
        }
        input
    }

    fn read(&mut self, input: &[u8]) -> Result<Verdict, String> {
        let (procedure, mut stream) = input.split_first().ok_or("an empty input")?;
        let mut records = Records::new(LONGEST);
        let mut verdict = Verdict::Refused;
        while !stream.is_empty() {
            let room = records.room();
            let len = room.len().min(stream.len());
            if len == 0 {
                return Err("no room for more, and no message".into());
            }
            room[..len].copy_from_slice(&stream[..len]);
            records.received(len);
            stream = &stream[len..];
            loop {
                match records.next_message() {
                    Err(_) => return Ok(verdict),
                    Ok(None) => break,
                    Ok(Some(place)) => {
                        if use_message(*procedure, records.message(place))? {
                            verdict = Verdict::Accepted;
                        }
                    }
                }
            }
        }
        Ok(verdict)
    }
}

/// Reads a message and uses what is in it. `false`: refused.
fn use_message(procedure: u8, message: &[u8]) -> Result<bool, String> {
    let Ok(accepted) = rpc::open(message) else {
        return Ok(false);
    };
    let Ok(body) = accepted.results else {
        return Ok(false);
    };
    let Some(procedure) = PROCEDURES.get(usize::from(procedure)) else {
        return Ok(mounted(body));
    };
    let Ok(read) = results::read(*procedure, ASKED, body) else {
        return Ok(false);
    };
    match read.answer {
        Answer::Bytes { bytes, .. } if bytes.len() > ASKED as usize => Err(format!("{} bytes of a READ", bytes.len())),
        Answer::Listing(mut entries) => {
            for _ in 0..=LONGEST / 16 {
                match entries.next_listed() {
                    Ok(Listed::Entry(entry)) if entry.name.len() <= 255 => {}
                    Ok(Listed::Entry(entry)) => return Err(format!("a name of {} bytes", entry.name.len())),
                    Ok(Listed::End { .. }) => return Ok(true),
                    Err(_) => return Ok(false),
                }
            }
            Err("a listing that is longer than its reply".into())
        }
        _ => Ok(true),
    }
}

fn mounted(body: Reader<'_>) -> bool {
    matches!(results::mounted(body), Ok(Ok(root)) if root.bytes().len() <= 64)
}
