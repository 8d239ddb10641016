//! What the data is really like: pages of the loaded database, compressed and held against each other.
//!
//! Takes an open instance, or the directory of a database that makes its own files; gives facts. The pages come from
//! storage as any other read does, so what is measured is what was stored. Prevents: zeros, or copies of a few blocks,
//! that a compressing or deduplicating device below takes for next to nothing.

use crate::ports::PageEngine;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use ledger::{Disclosed, FactName, FactValue};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::fs::OFlags;
use sandbox::Directory;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;

/// Pages looked at: half a megabyte of pages of the usual size.
const PAGES: u64 = 64;
/// What devices that deduplicate compare.
const BLOCK: usize = 4096;
/// Bytes of a page of a database that makes its own files.
const PAGE_BYTES: usize = 8192;
/// Smaller files are a server's own: its catalogs, and their copies in its templates.
const FILE_BYTES_MIN: u64 = 1 << 20;
/// Directories of a server lie no deeper, and it has no more large files than this.
const DEPTH: usize = 4;
const FILES_MAX: usize = 4096;
/// Logs: their bytes are no data.
const LOG_DIRECTORY: &str = "pg_wal";
const LOG_ENDINGS: [&str; 2] = ["-wal", "-journal"];

/// Facts of the data of an instance that was just loaded; the seed picks the pages.
pub(crate) fn facts(instance: &mut PageEngine, seed: u64) -> anyhow::Result<Vec<Disclosed>> {
    let shape = *instance.shape();
    let all = u64::from(shape.schemas) * u64::from(shape.pages_per_schema);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut chosen: Vec<u64> = (0..PAGES.min(all)).map(|_| random.next_u64() % all).collect();
    chosen.sort_unstable();
    chosen.dedup();
    let (mut sample, mut page) = (Vec::new(), Vec::new());
    for number in chosen {
        let (schema, at) = (
            number / u64::from(shape.pages_per_schema),
            number % u64::from(shape.pages_per_schema),
        );
        instance.read_page(schema as u32, at as u32, &mut page)?;
        sample.extend_from_slice(&page);
    }
    facts_of(&sample, shape.page_bytes as usize)
}

fn facts_of(sample: &[u8], page_bytes: usize) -> anyhow::Result<Vec<Disclosed>> {
    Ok(vec![
        FactName::CompressibilityFound.is(FactValue::Ratio(compressibility(sample, page_bytes)?)),
        FactName::DuplicationFound.is(FactValue::Share(duplication(sample))),
    ])
}

/// The same of a database that was just loaded into files of this directory. Pages of zeros are space that it has not
/// used yet, and are left out. No facts where it has no large file there, as in a disk group.
pub(crate) fn facts_of_files(dir: &Directory, seed: u64) -> anyhow::Result<Vec<Disclosed>> {
    let mut files = Vec::new();
    large_files(dir, DEPTH, &mut files);
    // In an order of their own, so that a seed picks the same pages again.
    files.sort_by(|a, b| (&a.name, a.pages).cmp(&(&b.name, b.pages)));
    let all: u64 = files.iter().map(|file| file.pages).sum();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut chosen: Vec<u64> = (0..PAGES.min(all)).map(|_| random.next_u64() % all).collect();
    chosen.sort_unstable();
    chosen.dedup();
    let mut sample = Vec::new();
    for number in chosen {
        sample.extend(page_of(&files, number).into_iter().flatten());
    }
    match sample.is_empty() {
        true => Ok(Vec::new()),
        false => facts_of(&sample, PAGE_BYTES),
    }
}

/// A file of data, and whole pages in it.
struct Large {
    dir: Directory,
    name: String,
    pages: u64,
}

/// Adds those below a directory. A server may make and delete files meanwhile: what cannot be opened is left out.
fn large_files(dir: &Directory, depth: usize, found: &mut Vec<Large>) {
    let names = dir.names().unwrap_or_default();
    for name in names.into_iter().filter_map(|name| name.into_string().ok()) {
        let is_log = name == LOG_DIRECTORY || LOG_ENDINGS.iter().any(|ending| name.ends_with(ending));
        if is_log || found.len() >= FILES_MAX {
            continue;
        }
        let Some((_, size)) = regular(dir, &name) else {
            if let (1.., Ok(below)) = (depth, dir.enter(&name)) {
                large_files(&below, depth - 1, found);
            }
            continue;
        };
        if size >= FILE_BYTES_MIN {
            found.push(Large {
                dir: dir.clone(),
                name,
                pages: size / PAGE_BYTES as u64,
            });
        }
    }
}

