//! The formats that are read, and what the reader of a text must know beside the text.
//!
//! Prevents: a format whose words differ between command line, result file and error.

macro_rules! formats {
    ($($variant:ident, $word:literal, $what:literal, $looked_for:literal;)*) => {
        /// Formats that are read.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Format { $(#[doc = $what] $variant,)* }

        impl Format {
            /// All formats.
            pub const ALL: &'static [Format] = &[$(Format::$variant,)*];

            /// The word on the command line and in a result file.
            pub fn word(self) -> &'static str {
                match self { $(Format::$variant => $word,)* }
            }

            /// What it is, in a few words.
            pub fn what(self) -> &'static str {
                match self { $(Format::$variant => $what,)* }
            }

            /// What makes a text of this format.
            pub fn looked_for(self) -> &'static str {
                match self { $(Format::$variant => $looked_for,)* }
            }
        }
    };
}

formats! {
    Awr, "awr", "Oracle's AWR report, HTML or text",
        "\"WORKLOAD REPOSITORY report\", or its tables: \"Load Profile\", \"Tablespace IO Stats\", rows \"physical \
         read IO requests\" ... with their totals";
    Statspack, "statspack", "Oracle's statspack report (text)",
        "\"STATSPACK report for\", then the tables that AWR has too";
    Iostat, "iostat", "iostat -x of Linux or Solaris",
        "column titles with \"Device\" first or \"device\" last and r/s, w/s, or rows of ten numbers and a device \
         (Solaris -xn)";
    Sar, "sar", "sar -d of Linux (text)",
        "column titles with \"DEV\" and tps behind a time of day";
    Sadf, "sadf", "sadf -j -- -d (JSON)",
        "a JSON object with \"sysstat\", \"hosts\" and \"statistics\"";
    Vmstat, "vmstat", "vmstat of Linux",
        "column titles \"r b swpd free ... bi bo in cs us sy id wa\"";
    Zpool, "zpool", "zpool iostat, also with -v, -l, -H",
        "\"capacity operations bandwidth\" above \"pool alloc free read write read write\", or rows of -H";
    Slob, "slob", "What SLOB and scripts around it print",
        "\"Physical reads per second: N\", scans \"USER7 N MB, Time: N\" or \"Scan rate:\", a table that begins with \
         \"test reads1\", or \"FILE|SESSIONS|...\"";
    Fio, "fio", "fio --output-format=json",
        "a JSON object with \"fio version\" and \"jobs\"";
    Pgbench, "pgbench", "What pgbench prints",
        "\"transaction type:\", \"tps = N\" or \"progress: N s, N tps, lat N ms\"";
    Hammerdb, "hammerdb", "HammerDB's log",
        "\"TEST RESULT : System achieved N NOPM from N ... TPM\"";
    Sysbench, "sysbench", "What sysbench prints",
        "\"General statistics:\" with \"total time:\", or \"[ 10s ] thds: N tps: N\"";
}

impl Format {
    /// The format of that word.
    pub fn from_word(word: &str) -> Option<Format> {
        Format::ALL.iter().copied().find(|format| format.word() == word)
    }
}

/// Largest text that is read, in bytes: an AWR report has a few hundred KiB, an iostat log of a day some tens of MiB.
pub const TEXT_BYTES_MAX: usize = 64 << 20;

/// Most figures that one text may give.
pub const FIGURES_MAX: usize = 200_000;

/// What the reader of a text must know beside the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The format; `None`: found by what the text looks like.
    pub format: Option<Format>,
    /// AWR: the tablespace whose latency counts; `None`: the one with the most I/O.
    pub tablespace: Option<String>,
    /// iostat, sar, sadf, zpool: the devices that count; empty: all, figures by device only.
    pub devices: Vec<String>,
    /// iostat, vmstat, zpool: the first report is an interval too (`-y`), not the average since boot.
    pub keep_first: bool,
    /// Tables of runs: only rows whose column (by its title) holds this value.
    pub rows: Vec<(String, String)>,
}
