//! Temporary space beside the data and apart: whether it explains a difference, in the analysis and in all forms.
//!
//! Prevents: a suspicion printed as an answer, and two stacks taken for twins that differ by more than that.

use crate::fixture::{Actor, Scene, actor, scene};
use ledger::{Measure, PhaseKind, Setting};
use report::{Analysis, Check, Explains, Origin, Status, Style, TemporaryFiles};

/// Four stacks: two, and each again with its temporary files apart. Six blocks, the least that explain anything.
fn four(speeds: [f64; 4]) -> Scene {
    let names = ["group", "group apart", "ext4", "ext4 apart"];
    let one = |(name, speed): (&str, f64)| -> Actor {
        let mut made = actor(name, speed);
        made.stack.kind = name.split(' ').next().unwrap().into();
        made
    };
    let mut scene = scene(names.into_iter().zip(speeds).map(one).collect());
    scene.blocks = 6;
    let temp = |name: &str| Setting {
        key: format!("stack.{name}.temp"),
        value: if name.ends_with("apart") {
            "\"temp\""
        } else {
            "\"none\""
        }
        .into(),
        written: true,
    };
    scene.settings = names.map(temp).into();
    scene
}

#[test]
fn a_difference_that_goes_with_temporary_space_is_explained_in_a_sentence() {
    let filmed = four([1.0, 1.3, 1.3, 1.31]).film();
    let analysis = filmed.analysis();
    let found = &analysis.temporary;
    let twins: Vec<(&str, &str)> = found.apart.iter().map(|one| (&*one.stack, &*one.beside)).collect();
    assert_eq!(twins[0], ("group apart", "group"));
    assert!(twins.contains(&("ext4 apart", "ext4")));
    assert_eq!(found.explained.len(), analysis.phases.len());
    for one in &found.explained {
        assert_eq!(one.explains, Explains::All, "{}", one.words);
        assert!(
            one.words.ends_with("temporary space explains the difference"),
            "{}",
            one.words
        );
        assert!((one.beside.ratio - 1.3).abs() < 0.02 && (one.apart.ratio - 1.31 / 1.3).abs() < 0.02);
    }
    let style = Style::default();
    for form in [
        report::terminal(&analysis, &style),
        report::brief(&analysis, &style, None),
    ] {
        // Lines are broken to the width.
        let said: Vec<&str> = form.split_whitespace().collect();
        assert!(
            said.join(" ").contains("temporary space explains the difference"),
            "{form}"
        );
    }
}

#[test]
fn five_blocks_decide_nothing_however_clear_they_are() {
    let mut scene = four([1.0, 1.3, 1.3, 1.31]);
    scene.blocks = 5;
    let analysis = scene.film().analysis();
    let explained = &analysis.temporary.explained;
    assert_eq!(explained.len(), analysis.phases.len());
    for one in explained {
        assert_eq!((one.explains, one.change.n), (Explains::NotTold, 5), "{}", one.words);
        assert!(
            one.words.contains("not decided whether temporary space"),
            "{}",
            one.words
        );
    }
    // The ratios stand there all the same.
    assert!(!analysis.temporary.apart.is_empty());
    let form = report::terminal(&analysis, &Style::default());
    // Lines are broken to the width.
    let said: Vec<&str> = form.split_whitespace().collect();
    assert!(said.join(" ").contains("5 of the 6 that it takes"), "{form}");
}

#[test]
fn what_stays_is_not_explained_and_without_twins_nothing_is_said() {
    let analysis = four([1.0, 1.2, 1.3, 1.56]).film().analysis();
    let explained = &analysis.temporary.explained;
    assert!(!explained.is_empty() && explained.iter().all(|one| one.explains == Explains::None));
    let mut other = four([1.0, 1.2, 1.3, 1.56]);
    other.settings.push(Setting {
        key: "stack.ext4 apart.mount_options".into(),
        value: "[\"noatime\"]".into(),
        written: true,
    });
    let analysis = other.film().analysis();
    assert!(analysis.temporary.explained.is_empty(), "ext4 has no twin any more");
    assert_eq!(analysis.temporary.apart.len(), analysis.phases.len());
    let mut none = four([1.0; 4]);
    none.settings.clear();
    assert_eq!(none.film().analysis().temporary, report::TemporarySpace::default());
}

/// Two stacks that were asked questions, and these measures of temporary files.
fn asked(measures: &[(Measure, f64)]) -> Analysis {
    let mut scene = scene(vec![actor("ext4", 1.0), actor("xfs", 0.8)]);
    scene.phases = vec![(PhaseKind::Tpch, "questions".into())];
    scene.extra = measures.to_vec();
    scene.film().analysis()
}

