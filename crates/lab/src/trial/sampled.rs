//! What the data is really like: pages of the loaded database, compressed and held against each other.
//!
//! Takes an open instance, gives facts. The pages come from storage as any other read does, so what is measured is
//! what was stored. Prevents: zeros, or copies of a few blocks, that a compressing or deduplicating device below
//! takes for next to nothing.

use crate::ports::PageEngine;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use ledger::{Disclosed, FactName, FactValue};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::io::Write;

/// Pages looked at: half a megabyte of pages of the usual size.
const PAGES: u64 = 64;
/// What devices that deduplicate compare.
const BLOCK: usize = 4096;

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
    Ok(vec![
        FactName::CompressibilityFound.is(FactValue::Ratio(compressibility(&sample, shape.page_bytes as usize)?)),
        FactName::DuplicationFound.is(FactValue::Share(duplication(&sample))),
    ])
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
