//! Texts of host tools and load generators: sar, sadf, vmstat, zpool iostat, pgbench, HammerDB, sysbench.

use import::{Format, ImportError, Imported, Options, Quantity, read};

fn data(name: &str) -> String {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn imported(name: &str, format: Format) -> Imported {
    with(name, format, Options::default())
}

fn with(name: &str, format: Format, options: Options) -> Imported {
    let found = read(&data(name), &options).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(found.format, format, "{name}");
    found
}

fn devices(names: &[&str]) -> Options {
    Options {
        devices: names.iter().map(|name| (*name).to_string()).collect(),
        ..Options::default()
    }
}

/// Value, unit and line.
fn printed(of: &Imported, report: usize, name: &str) -> (f64, &'static str, u32) {
    let names: Vec<&str> = of.reports[report].figures.iter().map(|f| f.name.as_str()).collect();
    let figure = of.reports[report]
        .figure(name)
        .unwrap_or_else(|| panic!("no {name} in {names:#?}"));
    (figure.value, figure.unit, figure.line)
}

fn value(of: &Imported, name: &str) -> f64 {
    printed(of, 0, name).0
}

fn comparable(of: &Imported, quantity: Quantity) -> Option<f64> {
    of.reports[0]
        .comparable(quantity)?
        .comparable
        .map(|comparable| comparable.value)
}

fn refused(text: &str) -> ImportError {
    let error = read(text, &Options::default()).unwrap_err();
    assert!(error.to_string().lines().count() >= 2, "no cure: {error}");
    error
}

#[test]
fn sar_with_averages_and_without() {
    let found = imported("hosts/sar-12.txt", Format::Sar);
    assert_eq!(found.layout, "sar -d, its averages");
    assert_eq!(printed(&found, 0, "device.nvme0n1.await"), (0.65, "ms", 8));
    assert_eq!(value(&found, "device.sda.wkB/s"), 160.0);
    assert_eq!(comparable(&found, Quantity::DeviceReadBytesPerS), None);
    let one = with("hosts/sar-12.txt", Format::Sar, devices(&["nvme*"]));
    assert_eq!(comparable(&one, Quantity::DeviceReadBytesPerS), Some(16_000.0 * 1024.0));
    let old = imported("hosts/sar-old.txt", Format::Sar);
    assert_eq!(value(&old, "device.sda.tps"), 200.0);
    // Weighted by requests: 100 at 2 ms and 300 at 4 ms.
    assert_eq!(value(&old, "device.sda.await"), 3.5);
    assert_eq!(comparable(&old, Quantity::DeviceReadBytesPerS), Some(3200.0 * 512.0));
    let french = data("hosts/sar-old.txt").replace("1600.00", "1600,00");
    assert!(matches!(refused(&french), ImportError::DecimalComma { line: 4, .. }));
}

#[test]
fn sadf_as_json() {
    let found = imported("hosts/sadf.json", Format::Sadf);
    assert_eq!(printed(&found, 0, "device.vda.rkB/s"), (1600.0, "KiB/s", 14));
    assert_eq!(value(&found, "device.vda.await"), 2.5);
    assert_eq!(printed(&found, 0, "device.vdb.%util"), (0.2, "%", 15));
    let cut = data("hosts/sadf.json");
    let error = refused(&cut[..cut.len() / 2]);
    assert!(error.to_string().contains("not the JSON of sadf"), "{error}");
}

#[test]
fn vmstat_without_its_first_row() {
    let found = imported("hosts/vmstat.txt", Format::Vmstat);
    assert_eq!(printed(&found, 0, "io.bi"), (85_000.5, "KiB/s", 4));
    assert_eq!(value(&found, "procs.b"), 4.5);
    assert_eq!(comparable(&found, Quantity::CpuIdleShare), Some(0.79));
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.line == 3 && note.text.contains("since boot"))
    );
    assert!(
        found.reports[0]
            .figures
            .iter()
            .all(|figure| !figure.name.contains("swpd"))
    );
    // A row whose wait for I/O some kernels print as thousands of millions of per cent.
    let text = data("hosts/vmstat.txt");
    let last = text.lines().last().unwrap();
    let mut words: Vec<&str> = last.split_whitespace().collect();
    words[15] = "3035110221";
    let broken = read(
        &format!("{}\n{}\n", text.trim_end(), words.join(" ")),
        &Options::default(),
    )
    .unwrap();
    assert_eq!(comparable(&broken, Quantity::CpuIdleShare), Some(0.79));
    assert!(broken.notes.iter().any(|note| note.text.contains("share")));
    let one: Vec<String> = data("hosts/vmstat.txt").lines().take(3).map(String::from).collect();
    assert!(
        refused(&one.join("\n"))
            .to_string()
            .contains("since the system was started")
    );
}

