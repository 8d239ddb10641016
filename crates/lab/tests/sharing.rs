//! Two instances of the page engine on one disk group: lives of a seed, each ended by a crash of either or both, while
//! extents move under them.
//!
//! The owner's process is an engine and the one who moves extents; the other's is an engine on the group opened frozen.
//! Prevents: a commit that one instance acknowledged and that is gone, or half there, after the other one's crash.

use crate::book::{Book, Lent, Trouble};
use crate::stage::{Stage, Window, below};
use diskgroup::{
    DiskInfo, DiskSpec, FileSpec, Follower, Geometry, Group, GroupError, GroupPort, GroupSpec, MountOptions,
    Redundancy, Step, Stripe, Upkeep,
};
use pages::{
    Files, Instance, RandomWork, Settings, Shape, TornPages, data_file_bytes, depth, memory_bytes, redo_file_bytes,
};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::atomic::{AtomicU64, Ordering};
use targets::{Disks, FileId, Port, PowerFails};

const AU: u64 = 16 << 10;
pub(crate) const NAMES: [&str; 2] = ["data", "redo"];
/// Parties: the engines of the owner and of the other instance, and who moves extents, in the owner's process.
const FIRST: usize = 0;
const SECOND: usize = 1;
const MOVER: usize = 2;
pub(crate) const WORKERS: u32 = 2;

/// What a seed stands for.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    shape: Shape,
    settings: Settings,
    work: RandomWork,
    sizes: Vec<u64>,
    members: usize,
    spec: GroupSpec,
    lives: u64,
}

pub(crate) fn scenario(seed: u64) -> Scenario {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x1257);
    let mut pick = |of: &[u64]| of[below(&mut rng, of.len() as u64) as usize];
    let (sessions, work_unit, page_bytes) = (pick(&[1, 2, 4]), pick(&[1, 2, 3]), pick(&[2048, 4096]));
    let frames = sessions * work_unit * 2 + pick(&[4, 4, 12]);
    // The buffer is a quarter of a thread of redo and must hold the largest transaction.
    let buffer = (work_unit * (page_bytes + 4096)).div_ceil(4096) * 4096;
    let workers = u64::from(WORKERS);
    let shape = Shape {
        page_bytes: page_bytes as u32,
        schemas: pick(&[2, 3, 5]) as u32,
        pages_per_schema: pick(&[8, 16, 24]) as u32,
        seed: pick(&[1, 2, 3]),
        compressibility: 1.0,
        duplication: 0.0,
    };
    let settings = Settings {
        cache_bytes: workers * frames * page_bytes,
        multiblock_read: pick(&[1, 4]) as u32,
        torn_pages: [TornPages::Log, TornPages::Double][pick(&[0, 1]) as usize],
        checkpoint_ns: pick(&[300_000, 2_000_000, 20_000_000, u64::MAX]),
        writers: pick(&[1, 2, 4]) as u32,
        redo_bytes: workers * buffer * 4 * pick(&[1, 1, 2, 4]),
        workers: WORKERS,
    };
    let work = RandomWork {
        update_pct: pick(&[50, 100, 100]) as u32,
        scan_pct: 0,
        scan_table_bytes: 6 * page_bytes,
        sessions: (workers * sessions) as u32,
        work_unit: work_unit as u32,
        work_loop: pick(&[5, 20, 40]),
        heavy: pick(&[0, 1]) == 1,
        outstanding: pick(&[1, 2]) as u32,
        hotspot: None,
        hot_schema_frequency: 0,
    };
    let members = pick(&[2, 3]) as usize;
    let bytes = data_file_bytes(&shape, &settings, 1)[0] + redo_file_bytes(&settings);
    // Room to drop a disk, and 16 units side by side where extents are that large.
    let units = 2 * bytes.div_ceil(AU) / members as u64 + 40 + pick(&[0, 7, 20]);
    Scenario {
        sizes: vec![units * AU + 4096; members + 2],
        members,
        spec: GroupSpec {
            geometry: Geometry {
                au_bytes: AU as u32,
                growth_at: [[8, 16], [20_000, 40_000]][pick(&[0, 1]) as usize],
            },
            journal_blocks: 32,
            small_units: true,
            ..GroupSpec::new("data", Redundancy::External)
        },
        lives: pick(&[2, 3]),
        shape,
        settings,
        work,
    }
}

impl Scenario {
    fn options(&self) -> MountOptions {
        MountOptions {
            names: (0..self.sizes.len()).map(|nth| format!("/dev/d{nth}")).collect(),
            ..MountOptions::default()
        }
    }

