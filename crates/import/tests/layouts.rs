//! Layouts of other versions, written by hand: page breaks, wrapped names, carriage returns, several intervals, and
//! what is refused with a cure.

use import::{Format, ImportError, Imported, Options, Quantity, detect, read};

fn data(name: &str) -> String {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn imported(name: &str) -> Imported {
    read(&data(name), &Options::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn value(of: &Imported, name: &str) -> f64 {
    let report = &of.reports[0];
    let names: Vec<&str> = report.figures.iter().map(|f| f.name.as_str()).collect();
    report
        .figure(name)
        .unwrap_or_else(|| panic!("no {name} in {names:#?}"))
        .value
}

fn comparable(of: &Imported, quantity: Quantity) -> f64 {
    of.reports[0]
        .comparable(quantity)
        .unwrap_or_else(|| panic!("no {quantity:?}"))
        .comparable
        .unwrap()
        .value
}

fn fact<'i>(of: &'i Imported, name: &str) -> &'i str {
    of.facts
        .iter()
        .find(|fact| fact.name == name)
        .map_or("", |fact| fact.value.as_str())
}

fn refused(text: &str, options: &Options) -> ImportError {
    let error = read(text, options).unwrap_err();
    let said = error.to_string();
    assert!(said.lines().count() >= 2, "no cure: {said}");
    error
}

#[test]
fn oracle_10g_with_page_breaks_and_carriage_returns() {
    let found = imported("awr-10g.txt");
    assert_eq!(fact(&found, "release"), "10.2.0.4.0");
    assert_eq!(fact(&found, "instance"), "testdb");
    assert_eq!(fact(&found, "host"), "sunlab1");
    assert_eq!(comparable(&found, Quantity::ElapsedS), 10.05 * 60.0);
    assert_eq!(value(&found, "db_time"), 411.30);
    assert_eq!(comparable(&found, Quantity::ReadsPerS), 6484.2);
    assert_eq!(comparable(&found, Quantity::ReadBytesPerS), 53_254_305.6);
    assert_eq!(comparable(&found, Quantity::WritesPerS), 200.0);
    assert_eq!(comparable(&found, Quantity::WriteBytesPerS), 1_638_400.0);
    assert_eq!(value(&found, "statistic.redo size.total"), 1_234_567_890.0);
    // The busiest is not the first, and its page was broken.
    assert_eq!(comparable(&found, Quantity::ReadNs), 7.3e6);
    assert_eq!(value(&found, "tablespace.UNDOTBS1.writes"), 90_000.0);
    assert_eq!(value(&found, "tablespace.APPDATA.reads"), 3_909_000.0);
    assert_eq!(value(&found, "tablespace.APPDATA.buffer_wait_time"), 11.2);
    assert_eq!(value(&found, "tablespace.SYSTEM.blocks_per_read"), 1.2);
    assert_eq!(found.reports[0].figure("tablespace.SYSTEM.reads").unwrap().line, 57);
    let spaces = found.reports[0]
        .figures
        .iter()
        .filter(|f| f.name.starts_with("tablespace."))
        .count();
    assert_eq!(spaces, 24, "the files of the next section are no tablespaces");
}

#[test]
fn a_named_tablespace_gives_the_latency() {
    let options = |name: &str| Options {
        tablespace: Some(name.into()),
        ..Options::default()
    };
    let found = read(&data("awr-10g.txt"), &options("UNDOTBS1")).unwrap();
    assert!((comparable(&found, Quantity::ReadNs) - 4.1e6).abs() < 1e-6);
    let error = refused(&data("awr-10g.txt"), &options("NONE"));
    assert!(error.to_string().contains("UNDOTBS1, APPDATA, SYSTEM"), "{error}");
}

#[test]
fn oracle_19c_with_units_in_the_cells_and_wrapped_names() {
    let found = imported("awr-19c.txt");
    assert_eq!(fact(&found, "release"), "19.0.0.0.0");
    assert_eq!(fact(&found, "host"), "dbhost7");
    assert_eq!(fact(&found, "platform"), "Linux x86 64-bit");
    assert_eq!(comparable(&found, Quantity::CpuIdleShare), 0.617);
    assert_eq!(comparable(&found, Quantity::ReadsPerS), 43_739.1);
    assert_eq!(
        value(&found, "statistic.physical read total bytes optimi zed.total"),
        0.0
    );
    assert_eq!(
        value(&found, "tablespace.A_TABLESPACE_WITH_A_VERY_LONG_NAME.reads"),
        1.320e7
    );
    assert_eq!(comparable(&found, Quantity::ReadNs), 731_200.0);
    let time = found.reports[0].figure("tablespace.SYSAUX.read_time").unwrap();
    assert_eq!((time.value, time.unit, time.text.as_str()), (1.10, "ms", "1.10ms"));
    // Blank cells are blank, and what stands behind them is not shifted.
    assert!(found.reports[0].figure("tablespace.TEMP.read_time").is_none());
    assert_eq!(value(&found, "tablespace.TEMP.buffer_waits"), 0.0);
    let overflow = |note: &import::Note| note.text.contains("physical write bytes") && note.text.contains("fit");
    assert!(found.notes.iter().any(overflow), "{:?}", found.notes);
}

#[test]
fn what_looks_like_awr_and_is_not() {
    let head = |title: &str| format!("{title}\n\n{}", data("unity-2017-physical.txt"));
    let cluster = refused(&head("WORKLOAD REPOSITORY REPORT (RAC)"), &Options::default());
    assert!(cluster.to_string().contains("cluster"), "{cluster}");
    let compared = refused(&head("WORKLOAD REPOSITORY COMPARE PERIOD REPORT"), &Options::default());
    assert!(compared.to_string().contains("two periods"), "{compared}");
    let two = format!("{}{}", data("awr-10g.txt"), data("awr-19c.txt"));
    assert!(refused(&two, &Options::default()).to_string().contains("second report"));
    let html = "<HTML><HEAD><TITLE>AWR Report</TITLE></HEAD>";
    assert!(
        refused(html, &Options::default())
            .to_string()
            .contains("HTML without a table")
    );
}

#[test]
fn numbers_of_other_languages_are_refused() {
    let german = data("unity-2017-tablespaces.txt")
        .replace(',', "!")
        .replace('.', ",")
        .replace('!', ".");
    let error = refused(&german, &Options::default());
    assert!(matches!(error, ImportError::DecimalComma { line: 7, .. }), "{error}");
    assert!(error.to_string().contains("NLS_NUMERIC_CHARACTERS"), "{error}");
    let german = data("iostat-linux-new.txt").replace('.', ",");
    let error = refused(&german, &Options::default());
    assert!(error.to_string().contains("LC_ALL=C"), "{error}");
    assert!(matches!(error, ImportError::DecimalComma { line: 4, .. }), "{error}");
}

#[test]
fn old_sysstat_with_three_reports_and_a_long_name() {
    let device = |name: &str| Options {
        devices: vec![name.into()],
        ..Options::default()
    };
    let found = read(&data("iostat-linux-old.txt"), &device("sda")).unwrap();
    assert_eq!(found.layout, "iostat -x of Linux (sysstat before 12)");
    // Means of the second and third report; times weighted by the requests they are of.
    assert_eq!(value(&found, "device.sda.r/s"), 2000.0);
    assert_eq!(comparable(&found, Quantity::DeviceReadBytesPerS), 16_000.0 * 1024.0);
    assert_eq!(value(&found, "device.sda.r_await"), 1.30);
    assert_eq!(value(&found, "device.sda.w_await"), 7.0);
    assert_eq!(value(&found, "device.sda.%util"), 93.5);
    assert_eq!(comparable(&found, Quantity::CpuIdleShare), 0.63);
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.line == 6 && note.text.contains("since boot"))
    );
    let long = read(&data("iostat-linux-old.txt"), &device("mapper/*")).unwrap();
    assert_eq!(
        value(&long, "device.mapper/a_name_that_is_too_long_for_its_column.r_await"),
        1.50
    );
    // It is listed in one of two intervals, and did nothing in the other.
    assert_eq!(comparable(&long, Quantity::DeviceReadsPerS), 1500.0);
    let all = imported("iostat-linux-old.txt");
    assert!(all.reports[0].comparable(Quantity::DeviceReadsPerS).is_none());
    assert!(all.notes.iter().any(|note| note.text.contains("--device")));
    let kept = Options {
        keep_first: true,
        ..device("sda")
    };
    let kept = read(&data("iostat-linux-old.txt"), &kept).unwrap();
    assert_eq!(value(&kept, "device.sda.r/s"), 1333.70);
}

