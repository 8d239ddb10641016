//! Two groups on one port: the second opened over a port of the first, which lets the second's disks through.
//!
//! Prevents: a request that ends in the wrong group, and a change of one group's maps that stops or misleads the other.

use crate::machine::{Machine, Mood, Window};
use diskgroup::{DiskSpec, FileSpec, Geometry, Group, GroupPort, GroupSpec, Redundancy, Step, Stripe};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use targets::{Completion, Disks, FileId, IoFault, Op, Port, Request};

const AU: u64 = 16 << 10;
const BLOCK: u64 = 4096;
const UNITS: u64 = 60;
const DEPTH: usize = 12;
/// Disks of the first group, one in reserve for it, disks of the second.
const FIRST: [u16; 3] = [0, 1, 2];
const RESERVE: u16 = 3;
const SECOND: [u16; 4] = [4, 5, 6, 7];

fn spec(name: &str, redundancy: Redundancy) -> GroupSpec {
    GroupSpec {
        geometry: Geometry {
            au_bytes: AU as u32,
            growth_at: [20_000, 40_000],
        },
        journal_blocks: 64,
        small_units: true,
        ..GroupSpec::new(name, redundancy)
    }
}

fn create<P: Port>(port: P, name: &str, redundancy: Redundancy, files: &[u16], stripe: Stripe) -> Group<P> {
    let disks: Vec<DiskSpec> = files
        .iter()
        .map(|file| DiskSpec::new(FileId(*file), &format!("{name}{file}")))
        .collect();
    let group = Group::create(port, &spec(name, redundancy), &disks, 5 + name.len() as u64).unwrap();
    group
        .create_file(&FileSpec {
            name: name.into(),
            size: UNITS * AU,
            redundancy: None,
            stripe,
        })
        .unwrap();
    group
}

/// The first group, and what a worker sees: its file, then the disks of the second.
struct Two {
    machine: Machine,
    first: Group<Window>,
    second: Group<GroupPort<Window>>,
}

const GONE: Mood = Mood {
    gone: true,
    bad_reads: 0.0,
    bad_writes: 0.0,
    bad_flushes: 0.0,
    bad_work: 0.0,
};

fn beside() -> Vec<FileId> {
    SECOND.map(FileId).to_vec()
}

fn two(redundancy: Redundancy, stripe: Stripe) -> Two {
    let machine = Machine::new(Disks::new(&[200 * AU + 4096; 8]), 1);
    let owner = machine.window(192 << 10, 16);
    let first = create(owner, "data", Redundancy::Normal, &FIRST, Stripe::Coarse);
    let over = first
        .open_under(machine.window(192 << 10, 16), &["data"], &beside())
        .unwrap();
    // Its own numbers: the first group's file comes before them.
    let second = create(over, "redo", redundancy, &[1, 2, 3, 4], stripe);
    Two { machine, first, second }
}

impl Two {
    /// File 0 is of the second group, file 1 of the first.
    fn port(&self) -> GroupPort<GroupPort<Window>> {
        let below = self.machine.window(DEPTH as u64 * BLOCK * 2, DEPTH);
        let below = self.first.open_under(below, &["data"], &beside()).unwrap();
        self.second.open_over(below, &["redo"], &[FileId(0)]).unwrap()
    }
}

/// Many requests at once against what was written, block by block.
struct Work<P> {
    port: P,
    rng: Xoshiro256PlusPlus,
    /// Content of each block of the two files, by the number it was filled with.
    expected: [Vec<u64>; 2],
    /// By slot: file, block, and the number written; `None`: free.
    flying: Vec<Option<(usize, u64, Option<u64>)>>,
    next: u64,
}

impl<P: Port> Work<P> {
    fn new(port: P) -> Work<P> {
        let blocks = (UNITS * AU / BLOCK) as usize;
        Work {
            port,
            rng: Xoshiro256PlusPlus::seed_from_u64(9),
            expected: [vec![0; blocks], vec![0; blocks]],
            flying: vec![None; DEPTH],
            next: 1,
        }
    }

    fn fill(&mut self) {
        for slot in 0..DEPTH {
            if self.flying[slot].is_some() {
                continue;
            }
            let file = (self.rng.next_u64() % 2) as usize;
            let block = self.rng.next_u64() % self.expected[file].len() as u64;
            let busy = |f: &Option<(usize, u64, Option<u64>)>| f.is_some_and(|f| (f.0, f.1) == (file, block));
            if self.flying.iter().any(busy) {
                continue;
            }
            let writes = self.rng.next_u64().is_multiple_of(2);
            let at = slot as u64 * BLOCK;
            let number = writes.then_some(self.next);
            if let Some(number) = number {
                self.next += 1;
                for word in self.port.bytes_mut(at, BLOCK as usize).chunks_exact_mut(8) {
                    word.copy_from_slice(&number.to_le_bytes());
                }
            }
            let request = Request {
                op: if writes { Op::Write } else { Op::Read },
                file: FileId(file as u16),
                offset: block * BLOCK,
                at,
                len: BLOCK as u32,
                token: slot as u64,
            };
            self.port.submit(request).unwrap();
            self.flying[slot] = Some((file, block, number));
        }
    }

