//! Writes that are kept twice: a mirrored disk group of two beside two files that the same loop writes by hand; and in
//! a guest, which has a kernel of its own, beside md raid1 too.
//!
//! Prevents: a mirror that nobody has held against the least that two copies can cost, and one that looks quick beside
//! an array that records what it writes while the other does not.

use super::{Bench, Found, in_turn, interleaved, say};
use crate::bounds::Due;
use crate::child;
use crate::contender::{Contender, Row, side};
use crate::figures::{Column, Table};
use crate::flags::{Guest, Method, Section, Side, Work};
use crate::instructions;
use crate::places::{self, mirror_disk_bytes};
use crate::undo::{Interrupt, that_tidies, tool};
use anyhow::{Context, ensure};
use diskgroup::Redundancy;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use targets::{Access, OpenSpec};

const COLUMNS: &[Column] = &[
    Column::new("iops", "writes/s", 0),
    Column::new("process_us", "process CPU us/write", 2),
    Column::new("system_us", "system CPU us/write", 2),
    Column::new("user_instr", "user instr/write", 0),
    Column::new("stepped", "executed, stepped", 0),
    Column::new("p50_us", "p50 us", 1),
    Column::new("p99_us", "p99 us", 1),
    Column::new("p999_us", "p99.9 us", 1),
];
const GUEST_COLUMNS: &[Column] = &[
    Column::new("iops", "writes/s", 0),
    Column::new("p50_us", "p50 us", 0),
    Column::new("p99_us", "p99 us", 0),
    Column::new("p999_us", "p99.9 us", 0),
];
const GROUP: &str = "group of two, mirrored";
const BY_HAND: &str = "two disks by hand";
const MD_BITMAP: &str = "md raid1 with a bitmap";
const MD: &str = "md raid1 without";
/// A group records which of its regions are written, as md does with a bitmap.
const MIRRORS: [(&str, Option<&str>); 4] = [
    (GROUP, None),
    (BY_HAND, None),
    (MD_BITMAP, Some("internal")),
    (MD, Some("none")),
];
const COPIES: usize = 2;
/// Of the file, on each device of a guest.
const GUEST_BYTES: u64 = 96 << 20;
const GUEST_MEMORY: &str = "1G";
/// A guest starts, writes its devices in full, and does what it was asked.
const GUEST_START_S: f64 = 240.0;
/// What a run in a guest takes beside its seconds.
const GUEST_RUN_S: f64 = 10.0;

/// What is written.
#[derive(Clone, Copy)]
struct Writes {
    name: &'static str,
    block: u32,
    depth: u32,
    in_order: bool,
    flush: bool,
}

const WRITES: [Writes; 3] = [
    Writes {
        name: "8 KiB at random, depth 32",
        block: 8192,
        depth: 32,
        in_order: false,
        flush: false,
    },
    Writes {
        name: "128 KiB in order, depth 8",
        block: 131_072,
        depth: 8,
        in_order: true,
        flush: false,
    },
    Writes {
        name: "8 KiB in order and a flush, one at a time",
        block: 8192,
        depth: 1,
        in_order: true,
        flush: true,
    },
];

fn named(mirror: &str, writes: &Writes) -> String {
    format!("{mirror}, {}", writes.name)
}

/// The loop on these disks: by hand, or through the group on them.
fn contender(mirror: &str, disks: &[PathBuf], pages: u32, method: Method, writes: &Writes) -> Contender {
    let work = if mirror == GROUP { Work::Mirrored } else { Work::Copies };
    let own = Side {
        disk: disks.to_vec(),
        pages,
        method,
        sessions: writes.depth,
        block: writes.block,
        in_order: writes.in_order,
        flush: writes.flush,
        ..side(work, &disks[0])
    };
    Contender::ours(&named(mirror, writes), own)
}

/// Runs both tables. A guest that cannot be had costs its own.
pub(crate) fn run(bench: &Bench) -> anyhow::Result<Found> {
    let mut found = Found::default();
    here(bench, &mut found)?;
    if let Err(error) = guest(bench, &mut found) {
        bench.interrupt.check()?;
        say(&format!("a guest is left out: {error:#}"));
        found.absent.push((Section::Mirror, format!("{error:#}")));
    }
    Ok(found)
}