/// With `-z` a device that did nothing is not listed: its interval counts all the same.
#[test]
fn an_idle_interval_between_others_counts() {
    let text = data("iostat-linux-new.txt");
    let reports: Vec<&str> = text.trim_end().split("\n\n\n").collect();
    let [boot, busy] = reports[..] else {
        panic!("two reports")
    };
    let title = busy.lines().find(|line| line.starts_with("Device")).unwrap();
    let cpu: Vec<&str> = busy.lines().take_while(|line| !line.starts_with("Device")).collect();
    let idle = format!("{}\n{title}\n", cpu.join("\n"));
    let found = read(
        &format!("{boot}\n\n\n{busy}\n\n\n{idle}\n\n{busy}\n"),
        &Options::default(),
    )
    .unwrap();
    let third = 43_210.5 * 2.0 / 3.0;
    let reads = comparable(&found, Quantity::DeviceReadsPerS);
    assert!((reads / third - 1.0).abs() < 1e-6, "{reads}");
    // At the end the text may have been cut below its titles.
    let cut = read(&format!("{boot}\n\n\n{busy}\n\n\n{idle}"), &Options::default()).unwrap();
    assert_eq!(comparable(&cut, Quantity::DeviceReadsPerS), 43_210.5);
}

#[test]
fn new_sysstat() {
    let found = imported("iostat-linux-new.txt");
    assert_eq!(found.layout, "iostat -x of Linux (sysstat 12)");
    assert_eq!(comparable(&found, Quantity::DeviceReadsPerS), 43_210.5);
    assert_eq!(value(&found, "device.nvme0n1.rareq-sz"), 8.0);
    assert_eq!(value(&found, "device.nvme0n1.aqu-sz"), 15.57);
    assert_eq!(fact(&found, "system").split(' ').next(), Some("Linux"));
    // Cut after the first report: nothing but the average since boot is left.
    let text = data("iostat-linux-new.txt");
    let first = text.split("\n\n\n").next().unwrap();
    let error = refused(first, &Options::default());
    assert!(matches!(error, ImportError::SinceBoot { line: 6 }), "{error}");
    let plain = "Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\nsda 1.0 2.0 3.0 4 5\n";
    assert!(refused(plain, &Options::default()).to_string().contains("iostat -x"));
}

