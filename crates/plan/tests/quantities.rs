//! Sizes, durations, shares and rates: what is printed reads back as the same value, and nothing is rounded silently.

use plan::{ByteRate, Bytes, Duration, Rate, Share};
use proptest::prelude::*;

proptest! {
    #[test]
    fn sizes_round_trip(value: u64, shift in 0u32..50) {
        for bytes in [Bytes(value), Bytes(value >> shift << shift), Bytes(value % 10_000 * 1_000_000)] {
            prop_assert_eq!(bytes.to_string().parse(), Ok(bytes));
            prop_assert_eq!(bytes.0.to_string().parse(), Ok(bytes), "plain bytes");
            prop_assert_eq!(ByteRate(bytes.0).to_string().parse(), Ok(ByteRate(bytes.0)));
        }
    }

    #[test]
    fn durations_round_trip(
        value: u64,
        unit in prop::sample::select(vec![1u64, 1_000, 1_000_000, 1_000_000_000, 60_000_000_000]),
    ) {
        for duration in [Duration(value), Duration(value % 100_000 * unit)] {
            prop_assert_eq!(duration.to_string().parse(), Ok(duration));
        }
    }

    #[test]
    fn shares_round_trip(value in 0.0f64..20.0, hundredths in 0u32..=10_000) {
        for share in [Share(value), Share(f64::from(hundredths) / 10_000.0)] {
            prop_assert_eq!(share.to_string().parse(), Ok(share), "{}", share);
        }
    }

    #[test]
    fn rates_round_trip(value in 0.0f64..1e9) {
        prop_assert_eq!(Rate(value).to_string().parse(), Ok(Rate(value)));
    }

    #[test]
    fn no_text_is_read_wrongly(text in "[0-9.eE+ -]{0,8}[a-zA-Zµ%/ ]{0,4}") {
        // Whatever is accepted must print as something that means the same.
        if let Ok(v) = text.parse::<Bytes>() { prop_assert_eq!(v.to_string().parse(), Ok(v)); }
        if let Ok(v) = text.parse::<Duration>() { prop_assert_eq!(v.to_string().parse(), Ok(v)); }
        if let Ok(v) = text.parse::<Share>() { prop_assert_eq!(v.to_string().parse(), Ok(v)); }
        if let Ok(v) = text.parse::<Rate>() { prop_assert_eq!(v.to_string().parse(), Ok(v)); }
    }
}

#[test]
fn sizes_as_people_write_them() {
    let read = |text: &str| text.parse::<Bytes>().map(|bytes| bytes.0).map_err(|e| e.to_string());
    assert_eq!(read("8KiB"), Ok(8192));
    assert_eq!(read("2GiB"), Ok(2 << 30));
    assert_eq!(read("1MB"), Ok(1_000_000));
    assert_eq!(read("1kB"), Ok(1_000));
    assert_eq!(read("1.5GiB"), Ok(3 << 29));
    assert_eq!(read(" 12 MiB "), Ok(12 << 20));
    assert_eq!(read("4096"), Ok(4096));
    assert_eq!(read("512B"), Ok(512));
    for wrong in [
        "",
        "KiB",
        "1G",
        "8k",
        "8kib",
        "-1KiB",
        "1..5MiB",
        "1.MiB",
        ".5MiB",
        "0.3KiB",
        "20000000TiB",
        "1e3",
    ] {
        assert!(read(wrong).is_err(), "{wrong:?} is no size");
    }
    assert!(
        read("1G").is_err_and(|e| e.contains("2GiB")),
        "the message shows how it is written"
    );
}

#[test]
fn durations_need_a_unit() {
    let read = |text: &str| text.parse::<Duration>().map(|duration| duration.0).ok();
    assert_eq!(read("60s"), Some(60_000_000_000));
    assert_eq!(read("2h"), Some(7_200_000_000_000));
    assert_eq!(read("500ms"), Some(500_000_000));
    assert_eq!(read("100us"), Some(100_000));
    assert_eq!(read("100µs"), Some(100_000));
    assert_eq!(read("0.5s"), Some(500_000_000));
    assert_eq!(read("10min"), read("10m"));
    for wrong in ["", "5", "s", "5 sec", "-5s", "0.5ns", "600000000000h"] {
        assert_eq!(read(wrong), None, "{wrong:?} is no duration");
    }
}

#[test]
fn quantities_print_as_people_write_them() {
    let sizes = [
        (0, "0B"),
        (1, "1B"),
        (8192, "8KiB"),
        (1_000_000, "1MB"),
        (3 << 29, "1536MiB"),
        (1000, "1000B"),
    ];
    for (bytes, text) in sizes {
        assert_eq!(Bytes(bytes).to_string(), text);
    }
    let times = [
        (0, "0s"),
        (1, "1ns"),
        (90_000_000_000, "90s"),
        (7_200_000_000_000, "2h"),
        (1_500_000_000, "1500ms"),
    ];
    for (ns, text) in times {
        assert_eq!(Duration(ns).to_string(), text);
    }
    for (share, text) in [
        (0.05, "5%"),
        (0.0, "0%"),
        (1.0, "100%"),
        (0.125, "12.5%"),
        (0.07, "7%"),
        (0.29, "29%"),
    ] {
        assert_eq!(Share(share).to_string(), text);
    }
    assert_eq!(Rate(500.0).to_string(), "500/s");
    assert_eq!(ByteRate(200_000_000).to_string(), "200MB/s");
}
