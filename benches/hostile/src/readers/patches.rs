//! Images of disks: what a good one holds, and what is changed in it.
//!
//! An input is a list of patches, for an image has megabytes and a patch a few bytes. Prevents: a search that spends
//! its time on copying.

use targets::{Disks, FileId};

/// Bytes that are put somewhere.
#[derive(Clone, Debug)]
pub(crate) struct Patch {
    pub(crate) file: u16,
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
}

/// For an input: file, offset, length and bytes of each, little endian.
pub(crate) fn encode(patches: &[Patch]) -> Vec<u8> {
    let mut out = Vec::new();
    for patch in patches {
        out.extend(patch.file.to_le_bytes());
        out.extend(patch.offset.to_le_bytes());
        out.extend((patch.bytes.len() as u32).to_le_bytes());
        out.extend(&patch.bytes);
    }
    out
}

/// The image with the patches of an input on it.
pub(crate) fn applied(image: &Disks, mut input: &[u8]) -> Disks {
    let mut disks = image.clone();
    while let Some((head, rest)) = input.split_first_chunk::<14>() {
        let number = |at: usize, len: usize| {
            head[at..at + len]
                .iter()
                .rev()
                .fold(0_u64, |n, b| n << 8 | u64::from(*b))
        };
        let (file, offset, len) = (FileId(number(0, 2) as u16), number(2, 8), number(10, 4) as usize);
        let len = len.min(rest.len());
        let fits = disks
            .size(file)
            .is_some_and(|size| offset.saturating_add(len as u64) <= size);
        if fits {
            disks.write(file, offset, &rest[..len]);
        }
        input = &rest[len..];
    }
    disks
}

/// All of a file.
pub(crate) fn content(disks: &Disks, file: u16) -> Vec<u8> {
    let mut bytes = vec![0; disks.size(FileId(file)).unwrap_or(0) as usize];
    disks.read(FileId(file), 0, &mut bytes);
    bytes
}