/// Reports of `iostat -x` on sda and sdb: the average since boot, then the rows that are given.
fn reports(titles: &str, intervals: &[[&str; 2]]) -> String {
    let boot = titles.split(' ').map(|_| "1.00").collect::<Vec<_>>().join(" ");
    let mut text = "Linux 6.1.0-18-amd64 (lab) \t11/21/2026 \t_x86_64_\t(2 CPU)\n".to_string();
    for [sda, sdb] in [[boot.as_str(); 2]].iter().chain(intervals) {
        text += &format!("\nDevice {titles}\nsda {sda}\nsdb {sdb}\n");
    }
    text
}

#[test]
fn a_value_that_is_left_out_is_no_zero() {
    let both = Options {
        devices: vec!["sd*".into()],
        ..Options::default()
    };
    let text = reports(
        "r/s w/s rkB/s r_await await %util",
        &[
            [
                "100.00 10.00 800.00 1.00 1.00 50.00",
                "30.00 0.00 240.00 2.00 2.00 10.00",
            ],
            [
                "-5.00 10.00 -40.00 9.00 9.00 70.00",
                "50.00 0.00 400.00 4.00 4.00 30.00",
            ],
            ["300.00 30.00 #### 3.00 3.00 90.00", "40.00 0.00 320.00 3.00 3.00 20.00"],
        ],
    );
    let found = read(&text, &both).unwrap();
    assert_eq!(value(&found, "device.sda.r/s"), 200.0);
    assert_eq!(value(&found, "device.sda.rkB/s"), 800.0);
    // The requests of the second interval are not known, and it has no weight.
    assert_eq!(value(&found, "device.sda.r_await"), 2.5);
    assert_eq!(value(&found, "device.sda.await"), 2.5);
    assert_eq!(value(&found, "device.sda.%util"), 70.0);
    assert_eq!(value(&found, "device.sdb.r/s"), 40.0);
    assert_eq!(comparable(&found, Quantity::DeviceReadsPerS), 240.0);
    assert_eq!(
        comparable(&found, Quantity::DeviceReadBytesPerS),
        (800.0 + 320.0) * 1024.0
    );
    // A device of which nothing is left has no mean, and the sum over devices is not known.
    let text = reports("r/s w/s", &[["-1.00 5.00", "30.00 5.00"], ["-1.00 5.00", "50.00 5.00"]]);
    let found = read(&text, &both).unwrap();
    let report = &found.reports[0];
    assert!(report.figure("device.sda.r/s").is_none());
    assert!(report.comparable(Quantity::DeviceReadsPerS).is_none());
    assert_eq!(comparable(&found, Quantity::DeviceWritesPerS), 10.0);
}

