//! Texts that are cut off, hold two runs, or count the same bytes twice.

use import::{Imported, Options, Quantity, read};

fn data(name: &str) -> String {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn of(text: &str, devices: &[&str]) -> Imported {
    let options = Options {
        devices: devices.iter().map(|name| (*name).to_string()).collect(),
        ..Options::default()
    };
    read(text, &options).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

fn refused(text: &str) -> String {
    let error = read(text, &Options::default()).unwrap_err().to_string();
    assert!(error.lines().count() >= 2, "no cure: {error}");
    error
}

fn value(of: &Imported, name: &str) -> f64 {
    of.reports[0]
        .figure(name)
        .unwrap_or_else(|| panic!("no {name}: {of:#?}"))
        .value
}

fn reads(of: &Imported) -> Option<f64> {
    let figure = of.reports[0].comparable(Quantity::DeviceReadsPerS)?;
    figure.comparable.map(|comparable| comparable.value)
}

fn notes(of: &Imported, words: &str) -> usize {
    of.notes.iter().filter(|note| note.text.contains(words)).count()
}

const BANNER: &str = "Linux 6.1.0-18-amd64 (lab) \t11/21/2026 \t_x86_64_\t(2 CPU)\n";

/// Reports of `iostat -x`: of each, the devices that it lists and their reads; the first is the average since boot.
fn iostat(reports: &[&[(&str, u32)]]) -> String {
    let mut text = BANNER.to_string();
    for rows in reports {
        text += "\nDevice r/s w/s\n";
        text.extend(rows.iter().map(|(name, reads)| format!("{name} {reads}.00 1.00\n")));
    }
    text + "\n"
}

const BOTH: &[(&str, u32)] = &[("sda", 100), ("sdb", 40)];

#[test]
fn an_interval_that_lacks_a_device_of_all_before_it_is_left_out() {
    let text = iostat(&[BOTH, BOTH, BOTH, &[("sda", 400)]]);
    let found = of(&text, &["sd*"]);
    assert_eq!((value(&found, "device.sda.r/s"), reads(&found)), (100.0, Some(140.0)));
    assert_eq!(notes(&found, "lacks sdb"), 1, "{:?}", found.notes);
    assert_eq!(notes(&found, "means over 2 intervals"), 1, "{:?}", found.notes);
    // Of one that was idle before, nothing is known to be missing.
    let idle = of(&iostat(&[BOTH, &[("sda", 100)], BOTH, &[("sda", 400)]]), &["sd*"]);
    assert_eq!(value(&idle, "device.sda.r/s"), 200.0);
    assert_eq!((reads(&idle), notes(&idle, "lacks")), (Some(213.33), 0));
    // Nor of one before the last row.
    let first = of(&iostat(&[BOTH, BOTH, &[("sdb", 80)]]), &["sd*"]);
    assert_eq!((reads(&first), notes(&first, "lacks")), (Some(50.0 + 60.0), 0));
    // The only interval stays, and it is said.
    let only = of(&iostat(&[BOTH, &[("sda", 400)]]), &["sd*"]);
    assert_eq!((reads(&only), notes(&only, "it is the only one")), (Some(400.0), 1));
    // Titles behind it: it is whole.
    let whole = of(&(iostat(&[BOTH, BOTH, &[("sda", 400)]]) + "Device r/s w/s\n"), &["sd*"]);
    assert_eq!((value(&whole, "device.sda.r/s"), notes(&whole, "lacks")), (250.0, 0));
}

#[test]
fn an_interval_in_which_the_text_ends_is_left_out() {
    let text = iostat(&[BOTH, BOTH, &[("sda", 300), ("sdb", 9999)]]);
    let whole = of(text.trim_end_matches("\n\n"), &["sd*"]);
    assert_eq!((reads(&whole), notes(&whole, "ends inside")), (Some(140.0), 1));
    // An empty line closes a report.
    let closed = of(&format!("{text}11/21/2026 10:00"), &["sd*"]);
    assert_eq!(
        (value(&closed, "device.sda.r/s"), notes(&closed, "ends inside")),
        (200.0, 0)
    );

    let text = data("hosts/zpool-v.txt");
    let report: Vec<&str> = text.lines().take(10).collect();
    let last = "tank          1.20T  2.43T  9.00K    100  16.0M   800K";
    let cut = format!("{text}{}\n{last}\n", report[..3].join("\n"));
    let found = of(&cut, &[]);
    assert_eq!(value(&found, "device.tank.operations.read"), 2048.0);
    assert_eq!(notes(&found, "lacks tank/"), 1, "{:?}", found.notes);
    let ruled = of(text.trim_end(), &[]);
    assert_eq!(
        notes(&ruled, "ends inside"),
        0,
        "a rule closes a report: {:?}",
        ruled.notes
    );
}

#[test]
fn averages_of_sar_that_are_cut_off_are_not_taken() {
    let text = data("hosts/sar-12.txt");
    let cut = text.trim_end().rsplit_once('\n').unwrap().0;
    let found = of(&format!("{cut}\n"), &[]);
    assert_eq!(found.layout, "sar -d, means of its intervals");
    assert_eq!(value(&found, "device.sda.wkB/s"), 160.0);
    assert_eq!(notes(&found, "averages are cut off"), 1, "{:?}", found.notes);
    // Without averages the last interval is one that may be cut.
    let rows: Vec<&str> = text.lines().take(6).collect();
    let found = of(&format!("{}\n", rows.join("\n")), &[]);
    assert_eq!(value(&found, "device.nvme0n1.tps"), 1000.0);
    assert_eq!(notes(&found, "lacks sda"), 1, "{:?}", found.notes);
}

#[test]
fn sar_with_rounded_numbers_and_units_is_refused() {
    for (plain, human) in [("16000.00", "15.6M"), ("60.00", "60.0%"), ("160.00", "160.0k")] {
        let error = refused(&data("hosts/sar-12.txt").replace(plain, human));
        assert!(error.contains("-h") && error.contains("sar -d"), "{error}");
    }
}

#[test]
fn a_second_result_of_fio_is_refused() {
    let one = data("fio-3.json");
    let error = refused(&format!("{one}\nJobs: 1 (f=1)\n{one}{one}"));
    assert!(
        error.contains("3 results") && error.contains("keep the last"),
        "{error}"
    );
    let line = one.lines().position(|line| line.starts_with('{')).unwrap() + one.lines().count() + 3;
    assert!(error.starts_with(&format!("line {line}:")), "{error}");
    let start = one.find('{').unwrap();
    let cut = format!("{one}{}", &one[start..start + (one.len() - start) / 2]);
    assert!(refused(&cut).contains("2 results"));
    // Words behind it are none, also with a brace of their own.
    let words = of(&format!("{one}\n{{done}}\nfio: bye\n"), &[]);
    assert_eq!(value(&words, "read.iops"), 120_563.275862);
}

#[test]
fn a_second_run_of_iostat_or_sadf_is_refused() {
    let one = iostat(&[BOTH, BOTH]);
    let error = refused(&format!("{one}{one}"));
    assert!(error.starts_with("line 11: a second run of iostat"), "{error}");
    let one = data("hosts/sadf.json");
    assert!(refused(&format!("{one}{one}")).contains("a second run of sadf"));
}

#[test]
fn json_of_iostat_is_refused_for_what_it_is() {
    let text = data("hosts/sadf.json").replace("disk-device", "disk_device");
    let error = refused(&text);
    assert!(error.starts_with("line 14: this is the JSON of iostat"), "{error}");
    assert!(error.contains("LC_ALL=C iostat -x 5 13"), "{error}");
    // A device without a name takes no line of another.
    let odd = data("hosts/sadf.json").replacen("\"disk-device\": \"vda\"", "\"disk-name\": \"vda\"", 1);
    let found = of(&odd, &[]);
    assert_eq!(found.reports[0].figure("device.vdb.tps").unwrap().line, 15);
}

#[test]
fn titles_of_vmstat_that_come_again_early_are_said() {
    let text = data("hosts/vmstat.txt");
    let twice = of(&format!("{text}{text}"), &[]);
    assert_eq!(notes(&twice, "titles again after 3 rows"), 1, "{:?}", twice.notes);
    let (titles, row) = (text.lines().nth(1).unwrap(), text.lines().last().unwrap());
    let page = format!("{titles}\n{}", format!("{row}\n").repeat(21));
    assert_eq!(notes(&of(&format!("{page}{page}"), &[]), "titles again"), 0);
}

#[test]
fn a_pool_does_not_count_beside_its_devices() {
    let text = data("hosts/zpool-v.txt");
    let found = of(&text, &["tank*"]);
    // Two halves of a mirror and a log, each a thousand and 0 reads.
    assert_eq!(reads(&found), Some(2048.0), "{:?}", found.notes);
    let names: Vec<&str> = found.reports[0].figures.iter().map(|f| f.name.as_str()).collect();
    assert!(names.iter().any(|name| name.starts_with("devices.3.")), "{names:?}");
    assert_eq!(notes(&found, "tank/mirror-0 holds"), 1, "{:?}", found.notes);
    // Who names one means it.
    assert_eq!(reads(&of(&text, &["tank/mirror-0", "tank/mirror-0/*"])), Some(4096.0));
    let paths: &[(&str, u32)] = &[("nvme0n1", 7), ("nvme0c0n1", 5), ("nvme0c1n1", 2)];
    let found = of(&iostat(&[paths, paths]), &["nvme*"]);
    assert_eq!((reads(&found), notes(&found, "is a part of nvme0n1")), (Some(7.0), 2));
}

#[test]
fn a_device_twice_in_one_report_is_refused() {
    let rows: &[(&str, u32)] = &[("sda", 100), ("sdb", 40), ("sda", 100)];
    let error = refused(&iostat(&[BOTH, rows]));
    assert!(error.starts_with("line 10: sda is here again"), "{error}");
}

#[test]
fn queues_of_zpool_iostat_are_not_taken_for_waits() {
    let titles = "pool alloc free read write read write pend activ pend activ pend activ pend activ pend activ";
    let error = refused(&format!("{titles}\ntank 1T 2T 1 2 3 4 0 1 0 1 0 1 0 1 0 1\n"));
    assert!(error.contains("queues (-q)"), "{error}");
}

#[test]
fn lines_of_slob_in_another_unit_are_left_out() {
    let text = "Scan rate: 234.16 GB/s\nRuntime: 10.5 minutes\nUsers: 10\nScanned: 70313MB\n";
    let found = of(text, &[]);
    assert_eq!(
        (value(&found, "scan.users"), value(&found, "scan.bytes")),
        (10.0, 70_313.0)
    );
    for name in ["scan.rate", "scan.elapsed"] {
        assert!(found.reports[0].figure(name).is_none(), "{name}");
    }
    assert_eq!(notes(&found, "is not in"), 2, "{:?}", found.notes);
    let known = of("Scan rate: 234.16MB/s.\nRuntime: 300.27 s\n", &[]);
    assert_eq!(
        (value(&known, "scan.rate"), value(&known, "scan.elapsed")),
        (234.16, 300.27)
    );
}
