//! Texts that are small and would take much memory or time: each is refused, or read without either.
//!
//! Prevents: a file of a megabyte that takes all memory of the machine that reads it.

use import::{Format, ImportError, Imported, Options, TEXT_BYTES_MAX, read};

fn as_format(format: Format, text: &str) -> Result<Imported, ImportError> {
    let options = Options {
        format: Some(format),
        keep_first: true,
        ..Options::default()
    };
    read(text, &options.fitted(format))
}

fn too_large(format: Format, text: &str) -> bool {
    let answer = as_format(format, text).map(|found| found.reports.len());
    if let Err(ImportError::TooLarge { bytes }) = answer {
        assert_eq!(bytes, text.len(), "the error speaks of the text");
    }
    matches!(answer, Err(ImportError::TooLarge { .. }))
}

fn value(of: &Imported, name: &str) -> f64 {
    let figure = of.reports[0].figure(name);
    figure.unwrap_or_else(|| panic!("no {name}")).value
}

const ZPOOL: &str = "pool alloc free read write read write\n";

#[test]
fn a_name_of_zpool_iostat_has_a_length() {
    let row = |bytes: usize| format!("{ZPOOL}{} 1G 2G 3 4 5K 6K\n", "n".repeat(bytes));
    assert!(as_format(Format::Zpool, &row(200)).is_ok());
    let error = as_format(Format::Zpool, &row(201)).unwrap_err().to_string();
    assert!(
        error.contains("line 2") && error.contains("201 bytes") && error.contains("without -P"),
        "{error}"
    );
}

#[test]
fn names_of_zpool_iostat_behind_those_above_them_have_a_sum() {
    let name = "n".repeat(200);
    let chain: String = (0..16)
        .map(|depth| format!("{}{name} 1 2 3 4 5 6\n", " ".repeat(depth)))
        .collect();
    let joined: usize = (1..=16).map(|depth| depth * 201 - 1).sum();
    let most = TEXT_BYTES_MAX / joined;
    let text = |times: usize| format!("{ZPOOL}{}", chain.repeat(times));
    assert!(!too_large(Format::Zpool, &text(most)));
    assert!(too_large(Format::Zpool, &text(most + 1)));
}

#[test]
fn names_of_devices_by_their_columns_have_a_sum() {
    let titles = "Device r/s w/s rkB/s wkB/s r_await w_await %util\n";
    let row = |bytes: usize| format!("{titles}{} 1 2 3 4 5 6 7\n", "n".repeat(bytes));
    assert!(!too_large(Format::Iostat, &row(TEXT_BYTES_MAX / 8)));
    assert!(too_large(Format::Iostat, &row(TEXT_BYTES_MAX / 8 + 1)));
}

/// A text with so many commas more, in a list that no reader looks at.
fn with_commas(text: &str, before: &str, commas: usize) -> String {
    let list = format!("\"x\": [{}0],\n{before}", "0,".repeat(commas));
    text.replacen(before, &list, 1)
}

#[test]
fn json_has_so_many_values() {
    for (format, text, before) in [
        (Format::Fio, include_str!("data/fio-3.json"), "\"fio version\""),
        (Format::Sadf, include_str!("data/hosts/sadf.json"), "\"hosts\""),
    ] {
        let marks = |text: &str| text.bytes().filter(|b| b"{[,".contains(b)).count();
        let own = marks(&with_commas(text, before, 0));
        let most = with_commas(text, before, 500_000 - own);
        assert_eq!(marks(&most), 500_000);
        assert!(as_format(format, &most).is_ok(), "{format:?}");
        assert!(
            too_large(format, &with_commas(text, before, 500_001 - own)),
            "{format:?}"
        );
    }
}

#[test]
fn statistics_have_so_many_rows() {
    let rows = |count: usize| -> String { (0..count).map(|i| format!("physical reads k{i} 1 2 3\n")).collect() };
    let most = rows(20_000);
    assert!(!too_large(Format::Awr, &most));
    assert!(
        !too_large(Format::Awr, &format!("{most}{most}")),
        "rows that are there again"
    );
    assert!(too_large(Format::Awr, &rows(20_001)));
}

/// With a copy of the titles for each row this takes minutes.
#[test]
fn a_long_title_is_cut_and_not_copied_for_each_row() {
    let head = format!(
        "Tablespace IO Stats\nTablespace Reads {}\n---------- ----- -----\n",
        "ö".repeat(2 << 20)
    );
    let rows = "USERS 7 8\n".repeat(100_000);
    let found = as_format(Format::Awr, &format!("{head}{rows}")).unwrap();
    assert_eq!(value(&found, "tablespace.USERS.reads"), 7.0);
    let note = found
        .notes
        .iter()
        .find(|note| note.text.contains("is not known"))
        .unwrap();
    assert!(
        note.text.contains(&"ö".repeat(100)) && note.text.len() < 300,
        "{note:?}"
    );
}

/// With a search through all names for each row these take long enough to be noticed.
#[test]
fn names_that_are_here_again_are_found_at_once() {
    let head = "Tablespace IO Stats\nTablespace Reads Writes\n---------- ----- ------\n";
    let spaces: String = (0..4000).map(|i| format!("SPACE_{i:0>40} {i} 8\n")).collect();
    let again = format!("SPACE_{:0>40} 9 9\n", 3999).repeat(100_000);
    let found = as_format(Format::Awr, &format!("{head}{spaces}{again}")).unwrap();
    assert_eq!(found.reports[0].figures.len(), 8000);
    assert_eq!(value(&found, &format!("tablespace.SPACE_{:0>40}.reads", 3999)), 3999.0);
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.text == "99801 more lines were left out")
    );

    let summary = ">>>>> SUMMARY OF 2 ACTIVE VIRTUAL USERS : MEDIAN ELAPSED TIME : 1ms\n";
    let procedures: String = (0..900)
        .map(|i| format!(">>>>> PROC: P{i:0>40}\nMIN: {i}ms\n"))
        .collect();
    let again = format!("{}\n", "MIN: 9999ms ".repeat(32)).repeat(10_000);
    let found = as_format(Format::Hammerdb, &format!("{summary}{procedures}{again}")).unwrap();
    assert_eq!(found.reports[0].figures.len(), 900);
    assert_eq!(value(&found, &format!("hammerdb.P{:0>40}.min", 899)), 899.0);
}

#[test]
fn times_of_a_later_test_may_have_the_names_of_an_earlier() {
    let test = include_str!("data/loads/hammerdb.log");
    let found = as_format(Format::Hammerdb, &format!("{test}{test}")).unwrap();
    let mean = |report: usize| found.reports[report].figure("hammerdb.NEWORD.avg").map(|f| f.value);
    assert_eq!([mean(0), mean(1), mean(2)], [Some(31.874), None, Some(31.874)]);
}

#[test]
fn a_name_longer_than_a_database_gives_is_no_tablespace() {
    let rows = |bytes: usize| {
        let name = "N".repeat(bytes);
        format!("Tablespace IO Stats\nTablespace Reads\n---------- -----\nUSERS 7\n{name} 9\n")
    };
    let figures = |bytes: usize| as_format(Format::Awr, &rows(bytes)).unwrap().reports[0].figures.len();
    assert_eq!([figures(200), figures(201)], [2, 1]);
    let found = as_format(Format::Awr, &rows(201)).unwrap();
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.line == 5 && note.text.contains("left out"))
    );
}