#[test]
fn a_partition_does_not_count_beside_its_disk() {
    let text = "Device r/s w/s rkB/s wkB/s %util\nsda 100 10 800 80 50\nsda1 90 9 720 72 45\nsdb 7 0 56 0 1\n\
                nvme0n1 40 0 320 0 1\nnvme0n1p1 40 0 320 0 1\nsd1 1 0 8 0 1\nsd12 2 0 16 0 1\n";
    let of = |devices: &[&str]| {
        let options = Options {
            devices: devices.iter().map(|name| (*name).to_string()).collect(),
            ..Options::default()
        };
        read(text, &options).unwrap()
    };
    let found = of(&["sd*"]);
    assert_eq!(comparable(&found, Quantity::DeviceReadsPerS), 100.0 + 7.0 + 1.0 + 2.0);
    assert!(found.reports[0].figure("device.sda1.r/s").is_none());
    let said = |note: &import::Note| note.text.contains("sda1 is a part of sda");
    assert!(found.notes.iter().any(said), "{:?}", found.notes);
    assert_eq!(comparable(&of(&["nvme*"]), Quantity::DeviceReadsPerS), 40.0);
    // Who names a partition means it.
    assert_eq!(comparable(&of(&["sda", "sda1"]), Quantity::DeviceReadsPerS), 190.0);
    assert_eq!(comparable(&of(&["sda1"]), Quantity::DeviceReadsPerS), 90.0);
    // A pool's devices do not lie on each other.
    let pool = "pool alloc free read write read write\ntank 1 2 30 0 1 1\n  disk 1 2 10 0 1 1\n  disk1 1 2 20 0 1 1\n";
    let options = Options {
        devices: vec!["tank/*".into()],
        keep_first: true,
        ..Options::default()
    };
    assert_eq!(
        comparable(&read(pool, &options).unwrap(), Quantity::DeviceReadsPerS),
        30.0
    );
}

#[test]
fn discards_and_flushes_weight_their_own_times() {
    let text = reports(
        "r/s w/s d/s d_await dareq-sz f/s f_await",
        &[
            [
                "1.00 1.00 300.00 1.00 16.00 10.00 2.00",
                "1.00 1.00 0.00 0.00 0.00 0.00 0.00",
            ],
            [
                "1.00 1.00 100.00 5.00 32.00 30.00 6.00",
                "1.00 1.00 0.00 0.00 0.00 0.00 0.00",
            ],
        ],
    );
    let found = read(&text, &Options::default()).unwrap();
    assert_eq!(value(&found, "device.sda.d_await"), 2.0);
    assert_eq!(value(&found, "device.sda.dareq-sz"), 20.0);
    assert_eq!(value(&found, "device.sda.f_await"), 5.0);
    assert_eq!(value(&found, "device.sdb.f_await"), 0.0);
}

