//! What grows: mounts, checks and rebalances of disk groups, over the bytes of a group and the number of its files.
//!
//! Each is a child of its own that makes the group in memory first; all run in rounds, all sizes in each round.
//! Prevents: a disk group that is quick at the sizes that a test has, and takes hours at those that a user has.

use super::{Bench, Found, by_child, in_turn, say};
use crate::bounds::Due;
use crate::figures::{Column, Spread, Table, grouped};
use crate::flags::{Deed, Simulated};
use clap::ValueEnum;

const COLUMNS: &[Column] = &[
    Column::new("ms", "ms", 1),
    Column::new("cpu_ms", "CPU ms", 1),
    Column::new("before_ms", "of it before data, CPU ms", 1),
    Column::new("mib", "MiB at the highest", 1),
    Column::new("moved", "extents moved", 0),
    Column::new("moved_us", "CPU us a moved extent", 1),
    Column::new("compared_us", "CPU us a compared MiB", 1),
    Column::new("asked_ms", "ms to ask how far", 0),
    Column::new("made_ms", "ms to make the group", 0),
];
const GB: u64 = 1_000_000_000;
/// The default allocation unit.
const UNIT: u32 = 1 << 20;
/// In such units the extents of a file are all alike: ten times the data are ten times the extents.
const LARGE_UNIT: u32 = 4 << 20;
/// Files of a group whose bytes grow.
const FILES: u32 = 16;
/// The group whose files grow in number.
const OF_FILES: u64 = 100 * GB;
/// What takes longer runs in fewer rounds, and what takes more than a minute once.
const SLOW_MS: f64 = 1000.0;
const SLOW_ROUNDS: usize = 3;
const VERY_SLOW_MS: f64 = 60_000.0;
const NOTE: &str = "A group of ten disks in memory, of which only what is not zeros takes room; two copies. Each row \
                    is a process of its own, which makes the group, closes it and opens it again. The making is not \
                    in the figures, but for the last column. A request costs next to nothing, so the figures are \
                    those of the group, not of a disk. Where data grow, files take six tenths of the group, in units \
                    of 4 MiB. Without data, and where files grow in number, units are of 1 MiB, and a file has one. \
                    A check mounts the group first; its part before data is all but the comparing of copies. A \
                    rebalance adds one disk; its part before data is the plan. As the command does, it asks after \
                    each step how far it is. Memory is that of the process, without what the disks hold.";

/// What is ten times as large in each row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Growing {
    /// Disks, and the data on them.
    Data,
    /// Disks alone.
    Disks,
    /// The number of files.
    Files,
}

/// Rows that grow tenfold, one after the other.
struct Series {
    what: &'static str,
    deed: Deed,
    growing: Growing,
    /// GB, or files.
    sizes: &'static [u64],
}

const GROUPS: &[u64] = &[10, 100, 1000, 10_000];
const COUNTS: &[u64] = &[100, 1000, 10_000];
static SERIES: [Series; 7] = [
    Series {
        what: "mount",
        deed: Deed::Mount,
        growing: Growing::Data,
        sizes: GROUPS,
    },
    Series {
        what: "mount",
        deed: Deed::Mount,
        growing: Growing::Files,
        sizes: COUNTS,
    },
    Series {
        what: "check without data",
        deed: Deed::Check,
        growing: Growing::Disks,
        sizes: GROUPS,
    },
    // It compares all copies, through the memory of the machine: 10 TB would take most of an hour.
    Series {
        what: "check",
        deed: Deed::Check,
        growing: Growing::Data,
        sizes: &[1, 10, 100, 1000],
    },
    Series {
        what: "check",
        deed: Deed::Check,
        growing: Growing::Files,
        sizes: COUNTS,
    },
    Series {
        what: "rebalance",
        deed: Deed::Rebalance,
        growing: Growing::Data,
        sizes: GROUPS,
    },
    Series {
        what: "rebalance",
        deed: Deed::Rebalance,
        growing: Growing::Files,
        sizes: COUNTS,
    },
];

