//! How files lie, what devices did for each request, and memory against data: the same in every form.

use crate::fixture::{Scene, actor, beside_a_pool, scene};
use ledger::{Measure, PhaseKind};
use report::{Analysis, Style, json, markdown, schema, terminal};

fn aged() -> Scene {
    let mut scene = scene(vec![actor("disk group", 1.0), actor("btrfs", 0.8)]);
    scene.rich = true;
    scene.phases = vec![
        (PhaseKind::Scan, "fresh scan".into()),
        (PhaseKind::Random, "updates".into()),
        (PhaseKind::Random, "more updates".into()),
        (PhaseKind::Scan, "aged scan".into()),
    ];
    scene
}

fn shown(analysis: &Analysis) -> String {
    let style = Style {
        utf8: true,
        ..Style::default()
    };
    terminal(analysis, &style)
}

#[test]
fn each_moment_has_its_figures_and_the_ends_their_pictures() {
    let analysis = aged().film().analysis();
    let [group, btrfs] = &analysis.layouts[..] else {
        panic!("{:?}", analysis.layouts.len())
    };
    let after: Vec<Option<&str>> = btrfs.moments.iter().map(|moment| moment.after.as_deref()).collect();
    assert_eq!(
        after,
        [None, Some("updates"), Some("more updates")],
        "a scan changes nothing"
    );
    let lost: Vec<f64> = btrfs.moments.iter().map(|m| m.adjacency_lost.unwrap().median).collect();
    assert!(lost[0] == 0.0 && lost[1] > 0.4 && lost[2] > lost[1], "{lost:?}");
    assert_eq!(btrfs.moments[0].pieces_per_multiblock.unwrap().median, 1.0);
    let pictures: Vec<bool> = btrfs.moments.iter().map(|m| m.picture.is_some()).collect();
    assert_eq!(pictures, [true, false, true]);
    assert_eq!(btrfs.extents_loaded.unwrap().median, 4.0);
    assert_eq!(btrfs.extents_at_the_end, btrfs.moments[2].extents);
    // Stripes are no loss, and are said.
    let last = group.moments.last().unwrap();
    assert_eq!(last.adjacency_lost.unwrap().median, 0.0);
    assert!(last.adjacency_striped.unwrap().median > 0.0);
    assert_eq!(last.picture.as_ref().unwrap().devices, 2);
}

#[test]
fn data_and_log_stand_apart_where_their_devices_do() {
    let analysis = aged().film().analysis();
    let updates = &analysis.phases[1].cells[0].inflation;
    assert!(updates.log_apart);
    let near = |figure: report::Figure, wanted: f64| (figure.median - wanted).abs() < 1e-9;
    assert!(near(updates.data_writes.unwrap().bytes_per_byte, 1.1));
    assert!(near(updates.log_writes.unwrap().requests_per_request, 3.0));
    assert!(near(updates.beyond_per_byte.unwrap(), 0.1));
    let scan = &analysis.phases[0].cells[0].inflation;
    assert!(scan.reads.is_some() && scan.data_writes.is_none() && scan.writes.is_none());
    // Mirrors: two bytes for one are copies, and what is beyond them is not.
    let mut mirrored = aged();
    mirrored.extra = vec![(Measure::StackDataCopies, 2.0)];
    let analysis = mirrored.film().analysis();
    assert!(near(
        analysis.phases[1].cells[0].inflation.beyond_per_byte.unwrap(),
        -0.9
    ));
    assert!(
        analysis
            .not_told_apart
            .iter()
            .any(|line| line.contains("2 bytes for each byte"))
    );
}

