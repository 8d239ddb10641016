//! AWR as HTML, its load profile as text, statspack: written by hand after the layouts of each version, with what each
//! version gets wrong.

use import::{Format, ImportError, Imported, Options, Quantity, read};

fn data(name: &str) -> String {
    let path = format!("{}/tests/data/pages/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn imported(name: &str) -> Imported {
    read(&data(name), &Options::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Value, unit and text as printed.
fn printed(of: &Imported, name: &str) -> (f64, &'static str, String) {
    let names: Vec<&str> = of.reports[0].figures.iter().map(|f| f.name.as_str()).collect();
    let figure = of.reports[0]
        .figure(name)
        .unwrap_or_else(|| panic!("no {name} in {names:#?}"));
    (figure.value, figure.unit, figure.text.clone())
}

fn value(of: &Imported, name: &str) -> f64 {
    printed(of, name).0
}

fn comparable(of: &Imported, quantity: Quantity) -> Option<f64> {
    let figure = of.reports[0].comparable(quantity)?;
    figure.comparable.map(|comparable| comparable.value)
}

fn fact<'i>(of: &'i Imported, name: &str) -> &'i str {
    of.facts
        .iter()
        .find(|fact| fact.name == name)
        .map_or("", |fact| fact.value.as_str())
}

/// Every figure is on the line it names, and no quantity is there twice.
fn stands(name: &str, found: &Imported) {
    let text = data(name);
    let lines: Vec<&str> = text.split('\n').collect();
    for figure in &found.reports[0].figures {
        let line = lines[figure.line as usize - 1];
        assert!(line.contains(&figure.text), "{name}: {figure:?} is not in {line:?}");
    }
    for quantity in Quantity::ALL {
        let same = |figure: &&import::Figure| figure.comparable.is_some_and(|c| c.quantity == *quantity);
        assert!(
            found.reports[0].figures.iter().filter(same).count() <= 1,
            "{name}: {quantity:?} twice"
        );
    }
}

fn noted(of: &Imported, words: &str) -> bool {
    of.notes.iter().any(|note| note.text.contains(words))
}

#[test]
fn pages_of_11_2_0_3() {
    let found = imported("11.2.0.3.html");
    stands("11.2.0.3.html", &found);
    assert_eq!(found.format, Format::Awr);
    assert_eq!(
        (fact(&found, "release"), fact(&found, "host")),
        ("11.2.0.3.0", "labhost1")
    );
    assert_eq!(comparable(&found, Quantity::ElapsedS), Some(30.02 * 60.0));
    assert_eq!(value(&found, "db_time"), 1204.57);
    assert_eq!(comparable(&found, Quantity::CpuIdleShare), Some(0.506));
    assert_eq!(printed(&found, "load.DB Time(s).per_s"), (40.1, "s/s", "40.1".into()));
    assert_eq!(printed(&found, "load.Physical reads.per_s").1, "blocks/s");
    assert_eq!(value(&found, "load.Transactions.per_s"), 238.7);
    assert!(
        found.reports[0].figure("load.Transactions.per_transaction").is_none(),
        "blank is blank"
    );
    // The statistics say requests and bytes; the blocks of the load profile are no requests.
    assert_eq!(comparable(&found, Quantity::ReadsPerS), Some(23_264.12));
    assert_eq!(comparable(&found, Quantity::WriteBytesPerS), Some(5_722_552.29));
    assert_eq!(comparable(&found, Quantity::ReadNs), Some(920_000.0));
    assert_eq!(value(&found, "top.db file sequential read.waits"), 41_870_112.0);
    assert_eq!(printed(&found, "top.db file sequential read.time").1, "s");
    assert_eq!(value(&found, "top.DB CPU.time"), 18_022.0);
    assert!(found.reports[0].figure("top.DB CPU.waits").is_none());
    assert_eq!(
        value(&found, "io_function.Buffer Cache Reads.read_bytes"),
        319.5 * 1_073_741_824.0
    );
    assert_eq!(value(&found, "io_function.LGWR.waits"), 802_100.0);
    // 181.653 has lost its M: seven characters were all the room there was.
    assert!(
        found.reports[0]
            .figure("io_function.Buffer Cache Reads.read_bytes_per_s")
            .is_none()
    );
    assert!(noted(&found, "has lost its unit"), "{:?}", found.notes);
    assert_eq!(value(&found, "tablespace.UNDOTBS1.writes"), 61_220.0);
    assert_eq!(value(&found, "file.APPDATA./u02/app/app02.dbf.read_time"), 0.93);
    assert_eq!(value(&found, "background.db file parallel write.time"), 702.0);
    assert!(
        found.reports[0].figure("background.rdbms ipc message.time").is_none(),
        "no wait of storage"
    );
}

#[test]
fn pages_of_11_2_0_4_print_columns_under_wrong_titles() {
    let found = imported("11.2.0.4.html");
    stands("11.2.0.4.html", &found);
    // No statistics here: the load profile says the requests of the instance, not those of a tablespace.
    assert_eq!(comparable(&found, Quantity::ReadsPerS), Some(8640.5));
    assert_eq!(comparable(&found, Quantity::WritesPerS), Some(411.2));
    assert_eq!(printed(&found, "top.DB CPU.time"), (22_400.0, "s", "22.4K".into()));
    assert_eq!(printed(&found, "top.log file sync.mean_wait"), (3.0, "ms", "3".into()));
    // 740,160 is the number of writes, below the title of single-block reads.
    for column in ["writes", "writes_per_s", "single_reads_per_s", "single_read_time"] {
        assert!(
            found.reports[0]
                .figure(&format!("tablespace.APPDATA.{column}"))
                .is_none(),
            "{column}"
        );
    }
    assert!(noted(&found, "under wrong titles"), "{:?}", found.notes);
    assert_eq!(comparable(&found, Quantity::ReadNs), Some(1_100_000.0));
    assert_eq!(value(&found, "tablespace.APPDATA.buffer_waits"), 20.0);
}

#[test]
fn pages_of_18c_from_a_cluster() {
    let found = imported("18c.html");
    stands("18c.html", &found);
    assert_eq!(
        (fact(&found, "release"), fact(&found, "instance")),
        ("18.0.0.0.0", "LABDB1")
    );
    assert_eq!(value(&found, "io_profile.Total Requests.total_per_s"), 1202.4);
    assert_eq!(printed(&found, "io_profile.Database (blocks).read_per_s").1, "blocks/s");
    assert_eq!(
        printed(&found, "top.cell single block physical read.mean_wait"),
        (421.45, "us", "421.45us".into())
    );
    assert_eq!(value(&found, "foreground.cell single block physical read.time"), 932.0);
    assert_eq!(value(&found, "io_function.Others.write_bytes"), 3.9 * 1_073_741_824.0);
    assert_eq!(printed(&found, "io_function.Others.mean_wait").1, "us");
    assert_eq!(printed(&found, "io_filetype.Data File.large_read_time").1, "ms");
    assert!(
        found.reports[0]
            .figures
            .iter()
            .all(|figure| !figure.name.starts_with("tablespace."))
    );
}

#[test]
fn a_load_profile_alone_is_a_report() {
    let found = imported("11.2-load-profile.txt");
    stands("11.2-load-profile.txt", &found);
    assert_eq!(found.layout, "AWR text, load profile");
    assert_eq!(comparable(&found, Quantity::ReadsPerS), Some(8640.5));
    assert_eq!(comparable(&found, Quantity::WritesPerS), Some(411.2));
    assert_eq!(
        printed(&found, "load.DB Time(s).per_call"),
        (0.01, "s/call", "0.01".into())
    );
    assert_eq!(value(&found, "load.Transactions.per_s"), 279.9);
    let cut = data("11.2-load-profile.txt");
    let cut = &cut[cut.find("Load Profile").unwrap()..];
    let cut = read(cut, &Options::default()).unwrap();
    assert_eq!(comparable(&cut, Quantity::ReadsPerS), Some(8640.5));
    let german = data("11.2-load-profile.txt").replace("8,640.5", "8.640,5");
    let error = read(&german, &Options::default()).unwrap_err();
    assert!(matches!(error, ImportError::DecimalComma { line: 19, .. }), "{error}");
}

#[test]
fn statspack_of_10g_and_9i() {
    let found = imported("statspack-10g.txt");
    stands("statspack-10g.txt", &found);
    assert_eq!(
        (found.format, fact(&found, "release")),
        (Format::Statspack, "10.2.0.3.0")
    );
    assert_eq!((fact(&found, "host"), fact(&found, "cpus")), ("labhost1", "16"));
    assert_eq!(value(&found, "db_time"), 207.12);
    assert_eq!(value(&found, "load.DB time(s).per_execution"), 0.0);
    assert_eq!(value(&found, "load.Physical reads.per_transaction"), 23.0);
    assert_eq!(value(&found, "top.db file sequential read.time"), 9810.0);
    assert_eq!(
        printed(&found, "top.CPU time.share"),
        (15.2, "% of call time", "15.2".into())
    );
    assert!(
        found.reports[0].figure("top.CPU time.waits").is_none(),
        "blank is blank"
    );
    assert_eq!(comparable(&found, Quantity::ReadsPerS), Some(6079.6));
    assert_eq!(comparable(&found, Quantity::ReadNs), Some(900_000.0));
    let old = imported("statspack-9i.txt");
    stands("statspack-9i.txt", &old);
    assert_eq!(old.format, Format::Statspack);
    assert_eq!(value(&old, "load.Physical reads.per_s"), 3120.3);
    assert!(old.reports[0].figures.iter().all(|figure| !figure.name.contains('%')));
    assert_eq!(value(&old, "top.CPU time.time"), 1101.0);
    // 9i counts no requests: those of the tablespace with the most I/O are all there is.
    assert_eq!(comparable(&old, Quantity::ReadsPerS), Some(2710.0));
}

#[test]
fn hostile_pages() {
    let page = data("18c.html");
    let german = page.replace("1,188.1", "1.188,1");
    let error = read(&german, &Options::default()).unwrap_err();
    assert!(matches!(error, ImportError::DecimalComma { .. }), "{error}");
    let cluster = page.replace("WORKLOAD REPOSITORY report for", "WORKLOAD REPOSITORY REPORT (RAC)");
    assert!(
        read(&cluster, &Options::default())
            .unwrap_err()
            .to_string()
            .contains("cluster")
    );
    let two = format!("{page}{page}");
    assert!(
        read(&two, &Options::default())
            .unwrap_err()
            .to_string()
            .contains("second report")
    );
    // A page cut in the middle of a number gives no such number.
    let cut = &page[..page.find("1,188.1").unwrap() + 3];
    let found = read(cut, &Options::default()).unwrap();
    assert!(
        found.reports[0]
            .figure("io_profile.Total Requests.read_per_s")
            .is_none()
    );
    // A row with a cell too few is left out, and said to be.
    let short = page.replace("<td align=\"right\" class='awrc'>1,188.1</td>", "");
    let found = read(&short, &Options::default()).unwrap();
    assert!(
        found.reports[0]
            .figure("io_profile.Total Requests.total_per_s")
            .is_none()
    );
    assert!(noted(&found, "has not the cells of its titles"), "{:?}", found.notes);
    let nested = "<table><tr><td>".repeat(5000);
    let found = read(&format!("{page}{nested}"), &Options::default()).unwrap();
    assert_eq!(
        found.reports[0].figures.len(),
        imported("18c.html").reports[0].figures.len()
    );
}