    fn port(&self, group: &Group<Window>, stage: &Stage, party: usize) -> Result<GroupPort<Window>, Trouble> {
        let depth = depth(&self.settings, 1, self.work.sessions, self.work.outstanding);
        let window = stage.window(party, memory_bytes(&self.shape, &self.settings), depth);
        Ok(group.open(window, &NAMES)?)
    }

    fn mount(&self, stage: &Stage) -> Result<Group<Window>, Trouble> {
        Ok(Group::mount(owners(stage), &self.options())?.0)
    }
}

pub(crate) fn disk(nth: usize) -> DiskSpec {
    DiskSpec::new(FileId(nth as u16), &format!("d{nth}"))
}

/// One of so many disks that is not in the group.
pub(crate) fn spare(of: usize, members: &[DiskInfo]) -> Option<DiskSpec> {
    let is_spare = |nth: &usize| !members.iter().any(|disk| disk.file == Some(FileId(*nth as u16)));
    (0..of).find(is_spare).map(disk)
}

/// Adds one of so many disks, or drops one; what cannot be done is left out.
pub(crate) fn change_disks<P: Port>(
    group: &Group<P>,
    of: usize,
    rng: &mut Xoshiro256PlusPlus,
) -> Result<(), GroupError> {
    let disks = group.disks();
    let changed = match spare(of, &disks) {
        Some(spare) if below(rng, 2) == 0 => group.add_disks(&[spare], below(rng, 1 << 40)),
        _ => group.drop_disk(&disks[below(rng, disks.len() as u64) as usize].name),
    };
    match changed {
        Err(GroupError::Refused { .. } | GroupError::Full { .. }) => Ok(()),
        changed => changed,
    }
}

/// The two files of an engine.
pub(crate) fn make_files<P: Port>(group: &Group<P>, shape: &Shape, settings: &Settings) -> Result<(), GroupError> {
    let sizes = [data_file_bytes(shape, settings, 1)[0], redo_file_bytes(settings)];
    for (nth, stripe) in [Stripe::Coarse, Stripe::Fine].into_iter().enumerate() {
        group.create_file(&FileSpec {
            name: NAMES[nth].into(),
            size: sizes[nth],
            redundancy: None,
            stripe,
        })?;
    }
    Ok(())
}

fn owners(stage: &Stage) -> Window {
    stage.window(MOVER, 256 << 10, 32)
}

pub(crate) fn files() -> Files {
    Files {
        data: vec![FileId(0)],
        redo: FileId(1),
    }
}

/// Makes the group, its files and the database.
fn load(scenario: &Scenario, stage: &Stage, seed: u64) -> Result<(), Trouble> {
    let disks: Vec<DiskSpec> = (0..scenario.members).map(disk).collect();
    let group = Group::create(owners(stage), &scenario.spec, &disks, seed)?;
    make_files(&group, &scenario.shape, &scenario.settings)?;
    let ports = (0..WORKERS).map(|_| scenario.port(&group, stage, MOVER));
    let mut ports = ports.collect::<Result<Vec<_>, _>>()?;
    let lent = ports.iter_mut().map(Lent::new).collect();
    Instance::create(lent, &files(), scenario.shape, scenario.settings, &mut pages::unheard)?;
    drop(ports);
    group.close()?;
    Ok(())
}

/// How a life is meant to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Power,
    OwnerKilled,
    OtherKilled,
    BothKilled,
}

pub(crate) const COUNTED: [&str; 6] = [
    "power cuts",
    "kills of the owner",
    "kills of the other",
    "kills of both",
    "commits acknowledged",
    "bytes moved",
];
static COUNTS: [AtomicU64; 6] = [const { AtomicU64::new(0) }; 6];

/// Crashes so far, commits and bytes, by [`COUNTED`].
pub(crate) fn counts() -> [u64; 6] {
    [0, 1, 2, 3, 4, 5].map(|what| COUNTS[what].load(Ordering::Relaxed))
}

fn count(what: usize, many: u64) {
    COUNTS[what].fetch_add(many, Ordering::Relaxed);
}

