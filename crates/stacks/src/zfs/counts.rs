//! What pools and the cache tell by commands and by the kernel's counters, as numbers.
//!
//! Takes texts; gives figures, and nothing where a text says none: what is not told is left out, never zero.

/// Where a daemon shows its counters, as soon as it has a pool.
pub(super) const OF_DAEMON_AT: &str = "/zfs-kstat/zfs/arcstats";

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
    /// Accesses to data that nobody had asked for yet, which it had not: read ahead.
    pub ahead_misses: u64,
    /// Bytes it threw out; `None` where it does not tell.
    pub evicted_bytes: Option<u64>,
}

/// What it threw out: what a second level of it had too, what that could have had, and the rest.
const EVICTED: [&str; 3] = ["evict_l2_cached", "evict_l2_eligible", "evict_l2_ineligible"];

impl ArcCounted {
    /// Counters of zfs-fuse's, each of which is a file.
    pub(crate) const OF_DAEMON: [&str; 10] = [
        "size",
        "c_max",
        "hits",
        "misses",
        "demand_data_hits",
        "demand_data_misses",
        "prefetch_data_misses",
        EVICTED[0],
        EVICTED[1],
        EVICTED[2],
    ];

    /// From the kernel's table.
    pub(crate) fn of_table(text: &str) -> Option<ArcCounted> {
        ArcCounted::of(|name| entry(text, name))
    }

    /// From lines of a file's path, a colon, and what is in it.
    pub(crate) fn of_files(text: &str) -> Option<ArcCounted> {
        ArcCounted::of(|name| {
            let mut lines = text.lines().filter_map(|line| line.rsplit_once(':'));
            let (_, value) = lines.find(|(path, _)| path.rsplit('/').next() == Some(name))?;
            value.trim_matches(['\0', ' ']).parse().ok()
        })
    }

    fn of(counter: impl Fn(&str) -> Option<u64>) -> Option<ArcCounted> {
        // An access that finds its record on its way from the device is a hit; OpenZFS counts it apart since 2.2.
        let with = |name: &str, apart: &str| Some(counter(name)? + counter(apart).unwrap_or(0));
        Some(ArcCounted {
            size_bytes: counter("size")?,
            max_bytes: counter("c_max")?,
            hits: with("hits", "iohits")?,
            misses: counter("misses")?,
            data_hits: with("demand_data_hits", "demand_data_iohits")?,
            data_misses: counter("demand_data_misses")?,
            ahead_misses: counter("prefetch_data_misses")?,
            evicted_bytes: EVICTED.iter().map(|name| counter(name)).sum(),
        })
    }
}

/// The value of a name in a table of the kernel's: a heading of two lines, then name, type and value.
pub(crate) fn entry(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(name))?;
    line.split_whitespace().nth(2)?.parse().ok()
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
        let table = |rows: &[(&str, u64)]| {
            let rows: Vec<String> = rows
                .iter()
                .map(|(name, value)| format!("{name:<32}4    {value}\n"))
                .collect();
            format!(
                "13 1 0x01 123 33456 7 99\nname                            type data\n{}",
                rows.concat()
            )
        };
        let mut rows = vec![
            ("hits", 900),
            ("misses", 100),
            ("demand_data_hits", 800),
            ("demand_data_misses", 60),
            ("prefetch_data_misses", 30),
            ("c_max", 268_435_456),
            ("size", 1_048_576),
        ];
        let arc = ArcCounted::of_table(&table(&rows)).expect("a table");
        let counted = (arc.hits, arc.misses, arc.data_hits, arc.data_misses, arc.ahead_misses);
        assert_eq!(counted, (900, 100, 800, 60, 30));
        assert_eq!((arc.size_bytes, arc.max_bytes), (1 << 20, 256 << 20));
        assert_eq!(arc.evicted_bytes, None, "a version that does not tell");
        rows.extend([
            ("evict_l2_cached", 1),
            ("evict_l2_eligible", 20),
            ("evict_l2_ineligible", 300),
        ]);
        rows.extend([("iohits", 7), ("demand_data_iohits", 5)]);
        let newer = ArcCounted::of_table(&table(&rows)).expect("a table");
        assert_eq!(
            (newer.hits, newer.data_hits, newer.evicted_bytes),
            (907, 805, Some(321))
        );
        assert_eq!(ArcCounted::of_table("nothing of it"), None);
    }

    #[test]
    fn counters_that_are_files_are_read_and_one_that_is_missing_is_no_zero() {
        let lines = ArcCounted::OF_DAEMON.iter().zip(1..);
        let lines: Vec<String> = lines
            .map(|(name, value)| format!("/zfs-kstat/zfs/arcstats/{name}:{value}\n"))
            .collect();
        let arc = ArcCounted::of_files(&lines.concat()).expect("files");
        assert_eq!((arc.size_bytes, arc.max_bytes, arc.hits, arc.misses), (1, 2, 3, 4));
        assert_eq!((arc.data_hits, arc.data_misses, arc.ahead_misses), (5, 6, 7));
        assert_eq!(arc.evicted_bytes, Some(8 + 9 + 10));
        assert_eq!(ArcCounted::of_files(&lines[1..].concat()), None);
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