    fn take(&mut self, done: &[Completion]) {
        for completion in done {
            let slot = completion.token as usize;
            completion.result.unwrap();
            let (file, block, number) = self.flying[slot].take().expect("a token of ours");
            match number {
                Some(number) => self.expected[file][block as usize] = number,
                None => {
                    let expected = self.expected[file][block as usize].to_le_bytes();
                    let bytes = self.port.bytes(slot as u64 * BLOCK, BLOCK as usize);
                    assert!(
                        bytes.chunks_exact(8).all(|word| word == expected),
                        "file {file}, block {block}"
                    );
                }
            }
        }
    }

    fn turn(&mut self) {
        self.fill();
        let mut done = Vec::new();
        self.port.wait(1, None, &mut done).unwrap();
        self.take(&done);
    }

    fn drain(&mut self) {
        while self.port.in_flight() > 0 {
            let mut done = Vec::new();
            self.port.wait(1, None, &mut done).unwrap();
            self.take(&done);
        }
        for file in [FileId(0), FileId(1)] {
            one(&mut self.port, Op::Flush, file).unwrap();
        }
    }
}

fn one<P: Port>(port: &mut P, op: Op, file: FileId) -> Result<(), IoFault> {
    let request = Request {
        op,
        file,
        offset: 0,
        at: 0,
        len: if op == Op::Flush { 0 } else { BLOCK as u32 },
        token: 5,
    };
    port.submit(request).unwrap();
    let mut done = Vec::new();
    while done.is_empty() {
        port.wait(1, None, &mut done).unwrap();
    }
    assert_eq!(done[0].token, 5);
    done[0].result
}

fn closes_clean(two: Two) {
    let Two { machine, first, second } = two;
    assert!(second.check(false).unwrap().is_clean());
    drop(second.close().unwrap());
    assert!(first.check(false).unwrap().is_clean());
    drop(first.close().unwrap());
    drop(machine);
}

#[test]
fn requests_of_both_groups_end_in_their_own_while_both_change() {
    both_change(two(Redundancy::Normal, Stripe::Fine));
    both_change(two(Redundancy::External, Stripe::Coarse));
    both_change(two(Redundancy::High, Stripe::Coarse));
}

fn both_change(two: Two) {
    let mut work = Work::new(two.port());
    assert_eq!(work.port.size(FileId(0)).unwrap(), UNITS * AU);
    assert_eq!(work.port.size(FileId(1)).unwrap(), UNITS * AU);
    for _ in 0..300 {
        work.turn();
    }
    // A disk joins the first group and one leaves the second, both moved beside the work.
    let reserve = DiskSpec::new(FileId(RESERVE), "more");
    two.first.add_disks(&[reserve], 8).unwrap();
    two.second.drop_disk("redo2").unwrap();
    let mut one_more = two.first.upkeep(two.machine.window(256 << 10, 8));
    one_more.set_power(4);
    let over = two
        .first
        .open_under(two.machine.window(256 << 10, 8), &["data"], &beside())
        .unwrap();
    let mut one_less = two.second.upkeep(over);
    one_less.set_power(4);
    let (mut first, mut second) = (Step::Working, Step::Working);
    for turn in 0.. {
        assert!(turn < 200_000, "{first:?} and {second:?}: it does not end");
        work.turn();
        if first == Step::Working {
            first = one_more.step(false).unwrap();
        }
        if second == Step::Working {
            second = one_less.step(false).unwrap();
        }
        if first == Step::Idle && second == Step::Idle {
            break;
        }
    }
    assert!(one_more.progress().moved_bytes > 0 && one_less.progress().moved_bytes > 0);
    for _ in 0..300 {
        work.turn();
    }
    work.drain();
    drop((work, one_more, one_less));
    assert_eq!(two.second.disks().len(), 3);
    closes_clean(two);
}

#[test]
fn each_group_loses_a_disk_of_its_own() {
    let two = two(Redundancy::Normal, Stripe::Fine);
    let mut work = Work::new(two.port());
    for turn in 0..900 {
        if turn == 300 {
            two.machine.set_mood(SECOND[1], GONE);
        }
        if turn == 600 {
            two.machine.set_mood(FIRST[2], GONE);
        }
        work.turn();
    }
    work.drain();
    let away = |disks: Vec<diskgroup::DiskInfo>| -> Vec<String> {
        disks
            .into_iter()
            .filter(|disk| !disk.online)
            .map(|disk| disk.name)
            .collect()
    };
    assert_eq!(away(two.second.disks()), ["redo2"]);
    assert_eq!(away(two.first.disks()), ["data2"]);
}

#[test]
fn a_file_that_nobody_opened_is_an_error_and_not_a_panic() {
    let two = two(Redundancy::Normal, Stripe::Fine);
    let mut port = two.port();
    assert_eq!(one(&mut port, Op::Read, FileId(2)), Err(IoFault::Errno(9)));
    drop(port);
    closes_clean(two);
}