#[test]
fn zpool_iostat_in_its_forms() {
    let leaves = devices(&["tank/mirror-0/sd*"]);
    let found = with("hosts/zpool-v.txt", Format::Zpool, leaves);
    assert_eq!(
        printed(&found, 0, "device.tank/mirror-0/sda.operations.read"),
        (1024.0, "requests/s", 16)
    );
    assert_eq!(comparable(&found, Quantity::DeviceReadsPerS), Some(2048.0));
    assert_eq!(
        comparable(&found, Quantity::DeviceReadBytesPerS),
        Some(16.0 * 1_048_576.0)
    );
    let all = imported("hosts/zpool-v.txt", Format::Zpool);
    assert_eq!(value(&all, "device.tank.bandwidth.write"), 800.0 * 1024.0);
    assert_eq!(value(&all, "device.tank/logs/nvme0n1.operations.write"), 10.0);
    assert_eq!(
        comparable(&all, Quantity::DeviceReadsPerS),
        None,
        "a mirror is no device"
    );
    assert!(
        all.notes
            .iter()
            .any(|note| note.line == 4 && note.text.contains("imported"))
    );
    let one = refused(&data("hosts/zpool-l.txt"));
    assert!(one.to_string().contains("--keep-first"), "{one}");
    let kept = Options {
        keep_first: true,
        ..Options::default()
    };
    let waits = with("hosts/zpool-l.txt", Format::Zpool, kept);
    assert_eq!(printed(&waits, 0, "device.tank.total_wait.write"), (1000.0, "us", 4));
    assert_eq!(value(&waits, "device.tank.disk_wait.read"), 559.0);
    let raw = imported("hosts/zpool-h.txt", Format::Zpool);
    assert_eq!(
        printed(&raw, 0, "device.tank.operations.read"),
        (3072.0, "requests/s", 2)
    );
    assert_eq!(value(&raw, "device.tank.bandwidth.read"), 25_165_824.0);
    let unknown = data("hosts/zpool-v.txt").replace("16.0M", "16.0Q");
    assert!(refused(&unknown).to_string().contains("unknown unit"));
}

#[test]
fn pgbench_new_and_old() {
    let found = imported("loads/pgbench.txt", Format::Pgbench);
    assert_eq!(
        printed(&found, 0, "tps.without_connection_time"),
        (2834.512377, "transactions/s", 17)
    );
    assert_eq!(printed(&found, 0, "latency.average"), (1.058, "ms", 14));
    assert_eq!(value(&found, "progress.40.0 s.tps"), 2755.1);
    assert_eq!(value(&found, "progress.40.0 s.schedule_lag.average"), 0.12);
    assert_eq!(comparable(&found, Quantity::ElapsedS), Some(40.0));
    let statement = "statement.3 UPDATE pgbench_accounts SET abalance = abalance + :delta WHE....latency";
    assert_eq!(printed(&found, 0, statement), (0.224, "ms", 21));
    let old = imported("loads/pgbench-old.txt", Format::Pgbench);
    assert_eq!(value(&old, "tps.including_connections"), 2033.41125);
    assert_eq!(value(&old, "tps.excluding_connections"), 2033.502114);
    assert_eq!(value(&old, "latency.stddev"), 61.12);
    assert_eq!(value(&old, "statement.2 select f_test(:id);.latency"), 7.864402);
    let two = format!("{}{}", data("loads/pgbench.txt"), data("loads/pgbench-old.txt"));
    assert!(refused(&two).to_string().contains("second run"));
    let comma = data("loads/pgbench.txt").replace("= 1.058 ms", "= 1,058 ms");
    assert!(matches!(refused(&comma), ImportError::DecimalComma { line: 14, .. }));
    let minutes = data("loads/pgbench.txt").replace("duration: 40 s", "duration: 40 min");
    assert!(refused(&minutes).to_string().contains("unknown unit"));
}

