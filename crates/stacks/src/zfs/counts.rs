//! What pools and the cache tell by commands and by the kernel's counters, as numbers.
//!
//! Takes texts; gives figures, and nothing where a text says none: what is not told is left out, never zero.

/// What pools count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoolCounted {
    /// Bytes allocated on the devices, of all pools; of parity counted with it. `None`: the way tells it rounded.
    pub allocated_bytes: Option<u64>,
    /// Fragmentation of the free space of the data's pool, percent.
    pub fragmentation_percent: Option<u64>,
    /// Uncompressed over stored bytes of the data.
    pub compress_ratio: Option<f64>,
    /// The cache; `None` where it is not told.
    pub arc: Option<ArcCounted>,
}

/// The adaptive replacement cache, since some beginning of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArcCounted {
    /// Bytes in it.
    pub size_bytes: u64,
    /// Its maximum.
    pub max_bytes: u64,
    /// Accesses it had.
    pub hits: u64,
    /// Accesses it had not.
    pub misses: u64,
    /// Of these, to data that somebody asked for.
    pub data_hits: u64,
    /// Likewise.
    pub data_misses: u64,
}

impl ArcCounted {
    /// From the kernel's table: a heading of two lines, then name, type and value.
    pub(crate) fn parse(text: &str) -> Option<ArcCounted> {
        let of = |name: &str| -> Option<u64> {
            let line = text.lines().find(|line| line.split_whitespace().next() == Some(name))?;
            line.split_whitespace().nth(2)?.parse().ok()
        };
        Some(ArcCounted {
            size_bytes: of("size")?,
            max_bytes: of("c_max")?,
            hits: of("hits")?,
            misses: of("misses")?,
            data_hits: of("demand_data_hits")?,
            data_misses: of("demand_data_misses")?,
        })
    }
}

/// The number of `1.23x`, `45%` or `67`; `None` for `-` and words.
pub(crate) fn number(said: &str) -> Option<f64> {
    said.trim().trim_end_matches(['x', '%']).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_table_of_the_cache_is_read() {
        let text = "13 1 0x01 123 33456 7 99\nname                            type data\n\
                    hits                            4    900\nmisses                          4    100\n\
                    demand_data_hits                4    800\ndemand_data_misses              4    60\n\
                    c_max                           4    268435456\nsize                            4    1048576\n";
        let arc = ArcCounted::parse(text).expect("a table");
        assert_eq!(
            (arc.hits, arc.misses, arc.data_hits, arc.data_misses),
            (900, 100, 800, 60)
        );
        assert_eq!((arc.size_bytes, arc.max_bytes), (1 << 20, 256 << 20));
        assert_eq!(ArcCounted::parse("nothing of it"), None);
    }

    #[test]
    fn ratios_and_percent_are_numbers_and_dashes_are_none() {
        assert_eq!(
            (number("1.87x"), number("3%\n"), number("4096")),
            (Some(1.87), Some(3.0), Some(4096.0))
        );
        assert_eq!(number("-"), None);
    }
}