#[test]
fn fio_3_with_words_around_it() {
    let found = imported("fio-3.json");
    assert_eq!(found.format, Format::Fio);
    let iops = found.reports[0].figure("read.iops").unwrap();
    assert_eq!(
        (iops.value, iops.text.as_str(), iops.line),
        (120_563.275862, "120563.275862", 23)
    );
    assert_eq!(comparable(&found, Quantity::ReadBytesPerS), 987_654_348.0);
    assert_eq!(comparable(&found, Quantity::ReadNs), 530_123.456789);
    assert_eq!(value(&found, "read.clat_ns.p99.9"), 2_998_272.0);
    // By the direction's own clock: `job_runtime` is a sum over threads.
    assert_eq!(comparable(&found, Quantity::ElapsedS), 10.0);
    assert_eq!(found.reports[0].figure("read.lat_ns.mean").unwrap().line, 29);
    assert_eq!(found.reports[0].figure("read.clat_ns.p99.9").unwrap().line, 39);
    assert!(found.reports[0].figures.iter().all(|f| !f.name.starts_with("write")));
    assert_eq!(fact(&found, "option bs"), "8k");
}

#[test]
fn fio_2_with_two_jobs() {
    let found = imported("fio-2.json");
    assert_eq!(comparable(&found, Quantity::ReadsPerS), 512.75);
    assert_eq!(comparable(&found, Quantity::ReadBytesPerS), 4096.0 * 1024.0);
    assert_eq!(comparable(&found, Quantity::WritesPerS), 128.25);
    // 300 at 100 us and 100 at 300 us.
    assert_eq!(comparable(&found, Quantity::ReadNs), 150_000.0);
    assert_eq!(comparable(&found, Quantity::WriteNs), 400_000.0);
    assert!(
        found.notes.iter().any(|note| note.text.contains("error 5")),
        "{:?}",
        found.notes
    );
    let cut = data("fio-2.json");
    let error = refused(&cut[..cut.len() / 2], &Options::default());
    assert!(matches!(error, ImportError::Json { .. }), "{error}");
    let after = data("fio-2.json").replacen(
        "\"jobname\" : \"b\",",
        "\"jobname\" : \"b\", \"job options\" : { \"stonewall\" : \"\" },",
        1,
    );
    assert!(refused(&after, &Options::default()).to_string().contains("stonewall"));
}

