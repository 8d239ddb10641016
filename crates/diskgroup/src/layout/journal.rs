//! The journal: transactions one after the other, each a head and the full new content of the blocks it changes.
//!
//! It lies at a fixed place of every disk; up to three disks in different failure groups hold it at a time, each in
//! full. A transaction counts when it is whole and durable on all holders. The journal has no tail pointer: a *lap*
//! begins at block 0 with a higher sequence than all before, after everything older has been written to its home and
//! flushed. So what an older lap left behind is either overwritten or continues with a lower sequence, and applying an
//! old lap twice changes nothing. Prevents: a change that is half there after a crash.

use crate::layout::block::{self, Address, BLOCK, BODY, Eye, Pen};
use crate::planted::Planted;
use crate::uuid::Uuid;

/// Most blocks that one transaction can change.
pub(crate) const IMAGES_MAX: usize = 240;
/// Least and most blocks of a journal.
pub(crate) const BLOCKS: std::ops::RangeInclusive<u32> = 32..=1 << 18;
/// Sequences and incarnations stay below: half of what the first of an incarnation leaves room for.
pub(crate) const INCARNATION_MAX: u64 = 1 << 30;
/// Default length of a journal in blocks.
pub const JOURNAL_BLOCKS: u32 = 1024;

/// Where the journal stands.
pub(crate) struct Journal {
    /// Disks that hold it.
    pub(crate) holders: Vec<u16>,
    /// Blocks on each disk.
    pub(crate) blocks: u32,
    /// Block that the next transaction goes to.
    pub(crate) position: u32,
    /// Of the last transaction.
    pub(crate) sequence: u64,
    /// Of this mount.
    pub(crate) incarnation: u64,
}

/// A transaction as bytes: a head, then the images. Body of the head from byte 48:
///
/// | bytes | what |
/// | --- | --- |
/// | 48..56 | incarnation of the mount that wrote it |
/// | 56..60 | blocks changed |
/// | 60..64 | CRC32C of the images |
/// | 64.. | addresses of the blocks, 8 bytes each |
pub(crate) fn encode(images: &[(Address, Box<[u8]>)], group: Uuid, incarnation: u64, sequence: u64) -> Vec<u8> {
    assert!(images.len() <= IMAGES_MAX, "a transaction of {} blocks", images.len());
    let mut bytes = vec![0; BLOCK * (1 + images.len())];
    let mut crc = 0;
    for (nth, (_, image)) in images.iter().enumerate() {
        bytes[BLOCK * (nth + 1)..BLOCK * (nth + 2)].copy_from_slice(image);
        crc = targets::crc32c_append(crc, image);
    }
    let mut pen = Pen::new(&mut bytes, BODY);
    pen.u64(incarnation);
    pen.u32(images.len() as u32);
    pen.u32(crc);
    for (address, _) in images {
        pen.u64(address.code());
    }
    block::seal(&mut bytes[..BLOCK], group, Address::Journal, sequence);
    bytes
}

/// What a disk's journal holds: whole transactions in order.
#[derive(Default)]
pub(crate) struct Chain {
    pub(crate) incarnation: u64,
    /// Of the last transaction; 0 when there is none.
    pub(crate) sequence: u64,
    /// Images in order, with their addresses.
    pub(crate) images: Vec<(Address, Vec<u8>)>,
    /// Bytes that were needed to see whether it goes on.
    pub(crate) seen: usize,
}

/// Reads a journal from its bytes.
pub(crate) fn scan(bytes: &[u8], group: Uuid) -> Chain {
    let mut chain = Chain::default();
    let mut at = 0;
    let mut ends = Vec::new();
    loop {
        chain.seen = at + BLOCK;
        let Some(head) = bytes.get(at..at + BLOCK) else {
            break;
        };
        let Ok(sequence) = block::open(head, group, Address::Journal) else {
            break;
        };
        let mut eye = Eye::new(head, BODY);
        let (incarnation, count, crc) = (eye.u64(), eye.u32() as usize, eye.u32());
        let follows = incarnation == chain.incarnation && Some(sequence) == chain.sequence.checked_add(1);
        if at > 0 && !follows && !Planted::SequenceUnchecked.on() {
            break;
        }
        if !(1..=IMAGES_MAX).contains(&count) || incarnation > INCARNATION_MAX || sequence >> 32 > INCARNATION_MAX {
            break;
        }
        chain.seen = at + BLOCK * (1 + count);
        let Some(images) = bytes.get(at + BLOCK..at + BLOCK * (1 + count)) else {
            break;
        };
        if crc != targets::crc32c(images) && !Planted::JournalChecksumUnchecked.on() {
            break;
        }
        let mut address = || Address::of(eye.u64()).filter(|a| a.is_journalled());
        let Some(addresses) = (0..count).map(|_| address()).collect::<Option<Vec<_>>>() else {
            break;
        };
        ends.push(chain.images.len());
        chain
            .images
            .extend(addresses.into_iter().zip(images.chunks(BLOCK).map(<[u8]>::to_vec)));
        (chain.incarnation, chain.sequence) = (incarnation, sequence);
        at += BLOCK * (1 + count);
    }
    if Planted::LastTransactionForgotten.on()
        && let Some(end) = ends.pop()
    {
        chain.images.truncate(end);
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: Uuid = Uuid([8; 16]);

    fn image(address: Address, fill: u8) -> (Address, Box<[u8]>) {
        (address, vec![fill; BLOCK].into_boxed_slice())
    }

    #[test]
    fn a_chain_ends_where_the_next_is_not_whole_or_not_next() {
        let mut area = vec![0; BLOCK * 16];
        let first = encode(&[image(Address::Root, 1), image(Address::Meta(3), 2)], GROUP, 5, 10);
        let second = encode(&[image(Address::Meta(3), 3)], GROUP, 5, 11);
        area[..first.len()].copy_from_slice(&first);
        area[first.len()..first.len() + second.len()].copy_from_slice(&second);
        let chain = scan(&area, GROUP);
        assert_eq!((chain.incarnation, chain.sequence, chain.images.len()), (5, 11, 3));
        assert_eq!(chain.images[2].1[7], 3);
        area[first.len() + BLOCK + 9] ^= 1;
        assert_eq!(scan(&area, GROUP).sequence, 10, "a torn transaction does not count");
        let old = encode(&[image(Address::Meta(3), 4)], GROUP, 5, 9);
        area[first.len()..first.len() + old.len()].copy_from_slice(&old);
        assert_eq!(scan(&area, GROUP).sequence, 10, "an old lap does not count");
        assert_eq!(scan(&area, Uuid([9; 16])).sequence, 0, "another group's does not count");
    }
}
