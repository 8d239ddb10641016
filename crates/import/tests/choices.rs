//! What is said beside a text is read, or the text is refused.
//!
//! Prevents: figures of all rows or devices taken for those that were asked for.

use import::{Choice, Format, ImportError, Options, detect, read};

/// A text of each format.
const TEXTS: [(Format, &str); 12] = [
    (Format::Awr, include_str!("data/unity-2017-tablespaces.txt")),
    (Format::Statspack, include_str!("data/pages/statspack-10g.txt")),
    (Format::Iostat, include_str!("data/iostat-linux-new.txt")),
    (Format::Sar, include_str!("data/hosts/sar-12.txt")),
    (Format::Sadf, include_str!("data/hosts/sadf.json")),
    (Format::Vmstat, include_str!("data/hosts/vmstat.txt")),
    (Format::Zpool, include_str!("data/hosts/zpool-v.txt")),
    (Format::Slob, include_str!("data/unity-2017-runs.txt")),
    (Format::Fio, include_str!("data/fio-3.json")),
    (Format::Pgbench, include_str!("data/loads/pgbench.txt")),
    (Format::Hammerdb, include_str!("data/loads/hammerdb.log")),
    (Format::Sysbench, include_str!("data/loads/sysbench-sql.txt")),
];

fn said(choice: Choice) -> Options {
    let nothing = Options::default();
    match choice {
        Choice::Tablespace => Options {
            tablespace: Some("FOO".into()),
            ..nothing
        },
        Choice::Devices => Options {
            devices: vec!["foo".into()],
            ..nothing
        },
        Choice::KeepFirst => Options {
            keep_first: true,
            ..nothing
        },
        Choice::Rows => Options {
            rows: vec![("x".into(), "y".into())],
            ..nothing
        },
    }
}

#[test]
fn what_a_format_does_not_read_is_refused() {
    for (format, text) in TEXTS {
        assert_eq!(detect(text), Ok(format));
        for choice in Choice::ALL {
            let answer = read(text, &said(choice));
            let is_refused = matches!(answer, Err(ImportError::Unread { .. }));
            let is_read = choice.formats().contains(&format);
            assert_eq!(is_refused, !is_read, "{choice:?} of {format:?}: {answer:?}");
            if let Err(error) = answer {
                assert!(error.to_string().lines().count() >= 2, "no cure: {error}");
            }
            assert_eq!(
                said(choice).fitted(format) == Options::default(),
                !is_read,
                "{choice:?}"
            );
        }
    }
    let error = read(TEXTS[2].1, &said(Choice::Rows)).unwrap_err().to_string();
    assert!(
        error.contains("--where") && error.contains("iostat") && error.contains("slob"),
        "{error}"
    );
}