#[test]
fn fio_jobs_that_ran_one_after_the_other_are_not_summed() {
    let two = |global: &str, jobs: [(u32, &str); 2]| {
        let job = |(group, options): (u32, &str)| {
            format!(
                r#"{{ "jobname": "a", "groupid": {group}, "job options": {{ {options} }},
                    "read": {{ "total_ios": 10, "iops": 100.0, "bw_bytes": 1000 }} }}"#
            )
        };
        let [first, second] = jobs.map(job);
        format!(
            r#"{{ "fio version": "fio-3.36", "global options": {{ {global} }},
                "jobs": [ {first}, {second} ] }}"#
        )
    };
    let (wall, group) = (r#""stonewall": """#, r#""new_group": """#);
    let after = [
        (two(wall, [(0, ""), (1, "")]), "stonewall"),
        (two("", [(0, wall), (1, wall)]), "stonewall"),
        // Both stand in the job: the wall decides.
        (two(group, [(0, ""), (1, wall)]), "stonewall"),
        // fio puts a wall between two job files and repeats it nowhere.
        (two("", [(0, ""), (1, "")]), "a job file of its own"),
        (two("", [(0, ""), (0, r#""wait_for": "a""#)]), "wait_for"),
    ];
    for (text, why) in after {
        let said = refused(&text, &Options::default()).to_string();
        assert!(said.contains(why), "{why}: {said}");
    }
    let together = [
        two("", [(0, ""), (0, "")]),
        // Copies of one job repeat its wall.
        two("", [(0, wall), (0, wall)]),
        two(wall, [(0, ""), (0, "")]),
        two("", [(0, ""), (1, group)]),
    ];
    for text in together {
        let found = read(&text, &Options::default()).unwrap();
        assert_eq!(comparable(&found, Quantity::ReadsPerS), 200.0, "{text}");
    }
}

/// Two fio jobs of one group, each with these options and this time in ms.
fn fio_jobs(jobs: [(&str, u32); 2]) -> String {
    let job = |(options, runtime): (&str, u32)| {
        format!(
            r#"{{ "jobname": "a", "groupid": 0, "job options": {{ {options} }},
                "read": {{ "total_ios": 10, "iops": 100.0, "bw_bytes": 1000, "runtime": {runtime} }} }}"#
        )
    };
    let [first, second] = jobs.map(job);
    format!(r#"{{ "fio version": "fio-3.36", "jobs": [ {first}, {second} ] }}"#)
}

#[test]
fn fio_jobs_that_a_delay_keeps_apart_are_not_summed() {
    let delay = |time: &str| format!(r#""startdelay": "{time}""#);
    for time in ["60", "60s", "1m", "10000ms", "9-60", "soon"] {
        let said = refused(&fio_jobs([("", 10_000), (&delay(time), 10_000)]), &Options::default()).to_string();
        assert!(said.contains("startdelay"), "{time}: {said}");
    }
    // They overlap, or begin together.
    for (first, second) in [("", delay("5")), (r#""ramp_time": "60""#, delay("60"))] {
        let found = read(&fio_jobs([(first, 10_000), (&second, 10_000)]), &Options::default()).unwrap();
        assert_eq!(comparable(&found, Quantity::ReadsPerS), 200.0, "{first} {second}");
    }
    let both = delay("60");
    let found = read(&fio_jobs([(&both, 10_000), (&both, 10_000)]), &Options::default()).unwrap();
    assert_eq!(comparable(&found, Quantity::ReadsPerS), 200.0);
}

#[test]
fn fio_that_counts_both_directions_as_one_is_refused() {
    let mixed = data("fio-3.json").replacen("\"read\" :", "\"mixed\" :", 1);
    let write = mixed.find("\"write\" :").unwrap();
    let end = mixed[write..].find("\"job_runtime\"").unwrap() + write;
    let only = format!("{}{}", &mixed[..write], &mixed[end..]);
    let said = refused(&only, &Options::default()).to_string();
    assert!(said.contains("unified_rw_reporting"), "{said}");
    // With `both` they are counted apart too.
    let both = data("fio-3.json").replacen("\"read\" :", "\"mixed\" : { \"iops\" : 7.0 }, \"read\" :", 1);
    let found = read(&both, &Options::default()).unwrap();
    assert_eq!(comparable(&found, Quantity::ReadsPerS), 120_563.275862);
}

#[test]
fn the_time_of_all_threads_of_fio_is_not_that_of_the_run() {
    let without = data("fio-3.json").replace("\"runtime\" : 10000,", "");
    let alone = read(&without, &Options::default()).unwrap();
    assert_eq!(comparable(&alone, Quantity::ElapsedS), 10.001);
    let four = without.replace("\"iodepth\" : \"64\"", "\"numjobs\" : \"4\"");
    let found = read(&four, &Options::default()).unwrap();
    assert!(found.reports[0].comparable(Quantity::ElapsedS).is_none());
}

#[test]
fn bars_of_awr_info() {
    let found = imported("awr-info.txt");
    let labels: Vec<&str> = found.reports.iter().map(|report| report.label.as_str()).collect();
    assert_eq!(labels, ["awr_0032.txt", "awr_0064.txt"]);
    assert_eq!(value(&found, "physical_reads"), 61_500.0);
    assert_eq!(value(&found, "db_file_sequential_read"), 510.0);
    assert_eq!(comparable(&found, Quantity::ElapsedS), 301.0);
    assert_eq!(comparable(&found, Quantity::ReadsPerS), 61_500.0);
    let said = |found: &Imported, words: &str| found.notes.iter().any(|note| note.text.contains(words));
    assert!(said(&found, "PREADS and PWRITES are requests"), "{:?}", found.notes);
    // Waits for reads of several blocks: by their mean, or as the longest of all.
    let text = data("awr-info.txt");
    for (old, new) in [
        ("|510|0|505|", "|510|93|505|"),
        ("|db file sequential read 15", "|db file scattered read 15"),
    ] {
        let several = read(&text.replace(old, new), &Options::default()).unwrap();
        assert!(several.reports[0].comparable(Quantity::ReadsPerS).is_none(), "{new}");
        assert!(several.reports[0].comparable(Quantity::WritesPerS).is_some(), "{new}");
        assert!(several.reports[1].comparable(Quantity::ReadsPerS).is_some(), "{new}");
        assert!(said(&several, "moves several blocks"), "{:?}", several.notes);
    }
}

#[test]
fn rows_say_of_which_load_they_are() {
    let loads = |found: &Imported, report: usize| -> Vec<String> {
        let load = found.reports[report].load.iter();
        load.map(|fact| format!("{}={}", fact.name, fact.value)).collect()
    };
    assert_eq!(loads(&imported("awr-info.txt"), 1), ["SESSIONS=64"]);
    let runs = imported("unity-2017-runs.txt");
    assert_eq!(loads(&runs, 12), ["comp=yes", "update=30"]);
    // What all rows have in common is said of the text.
    assert_eq!((fact(&runs, "comp"), fact(&runs, "update")), ("", ""));
    let rows = vec![("comp".to_string(), "yes".to_string())];
    let options = Options {
        rows,
        ..Options::default()
    };
    let yes = read(&data("unity-2017-runs.txt"), &options).unwrap();
    assert_eq!((fact(&yes, "comp"), fact(&yes, "update")), ("yes", ""));
    let all = runs.reports.iter().flat_map(|report| &report.load);
    let error = import::of_one_load(all.map(|fact| (fact.name.as_str(), fact.value.as_str()))).unwrap_err();
    assert!(error.to_string().contains("--where update=0"), "{error}");
}

#[test]
fn a_cell_that_is_missing_makes_no_small_mean() {
    let row = |cells: &str| {
        let text = format!("test reads1 avtm1 reads2 avtm2 writes1 writes2\n1 {cells}\n");
        read(&text, &Options::default()).unwrap()
    };
    let all = |found: &Imported, name: &str| {
        let figure = found.reports[0].figure(&format!("all instances.{name}"));
        figure.map(|figure| figure.value)
    };
    let whole = row("100 5.0 300 1.0 10 20");
    assert_eq!(all(&whole, "read_time"), Some(2.0));
    assert_eq!(all(&whole, "writes_per_s"), Some(30.0));
    let without_time = row("100 5.0 100 - 10 20");
    assert_eq!(all(&without_time, "read_time"), None);
    assert_eq!(all(&without_time, "reads_per_s"), Some(200.0));
    assert_eq!(value(&without_time, "instance.1.read_time"), 5.0);
    // The time of the second instance is not weighted by the reads of the first.
    let without_reads = row("100 5.0 - 1.0 10 20");
    assert_eq!(all(&without_reads, "read_time"), None);
    assert_eq!(all(&without_reads, "reads_per_s"), None);
    assert_eq!(all(&without_reads, "writes_per_s"), Some(30.0));
    // An instance that reads nothing has no time; one that was not there has no cell.
    assert_eq!(all(&row("100 5.0 0 - 10 20"), "read_time"), Some(5.0));
    let alone = row("100 5.0 - - 10 -");
    assert_eq!(
        (all(&alone, "read_time"), all(&alone, "writes_per_s")),
        (Some(5.0), Some(10.0))
    );
}

#[test]
fn two_runs_in_one_file_are_told_apart() {
    let two = format!(
        "{}{}",
        data("xtremio-2014-random-asm.txt"),
        data("xtremio-2014-random-zfs-aged.txt")
    );
    let error = refused(&two, &Options::default());
    assert!(error.to_string().starts_with("line 4:"), "{error}");
}

#[test]
fn an_unknown_text_says_what_was_looked_for() {
    for text in ["", "hello\nworld\n", "{\"a\": 1}", "\u{0}\u{1}\u{2}"] {
        let error = detect(text).unwrap_err().to_string();
        for format in Format::ALL {
            assert!(error.contains(format.word()), "{error}");
        }
    }
    let forced = Options {
        format: Some(Format::Awr),
        ..Options::default()
    };
    let error = refused("hello\n", &forced).to_string();
    assert!(error.contains("Tablespace IO Stats"), "{error}");
}

#[test]
fn passwords_are_not_repeated() {
    let text = "UPDATE_PCT: 50\nSYSDBA_PASSWD: tiger\nADMIN_PASS: tiger\nPhysical reads per second: 10\n";
    let found = read(text, &Options::default()).unwrap();
    assert_eq!(fact(&found, "UPDATE_PCT"), "50");
    assert!(!format!("{found:?}").contains("tiger"));
}