/// The whole of one seed.
pub(crate) fn run_seed(seed: u64) -> Result<(), String> {
    let scenario = scenario(seed);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x11fe);
    let mut stage = Stage::new(Disks::new(&scenario.sizes), seed);
    load(&scenario, &stage, seed).map_err(|trouble| format!("load: {trouble:?}"))?;
    let heavy = scenario.work.heavy;
    let mut books = [0, 1].map(|worker| Book::new(scenario.shape, (worker, WORKERS), heavy));
    for life in 0..scenario.lives {
        let end = [End::Power, End::OwnerKilled, End::OtherKilled, End::BothKilled][below(&mut rng, 4) as usize];
        let at = |what: String| format!("life {life}, {end:?}: {what}");
        let went = live(&scenario, &stage, &mut books, end, &mut rng);
        if stage.clear() {
            return Err(at("it never ends".into()));
        }
        match went {
            Ok(()) | Err(Trouble::Gone) => {}
            Err(Trouble::Wrong(what)) => return Err(at(what)),
        }
        if stage.is_off() || end == End::Power {
            count(0, 1);
            stage = Stage::new(stage.cut(seed ^ life), seed ^ life << 8);
        } else {
            count(end as usize, 1);
            stage.quiet();
        }
    }
    let went = at_the_end(&scenario, &stage, &mut books);
    went.map_err(|trouble| format!("at the end: {trouble:?}"))?;
    count(4, books.iter().map(|book| book.acknowledged).sum());
    Ok(())
}

/// Everything in one process: the group comes to rest and is sound, both books are right.
fn at_the_end(scenario: &Scenario, stage: &Stage, books: &mut [Book; 2]) -> Result<(), Trouble> {
    let group = scenario.mount(stage)?;
    let mut upkeep = mover_of(&group, stage, 16);
    upkeep.run()?;
    let ports = (0..WORKERS).map(|_| scenario.port(&group, stage, MOVER));
    let mut ports = ports.collect::<Result<Vec<_>, _>>()?;
    let lent = ports.iter_mut().map(Lent::new).collect();
    let (mut instance, _) = Instance::open(lent, &files(), scenario.settings)?;
    for book in books {
        book.check(&mut instance)?;
    }
    instance.checkpoint()?;
    drop(instance);
    drop(ports);
    let report = group.check(false)?;
    match report.findings.first() {
        None => Ok(()),
        Some(found) => Err(Trouble::Wrong(format!("check: {}", found.what))),
    }
}

fn mover_of(group: &Group<Window>, stage: &Stage, power: u32) -> Upkeep<Window> {
    let mut upkeep = group.upkeep(stage.window(MOVER, 64 << 10, 8));
    upkeep.set_power(power);
    upkeep
}

fn arm(stage: &Stage, rng: &mut Xoshiro256PlusPlus) {
    let (writes, flushes) = stage.asked();
    let range = [40, 200, 800][below(rng, 3) as usize];
    stage.fail_power(match below(rng, 4) {
        0 => PowerFails::AtFlush(flushes + 1 + below(rng, range / 2)),
        1 => PowerFails::AfterFlush(flushes + 1 + below(rng, range / 2)),
        _ => PowerFails::AtWrite(writes + 1 + below(rng, range)),
    });
}

fn kills(end: End, rng: &mut Xoshiro256PlusPlus) -> Vec<(u64, Vec<usize>)> {
    let range = [200, 1_500, 5_000][below(rng, 3) as usize];
    let at = 1 + below(rng, range);
    match end {
        End::Power => Vec::new(),
        End::OwnerKilled => vec![(at, vec![FIRST, MOVER]), (at + 1 + below(rng, 1_000), vec![SECOND])],
        End::OtherKilled => vec![(at, vec![SECOND])],
        End::BothKilled => vec![(at, vec![FIRST, SECOND, MOVER])],
    }
}

