//! Latency distributions to and from the bytes kept in the file: HdrHistogram V2, compressed with deflate.
//!
//! The format is HdrHistogram's own interchange format, so that other tools can read the blobs. Prevents: percentiles
//! stored instead of the distribution they came from.

use crate::error::LedgerError;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

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

/// Unpacks what [`encode_histogram`] packed (plain V2 is read too).
pub fn decode_histogram(blob: &[u8]) -> Result<Histogram<u64>, LedgerError> {
    Deserializer::new()
        .deserialize(&mut &blob[..])
        .map_err(|source| LedgerError::Distribution {
            act: "decoded",
            detail: format!("{source:?}"),
        })
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
}