impl Series {
    /// Its rows: all, or the first two.
    fn rows(&self, quick: bool) -> &'static [u64] {
        let count = if quick { 2 } else { self.sizes.len() };
        &self.sizes[..count]
    }

    fn size(&self, size: u64) -> String {
        match self.growing {
            Growing::Files => format!("{} files", grouped(size as f64, 0)),
            Growing::Data | Growing::Disks if size < 1000 => format!("{size} GB"),
            Growing::Data | Growing::Disks => format!("{} TB", size / 1000),
        }
    }

    fn name(&self, size: u64) -> String {
        format!("{}, {}", self.what, self.size(size))
    }

    fn group(&self, size: u64) -> Simulated {
        let one_each = Simulated {
            deed: self.deed,
            bytes: OF_FILES,
            unit: UNIT,
            files: FILES,
            file_bytes: u64::from(UNIT),
        };
        match self.growing {
            Growing::Data => Simulated {
                bytes: size * GB,
                unit: LARGE_UNIT,
                file_bytes: size * GB * 3 / 10 / u64::from(FILES),
                ..one_each
            },
            Growing::Disks => Simulated {
                bytes: size * GB,
                ..one_each
            },
            Growing::Files => Simulated {
                files: size as u32,
                ..one_each
            },
        }
    }

    /// What must not grow faster: column, name, line.
    fn owed(&self) -> Vec<(&'static str, &'static str, Due)> {
        let (cpu, before) = (("cpu_ms", "CPU"), ("before_ms", "CPU before data"));
        let mut owed = match self.deed {
            Deed::Mount => vec![cpu],
            Deed::Check => vec![cpu, before],
            // How many extents move is not ten times as many where they are few.
            Deed::Rebalance => vec![before],
        };
        owed.push(("mib", "memory"));
        let mut owed: Vec<_> = owed
            .into_iter()
            .map(|(key, head)| (key, head, Due::GroupSizesTenfold))
            .collect();
        if self.deed == Deed::Rebalance {
            owed.push(("moved_us", "CPU of a moved extent", Due::GroupSizesMoved));
        }
        if self.deed == Deed::Check && self.growing == Growing::Data {
            owed.push(("compared_us", "CPU of a compared MiB", Due::GroupSizesCompared));
        }
        owed
    }
}

/// Runs the table.
pub(crate) fn run(bench: &Bench) -> anyhow::Result<Found> {
    let all: Vec<(String, Simulated)> = SERIES
        .iter()
        .flat_map(|series| {
            let row = move |size: &u64| (series.name(*size), series.group(*size));
            series.rows(bench.quick).iter().map(row)
        })
        .collect();
    let names: Vec<String> = all.iter().map(|(name, _)| name.clone()).collect();
    let mut table = Table::new("What grows: disk groups", COLUMNS, &names);
    table.notes.push(NOTE.into());
    for round in 0..bench.rounds {
        say(&format!("group sizes: round {} of {}", round + 1, bench.rounds));
        for (name, group) in in_turn(all.iter().collect(), round) {
            bench.interrupt.check()?;
            if round < rounds_of(table.figure(name, "ms")) {
                table.add(name, by_child(name, &args(group))?);
            }
        }
    }
    if bench.rounds > 1 {
        let fewer = format!(
            "What takes more than a second ran in {SLOW_ROUNDS} rounds, and what takes more than a minute in one."
        );
        table.notes.push(fewer);
    }
    Ok(owed(table, bench.quick))
}

/// In how many rounds something runs that took so long.
fn rounds_of(ms: Option<Spread>) -> usize {
    match ms {
        Some(ms) if ms.median > VERY_SLOW_MS => 1,
        Some(ms) if ms.median > SLOW_MS => SLOW_ROUNDS,
        _ => usize::MAX,
    }
}

fn args(group: &Simulated) -> Vec<String> {
    let deed = group.deed.to_possible_value();
    let deed = deed.map_or(String::new(), |value| value.get_name().to_string());
    let mut args = vec!["simulated".to_string(), deed];
    let figures = [
        ("--bytes", group.bytes),
        ("--unit", u64::from(group.unit)),
        ("--files", u64::from(group.files)),
        ("--file-bytes", group.file_bytes),
    ];
    for (flag, figure) in figures {
        args.extend([flag.to_string(), figure.to_string()]);
    }
    args
}

/// What was owed, and the table.
fn owed(mut table: Table, quick: bool) -> Found {
    let mut found = Found::default();
    for series in &SERIES {
        for step in series.rows(quick).windows(2) {
            let (small, large) = (series.name(step[0]), series.name(step[1]));
            let of = format!("{small} to {}", series.size(step[1]));
            for (key, head, due) in series.owed() {
                let seen = table.ratio(head, &large, &small, key);
                found.see_of(due, &format!("{of}, {head}"), seen);
            }
        }
    }
    found.see(Due::GroupSizesMount, table.figure("mount, 10 TB", "ms"));
    found.see(Due::GroupSizesCheck, table.figure("check without data, 10 TB", "ms"));
    found.see(Due::GroupSizesData, table.figure("check, 1 TB", "ms"));
    found.see(Due::GroupSizesFiles, table.figure("mount, 10,000 files", "ms"));
    found.see(Due::GroupSizesMove, table.figure("rebalance, 10 TB", "moved_us"));
    found.tables.push(table);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_row_has_a_name_of_its_own_and_a_group_that_holds_its_files() {
        let mut names = BTreeSet::new();
        for series in &SERIES {
            for size in series.sizes {
                assert!(names.insert(series.name(*size)), "{}", series.name(*size));
                let group = series.group(*size);
                let each = group.file_bytes.next_multiple_of(u64::from(group.unit));
                let copies = 2 * each * u64::from(group.files);
                assert!(copies < group.bytes * 9 / 10, "{}", series.name(*size));
            }
            assert!(series.sizes.windows(2).all(|step| step[1] == 10 * step[0]));
        }
        let found = owed(Table::new("t", COLUMNS, &[]), false);
        assert!(found.seen.is_empty(), "a ratio of nothing");
    }
}
