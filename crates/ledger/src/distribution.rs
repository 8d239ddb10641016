//! Latency distributions to and from the bytes kept in the file: HdrHistogram V2, compressed with deflate.
//!
//! The format is HdrHistogram's own interchange format, so that other tools can read the blobs. Prevents: percentiles
//! stored instead of the distribution they came from.

use crate::error::LedgerError;
use flate2::bufread::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use std::io::Read;

/// Packs a histogram of nanoseconds for [`crate::HistogramRow::blob`].
pub fn encode_histogram(histogram: &Histogram<u64>) -> Result<Vec<u8>, LedgerError> {
    let mut blob = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut blob)
        .map_err(|source| LedgerError::Distribution {
            act: "encoded",
            detail: source.to_string(),
        })?;
    Ok(blob)
}

/// Unpacks what [`encode_histogram`] packed (plain V2 is read too). A blob can take no more memory than a distribution
/// of ours.
pub fn decode_histogram(blob: &[u8]) -> Result<Histogram<u64>, LedgerError> {
    let wrong = |detail: String| LedgerError::Distribution { act: "decoded", detail };
    let plain = plain(blob).map_err(|source| wrong(source.to_string()))?;
    let plain = plain.as_deref().unwrap_or(blob);
    if number(plain, LENGTH_AT) as usize > plain.len().saturating_sub(HEADER_BYTES) {
        return Err(wrong("it is shorter than it says".into()));
    }
    if number(plain, DIGITS_AT) > DIGITS_MAX {
        return Err(wrong("it has more digits than are ever measured".into()));
    }
    // Nine such bytes are the one number that the library cannot turn around; no count of ours has half of them.
    if has_run_of_ff(plain, 9) {
        return Err(wrong("a count in it is none".into()));
    }
    let whole: Histogram<u64> = Deserializer::new()
        .deserialize(&mut &plain[..])
        .map_err(|source| wrong(format!("{source:?}")))?;
    counted(&whole, "decoded")?;
    Ok(whole)
}

/// p99 of what fell due, ns, where what was never sent takes longer than all that ended; `None`: it is more than 1 %.
pub fn p99_with_unsent(ended: &Histogram<u64>, unsent: f64) -> Option<f64> {
    with_unsent(ended, 0.99, unsent)
}

/// The same of any quantile; `None`: it lies among what was never sent.
pub fn with_unsent(ended: &Histogram<u64>, quantile: f64, unsent: f64) -> Option<f64> {
    let of_ended = quantile * (1.0 + unsent / ended.len() as f64);
    (of_ended <= 1.0).then(|| ended.value_at_quantile(of_ended) as f64)
}

/// Adds a distribution of a class to the sum of others; the first becomes the sum.
///
/// # Errors
/// [`LedgerError::Distribution`]: together they count more than a number holds.
pub fn add_histogram(
    sum: &mut Option<Histogram<u64>>,
    mut next: Histogram<u64>,
    class: &str,
) -> Result<(), LedgerError> {
    let Some(sum) = sum else {
        // One block's slowest may lie beyond what another's distribution has room for.
        next.auto(true);
        *sum = Some(next);
        return Ok(());
    };
    sum.add(&next).map_err(|source| LedgerError::Distribution {
        act: "added",
        detail: format!("class {class}: {source:?}"),
    })?;
    counted(sum, "added")
}

/// The library's total ends at the largest number. A sum of its counts would go round.
fn counted(whole: &Histogram<u64>, act: &'static str) -> Result<(), LedgerError> {
    if whole.len() < u64::MAX {
        return Ok(());
    }
    let detail = "it counts more than a number holds".into();
    Err(LedgerError::Distribution { act, detail })
}

fn has_run_of_ff(bytes: &[u8], length: usize) -> bool {
    let mut run = 0;
    bytes.iter().any(|byte| {
        run = if *byte == 0xff { run + 1 } else { 0 };
        run == length
    })
}

