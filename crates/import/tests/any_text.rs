//! Whatever the text: no panic, no wild allocation, bounded time; and every figure stands on the line it names.

use import::{Format, Options, detect, read};
use proptest::prelude::*;

const FIXTURES: [&str; 38] = [
    include_str!("data/awr-10g.txt"),
    include_str!("data/awr-19c.txt"),
    include_str!("data/awr-info.txt"),
    include_str!("data/fio-2.json"),
    include_str!("data/fio-3.json"),
    include_str!("data/iostat-linux-new.txt"),
    include_str!("data/iostat-linux-old.txt"),
    include_str!("data/unity-2017-physical.txt"),
    include_str!("data/unity-2017-runs.txt"),
    include_str!("data/unity-2017-tablespaces.txt"),
    include_str!("data/xtremio-2014-copy.iostat"),
    include_str!("data/xtremio-2014-half-updates-asm.txt"),
    include_str!("data/xtremio-2014-random-asm.iostat"),
    include_str!("data/xtremio-2014-scan-asm.txt"),
    include_str!("data/pages/11.2.0.3.html"),
    include_str!("data/pages/11.2.0.4.html"),
    include_str!("data/pages/18c.html"),
    include_str!("data/pages/11.2-load-profile.txt"),
    include_str!("data/pages/statspack-10g.txt"),
    include_str!("data/pages/statspack-9i.txt"),
    include_str!("data/pages/11.2-events.txt"),
    include_str!("data/pages/19c-sqlplus.txt"),
    include_str!("data/pages/12.1-containers.html"),
    include_str!("data/pages/statspack-11g.txt"),
    include_str!("data/hosts/sar-12.txt"),
    include_str!("data/hosts/sar-old.txt"),
    include_str!("data/hosts/sadf.json"),
    include_str!("data/hosts/vmstat.txt"),
    include_str!("data/hosts/zpool-v.txt"),
    include_str!("data/hosts/zpool-l.txt"),
    include_str!("data/hosts/zpool-h.txt"),
    include_str!("data/loads/pgbench.txt"),
    include_str!("data/loads/pgbench-old.txt"),
    include_str!("data/loads/hammerdb.log"),
    include_str!("data/loads/sysbench-sql.txt"),
    include_str!("data/loads/sysbench-fileio.txt"),
    include_str!("data/loads/sysbench-0.5.txt"),
    include_str!("data/loads/sysbench-1.1-fileio.txt"),
];

/// Reads as everything; what comes out must hold together.
fn all_ways(text: &str) {
    let formats = Format::ALL.iter().copied().map(Some).chain([None]);
    for format in formats {
        for devices in [vec![], vec!["sd*".to_string()]] {
            let options = Options {
                format,
                devices,
                keep_first: text.len().is_multiple_of(2),
                ..Options::default()
            };
            let options = match format.or_else(|| detect(text).ok()) {
                Some(format) => options.fitted(format),
                None => options,
            };
            match read(text, &options) {
                Ok(found) => sound(text, &found),
                Err(error) => assert!(error.to_string().lines().count() >= 2, "no cure: {error}"),
            }
        }
    }
}

fn sound(text: &str, found: &import::Imported) {
    let lines = text.split('\n').count();
    let figures = found.reports.iter().flat_map(|report| &report.figures);
    let mut count = 0;
    for figure in figures {
        count += 1;
        assert!(figure.value.is_finite() && figure.text.len() < 100, "{figure:?}");
        assert!(figure.line >= 1 && figure.line as usize <= lines, "{figure:?}");
        if let Some(comparable) = figure.comparable {
            assert!(comparable.value.is_finite() && comparable.value >= 0.0, "{figure:?}");
        }
    }
    // A text gives no more figures than it has words, but for sums and means.
    assert!(count <= text.split_whitespace().count() * 2 + 64, "{count} figures");
    assert!(found.notes.len() <= 300 && found.facts.len() <= 300);
}