/// On files of this machine.
fn here(bench: &Bench, found: &mut Found) -> anyhow::Result<()> {
    let place = places::mirror(&bench.scratch, bench.sizes.mirror, &bench.interrupt)?;
    let mut contenders = Vec::new();
    for writes in &WRITES {
        for (mirror, disks) in [(BY_HAND, &place.by_hand), (GROUP, &place.group)] {
            contenders.push(contender(mirror, disks, place.pages, Method::Ring, writes));
        }
    }
    let mut table = interleaved(bench, "Writes that are kept twice", COLUMNS, &contenders)?;
    for contender in &contenders {
        say(&format!("  counting the instructions of {}", contender.name));
        match instructions::by_steps(contender, &bench.scratch, &bench.interrupt) {
            Ok(each) => table.put(&contender.name, "stepped", each),
            Err(error) => {
                bench.interrupt.check()?;
                table.notes.push(format!("Instructions not counted: {error:#}."));
            }
        }
    }
    table.notes.insert(
        0,
        format!(
            "Target: {}. Both sides are one loop of ours through io_uring. By hand, each write goes to both files; it \
             is done when both are, and where it is flushed, when both flushes are.",
            place.words
        ),
    );
    for writes in &WRITES {
        let (group, by_hand, of) = (named(GROUP, writes), named(BY_HAND, writes), writes.name);
        found.see_of(Due::MirrorRate, of, table.ratio("rate", &group, &by_hand, "iops"));
        let cpu = table.ratio("process CPU", &group, &by_hand, "process_us");
        found.see_of(Due::MirrorCpu, of, cpu);
        let system = table.ratio("system CPU", &group, &by_hand, "system_us");
        found.see_of(Due::MirrorSystem, of, system);
        // Both sides in one way: stepped, or else by the processor's counters.
        let extra = |key: &str| Some(table.figure(&group, key)?.less(&table.figure(&by_hand, key)?));
        found.see_of(Due::MirrorExtra, of, extra("stepped").or_else(|| extra("user_instr")));
    }
    found.tables.push(table);
    Ok(())
}

/// In a guest, by a child of this program inside of it.
fn guest(bench: &Bench, found: &mut Found) -> anyhow::Result<()> {
    let each_s = bench.seconds + GUEST_RUN_S;
    let limit_s = GUEST_START_S + each_s * (bench.rounds * MIRRORS.len() * WRITES.len()) as f64;
    let own = std::env::current_exe().context("find this program")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest/guest.sh");
    let devices = MIRRORS.len() * COPIES;
    let [brought, told, said] = ["guest", "guest.told", "guest.said"].map(|name| bench.scratch.join(name));
    let mut command = Command::new(&script);
    command.args(["--luns", &devices.to_string(), "--memory", GUEST_MEMORY]);
    command.args(["--size", &mirror_disk_bytes(GUEST_BYTES).to_string()]);
    command
        .args(["--time", &format!("{limit_s:.0}"), "--out"])
        .arg(&brought);
    command.arg("--").arg(own).arg("guest");
    command.args((0..devices).map(device));
    command.args([
        "--rounds",
        &bench.rounds.to_string(),
        "--seconds",
        &bench.seconds.to_string(),
    ]);
    // Its disks and its memory lie where this run's files do.
    command.env("TMPDIR", &bench.scratch);
    let file = |path: &Path| File::create(path).context("make a file for what a guest says");
    command.stdin(Stdio::null()).stdout(file(&told)?).stderr(file(&said)?);
    say("mirrored writes in a guest");
    let status = that_tidies(&mut command, &bench.interrupt)?;
    let read = |path: &Path| std::fs::read_to_string(path).context("read what a guest said");
    let (told, said) = (read(&told)?, read(&said)?);
    ensure!(status.success(), "a guest: {status}: {} {}", last(&said), last(&told));
    let mut table = in_guest_table(last(&told))?;
    see_guest(&mut table, found);
    found.tables.push(table);
    Ok(())
}

fn last(text: &str) -> &str {
    text.trim_end().lines().last().unwrap_or("")
}

/// As the guest names it: the first is that of its own files.
fn device(nth: usize) -> String {
    let letter = char::from(b'b' + nth as u8);
    format!("/dev/ubd{letter}")
}

/// What a guest found: rows by contender.
type Rows = BTreeMap<String, Vec<Row>>;

fn in_guest_table(line: &str) -> anyhow::Result<Table> {
    let rows: Rows = serde_json::from_str(line).with_context(|| format!("not what a guest finds: {line}"))?;
    let every = WRITES
        .iter()
        .flat_map(|writes| MIRRORS.map(|(mirror, _)| named(mirror, writes)));
    let names: Vec<String> = every.filter(|name| rows.contains_key(name)).collect();
    let mut table = Table::new("Writes that are kept twice, in a guest", GUEST_COLUMNS, &names);
    for (name, rounds) in rows {
        for row in rounds {
            table.add(&name, row);
        }
    }
    table.notes.push(format!(
        "User-mode Linux on one processor (benches/guest): two devices for each side, files of this machine, written \
         in full; {} MiB of each are written to, with O_DIRECT. One loop of ours; on md it writes to the array. CPU is \
         not taken, for a guest's clock does not tell it. Ratios say what the ways cost beside each other there, and \
         rates nothing of a disk.",
        GUEST_BYTES >> 20
    ));
    Ok(table)
}

