//! The map in `HOUSE.md` against what Cargo says: an edge between rooms that is not on the map fails, whatever its
//! kind. And the program against what it may need: a default build that asks its host for an MPI fails.

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

/// Whoever builds without the feature `mpi` needs no MPI, and carries none.
#[cfg(not(feature = "mpi"))]
#[test]
fn the_default_program_has_no_mpi() {
    let program = std::fs::read(env!("CARGO_BIN_EXE_assay")).expect("the program is there");
    let names = names_in(&program);
    assert!(names.contains(&b".text".as_slice()), "tables of names were not read");
    // A library that the program needs is seen.
    let needs_libc = names.iter().any(|name| name.starts_with(b"libc.so"));
    assert!(needs_libc || !cfg!(target_env = "gnu"), "libc is not among the names");
    let of_mpi = [b"libmpi".as_slice(), b"libopen-rte", b"MPI_", b"PMPI_", b"ompi_"];
    let found = names
        .iter()
        .filter(|name| of_mpi.iter().any(|start| name.starts_with(start)));
    let found: Vec<_> = found.map(|name| String::from_utf8_lossy(name)).collect();
    assert!(found.is_empty(), "a program without the feature `mpi` has {found:?}");
}

/// Names in all string tables of an ELF file of 64 bits (its sections of type 3): symbols, and the libraries it needs.
/// Words of the program's own are no names: it looks for the variables of launchers, such as `OMPI_COMM_WORLD_SIZE`.
#[cfg(not(feature = "mpi"))]
fn names_in(program: &[u8]) -> Vec<&[u8]> {
    assert_eq!(&program[..6], b"\x7fELF\x02\x01", "64 bits, little-endian");
    let number = |at: usize, bytes: usize| {
        let mut whole = [0; 8];
        whole[..bytes].copy_from_slice(&program[at..at + bytes]);
        usize::try_from(u64::from_le_bytes(whole)).expect("an offset")
    };
    // Elf64_Ehdr: e_shoff at 40, e_shentsize at 58, e_shnum at 60.
    // Elf64_Shdr: sh_type at 4, sh_offset at 24, sh_size at 32.
    let (table, entry, count) = (number(40, 8), number(58, 2), number(60, 2));
    let sections = (0..count).map(|nth| table + nth * entry);
    let strings = sections.filter(|at| number(at + 4, 4) == 3);
    strings
        .map(|at| (number(at + 24, 8), number(at + 32, 8)))
        .flat_map(|(start, size)| program[start..start + size].split(|byte| *byte == 0))
        .collect()
}