/// A regular file and its bytes.
fn regular(dir: &Directory, name: &str) -> Option<(File, u64)> {
    let file = File::from(dir.open_file(name, OFlags::RDONLY).ok()?);
    let found = file.metadata().ok()?;
    let size = found.len();
    found.is_file().then_some((file, size))
}

/// The page of this number in all files together, unless it is gone or empty.
fn page_of(files: &[Large], mut number: u64) -> Option<Vec<u8>> {
    for file in files {
        if number < file.pages {
            let mut page = vec![0; PAGE_BYTES];
            let (opened, _) = regular(&file.dir, &file.name)?;
            opened.read_exact_at(&mut page, number * PAGE_BYTES as u64).ok()?;
            return page.iter().any(|byte| *byte != 0).then_some(page);
        }
        number -= file.pages;
    }
    None
}

/// Bytes over bytes deflated, each page by itself: a device compresses blocks, not the whole.
fn compressibility(sample: &[u8], page_bytes: usize) -> anyhow::Result<f64> {
    let mut packed = 0;
    for page in sample.chunks(page_bytes.max(BLOCK)) {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(page)?;
        // What does not get smaller is stored as it is.
        packed += encoder.finish()?.len().min(page.len());
    }
    Ok(sample.len() as f64 / packed.max(1) as f64)
}

/// Share of the blocks that a deduplicating device would not have to store.
fn duplication(sample: &[u8]) -> f64 {
    let mut blocks: BTreeMap<&[u8], u64> = BTreeMap::new();
    for block in sample.chunks(BLOCK) {
        *blocks.entry(block).or_default() += 1;
    }
    let all: u64 = blocks.values().sum();
    (all - blocks.len() as u64) as f64 / all.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_files_the_data_are_looked_at_and_neither_logs_nor_free_space() {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().join("base/16384");
        std::fs::create_dir_all(&base).unwrap();
        std::fs::create_dir(root.path().join("pg_wal")).unwrap();
        let dir = || Directory::open(&root.path().canonicalize().unwrap()).unwrap();
        assert!(facts_of_files(&dir(), 1).unwrap().is_empty(), "no file");
        let mut noise = vec![0; 2 << 20];
        Xoshiro256PlusPlus::seed_from_u64(2).fill_bytes(&mut noise);
        // Half of each page is noise, and half of the file is not used yet.
        noise
            .chunks_mut(PAGE_BYTES)
            .for_each(|page| page[PAGE_BYTES / 2..].fill(0));
        noise[1 << 20..].fill(0);
        std::fs::write(base.join("16385"), &noise).unwrap();
        std::fs::write(base.join("1259"), vec![7; 1 << 19]).unwrap();
        for log in ["pg_wal/000000010000000000000001", "base/db-wal", "base/db-journal"] {
            std::fs::write(root.path().join(log), vec![7; 4 << 20]).unwrap();
        }
        std::os::unix::fs::symlink("/proc/kcore", base.join("link")).unwrap();
        let facts = facts_of_files(&dir(), 1).unwrap();
        let of = |name: FactName| {
            facts
                .iter()
                .find(|(key, _)| key.name == name)
                .unwrap()
                .1
                .number()
                .unwrap()
        };
        let packed = of(FactName::CompressibilityFound);
        assert!((1.8..2.1).contains(&packed), "{packed}");
        // The empty half of each page is a copy of all others.
        assert!((0.4..0.5).contains(&of(FactName::DuplicationFound)), "{facts:?}");
    }

    #[test]
    fn zeros_and_copies_are_found_out_and_noise_is_not() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut noise = vec![0; 64 * BLOCK];
        random.fill_bytes(&mut noise);
        assert!((compressibility(&noise, 8192).unwrap() - 1.0).abs() < 0.01);
        assert_eq!(duplication(&noise), 0.0);
        assert!(compressibility(&vec![0; 64 * BLOCK], 8192).unwrap() > 50.0);
        assert!((duplication(&noise[..BLOCK].repeat(64)) - 63.0 / 64.0).abs() < 1e-9);
        for half in noise.chunks_mut(512) {
            half[256..].fill(0);
        }
        let two = compressibility(&noise, 8192).unwrap();
        assert!((1.7..2.1).contains(&two), "{two}");
    }
}