/// A life: the group is mounted by its owner, the other instance joins, both logs are recovered and held against the
/// books, both work while extents move, until the end.
fn live(
    scenario: &Scenario,
    stage: &Stage,
    books: &mut [Book; 2],
    end: End,
    rng: &mut Xoshiro256PlusPlus,
) -> Result<(), Trouble> {
    let early = below(rng, 4) == 0;
    if end == End::Power && early {
        arm(stage, rng);
    }
    let group = scenario.mount(stage)?;
    let mut upkeep = mover_of(&group, stage, [1, 4, 16][below(rng, 3) as usize]);
    // Nobody joins while extents move. What finds no room gets it.
    while group.info().rebalance && upkeep.run()? == Step::Stuck {
        let disks = group.disks();
        let spare = spare(scenario.sizes.len(), &disks).ok_or_else(|| Trouble::Wrong("no room, and no disk".into()))?;
        group.add_disks(&[spare], below(rng, 1 << 40))?;
    }
    let follower = group.admit()?;
    // What it hears, it hears on the thread of who tells it.
    let other = Group::mount_frozen(owners(stage), &scenario.options())?;
    let mut ports = [
        scenario.port(&group, stage, FIRST)?,
        scenario.port(&other, stage, SECOND)?,
    ];
    if end == End::Power && !early {
        arm(stage, rng);
    }
    stage.raise(3, kills(end, rng));
    let seeds = [(); 3].map(|()| below(rng, 1 << 40));
    let moves = Moves {
        scenario,
        group: &group,
        other: &other,
        changes: below(rng, 4),
        lag: [1, 2, 10][below(rng, 3) as usize],
    };
    let (first, second) = ports.split_at_mut(1);
    let (own, others) = books.split_at_mut(1);
    let went = std::thread::scope(|scope| {
        let all = [
            scope.spawn(|| engine(scenario, stage, FIRST, (&mut first[0], &mut own[0]), seeds[0])),
            scope.spawn(|| engine(scenario, stage, SECOND, (&mut second[0], &mut others[0]), seeds[1])),
            scope.spawn(|| moves.run(stage, &mut upkeep, follower, seeds[2])),
        ];
        all.map(|thread| {
            let panicked = |_| Err(Trouble::Wrong("panicked".into()));
            thread.join().unwrap_or_else(panicked)
        })
    });
    count(5, upkeep.progress().moved_bytes);
    // What is wrong says more than who was gone.
    let (wrong, right): (Vec<_>, Vec<_>) = went.into_iter().partition(|w| matches!(w, Err(Trouble::Wrong(_))));
    wrong.into_iter().chain(right).next().expect("three parties")
}

/// An engine from its recovery on.
fn engine(
    scenario: &Scenario,
    stage: &Stage,
    party: usize,
    (port, book): (&mut GroupPort<Window>, &mut Book),
    seed: u64,
) -> Result<(), Trouble> {
    let _turn = stage.enter(party);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let worker = party as u32;
    let lent = vec![Lent::new(port)];
    let (mut instance, _) = Instance::open_part(lent, worker..worker + 1, &files(), scenario.settings)?;
    book.check(&mut instance)?;
    for _ in 0..1 + below(&mut rng, 3) {
        book.work(&mut instance, &scenario.work, below(&mut rng, 1 << 40))?;
        if below(&mut rng, 3) == 0 {
            instance.checkpoint()?;
        }
    }
    Ok(instance.checkpoint()?)
}

/// What moves extents in the owner's process, and carries notices and answers between the two.
struct Moves<'a> {
    scenario: &'a Scenario,
    group: &'a Group<Window>,
    other: &'a Group<Window>,
    /// Disks that come or go.
    changes: u64,
    /// Messages are carried one time in so many.
    lag: u64,
}

impl Moves<'_> {
    fn run(&self, stage: &Stage, upkeep: &mut Upkeep<Window>, follower: Follower, seed: u64) -> Result<(), Trouble> {
        let _turn = stage.enter(MOVER);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (mut follower, mut notices, mut answers) = (Some(follower), Vec::new(), Vec::new());
        let mut changes = self.changes;
        while !stage.is_killed(MOVER) && !stage.is_off() {
            if changes > 0 && below(&mut rng, 20) == 0 && !self.group.info().rebalance {
                change_disks(self.group, self.scenario.sizes.len(), &mut rng)?;
                changes -= 1;
            }
            let step = upkeep.step(true)?;
            let gone = stage.is_killed(SECOND);
            if let Some(told) = &follower
                && !gone
            {
                notices.extend(told.notices()?);
                if below(&mut rng, self.lag) == 0 {
                    let part = below(&mut rng, notices.len() as u64 + 1) as usize;
                    let piece: Vec<u8> = notices.drain(..part).collect();
                    self.other.hear(&piece)?;
                    answers.extend(self.other.answer());
                }
                for number in answers.drain(..) {
                    told.answered(number)?;
                }
            }
            if gone && stage.is_done(SECOND) && !stage.has_in_flight(SECOND) {
                // As who waited for its process, and for the requests that it left in the kernel.
                follower.take().into_iter().for_each(Follower::ended);
            }
            let idle = step == Step::Stuck || (step != Step::Working && changes == 0);
            if idle && stage.is_done(FIRST) && stage.is_done(SECOND) {
                return Ok(());
            }
            stage.pass(MOVER);
        }
        Err(Trouble::Gone)
    }
}