fn see_guest(table: &mut Table, found: &mut Found) {
    for writes in &WRITES {
        for (beside, due) in [
            (BY_HAND, Due::MirrorGuestByHand),
            (MD_BITMAP, Due::MirrorGuestBitmap),
            (MD, Due::MirrorGuestPlain),
        ] {
            let rate = table.ratio("rate", &named(GROUP, writes), &named(beside, writes), "iops");
            found.see_of(due, writes.name, rate);
        }
    }
}

/// Inside of the guest: makes the mirrors, runs all in rounds, and prints rows by contender: the hidden command
/// `guest`.
pub(crate) fn in_guest(guest: &Guest) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen()?;
    let scratch = std::env::current_dir().context("find the directory of the guest")?;
    ensure!(
        guest.devices.len() == MIRRORS.len() * COPIES,
        "{} devices: give two for each way to write twice",
        guest.devices.len()
    );
    for device in &guest.devices {
        fill(device)?;
    }
    let choice = targets::choose(&OpenSpec::reading(&guest.devices[0], Access::Direct), 1)?;
    let method = match choice.chosen {
        targets::Method::Ring => Method::Ring,
        targets::Method::Pread => Method::Pread,
    };
    places::make_group(&guest.devices[..COPIES], choice.chosen, Redundancy::Normal, GUEST_BYTES)?;
    let pages = (GUEST_BYTES / 8192) as u32;
    let mut contenders = Vec::new();
    for ((mirror, bitmap), devices) in MIRRORS.iter().zip(guest.devices.chunks(COPIES)) {
        let disks = match bitmap {
            Some(bitmap) => vec![array(bitmap, devices)?],
            None => devices.to_vec(),
        };
        let of = |writes| contender(mirror, &disks, pages, method, writes);
        contenders.extend(WRITES.iter().map(of));
    }
    let mut rows = Rows::new();
    for round in 0..guest.rounds {
        for contender in in_turn(contenders.iter().collect(), round) {
            let row = child::to_its_end(contender, guest.seconds, &scratch, &interrupt);
            let row = row.with_context(|| contender.name.clone())?;
            rows.entry(contender.name.clone()).or_default().push(row);
        }
    }
    println!("{}", serde_json::to_string(&rows)?);
    Ok(())
}

/// Writes a device in full, so that no first write has to find room below.
fn fill(device: &Path) -> anyhow::Result<()> {
    let (from, to) = ("if=/dev/urandom", format!("of={}", device.display()));
    let bytes = format!("count={}", mirror_disk_bytes(GUEST_BYTES) >> 20);
    tool("dd", &[from, &to, "bs=1M", &bytes, "oflag=direct", "status=none"]).map(drop)
}

/// A raid1 of these devices, whose copies are taken for equal: every byte that is read was written before.
fn array(bitmap: &str, devices: &[PathBuf]) -> anyhow::Result<PathBuf> {
    let path = PathBuf::from(format!("/dev/md/{bitmap}"));
    let shown = path.display().to_string();
    let (count, bitmap) = (format!("--raid-devices={COPIES}"), format!("--bitmap={bitmap}"));
    let mut args = vec![
        "--create",
        &shown,
        "--run",
        "--metadata=1.2",
        "--level=1",
        "--assume-clean",
    ];
    args.extend([count.as_str(), bitmap.as_str()]);
    let devices: Vec<String> = devices.iter().map(|path| path.display().to_string()).collect();
    args.extend(devices.iter().map(String::as_str));
    tool("mdadm", &args)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_guest_prints_is_read_and_held_against_each_other() {
        let rate = |iops: f64| vec![Row::from([("iops".to_string(), iops)]); 3];
        let writes = &WRITES[0];
        let rows = Rows::from([
            (named(GROUP, writes), rate(80.0)),
            (named(BY_HAND, writes), rate(100.0)),
            (named(MD_BITMAP, writes), rate(40.0)),
        ]);
        let mut table = in_guest_table(&serde_json::to_string(&rows).unwrap()).unwrap();
        assert_eq!(table.lines.len(), 3, "only what ran");
        let mut found = Found::default();
        see_guest(&mut table, &mut found);
        let ratios: Vec<f64> = table.ratios.iter().map(|ratio| ratio.spread.median).collect();
        assert_eq!((ratios, found.seen.len()), (vec![0.8, 2.0], 2));
        assert!(in_guest_table("no guest").is_err());
    }

    #[test]
    fn each_side_has_devices_of_its_own() {
        let devices: Vec<String> = (0..MIRRORS.len() * COPIES).map(device).collect();
        assert_eq!((devices[0].as_str(), devices[7].as_str()), ("/dev/ubdb", "/dev/ubdi"));
        assert!(mirror_disk_bytes(GUEST_BYTES).is_multiple_of(1 << 20));
    }
}