fn provenance(analysis: &Analysis) -> &Check {
    let mut checks = analysis.checks.iter();
    checks.find(|check| check.subject == "provenance").expect("its line")
}

/// Bytes of temporary files that devices of their own read and wrote.
fn apart(read: f64) -> [(Measure, f64); 2] {
    [
        (Measure::TempDeviceReadBytes, read),
        (Measure::TempDeviceWriteBytes, 0.5e9),
    ]
}

#[test]
fn a_label_says_that_it_is_of_temporary_files_too_where_nobody_counts_them() {
    let analysis = asked(&[]);
    let reads = analysis.phases[0].cells[0].provenance.reads;
    assert_eq!(
        (reads.origin, reads.temporary),
        (Origin::Device, TemporaryFiles::Unknown)
    );
    let line = provenance(&analysis);
    assert_eq!(line.status, Status::Note);
    assert!(
        line.figure.starts_with("reads: device, with temporary files ("),
        "{}",
        line.figure
    );
    assert!(line.advice.contains("LUNs of their own"), "{}", line.advice);
    assert!(!analysis.comparisons.is_empty(), "ranked, and said");
    let said = report::markdown(&analysis);
    assert!(said.contains("| device, with temporary files |"), "{said}");

    let none = asked(&[(Measure::DatabaseTempBytes, 0.0)]);
    assert_eq!(provenance(&none).status, Status::Valid);
    assert!(!report::markdown(&none).contains("with temporary files"));
}

#[test]
fn sizes_of_temporary_files_are_the_least_that_was_written() {
    let told = |measure| {
        let analysis = asked(&[(measure, 0.3e9), (Measure::TempDeviceWriteBytes, 0.6e9)]);
        let line = provenance(&analysis);
        let wide = Style {
            width: 300,
            ..Style::default()
        };
        let said = report::terminal(&analysis, &wide);
        (line.status, line.advice.clone(), said, analysis)
    };
    let (status, advice, said, analysis) = told(Measure::DatabaseTempFileBytes);
    assert_eq!(status, Status::Note, "of reads nobody knows their part");
    assert!(advice.contains("does not count what it wrote"), "{advice}");
    assert!(
        said.contains("files, at least") && said.contains("at their device, at most"),
        "{said}"
    );
    let questions = analysis.phases[0].cells[0].questions.as_ref().expect("questions");
    assert!(questions.temp_is_least);
    assert_eq!(questions.temp_device_share.map(|share| share.median), Some(2.0));
    let (status, _, said, analysis) = told(Measure::DatabaseTempBytes);
    assert_eq!(status, Status::Valid);
    assert!(
        !said.contains("files, at least") && said.contains("at their device"),
        "{said}"
    );
    assert!(
        !analysis.phases[0].cells[0]
            .questions
            .as_ref()
            .expect("questions")
            .temp_is_least
    );
}

#[test]
fn what_devices_of_their_own_moved_is_in_no_label_though_nobody_counts_the_files() {
    let little = asked(&apart(0.5e9));
    assert_eq!(provenance(&little).status, Status::Valid, "{:?}", provenance(&little));
    assert!(!little.comparisons.is_empty());
    // Without temporary files, devices moved about half of what was asked.
    let most = asked(&apart(6e9));
    let reads = most.phases[0].cells[0].provenance.reads;
    assert_eq!((reads.origin, reads.temporary), (Origin::Mixed, TemporaryFiles::Apart));
    let line = provenance(&most);
    assert_eq!(line.status, Status::Suspect);
    assert!(line.figure.starts_with("reads: mixed (5"), "{}", line.figure);
    assert!(most.comparisons.is_empty(), "{:?}", most.comparisons);
}

#[test]
fn bytes_of_each_lun_set_have_a_table() {
    let analysis = asked(&apart(0.5e9));
    let sets = &analysis.phases[0].cells[0].sets;
    let holds: Vec<&str> = sets.iter().map(|set| set.holds.as_str()).collect();
    assert_eq!(holds, ["data", "redo log", "temporary files"]);
    let read = sets[2].read_bytes.expect("counted");
    assert_eq!(
        (read.median, sets[1].read_bytes),
        (0.5e9, None),
        "nobody counts reads of the log"
    );
    let said = report::markdown(&analysis);
    assert!(
        said.contains("LUN set holds") && said.contains("| temporary files |"),
        "{said}"
    );
    // Without temporary files Markdown stays short.
    let none = asked(&[(Measure::DatabaseTempBytes, 0.0)]);
    assert!(!report::markdown(&none).contains("LUN set holds"));
    let style = Style::default();
    assert!(report::terminal(&none, &style).contains("device bytes by LUN set"));
}