/// First four bytes of a packed distribution; its length and zlib's bytes follow.
const PACKED: u32 = 0x1c84_9314;
/// Of a plain one: cookie, length of the counts, offset, digits (four bytes each), lowest and highest value, ratio.
const HEADER_BYTES: usize = 40;
const LENGTH_AT: usize = 4;
const DIGITS_AT: usize = 12;
const DIGITS_MAX: u32 = 3;
/// Most bytes of a plain one: all values of 64 bits at three digits, nine bytes each.
const PLAIN_BYTES_MAX: u64 = 1 << 20;

/// Big-endian, as the format has it; 0 behind the end.
fn number(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..).and_then(|rest| rest.first_chunk());
    four.map_or(0, |four| u32::from_be_bytes(*four))
}

/// What a packed distribution holds; `None`: it is not packed.
fn plain(blob: &[u8]) -> std::io::Result<Option<Vec<u8>>> {
    if number(blob, 0) != PACKED {
        return Ok(None);
    }
    let packed = blob.get(8..).unwrap_or_default();
    let mut plain = Vec::new();
    ZlibDecoder::new(packed)
        .take(PLAIN_BYTES_MAX + 1)
        .read_to_end(&mut plain)?;
    match plain.len() as u64 > PLAIN_BYTES_MAX {
        true => Err(std::io::Error::other("it is larger than any that is measured")),
        false => Ok(Some(plain)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_comes_back_whole() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        for value in [1_000, 2_000, 2_000, 90_000, 4_000_000_000] {
            histogram.record(value).unwrap();
        }
        let back = decode_histogram(&encode_histogram(&histogram).unwrap()).unwrap();
        assert_eq!(back, histogram);
    }

    #[test]
    fn rubbish_is_an_error() {
        let error = decode_histogram(b"no histogram").unwrap_err();
        assert!(error.to_string().contains("decoded"));
        assert!(decode_histogram(&[]).is_err());
    }

    fn packed(plain: &[u8]) -> Vec<u8> {
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut zlib, plain).unwrap();
        let body = zlib.finish().unwrap();
        [&PACKED.to_be_bytes()[..], &(body.len() as u32).to_be_bytes(), &body].concat()
    }

    #[test]
    fn a_sum_of_counts_that_no_number_holds_is_an_error() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        histogram.record_n(1_000, i64::MAX as u64).unwrap();
        assert!(decode_histogram(&encode_histogram(&histogram).unwrap()).is_ok());
        histogram.record_n(2_000, i64::MAX as u64).unwrap();
        histogram.record_n(3_000, i64::MAX as u64).unwrap();
        let error = decode_histogram(&encode_histogram(&histogram).unwrap()).unwrap_err();
        assert!(error.to_string().contains("counts more"), "{error}");
    }

    #[test]
    fn distributions_that_count_too_much_together_are_an_error() {
        let of = |value| {
            let mut histogram = Histogram::<u64>::new(3).unwrap();
            histogram.record_n(value, u64::MAX / 2).unwrap();
            histogram
        };
        let mut sum = None;
        add_histogram(&mut sum, of(1_000), "read").unwrap();
        add_histogram(&mut sum, of(90_000), "read").unwrap();
        let error = add_histogram(&mut sum, of(2_000_000), "read").unwrap_err();
        assert!(error.to_string().contains("counts more"), "{error}");
    }

    #[test]
    fn what_would_take_all_memory_is_an_error() {
        let header = |length: u32, digits: u32| {
            let numbers = [0x1c84_9313, length, 0, digits].map(u32::to_be_bytes).concat();
            let bounds = [1_u64, u64::MAX, 1.0_f64.to_bits()].map(u64::to_be_bytes).concat();
            [numbers, bounds].concat()
        };
        assert!(decode_histogram(&packed(&header(0, 3))).is_ok());
        for (bad, why) in [
            (packed(&vec![0; 64 << 20]), "larger"),
            (packed(&header(u32::MAX, 3)), "shorter"),
            (packed(&header(0, 5)), "digits"),
            (header(u32::MAX, 3), "shorter"),
            (packed(&[header(9, 3), vec![0xff; 9]].concat()), "none"),
        ] {
            let error = decode_histogram(&bad).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
