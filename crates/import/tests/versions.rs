//! What real reports do and small texts did not: sections without a blank line between, pages of SQL*Plus, pluggable
//! databases, the tables that only statspack has. The texts have the layouts of such reports and numbers of their own.

use import::{Imported, Options, Quantity, read};

fn imported(name: &str) -> Imported {
    let path = format!("{}/tests/data/pages/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let found = read(&text, &Options::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let lines: Vec<&str> = text.split('\n').collect();
    for figure in &found.reports[0].figures {
        let line = lines[figure.line as usize - 1];
        assert!(line.contains(&figure.text), "{name}: {figure:?} is not in {line:?}");
    }
    found
}

fn printed(of: &Imported, name: &str) -> (f64, &'static str) {
    let figure = of.reports[0].figure(name).unwrap_or_else(|| {
        let names: Vec<&str> = of.reports[0].figures.iter().map(|f| f.name.as_str()).collect();
        panic!("no {name} in {names:#?}")
    });
    (figure.value, figure.unit)
}

fn comparable(of: &Imported, quantity: Quantity) -> Option<f64> {
    of.reports[0].comparable(quantity)?.comparable.map(|found| found.value)
}

fn fact<'i>(of: &'i Imported, name: &str) -> &'i str {
    let found = of.facts.iter().find(|fact| fact.name == name);
    found.map_or("", |fact| fact.value.as_str())
}

fn count(of: &Imported, start: &str) -> usize {
    let figures = of.reports[0].figures.iter();
    figures.filter(|figure| figure.name.starts_with(start)).count()
}

fn noted(of: &Imported, line: u32, words: &str) -> bool {
    of.notes
        .iter()
        .any(|note| note.line == line && note.text.contains(words))
}

#[test]
fn the_processors_behind_the_top_events_are_no_event() {
    let found = imported("11.2-events.txt");
    assert_eq!(printed(&found, "top.db file sequential read.mean_wait"), (10.0, "ms"));
    assert_eq!(printed(&found, "top.DB CPU.time"), (288.0, "s"));
    assert_eq!(count(&found, "top."), 10);
    assert_eq!(printed(&found, "host_cpu.idle"), (83.6, "%"));
    assert_eq!(comparable(&found, Quantity::CpuIdleShare), Some(0.836));
    assert_eq!(fact(&found, "memory_gb"), "7.62");
    // A word too many at the end must not shift the figures of the row.
    assert_eq!(count(&found, "foreground."), 5);
    assert_eq!(printed(&found, "foreground.log file sync.time"), (310.0, "s"));
    assert!(noted(&found, 55, "does not fit the columns"));
    assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
}

#[test]
fn pages_of_sqlplus_end_no_section() {
    let found = imported("19c-sqlplus.txt");
    assert_eq!(fact(&found, "instance"), "farm2");
    assert_eq!(fact(&found, "host"), "barn2.example");
    assert_eq!(fact(&found, "rac"), "YES");
    assert_eq!(printed(&found, "elapsed"), (60.08, "min"));
    assert_eq!(printed(&found, "load.DB Time(s).per_call"), (0.02, "s/call"));
    assert_eq!(comparable(&found, Quantity::ReadsPerS), Some(142.7));
    assert_eq!(comparable(&found, Quantity::WritesPerS), Some(18.2));
    assert_eq!(printed(&found, "load.Transactions.per_s"), (0.4, "/s"));
    assert_eq!(printed(&found, "top.db file sequential read.mean_wait"), (783.24, "us"));
    assert_eq!(
        printed(&found, "top.enq: TX - row lock contention.mean_wait"),
        (53.41, "s")
    );
    assert_eq!(printed(&found, "top.log file sync.time"), (7.1, "s"));
    assert_eq!(
        printed(&found, "io_profile.Direct (blocks).write_per_s"),
        (0.3, "blocks/s")
    );
    assert_eq!(count(&found, "top."), 14);
    assert!(found.notes.is_empty(), "{:?}", found.notes);
}

