//! Studies that read a `slob.conf`: what is taken, what the study says itself, what is refused, and with which words.
//! The files are written by hand from the names of the parameters.

use plan::{PhaseKind, PlanError, Random, RedoStress, Study, load, parse};
use std::path::Path;

const CONF: &str = "\
# by hand
UPDATE_PCT=30
SCAN_PCT=5
RUN_TIME=300
WORK_LOOP=0
SCALE=8G
SCAN_TABLE_SZ=2M
WORK_UNIT=32
REDO_STRESS=HEAVY
LOAD_PARALLEL_DEGREE=16
THREADS_PER_SCHEMA=2
DATABASE_STATISTICS_TYPE=awr
SQLNET_SERVICE_MAX=2
SYSDBA_PASSWD=tiger
EXTERNAL_SCRIPT=''
DO_HOTSPOT=TRUE
HOTSPOT_MB=16
HOTSPOT_OFFSET_MB=4
HOTSPOT_FREQUENCY=3
HOT_SCHEMA_FREQUENCY=0
THINK_TM_FREQUENCY=10
THINK_TM_MIN=.1
THINK_TM_MAX=.5
MY_OWN_NOTE=x
";

const STUDY: &str = "\
[study]
name = \"s\"
time_limit = \"3h\"
[[stack]]
name = \"here\"
kind = \"model\"
size = \"64GiB\"
[database]
schemas = 8
scale = \"1GiB\"
[[phase]]
name = \"p\"
kind = \"random\"
slob_conf = \"slob.conf\"
";

fn study(conf: &str, more: &str) -> Result<Study, PlanError> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("slob.conf"), conf).unwrap();
    let path = dir.path().join("study.toml");
    std::fs::write(&path, format!("{STUDY}{more}")).unwrap();
    load(&path)
}

fn random(study: &Study) -> &Random {
    match &study.phases[0].kind {
        PhaseKind::Random(random) => random,
        other => panic!("{other:?}"),
    }
}

fn row<'s>(study: &'s Study, key: &str) -> &'s plan::SlobRow {
    study
        .slob
        .iter()
        .find(|row| row.key == key)
        .unwrap_or_else(|| panic!("{key}"))
}

fn refused(conf: &str, more: &str) -> String {
    study(conf, more).unwrap_err().to_string()
}

#[test]
fn every_parameter_is_taken_or_has_a_word() {
    let study = study(CONF, "").unwrap();
    let random = random(&study);
    assert_eq!((random.update_pct, random.scan_pct, random.work_unit), (30, 5, 32));
    assert_eq!(random.scan_table_size.0, 2 << 20);
    assert_eq!(random.redo_stress, RedoStress::Heavy);
    assert_eq!(random.sessions, 16, "2 threads for each of 8 schemas");
    let hot = random.hotspot.unwrap();
    assert_eq!((hot.size.0, hot.offset.0, hot.frequency), (16 << 20, 4 << 20, 3));
    assert_eq!(random.think_tm_frequency, 10);
    assert_eq!(
        (random.think_tm_min.0, random.think_tm_max.0),
        (100_000_000, 500_000_000)
    );
    assert_eq!(study.phases[0].time.unwrap().0, 300_000_000_000);
    // One row for each line of the file, each with a word.
    assert_eq!(study.slob.len(), CONF.lines().count() - 1);
    assert!(
        study
            .slob
            .iter()
            .all(|row| !row.why.is_empty() && row.line > 1 && row.phase == "p")
    );
    assert_eq!(row(&study, "UPDATE_PCT").used.as_deref(), Some("update_pct = 30"));
    assert_eq!(row(&study, "SCALE").used.as_deref(), Some("database.scale = \"1GiB\""));
    assert!(
        row(&study, "SCALE").why.contains("scale = \"64GiB\""),
        "{:?}",
        row(&study, "SCALE")
    );
    assert!(row(&study, "THREADS_PER_SCHEMA").why.contains("8 schemas"));
    assert!(row(&study, "LOAD_PARALLEL_DEGREE").why.starts_with("not used"));
    assert!(row(&study, "MY_OWN_NOTE").why.starts_with("not used"));
    assert!(!format!("{:?}", study.slob).contains("tiger"));
    // They count as written, and the study that says every key reads back the same.
    assert!(
        study
            .resolved
            .iter()
            .any(|r| r.key == "phase.p.update_pct" && r.written)
    );
    let again = parse(&study.to_toml(), Path::new("again.toml")).unwrap();
    assert_eq!(again.phases, study.phases);
}

#[test]
fn what_the_study_says_itself_holds() {
    let said = "update_pct = 50\ntime = \"10s\"\nhotspot = \"none\"\n";
    let study = study(CONF, said).unwrap();
    assert_eq!(random(&study).update_pct, 50);
    assert_eq!(random(&study).hotspot, None);
    assert_eq!(study.phases[0].time.unwrap().0, 10_000_000_000);
    let update = row(&study, "UPDATE_PCT");
    assert_eq!(
        (update.seed.as_str(), update.used.as_deref()),
        ("30", Some("update_pct = 50"))
    );
    assert!(update.why.contains("study says"), "{update:?}");
    assert!(row(&study, "HOTSPOT_MB").why.contains("study says"));
}