#[derive(Clone, Debug)]
enum Damage {
    Delete(usize, usize),
    Double(usize, usize),
    Insert(usize, String),
    Swap(usize, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let words = prop::sample::select(vec![
        "\u{c}",
        "\r",
        "\n",
        "\t",
        ",",
        ".",
        "-",
        "----------",
        "#####",
        "1e400",
        "\u{a0}",
        "٣",
        "{",
        "\"",
        "Tablespace\n",
        "physical reads",
        "Device: r/s",
        "999,999,999,999,999,999,999",
        "-5",
        "NaN",
        "|",
        "USER1 1 MB, Time: 1\n",
        "Tablespace IO Stats\n",
        "<table>",
        "</td>",
        "<tr><td>",
        "&nbsp;",
        "Load Profile\n",
        "30.8K",
        "test reads1 writes1\n",
        "\u{feff}",
    ]);
    prop_oneof![
        (any::<usize>(), 0usize..80).prop_map(|(at, n)| Damage::Delete(at, n)),
        (any::<usize>(), 0usize..400).prop_map(|(at, n)| Damage::Double(at, n)),
        (any::<usize>(), words).prop_map(|(at, word)| Damage::Insert(at, word.into())),
        (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Damage::Swap(a, b)),
    ]
}

fn damaged(text: &str, all: &[Damage]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for one in all {
        let length = chars.len().max(1);
        match one {
            Damage::Delete(at, n) => {
                let at = at % length;
                let end = (at + n).min(chars.len());
                chars.drain(at.min(end)..end);
            }
            Damage::Double(at, n) => {
                let at = (at % length).min(chars.len());
                let end = (at + n).min(chars.len());
                let piece = chars[at..end].to_vec();
                chars.splice(at..at, piece);
            }
            Damage::Insert(at, word) => {
                let at = (at % length).min(chars.len());
                chars.splice(at..at, word.chars());
            }
            Damage::Swap(a, b) if !chars.is_empty() => chars.swap(a % length, b % length),
            Damage::Swap(..) => {}
        }
    }
    chars.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text(text in any::<String>()) {
        all_ways(&text);
    }

    #[test]
    fn words_of_the_layouts_in_any_order(
        words in prop::collection::vec(
            prop::sample::select(FIXTURES.iter().flat_map(|t| t.split_inclusive([' ', '\n'])).collect::<Vec<_>>()),
            0..200,
        )
    ) {
        all_ways(&words.concat());
    }

    #[test]
    fn damaged_fixtures(
        which in 0..FIXTURES.len(),
        all in prop::collection::vec(damage(), 1..12),
    ) {
        all_ways(&damaged(FIXTURES[which], &all));
    }

    #[test]
    fn two_fixtures_in_one(a in 0..FIXTURES.len(), b in 0..FIXTURES.len(), cut in any::<usize>()) {
        let first: String = FIXTURES[a].chars().take(cut % (FIXTURES[a].len() + 1)).collect();
        all_ways(&(first + FIXTURES[b]));
    }
}

/// A quarter of a megabyte of each kind of line, and less below each heading, which must not take a quadratic time: a
/// hang would be noticed here.
#[test]
fn long_texts_are_read_in_one_go() {
    let lines = [
        "USER1 7031 MB, Time: 1.5\n",
        "a_tablespace_name\n",
        "physical reads abc 1 2 3\n",
        "sd1 1 2 3 4 5 6 7 8 9\n",
        "1 2 3 4 5 6 7 8 9 10 sd1\n",
        "{\n",
        "{\"a\":\n",
        "1 2 3 4 5 6 7 8 9\n",
        "---- ---- ----\n",
        "| | | |\n",
        "<tr><td>name<td>7\n",
        "name\t1K\t1\t1\t1\t1\t1\n",
        "progress: 7.0 s, 1.0 tps, lat 1.0 ms stddev 1.0, 0 failed\n",
        "[ 7s ] thds: 8 tps: 7.0 qps: 7.0 lat (ms,95%): 1.0\n",
    ];
    for head in [
        "",
        "Tablespace IO Stats\nTablespace Reads\n---------- -----\n",
        "device r/s w/s kr/s kw/s wait actv svc_t %w %b\n",
        "test reads1 writes1\n",
        "FILE|SESSIONS|\n",
        "r b swpd bi bo id\n",
        "pool alloc free read write read write\n",
        "<table><tr><th>Tablespace<th>Reads\n",
    ] {
        for line in lines {
            let (bytes, names) = if head.is_empty() {
                (1 << 18, 10_000)
            } else {
                (1 << 15, 1000)
            };
            let text = format!("{head}{}", line.repeat(bytes / line.len()));
            all_ways_once(&text);
            let distinct: String = (0..names)
                .map(|i| {
                    line.replace("USER1", &format!("USER{i}"))
                        .replace("sd1", &format!("sd{i}"))
                        .replace("name", &format!("n{i} 1 2"))
                })
                .collect();
            all_ways_once(&format!("{head}{distinct}"));
        }
    }
}

fn all_ways_once(text: &str) {
    for format in Format::ALL {
        let options = Options {
            format: Some(*format),
            ..Options::default()
        };
        if let Ok(found) = read(text, &options) {
            assert!(found.notes.len() <= 300);
        }
    }
}
