//! The map in `HOUSE.md` against what Cargo says: an edge between rooms that is not on the map fails, whatever its
//! kind.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Room -> rooms it may use; `None` stands for "all".
fn map() -> BTreeMap<String, Option<BTreeSet<String>>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../HOUSE.md");
    let text = std::fs::read_to_string(&path).expect("HOUSE.md stands at the root");
    let mut rooms = BTreeMap::new();
    for line in text.lines().filter(|l| l.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if cells.len() < 4 || cells[0] == "room" || cells[0].starts_with('-') {
            continue;
        }
        let may = match cells[1] {
            "all" => None,
            "-" => Some(BTreeSet::new()),
            list => Some(list.split(',').map(|r| r.trim().to_string()).collect()),
        };
        rooms.insert(cells[0].to_string(), may);
    }
    rooms
}

#[test]
fn every_edge_is_on_the_map() {
    let map = map();
    assert!(map.len() >= 15, "the map in HOUSE.md was not read: {map:?}");
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .no_deps()
        .exec()
        .expect("cargo metadata");
    let mut wrong = Vec::new();
    for package in &metadata.packages {
        let room = package.name.to_string();
        let Some(may) = map.get(&room) else {
            wrong.push(format!("crate `{room}` is not a room of HOUSE.md"));
            continue;
        };
        for dependency in &package.dependencies {
            if !map.contains_key(&dependency.name) || dependency.name == room {
                continue;
            }
            if may.as_ref().is_some_and(|m| !m.contains(&dependency.name)) {
                wrong.push(format!(
                    "{room} -> {} ({:?}) is not on the map",
                    dependency.name, dependency.kind
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nChange HOUSE.md in the same commit and say why, or drop the edge.",
        wrong.join("\n")
    );
}

#[test]
fn rooms_said_to_be_here_are_here() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("HOUSE.md")).expect("HOUSE.md");
    for line in text.lines().filter(|l| l.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let (Some(room), Some(state)) = (cells.first(), cells.get(3)) else {
            continue;
        };
        if *room == "room" || room.starts_with('-') {
            continue;
        }
        let here = ["crates", "benches"]
            .iter()
            .any(|dir| root.join(dir).join(room).join("Cargo.toml").exists());
        assert_eq!(here, *state != "to come", "HOUSE.md says `{state}` of room {room}");
    }
}

#[test]
fn dependencies_stand_in_the_workspace_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let entries = |dir: &str| std::fs::read_dir(root.join(dir)).expect("a directory of the house");
    for entry in entries("crates").chain(entries("benches")) {
        let path = entry.expect("entry").path().join("Cargo.toml");
        // `benches/runs` holds results, no crate.
        if !path.exists() {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("manifest");
        let mut inside = false;
        for line in text.lines() {
            if line.starts_with('[') {
                inside = line.contains("dependencies");
            } else if inside && line.contains('=') {
                assert!(
                    line.contains("workspace = true"),
                    "{}: `{line}` bypasses [workspace.dependencies]",
                    path.display()
                );
            }
        }
    }
}

/// The README's first command names no binary, so there may be but one to choose.
#[test]
fn cargo_run_is_the_program() {
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml"))
        .no_deps()
        .exec()
        .expect("cargo metadata");
    let binaries: Vec<&str> = metadata
        .workspace_default_packages()
        .iter()
        .flat_map(|package| &package.targets)
        .filter(|target| target.is_bin())
        .map(|target| target.name.as_str())
        .collect();
    assert_eq!(binaries, ["assay"]);
}
