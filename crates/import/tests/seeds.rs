//! The published excerpts, read to the last digit. The figures here are typed from the publications, not from our
//! output.

use import::{Format, Imported, Options, Quantity, Report, read};

fn data(name: &str) -> String {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn imported(name: &str) -> Imported {
    read(&data(name), &Options::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn with(name: &str, options: Options) -> Imported {
    read(&data(name), &options).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn value(report: &Report, name: &str) -> f64 {
    let names: Vec<&str> = report.figures.iter().map(|f| f.name.as_str()).collect();
    report
        .figure(name)
        .unwrap_or_else(|| panic!("no {name} in {names:?}"))
        .value
}

fn comparable(report: &Report, quantity: Quantity) -> f64 {
    report.comparable(quantity).unwrap().comparable.unwrap().value
}

#[test]
fn tablespaces_of_the_unity_test() {
    let found = imported("unity-2017-tablespaces.txt");
    assert_eq!(found.format, Format::Awr);
    let report = &found.reports[0];
    let rows: [(&str, [f64; 9], u32); 5] = [
        (
            "SLOBDATA",
            [12_124_290.0, 39_796.0, 1.6, 1.0, 39_796.0, 1.6, 0.0, 93.0, 0.0],
            7,
        ),
        ("SYSAUX", [162.0, 1.0, 2.6, 1.0, 1.0, 2.5, 0.0, 310.0, 1.0], 8),
        ("UNDOTBS1", [153.0, 1.0, 17.6, 1.0, 1.0, 17.6, 0.0, 223.0, 1.0], 9),
        ("SYSTEM", [75.0, 0.0, 7.3, 1.0, 0.0, 7.3, 0.0, 17.0, 0.0], 10),
        ("UNDOTBS2", [4.0, 0.0, 17.5, 1.0, 0.0, 17.5, 0.0, 4.0, 0.0], 11),
    ];
    let words = [
        "reads",
        "reads_per_s",
        "read_time",
        "blocks_per_read",
        "single_reads_per_s",
        "single_read_time",
        "optimized_reads",
        "writes",
        "writes_per_s",
    ];
    for (space, values, line) in rows {
        for (word, wanted) in words.iter().zip(values) {
            let figure = report.figure(&format!("tablespace.{space}.{word}")).unwrap();
            assert_eq!((figure.value, figure.line), (wanted, line), "{space} {word}");
        }
    }
    assert_eq!(report.figures.len(), 45);
    assert_eq!(report.figure("tablespace.SLOBDATA.reads").unwrap().text, "12,124,290");
    assert_eq!(comparable(report, Quantity::ReadNs), 1.6e6);
    assert_eq!(comparable(report, Quantity::ReadsPerS), 39_796.0);
    assert!(found.facts.iter().any(|fact| fact.value.contains("Snaps: 359-360")));
}

#[test]
fn statistics_of_the_unity_test() {
    let found = imported("unity-2017-physical.txt");
    let report = &found.reports[0];
    let rows: [(&str, f64, f64, f64); 23] = [
        ("physical read IO requests", 24_564_203.0, 80_744.1, 1_023_508.5),
        ("physical read bytes", 201_232_334_848.0, 661_463_251.8, 8.384_680_6e9),
        ("physical read total IO requests", 24_565_836.0, 80_749.4, 1_023_576.5),
        (
            "physical read total bytes",
            201_259_089_920.0,
            661_551_197.4,
            8.385_795_4e9,
        ),
        ("physical read total multi block", 4.0, 0.0, 0.2),
        ("physical reads", 24_564_494.0, 80_745.0, 1_023_520.6),
        ("physical reads cache", 24_564_491.0, 80_745.0, 1_023_520.5),
        ("physical reads cache prefetch", 23_298_621.0, 76_584.0, 970_775.9),
        ("physical reads direct", 3.0, 0.0, 0.1),
        ("physical reads direct (lob)", 3.0, 0.0, 0.1),
        ("physical reads direct temporary", 0.0, 0.0, 0.0),
        ("physical reads prefetch warmup", 0.0, 0.0, 0.0),
        ("physical write IO requests", 428.0, 1.4, 17.8),
        ("physical write bytes", 9_330_688.0, 30_670.6, 388_778.7),
        ("physical write total IO requests", 1_084.0, 3.6, 45.2),
        ("physical write total bytes", 23_367_680.0, 76_811.0, 973_653.3),
        ("physical write total multi block", 32.0, 0.1, 1.3),
        ("physical writes", 1_139.0, 3.7, 47.5),
        ("physical writes direct", 477.0, 1.6, 19.9),
        ("physical writes direct (lob)", 9.0, 0.0, 0.4),
        ("physical writes direct temporary", 299.0, 1.0, 12.5),
        ("physical writes from cache", 662.0, 2.2, 27.6),
        ("physical writes non checkpoint", 1_111.0, 3.7, 46.3),
    ];
    for (index, (name, total, second, transaction)) in rows.into_iter().enumerate() {
        let of = |part: &str| report.figure(&format!("statistic.{name}.{part}")).unwrap();
        assert_eq!(of("total").value, total, "{name}");
        assert_eq!(of("per_s").value, second, "{name}");
        assert_eq!(of("per_transaction").value, transaction, "{name}");
        assert_eq!(of("total").line as usize, index + 1);
    }
    assert_eq!(report.figures.len(), 69);
    assert_eq!(comparable(report, Quantity::ReadsPerS), 80_744.1);
    assert_eq!(comparable(report, Quantity::ReadBytesPerS), 661_463_251.8);
    assert_eq!(comparable(report, Quantity::WritesPerS), 1.4);
    assert_eq!(report.figure("statistic.physical reads.total").unwrap().unit, "blocks");
    assert!(found.notes.is_empty(), "{:?}", found.notes);
}

/// The eighteen runs: instance 1 and 2, reads, milliseconds, writes.
const RUNS: [[f64; 6]; 18] = [
    [39731.0, 1.6, 39732.0, 1.6, 0.0, 0.0],
    [39876.0, 1.6, 39875.0, 1.6, 0.0, 0.0],
    [39709.0, 1.6, 39689.0, 1.6, 0.0, 0.0],
    [28462.0, 2.2, 28457.0, 2.2, 8405.0, 8412.0],
    [28483.0, 2.2, 28524.0, 2.2, 8424.0, 8430.0],
    [28329.0, 2.2, 28314.0, 2.2, 8386.0, 8380.0],
    [24880.0, 2.5, 24879.0, 2.5, 11730.0, 11795.0],
    [23909.0, 2.4, 24437.0, 2.5, 11306.0, 11542.0],
    [22917.0, 1.9, 25591.0, 2.4, 10840.0, 12031.0],
    [28063.0, 2.2, 28078.0, 2.2, 0.0, 0.0],
    [28642.0, 2.2, 28669.0, 2.2, 0.0, 0.0],
    [28743.0, 2.2, 28787.0, 2.2, 0.0, 0.0],
    [21542.0, 2.9, 21568.0, 2.9, 6394.0, 6400.0],
    [21074.0, 2.9, 21093.0, 2.9, 6282.0, 6312.0],
    [21443.0, 2.9, 21376.0, 2.9, 6369.0, 6405.0],
    [18854.0, 3.3, 18888.0, 3.3, 8877.0, 8854.0],
    [18517.0, 3.3, 18467.0, 3.3, 8711.0, 8744.0],
    [18729.0, 3.3, 18624.0, 3.3, 8767.0, 8808.0],
];

#[test]
fn the_eighteen_runs_of_the_unity_test() {
    let found = imported("unity-2017-runs.txt");
    assert_eq!((found.format, found.reports.len()), (Format::Slob, 18));
    for (index, (report, run)) in found.reports.iter().zip(RUNS).enumerate() {
        assert_eq!(report.label, format!("test {}", index + 1));
        let names = [
            "instance.1.reads_per_s",
            "instance.1.read_time",
            "instance.2.reads_per_s",
            "instance.2.read_time",
            "instance.1.writes_per_s",
            "instance.2.writes_per_s",
        ];
        for (name, wanted) in names.into_iter().zip(run) {
            assert_eq!(value(report, name), wanted, "{name} of run {}", index + 1);
        }
        assert_eq!(comparable(report, Quantity::ReadsPerS), run[0] + run[2]);
        assert_eq!(comparable(report, Quantity::WritesPerS), run[4] + run[5]);
    }
    // 22917 at 1.9 ms and 25591 at 2.4 ms.
    let mean = (22917.0 * 1.9 + 25591.0 * 2.4) / 48508.0;
    let ninth = comparable(&found.reports[8], Quantity::ReadNs) / 1e6;
    assert!((ninth - mean).abs() < 0.0005, "{ninth} {mean}");
}

#[test]
fn a_cell_of_the_unity_test() {
    let rows = vec![
        ("comp".to_string(), "yes".to_string()),
        ("update".to_string(), "30".to_string()),
    ];
    let found = with(
        "unity-2017-runs.txt",
        Options {
            rows,
            ..Options::default()
        },
    );
    let labels: Vec<&str> = found.reports.iter().map(|report| report.label.as_str()).collect();
    assert_eq!(labels, ["test 13", "test 14", "test 15"]);
    let rows = vec![("comp".to_string(), "maybe".to_string())];
    let error = read(
        &data("unity-2017-runs.txt"),
        &Options {
            rows,
            ..Options::default()
        },
    )
    .unwrap_err();
    assert!(error.to_string().contains("comp = maybe"), "{error}");
}

#[test]
fn devices_of_the_random_reads() {
    let found = imported("xtremio-2014-random-asm.iostat");
    assert_eq!(found.layout, "iostat -x of Solaris");
    let report = &found.reports[0];
    let rows = [
        ("sd12", [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        ("sd13", [9958.9, 0.3, 79670.8, 1.3, 0.0, 11.7, 1.2, 4.0, 100.0]),
        ("sd14", [9978.9, 0.0, 79836.2, 0.0, 0.0, 11.7, 1.2, 4.0, 100.0]),
        ("sd15", [9996.9, 0.0, 79974.8, 0.0, 0.0, 11.8, 1.2, 4.0, 100.0]),
        ("sd16", [9931.9, 0.0, 79457.5, 0.0, 0.0, 11.7, 1.2, 4.0, 100.0]),
        ("sd17", [9830.9, 0.7, 78649.5, 10.7, 0.0, 11.6, 1.2, 4.0, 100.0]),
        ("sd18", [0.0, 0.3, 0.0, 1.3, 0.0, 0.0, 0.6, 0.0, 0.0]),
    ];
    let titles = ["r/s", "w/s", "kr/s", "kw/s", "wait", "actv", "svc_t", "%w", "%b"];
    for (device, values) in rows {
        for (title, wanted) in titles.iter().zip(values) {
            assert_eq!(
                value(report, &format!("device.{device}.{title}")),
                wanted,
                "{device} {title}"
            );
        }
    }
    assert!(
        report.comparable(Quantity::DeviceReadsPerS).is_none(),
        "no sum over devices unasked"
    );

    let devices: Vec<String> = ["sd13", "sd14", "sd15", "sd16", "sd17"].map(String::from).to_vec();
    let chosen = with(
        "xtremio-2014-random-asm.iostat",
        Options {
            devices,
            ..Options::default()
        },
    );
    let report = &chosen.reports[0];
    assert_eq!(comparable(report, Quantity::DeviceReadsPerS), 49697.5);
    assert_eq!(report.figure("devices.5.kr/s").unwrap().text, "397588.8");
    // "Database I/O gets translated 1:1 into disk I/O": 8 KiB a read.
    let size = comparable(report, Quantity::DeviceReadBytesPerS) / comparable(report, Quantity::DeviceReadsPerS);
    assert!((size / 8192.0 - 1.0).abs() < 0.001, "{size}");
}

#[test]
fn devices_of_the_scan_without_titles() {
    let found = imported("xtremio-2014-scan-asm.iostat");
    assert!(found.layout.contains("titles cut off"), "{}", found.layout);
    let rows = [
        ("c3t0d0", [575.9, 9.0, 73657.5, 94.0, 0.0, 1.6, 0.0, 2.7, 0.0, 22.0]),
        ("c3t1d0", [609.4, 10.5, 77745.1, 196.0, 0.0, 1.7, 0.0, 2.7, 0.0, 23.0]),
        ("c3t2d0", [640.9, 6.5, 81832.8, 92.0, 0.0, 1.8, 0.0, 2.8, 0.0, 25.0]),
        ("c3t3d0", [549.0, 12.5, 70145.8, 212.0, 0.0, 1.5, 0.0, 2.7, 0.0, 21.0]),
        ("c3t4d0", [590.4, 5.0, 75401.3, 152.0, 0.0, 1.7, 0.0, 2.8, 0.0, 23.0]),
    ];
    let titles = [
        "r/s", "w/s", "kr/s", "kw/s", "wait", "actv", "wsvc_t", "asvc_t", "%w", "%b",
    ];
    for (device, values) in rows {
        for (title, wanted) in titles.iter().zip(values) {
            assert_eq!(value(&found.reports[0], &format!("device.{device}.{title}")), wanted);
        }
    }
}

#[test]
fn devices_of_the_copy() {
    let sums = |pattern: &str| {
        let found = with(
            "xtremio-2014-copy.iostat",
            Options {
                devices: vec![pattern.into()],
                ..Options::default()
            },
        );
        let of = |title: &str| {
            found.reports[0]
                .figure(&format!("devices.5.{title}"))
                .unwrap()
                .text
                .clone()
        };
        (of("kr/s"), of("kw/s"))
    };
    // Added by hand from the ten rows.
    assert_eq!(sums("c3*"), ("57348.2".to_string(), "2.0".to_string()));
    assert_eq!(sums("c2*"), ("13043.0".to_string(), "87954.5".to_string()));
    let found = imported("xtremio-2014-random-zfs.iostat");
    assert_eq!(value(&found.reports[0], "device.sd6.kr/s"), 73919.9);
}

#[test]
fn scans_by_user() {
    for (name, rate, text, seconds, users) in [
        ("asm", 234.16, "234.16", 300.27, [("USER28", 29.64), ("USER31", 30.2)]),
        (
            "zfs-fresh",
            132.15,
            "132.15",
            532.08,
            [("USER58", 52.58), ("USER6", 55.89)],
        ),
        (
            "zfs-aged",
            109.80,
            "109.80",
            640.35,
            [("USER33", 77.78), ("USER19", 77.13)],
        ),
    ] {
        let found = imported(&format!("xtremio-2014-scan-{name}.txt"));
        let report = &found.reports[0];
        assert_eq!(value(report, "scan.rate"), rate);
        assert_eq!(report.figure("scan.rate").unwrap().text, text);
        assert_eq!(value(report, "scan.elapsed"), seconds);
        assert_eq!(value(report, "scan.bytes"), 70313.0);
        assert_eq!(value(report, "scan.users"), 10.0);
        for (user, time) in users {
            assert_eq!(value(report, &format!("scan.user.{user}.time")), time);
            assert_eq!(value(report, &format!("scan.user.{user}.bytes")), 7031.0);
        }
        assert_eq!(report.figures.iter().filter(|f| f.name.ends_with(".time")).count(), 10);
        assert_eq!(comparable(report, Quantity::ReadBytesPerS), rate * 1_048_576.0);
        // The rate is that of the bytes over the seconds, within its last digit: a check of our reading of MB.
        assert!((70313.0 / seconds - rate).abs() < 0.02);
    }
}

#[test]
fn rates_by_second() {
    for (name, reads, writes, read_mb, write_mb) in [
        ("random-asm", 44_391.0, 2.0, 346.0, None),
        ("half-updates-asm", 32_600.0, 15_687.0, 267.0, Some(134.0)),
        ("random-zfs-fresh", 22_231.0, 2.0, 182.0, None),
        ("random-zfs-aged", 22_111.0, 4.0, 181.0, None),
    ] {
        let found = imported(&format!("xtremio-2014-{name}.txt"));
        let report = &found.reports[0];
        assert_eq!(comparable(report, Quantity::ReadsPerS), reads);
        assert_eq!(comparable(report, Quantity::WritesPerS), writes);
        assert_eq!(value(report, "bandwidth.read"), read_mb);
        assert_eq!(report.figure("bandwidth.write").map(|f| f.value), write_mb);
        assert!(
            report.comparable(Quantity::ReadBytesPerS).is_none(),
            "nobody knows which MB"
        );
    }
    for (name, bytes, reads) in [("asm", 245.0, 1872.0), ("zfs-fresh", 138.0, 1075.0)] {
        let found = imported(&format!("xtremio-2014-scan-{name}-awr.txt"));
        assert_eq!(value(&found.reports[0], "stated.read_bytes_per_s"), bytes);
        assert_eq!(value(&found.reports[0], "stated.reads_per_s"), reads);
    }
    let copy = imported("xtremio-2014-copy.txt");
    assert_eq!(comparable(&copy.reports[0], Quantity::ElapsedS), 8326.0);
    assert_eq!(copy.reports[0].figures[0].text, "02:18:46");
    let idle = read("CPU idle average 6\n", &Options::default()).unwrap();
    assert_eq!(value(&idle.reports[0], "cpu.idle"), 6.0);
}