#[test]
fn tablespaces_of_two_pluggable_databases_are_told_apart() {
    let found = imported("12.1-containers.html");
    assert_eq!(printed(&found, "tablespace.GRIST/USERS.reads"), (91_804.0, "requests"));
    assert_eq!(printed(&found, "tablespace.GRIST/USERS.write_time"), (0.44, "ms"));
    assert_eq!(printed(&found, "tablespace.BRAN/USERS.read_time"), (0.93, "ms"));
    assert_eq!(printed(&found, "tablespace.SYSTEM.writes"), (44.0, "requests"));
    assert_eq!(comparable(&found, Quantity::ReadNs), Some(620_000.0));
    assert_eq!(comparable(&found, Quantity::ReadsPerS), Some(102.0));
    // Shared servers were idle, which says nothing of the host.
    assert_eq!(comparable(&found, Quantity::CpuIdleShare), None);
    assert!(noted(&found, 0, "GRIST/USERS"));
    assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
}

#[test]
fn statspack_of_11g_has_tables_of_its_own() {
    let found = imported("statspack-11g.txt");
    assert_eq!(fact(&found, "host"), "press.example");
    assert_eq!(fact(&found, "memory_gb"), "15.6");
    assert_eq!(printed(&found, "host_cpu.idle"), (87.96, "%"));
    let mebibyte = 1_048_576.0;
    let function = |name: &str, word: &str| printed(&found, &format!("io_function.{name}.{word}"));
    assert_eq!(function("Buffer Cache Re", "read_bytes"), (3142.0 * mebibyte, "bytes"));
    assert_eq!(function("Buffer Cache Re", "reads_per_s"), (111.7, "requests/s"));
    assert_eq!(function("Buffer Cache Re", "waits"), (402_000.0, "waits"));
    assert_eq!(function("Direct Reads", "mean_wait"), (0.0, "ms"));
    assert_eq!(function("DBWR", "write_bytes"), (512.0 * mebibyte, "bytes"));
    assert_eq!(function("DBWR", "write_bytes_per_s"), (0.1 * mebibyte, "bytes/s"));
    assert_eq!(function("LGWR", "read_bytes_per_s"), (0.0, "bytes/s"));
    assert_eq!(function("LGWR", "writes_per_s"), (6.6, "requests/s"));
    assert_eq!(count(&found, "io_function."), 5 + 4 + 5 + 8);
    assert!(found.notes.is_empty(), "{:?}", found.notes);
}

#[test]
fn mirrors_without_numbers_are_told_apart() {
    let report = "\
              capacity     operations     bandwidth
pool        alloc   free   read  write   read  write
----------  -----  -----  -----  -----  -----  -----
barn        2.10T  1.50T     31     17   310K   170K
  mirror    1.10T   700G     20     10   200K   100K
    sda         -      -     11     10   110K   100K
  mirror    1.00T   800G     11      7   110K  70.0K
    sdb         -      -     11      7   110K  70.0K
logs            -      -      -      -      -      -
  mirror     640K  3.72G      0      9      0  96.0K
    nvme0       -      -      0      9      0  96.0K
----------  -----  -----  -----  -----  -----  -----
";
    let found = read(&format!("{report}{report}"), &Options::default()).unwrap();
    assert_eq!(printed(&found, "device.barn/mirror/sda.operations.read").0, 11.0);
    assert_eq!(printed(&found, "device.barn/mirror:2.operations.write").0, 7.0);
    assert_eq!(printed(&found, "device.barn/mirror:2/sdb.operations.write").0, 7.0);
    assert_eq!(printed(&found, "device.barn/logs/mirror/nvme0.operations.write").0, 9.0);
}

#[test]
fn sar_with_the_device_behind_its_figures() {
    let text = "\
Linux 6.6.1 (loft)  02/07/2026  _x86_64_  (4 CPU)

10:00:01 PM       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util DEV
10:00:11 PM     40.00    320.00     80.00      0.00     10.00      0.02      0.51      1.60 vda
10:00:11 PM      2.00      0.00      8.00      0.00      4.00      0.00      0.90      0.10 vdb

Average:          tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util DEV
Average:        40.00    320.00     80.00      0.00     10.00      0.02      0.51      1.60 vda
Average:         2.00      0.00      8.00      0.00      4.00      0.00      0.90      0.10 vdb
";
    let found = read(text, &Options::default()).unwrap();
    assert_eq!(found.layout, "sar -d, its averages");
    assert_eq!(printed(&found, "device.vda.rkB/s"), (320.0, "KiB/s"));
    assert_eq!(printed(&found, "device.vdb.await"), (0.9, "ms"));
    let rows: Vec<&str> = text.lines().take(5).collect();
    let rows = read(&rows.join("\n"), &Options::default()).unwrap();
    assert_eq!(rows.layout, "sar -d, means of its intervals");
    assert_eq!(printed(&rows, "device.vda.tps").0, 40.0);
}
