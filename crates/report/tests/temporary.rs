//! Temporary space beside the data and apart: whether it explains a difference, in the analysis and in all forms.
//!
//! Prevents: a suspicion printed as an answer, and two stacks taken for twins that differ by more than that.

use crate::fixture::{Actor, Scene, actor, scene};
use ledger::Setting;
use report::{Explains, Style};

/// Four stacks: two, and each again with its temporary files apart.
fn four(speeds: [f64; 4]) -> Scene {
    let names = ["group", "group apart", "ext4", "ext4 apart"];
    let one = |(name, speed): (&str, f64)| -> Actor {
        let mut made = actor(name, speed);
        made.stack.kind = name.split(' ').next().unwrap().into();
        made
    };
    let mut scene = scene(names.into_iter().zip(speeds).map(one).collect());
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
