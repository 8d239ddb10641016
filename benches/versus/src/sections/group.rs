//! A disk group of five beside the same five disks driven directly: random reads and reads in order, with one copy
//! and two.

use super::{Bench, Found, interleaved, say};
use crate::bounds::Due;
use crate::contender::{Contender, side};
use crate::figures::{Column, Table};
use crate::flags::{Side, Work};
use crate::instructions;
use crate::places::{self, GroupPlace};
use diskgroup::Redundancy;

const COLUMNS: &[Column] = &[
    Column::new("iops", "IOPS", 0),
    Column::new("mib_s", "MiB/s", 0),
    Column::new("process_us", "process CPU us/IO", 2),
    Column::new("system_us", "system CPU us/IO", 2),
    Column::new("user_instr", "user instr/IO", 0),
    Column::new("stepped", "executed, stepped", 0),
    Column::new("p50_us", "p50 us", 1),
    Column::new("p99_us", "p99 us", 1),
    Column::new("p999_us", "p99.9 us", 1),
];

/// What is read: its name, bytes a read, depth, in order.
const READS: [(&str, u32, u32, bool); 2] = [
    ("8 KiB at random, depth 64", 8192, 64, false),
    ("128 KiB in order, depth 16", 131_072, 16, true),
];

fn names(redundancy: &str, reads: &str) -> (String, String) {
    (
        format!("five disks directly, {reads}"),
        format!("group, {redundancy}, {reads}"),
    )
}

fn sides(place: &GroupPlace, (_, block, depth, in_order): (&str, u32, u32, bool)) -> [Side; 2] {
    [Work::Disks, Work::Group].map(|work| Side {
        disk: place.disks.clone(),
        pages: place.pages,
        sessions: depth,
        block,
        in_order,
        ..side(work, &place.disks[0])
    })
}

/// Runs one table for each redundancy.
pub(crate) fn run(bench: &Bench) -> anyhow::Result<Found> {
    let mut found = Found::default();
    for (word, redundancy) in [("external", Redundancy::External), ("normal", Redundancy::Normal)] {
        let place = places::group(&bench.scratch, redundancy, bench.sizes.group, &bench.interrupt)?;
        let mut contenders = Vec::new();
        for reads in READS {
            let (direct, group) = names(word, reads.0);
            let [ours, through] = sides(&place, reads);
            contenders.push(Contender::ours(&direct, ours));
            contenders.push(Contender::ours(&group, through));
        }
        let title = format!("Disk group of five, {word} redundancy");
        let mut table = interleaved(bench, &title, COLUMNS, &contenders)?;
        count(bench, &mut table, &contenders)?;
        table.notes.insert(
            0,
            format!(
                "Target: {}. Both sides are one loop of ours through io_uring, verification none; directly, each \
                 read goes to one of the five at random (in order: to the five in turn).",
                place.words
            ),
        );
        owe(&mut table, word, &mut found);
        found.tables.push(table);
    }
    Ok(found)
}

fn count(bench: &Bench, table: &mut Table, contenders: &[Contender]) -> anyhow::Result<()> {
    for contender in contenders {
        say(&format!("  counting the instructions of {}", contender.name));
        match instructions::by_steps(contender, &bench.scratch, &bench.interrupt) {
            Ok(each) => table.put(&contender.name, "stepped", each),
            Err(error) => {
                bench.interrupt.check()?;
                table.notes.push(format!("Instructions not counted: {error:#}."));
            }
        }
    }
    Ok(())
}

fn owe(table: &mut Table, word: &str, found: &mut Found) {
    for (reads, ..) in READS {
        let (direct, group) = names(word, reads);
        let rate = table.ratio("rate", &group, &direct, "iops");
        table.ratio("system CPU", &group, &direct, "system_us");
        let of = format!("{word}, {reads}");
        found.see_of(Due::GroupRate, &of, rate);
        // Both sides in one way: stepped, or else by the processor's counters.
        let extra = |key: &str| Some(table.figure(&group, key)?.less(&table.figure(&direct, key)?));
        found.see_of(Due::GroupExtra, &of, extra("stepped").or_else(|| extra("user_instr")));
    }
}
