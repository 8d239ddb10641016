//! Whether a path of another host leads to the same file or device.
//!
//! Takes a path and what was found there on the host of the run; gives the file's numbers on this host. Prevents: an
//! instance that writes to a disk which happens to have the same name on its host.

use anyhow::{Context, bail, ensure};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use targets::Which;

/// So many bytes are compared: of a disk group's header, of pages of a database, of a log.
const BYTES: usize = 64 << 10;
/// They are looked for so far from the beginning.
const FAR: u64 = 1 << 30;
/// What direct reads ask of memory.
const ALIGNMENT: usize = 4096;

/// The first bytes that are not all zero: any disk may have zeros.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Proof {
    /// Their offset.
    at: u64,
    /// Their SHA-256, in hexadecimal.
    sha256: String,
}

/// What stands at the path on this host.
pub(crate) fn of(path: &Path) -> anyhow::Result<Proof> {
    let read = open(path).and_then(|file| first(&file));
    read.with_context(|| format!("look for what is written in {}", path.display()))
}

fn first(file: &OwnedFd) -> anyhow::Result<Proof> {
    let offsets = (0..FAR).step_by(BYTES);
    for at in offsets {
        match digest(file, at)? {
            Found::End => break,
            Found::Zeros => {}
            Found::Sum(sha256) => return Ok(Proof { at, sha256 }),
        }
    }
    bail!(
        "it holds only zeros, so other hosts cannot prove that they see the same storage\n  check that the path is \
         storage of this run (/dev/disk/by-id)"
    )
}

/// The file or device at this path, if it is the one that the proof is of.
pub(crate) fn which(path: &Path, proof: &Proof) -> anyhow::Result<Which> {
    let shown = path.display();
    let file = open(path).with_context(|| format!("open {shown} on this host"))?;
    let found = digest(&file, proof.at).with_context(|| format!("read {shown}"))?;
    ensure!(
        found == Found::Sum(proof.sha256.clone()),
        "{shown} is not what the host of the run has at this path, and nothing was written to it\n  name LUNs by a \
         path that is the same device on all hosts (/dev/disk/by-id), or a directory that all have mounted"
    );
    let opened = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    Which::at(&opened).with_context(|| format!("look at {shown}"))
}

/// Around the page cache where that is possible: another host may have changed what lies in it.
fn open(path: &Path) -> anyhow::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    match rustix::fs::open(path, flags | OFlags::DIRECT, Mode::empty()) {
        Err(Errno::INVAL) => Ok(rustix::fs::open(path, flags, Mode::empty())?),
        opened => Ok(opened?),
    }
}

/// What is at an offset.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// Nothing: the file ends before it.
    End,
    Zeros,
    Sum(String),
}

fn digest(file: &OwnedFd, at: u64) -> anyhow::Result<Found> {
    let mut memory = vec![0; BYTES + ALIGNMENT];
    let skipped = memory.as_ptr().align_offset(ALIGNMENT);
    let head = memory
        .get_mut(skipped..skipped + BYTES)
        .context("memory for a direct read")?;
    let mut filled = 0;
    while filled < head.len() {
        match rustix::io::pread(file, &mut head[filled..], at.saturating_add(filled as u64))? {
            0 => break,
            read => filled += read,
        }
    }
    let head = &head[..filled];
    Ok(match head.iter().any(|byte| *byte != 0) {
        true => Found::Sum(Sha256::digest(head).iter().map(|byte| format!("{byte:02x}")).collect()),
        false if head.is_empty() => Found::End,
        false => Found::Zeros,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_file_is_known_again_and_another_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two, empty) = (dir.path().join("one"), dir.path().join("two"), dir.path().join("empty"));
        std::fs::write(&one, vec![1; 2 * BYTES]).unwrap();
        std::fs::write(&two, [vec![1; BYTES - 1], vec![2]].concat()).unwrap();
        let late = dir.path().join("late");
        std::fs::write(&late, [vec![0; 3 * BYTES], vec![3; 10]].concat()).unwrap();
        let proof = of(&late).unwrap();
        assert_eq!(proof.at, 3 * BYTES as u64);
        assert_eq!(which(&late, &proof).unwrap(), Which::at(&late).unwrap());
        assert!(which(&two, &proof).is_err(), "a file that ends before it");
        assert!(which(&two, &Proof { at: u64::MAX, ..proof }).is_err(), "no offset");
        std::fs::write(&empty, vec![0; BYTES]).unwrap();
        let proof = of(&one).unwrap();
        assert_eq!(which(&one, &proof).unwrap(), Which::at(&one).unwrap());
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&one, &link).unwrap();
        assert_eq!(which(&link, &proof).unwrap(), Which::at(&one).unwrap());
        let refused = format!("{:#}", which(&two, &proof).expect_err("another file"));
        assert!(refused.contains("is not what the host of the run has"), "{refused}");
        let zeros = format!("{:#}", of(&empty).expect_err("zeros"));
        assert!(zeros.contains("only zeros"), "{zeros}");
        let missing = format!("{:#}", which(&dir.path().join("none"), &proof).expect_err("no file"));
        assert!(missing.contains("on this host"), "{missing}");
    }
}