#[test]
fn a_hot_spot_that_is_off_rests_and_fixed_work_ends_the_phase() {
    let off = CONF
        .replace("DO_HOTSPOT=TRUE", "DO_HOTSPOT=FALSE")
        .replace("WORK_LOOP=0", "WORK_LOOP=1000");
    let study = study(&off, "").unwrap();
    assert_eq!(random(&study).hotspot, None);
    assert!(row(&study, "HOTSPOT_MB").why.contains("rests"));
    assert_eq!(random(&study).work_loop, 1000);
    assert_eq!(study.phases[0].time, None);
    assert!(row(&study, "RUN_TIME").why.contains("WORK_LOOP"));
    let percent = "DO_HOTSPOT=TRUE\nHOTSPOT_MB=8\nHOTSPOT_PCT=25\n";
    let study = self::study(percent, "").unwrap();
    assert_eq!(random(&study).hotspot.unwrap().frequency, 4);
}

#[test]
fn what_cannot_be_done_is_refused_with_line_and_cure() {
    for (conf, wanted) in [
        ("UPDATE_PCT=75\n", "SLOB refuses 51 to 99"),
        ("UPDATE_PCT=many\n", "slob.conf:1: UPDATE_PCT"),
        ("\nHOT_SCHEMA_FREQUENCY=x\n", "slob.conf:2: HOT_SCHEMA_FREQUENCY"),
        ("HOT_SCHEMA_PCT=30\n", "HOT_SCHEMA_PCT"),
        ("DO_HOTSCHEMA=TRUE\n", "needs a HOT_SCHEMA_FREQUENCY"),
        ("RUN_TIME=-5\n", "slob.conf:1: RUN_TIME"),
        ("REDO_STRESS=MEDIUM\n", "LITE or HEAVY"),
        ("UPDAT_PCT=5\n", "did you mean UPDATE_PCT"),
        ("SCALE=huge\n", "slob.conf:1: SCALE"),
        ("RUN_TIME=$T\n", "made by the shell"),
        ("DO_HOTSPOT=TRUE\nHOTSPOT_PCT=30\n", "HOTSPOT_PCT"),
        ("THREADS_PER_SCHEMA=99999999999999999999\n", "THREADS_PER_SCHEMA"),
    ] {
        let said = refused(conf, "");
        assert!(said.contains(wanted), "{conf:?}: {said}");
        assert!(said.contains("study.toml:14:") && said.contains("cure:"), "{said}");
    }
}

#[test]
fn a_file_that_is_not_there_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("study.toml");
    std::fs::write(&path, STUDY).unwrap();
    let said = load(&path).unwrap_err().to_string();
    assert!(
        said.contains("slob.conf: No such file") && said.contains("study's directory"),
        "{said}"
    );
    let scan = STUDY.replace("\"random\"", "\"scan\"");
    std::fs::write(&path, scan).unwrap();
    let said = load(&path).unwrap_err().to_string();
    assert!(said.contains("has no `slob_conf`"), "{said}");
}

#[test]
fn a_mapping_to_a_publication_names_what_the_study_has() {
    let plain = "[study]\nname = \"s\"\npublished = \"xtremio-2014\"\n[[stack]]\nname = \"a\"\nkind = \"model\"\n\
         [[phase]]\nname = \"p\"\nkind = \"scan\"\n[published]\n";
    let parsed = |more: &str| parse(&format!("{plain}{more}"), Path::new("s.toml"));
    let study = parsed("stacks = { a = \"asm\" }\nphases = { p = \"scan\" }\n").unwrap();
    assert_eq!(study.stands_for.stacks, [("a".to_string(), "asm".to_string())]);
    assert_eq!(study.stands_for.phases, [("p".to_string(), "scan".to_string())]);
    let again = parse(&study.to_toml(), Path::new("s.toml")).unwrap();
    assert_eq!(again.stands_for, study.stands_for);
    for (more, wanted) in [
        ("stacks = { b = \"asm\" }\n", "no stack \"b\""),
        ("phases = { a = \"scan\" }\n", "no phase \"a\""),
        ("stacks = \"a\"\n", "takes a table"),
        ("stacks = { a = 1 }\n", "a string"),
        ("source = \"x\"\n", "named in [study]"),
    ] {
        let said = parsed(more).unwrap_err().to_string();
        assert!(said.contains(wanted) && said.contains("cure:"), "{more}: {said}");
    }
    let unnamed = plain.replace("published = \"xtremio-2014\"\n", "") + "stacks = { a = \"asm\" }\n";
    let said = parse(&unnamed, Path::new("s.toml")).unwrap_err().to_string();
    assert!(said.contains("names no publication"), "{said}");
}

#[test]
fn a_hot_schema_is_taken_as_slob_writes_it() {
    for (conf, wanted) in [
        ("HOT_SCHEMA_FREQUENCY=3\n", 3),
        ("HOT_SCHEMA_PCT=25\n", 4),
        ("HOT_SCHEMA_PCT=0\n", 0),
        ("DO_HOTSCHEMA=TRUE\nHOT_SCHEMA_FREQUENCY=5\n", 5),
        ("DO_HOTSCHEMA=FALSE\nHOT_SCHEMA_FREQUENCY=5\n", 0),
    ] {
        let study = study(conf, "").unwrap();
        assert_eq!(random(&study).hot_schema_frequency, wanted, "{conf:?}");
    }
    let study = study("HOT_SCHEMA_FREQUENCY=3\n", "hot_schema_frequency = 7\n").unwrap();
    assert_eq!(random(&study).hot_schema_frequency, 7);
    assert!(row(&study, "HOT_SCHEMA_FREQUENCY").why.contains("study says"));
}
