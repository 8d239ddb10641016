//! Room of the LUN set for temporary files, against what the questions of a study may spill there.
//!
//! Prevents: a set that is too small, of which the user learns when the questions run.

use plan::{Study, TemporarySpace};
use std::path::Path;

/// Users, what the set consists of, and whether the stack has it.
fn study(users: u32, luns: &str, temp: &str) -> Study {
    let text = format!(
        r#"
[study]
name = "temporary"
[luns.data]
files = {{ size = "2GiB" }}
[luns.temp]
{luns}
[[stack]]
name = "beside"
kind = "ext4"
data = "data"
[[stack]]
name = "apart"
kind = "ext4"
data = "data"
{temp}
[database]
engine = "sqlite"
[[phase]]
name = "questions"
kind = "tpch"
scale = 0.1
users = {users}
"#
    );
    plan::parse(&text, Path::new("study.toml")).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn the_set_of_temporary_files_is_held_against_what_questions_spill() {
    const MIB: u64 = 1 << 20;
    let of = |users: u32, luns: &str| {
        let study = study(users, luns, "temp = \"temp\"");
        assert_eq!(TemporarySpace::of(&study, &study.stacks[0]), None, "beside the data");
        TemporarySpace::of(&study, &study.stacks[1]).expect("a set of its own")
    };
    let two = of(2, "files = { size = \"64MiB\" }");
    assert_eq!(
        (two.set.as_str(), two.needed, two.room),
        ("temp", 60_000_000, Some(64 * MIB))
    );
    assert!(!two.is_short());
    // A file system takes a part of it.
    assert!(of(2, "files = { size = \"60MiB\" }").is_short());
    let many = of(40, "files = { size = \"64MiB\" }");
    assert!(many.is_short() && many.needed == 300_000_000, "most of 40 users wait");
    let devices = of(40, "devices = [\"/dev/no-such\"]");
    assert!(devices.room.is_none() && !devices.is_short(), "only the machine knows");
}