#[test]
fn hammerdb_before_and_after_version_4() {
    let found = imported("loads/hammerdb.log", Format::Hammerdb);
    let labels: Vec<&str> = found.reports.iter().map(|report| report.label.as_str()).collect();
    assert_eq!(labels, ["test 1", "test 2"]);
    assert_eq!(printed(&found, 0, "hammerdb.NOPM"), (31_807.0, "NOPM", 4));
    assert_eq!(printed(&found, 0, "hammerdb.PostgreSQL TPM"), (73_105.0, "TPM", 4));
    // Of all virtual users, not of the second.
    assert_eq!(printed(&found, 0, "hammerdb.NEWORD.avg"), (31.874, "ms", 11));
    assert_eq!(printed(&found, 0, "hammerdb.PAYMENT.p99").0, 113.035);
    assert_eq!(printed(&found, 1, "hammerdb.NOPM").0, 10_944.0);
    assert_eq!(printed(&found, 1, "hammerdb.SQL Server TPM").0, 50_112.0);
    assert!(
        found
            .reports
            .iter()
            .flat_map(|r| &r.figures)
            .all(|figure| figure.comparable.is_none())
    );
}

#[test]
fn sysbench_with_sql_files_and_version_0_5() {
    let sql = imported("loads/sysbench-sql.txt", Format::Sysbench);
    assert_eq!(printed(&sql, 0, "transactions.per_s"), (633.77, "/s", 17));
    assert_eq!(value(&sql, "queries.read"), 70_000.0);
    assert_eq!(value(&sql, "queries.per_s"), 12_675.4);
    assert_eq!(value(&sql, "latency.p95"), 15.0);
    assert_eq!(value(&sql, "interval.20s.tps"), 655.1);
    assert_eq!(comparable(&sql, Quantity::ElapsedS), Some(20.008));
    assert_eq!(comparable(&sql, Quantity::ReadsPerS), None, "a query is no request");
    let files = imported("loads/sysbench-fileio.txt", Format::Sysbench);
    assert_eq!(comparable(&files, Quantity::ReadsPerS), Some(1204.55));
    assert_eq!(comparable(&files, Quantity::WriteBytesPerS), Some(12.55 * 1_048_576.0));
    let old = imported("loads/sysbench-0.5.txt", Format::Sysbench);
    assert_eq!(printed(&old, 0, "latency.avg"), (2.8, "ms", 15));
    assert_eq!(value(&old, "latency.p95"), 2.97);
    assert_eq!(value(&old, "read/write requests.per_s"), 28_540.6);
    let minutes = data("loads/sysbench-0.5.txt").replace("51.0010s", "51.0010");
    assert!(refused(&minutes).to_string().contains("has no unit"));
}

#[test]
fn sysbench_1_1_prints_requests_and_bytes_on_one_line() {
    let found = imported("loads/sysbench-1.1-fileio.txt", Format::Sysbench);
    assert_eq!(comparable(&found, Quantity::ReadsPerS), Some(1204.55));
    assert_eq!(comparable(&found, Quantity::WritesPerS), Some(803.03));
    assert_eq!(comparable(&found, Quantity::ReadBytesPerS), Some(18.82 * 1_048_576.0));
    assert_eq!(comparable(&found, Quantity::WriteBytesPerS), Some(12.55 * 1_048_576.0));
    assert_eq!(printed(&found, 0, "file.fsyncs"), (2570.11, "/s", 13));
    assert!(found.notes.is_empty(), "{:?}", found.notes);
    let text = data("loads/sysbench-1.1-fileio.txt");
    for (old, new) in [
        ("18.82 MiB/s (19.74 MB/s)", "18.82 GiB/s"),
        ("fsync: IOPS=2570.11", "trim:  IOPS=2570.11"),
        ("fsync: IOPS=2570.11", "fsync 2570.11"),
    ] {
        let odd = read(&text.replace(old, new), &Options::default()).unwrap();
        let said = |note: &import::Note| note.text.contains("no known line of Throughput");
        assert!(odd.notes.iter().any(said), "{new}: {:?}", odd.notes);
    }
    assert!(refused(&format!("{text}{text}")).to_string().contains("second run"));
    // The rates of SQL are no unknown lines.
    let sql = "sysbench 1.1.0 (using bundled LuaJIT 2.1.0-beta3)\n\nThroughput:\n    events/s (eps):       633.77\n    \
               time elapsed:         20.0s\n    total number of events: 12680\n\n";
    let found = read(sql, &Options::default()).unwrap();
    assert_eq!(value(&found, "events.per_s"), 633.77);
    assert!(found.notes.is_empty(), "{:?}", found.notes);
}