#[test]
fn every_form_says_it() {
    let film = aged().film();
    let analysis = film.analysis();
    let text = shown(&analysis);
    for wanted in [
        "neighbours",
        "pieces",
        "data wr.",
        "log wr.",
        "Memory at its highest",
        "could not be separated",
    ] {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let is_height = |c: &char| ('\u{2581}'..='\u{2588}').contains(c);
    let strips: Vec<Vec<char>> = text
        .lines()
        .filter(|line| line.contains("  load  "))
        .map(|line| line.chars().filter(is_height).collect())
        .filter(|strip: &Vec<char>| !strip.is_empty())
        .collect();
    assert_eq!(strips.len(), 2, "{text}");
    assert!(strips.iter().all(|strip| strip.len() >= 40), "{strips:?}");
    assert!(
        strips[0].windows(2).all(|pair| pair[0] <= pair[1]),
        "a ramp: {strips:?}"
    );
    let short = markdown(&analysis);
    for wanted in ["neighbours lost", "data wr. /asked", "of the data"] {
        assert!(short.contains(wanted), "{wanted} in {short}");
    }
    let value = json(&analysis);
    let validator = jsonschema::validator_for(&schema()).unwrap();
    assert!(validator.is_valid(&value));
    let moments = &value["report"]["layouts"][1]["moments"];
    assert_eq!(moments[0]["picture"]["places"].as_array().unwrap().len(), 512);
    assert!(moments[1]["picture"].is_null());
    assert_eq!(value["report"]["memory"][0]["stack"], "disk group");
    let page = report::html(&film.ledger, &analysis).unwrap();
    assert!(page.contains("class=\"strip s1\"") && page.contains("data wr."));
}

#[test]
fn a_file_without_layouts_is_read_as_before() {
    let film = scene(vec![actor("ext4", 1.0)]).film();
    assert!(film.analysis().layouts.is_empty());
    assert!(!shown(&film.analysis()).contains("How the data files lie"));
}

#[test]
fn parity_is_named_and_pages_that_went_back_are_counted() {
    let mut pool = actor("pool", 1.0);
    pool.stack.kind = "zfs".into();
    let mut scene = scene(vec![pool]);
    scene.settings = vec![ledger::Setting {
        key: "stack.pool.vdevs".into(),
        value: "\"raidz1\"".into(),
        written: true,
    }];
    scene.extra = vec![
        (Measure::CutsMade, 3.0),
        (Measure::CutsLosing, 1.0),
        (Measure::CutsOlder, 5.0),
    ];
    let analysis = scene.film().analysis();
    let told = analysis.not_told_apart.join(" ");
    assert!(told.contains("parity") && told.contains("intent log"), "{told}");
    let loss = analysis.checks.iter().find(|one| one.subject == "data loss").unwrap();
    assert!(
        loss.figure
            .contains("20 pages older than before, in 4 of 12 power cuts"),
        "{loss:?}"
    );
}

/// The array counts after recovery has overwritten a part of it.
#[test]
fn parity_that_did_not_match_is_said_to_be_the_least_of_it() {
    let said = |stale: f64| {
        let mut scene = scene(vec![actor("array", 1.0)]);
        scene.extra = vec![
            (Measure::CutsMade, 2.0),
            (Measure::CutsParityLookedAt, 2.0),
            (Measure::CutsStaleParity, stale),
            (Measure::CutsStaleParityBytes, stale * 4096.0),
        ];
        let analysis = scene.film().analysis();
        let hole = analysis.checks.iter().find(|one| one.subject == "write hole");
        hole.map(|hole| hole.figure.clone()).unwrap_or_default()
    };
    let figure = said(1.0);
    assert!(
        figure.contains("parity of at least ") && figure.contains("after at least "),
        "{figure}"
    );
    assert!(
        said(0.0).contains("found no parity that did not match"),
        "{}",
        said(0.0)
    );
}

#[test]
fn what_parity_and_snapshots_of_volumes_add_is_named_where_they_are() {
    let told = |key: &str, value: &str| {
        let mut volume = actor("volume", 1.0);
        volume.stack.kind = "md".into();
        let mut scene = scene(vec![volume]);
        scene.settings = vec![ledger::Setting {
            key: format!("stack.volume.{key}"),
            value: format!("\"{value}\""),
            written: true,
        }];
        scene.film().analysis().not_told_apart.join(" ")
    };
    for (key, value, words) in [
        ("level", "raid5", "reads and writes parity"),
        ("level", "raid1", "its copies are written below"),
        ("level", "raid10", "its copies are written below"),
        ("layout", "raid1", "its copies are written below"),
        ("snapshot", "cow", "copies that block for the snapshot"),
        ("snapshot", "thin", "copies that block for the snapshot"),
    ] {
        let said = told(key, value);
        assert!(said.contains(words) && said.contains("this figure does not"), "{said}");
    }
    for (key, value) in [("level", "raid0"), ("layout", "striped"), ("snapshot", "none")] {
        let said = told(key, value);
        assert!(!said.contains("below the volume's device"), "{said}");
    }
}

/// A miss of one page reads a whole record: the bytes of the devices then say nothing of what the ARC served.
#[test]
fn bytes_of_whole_records_hide_no_arc() {
    let label = |requests: f64, misses: f64| {
        let mut amplified = actor("pool", 1.0);
        amplified.device = Some(1.44);
        let counted = [
            (Measure::EnginePhysicalReads, requests),
            (Measure::ArcDataHits, requests - misses),
            (Measure::ArcDataMisses, misses),
            (Measure::ArcAheadMisses, 0.0),
        ];
        let analysis = beside_a_pool(amplified, &counted).film().analysis();
        analysis.phases[0].cells[2].provenance.reads.origin
    };
    assert_eq!(label(100_000.0, 9_000.0), report::Origin::Cache);
    assert_eq!(label(100_000.0, 50_000.0), report::Origin::Mixed);
    assert_eq!(label(100_000.0, 95_000.0), report::Origin::Device);
}
