//! What a modelled machine's disks hold: sparse bytes, cheap to copy.
//!
//! Takes writes, gives back what was written and zeros elsewhere. A copy shares its chunks with the original until one
//! of the two writes, so that ten thousand crashes of one database cost what they wrote. Prevents a crash test that is
//! too slow to be run often.

use crate::port::FileId;
use std::sync::Arc;

const CHUNK: usize = 4096;
const CHUNKS: usize = 128;
const GROUP: u64 = (CHUNK * CHUNKS) as u64;

type Chunk = Arc<[u8; CHUNK]>;

#[derive(Clone)]
struct Group([Option<Chunk>; CHUNKS]);

#[derive(Clone, Default)]
struct File {
    size: u64,
    groups: Vec<Option<Arc<Group>>>,
}

/// The content of the files of a modelled machine. Cheap to clone.
#[derive(Clone, Default)]
pub struct Disks {
    files: Vec<File>,
}

impl std::fmt::Debug for Disks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disks")
            .field("sizes", &self.sizes())
            .finish_non_exhaustive()
    }
}

impl Disks {
    /// Empty files (all zeros) of these sizes in bytes.
    pub fn new(sizes: &[u64]) -> Disks {
        Disks {
            files: sizes
                .iter()
                .map(|&size| File {
                    size,
                    groups: Vec::new(),
                })
                .collect(),
        }
    }

    /// Sizes of the files in bytes.
    pub fn sizes(&self) -> Vec<u64> {
        self.files.iter().map(|f| f.size).collect()
    }

    /// Size of one file in bytes; `None` for a file that does not exist.
    pub fn size(&self, file: FileId) -> Option<u64> {
        self.files.get(usize::from(file.0)).map(|f| f.size)
    }

    /// Makes a file at least `size` bytes long.
    pub fn grow(&mut self, file: FileId, size: u64) {
        let file = &mut self.files[usize::from(file.0)];
        file.size = file.size.max(size);
    }

    /// Takes the content of one file from other disks.
    pub(super) fn replace(&mut self, file: FileId, from: &Disks) {
        self.files[usize::from(file.0)] = from.files[usize::from(file.0)].clone();
    }

    /// Fills `to` from `offset`. Panics beyond the end of the file.
    pub fn read(&self, file: FileId, offset: u64, to: &mut [u8]) {
        let file = &self.files[usize::from(file.0)];
        assert!(
            offset + to.len() as u64 <= file.size,
            "a read beyond the end of a modelled file"
        );
        let mut done = 0;
        while done < to.len() {
            let (group, chunk, start, len) = place(offset + done as u64, to.len() - done);
            let part = &mut to[done..done + len];
            match file.groups.get(group).and_then(|g| g.as_ref()?.0[chunk].as_ref()) {
                Some(bytes) => part.copy_from_slice(&bytes[start..start + len]),
                None => part.fill(0),
            }
            done += len;
        }
    }

    /// Puts `from` at `offset`. Panics beyond the end of the file. Also the way to plant damage in a test.
    pub fn write(&mut self, file: FileId, offset: u64, from: &[u8]) {
        let file = &mut self.files[usize::from(file.0)];
        assert!(
            offset + from.len() as u64 <= file.size,
            "a write beyond the end of a modelled file"
        );
        let mut done = 0;
        while done < from.len() {
            let (group, chunk, start, len) = place(offset + done as u64, from.len() - done);
            if file.groups.len() <= group {
                file.groups.resize_with(group + 1, || None);
            }
            let group = file.groups[group].get_or_insert_with(|| Arc::new(Group([const { None }; CHUNKS])));
            let chunk = &mut Arc::make_mut(group).0[chunk];
            let chunk = chunk.get_or_insert_with(|| Arc::new([0; CHUNK]));
            Arc::make_mut(chunk)[start..start + len].copy_from_slice(&from[done..done + len]);
            done += len;
        }
    }

    /// Bytes of memory held by written chunks, shared ones counted in full.
    pub fn written_bytes(&self) -> u64 {
        let groups = self.files.iter().flat_map(|f| f.groups.iter().flatten());
        groups.map(|g| g.0.iter().flatten().count() as u64 * CHUNK as u64).sum()
    }
}

/// Group, chunk, start inside the chunk, and how much of `wanted` lies in it.
fn place(offset: u64, wanted: usize) -> (usize, usize, usize, usize) {
    let start = (offset % CHUNK as u64) as usize;
    let chunk = (offset % GROUP) as usize / CHUNK;
    ((offset / GROUP) as usize, chunk, start, wanted.min(CHUNK - start))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId(0);

    #[test]
    fn unwritten_bytes_are_zero_and_written_ones_stay() {
        let mut disks = Disks::new(&[3 * GROUP]);
        let data: Vec<u8> = (0..10_000).map(|i| i as u8 | 1).collect();
        disks.write(FILE, GROUP - 5_000, &data);
        let mut found = vec![9; 12_000];
        disks.read(FILE, GROUP - 6_000, &mut found);
        assert!(found[..1_000].iter().chain(&found[11_000..]).all(|&b| b == 0));
        assert_eq!(found[1_000..11_000], data);
    }

    #[test]
    fn a_copy_does_not_see_later_writes_and_shares_the_rest() {
        let mut disks = Disks::new(&[1 << 40]);
        disks.write(FILE, 1 << 39, &[1; 4096]);
        let copy = disks.clone();
        disks.write(FILE, 1 << 39, &[2; 1]);
        let mut found = [0; 2];
        copy.read(FILE, 1 << 39, &mut found);
        assert_eq!(found, [1, 1]);
        disks.read(FILE, 1 << 39, &mut found);
        assert_eq!(found, [2, 1]);
        assert_eq!(copy.written_bytes(), 4096);
    }

    #[test]
    fn growing_keeps_and_never_shrinks() {
        let mut disks = Disks::new(&[4096]);
        disks.grow(FILE, 8192);
        disks.grow(FILE, 100);
        assert_eq!(disks.size(FILE), Some(8192));
        assert_eq!(disks.size(FileId(1)), None);
    }
}
