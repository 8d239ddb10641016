//! What the killed processes do, and what is done when they are gone.
//!
//! The owner mounts the group, lets the other in, and moves extents beside its engine; the other opens the group frozen
//! and follows. Both write down what they acknowledged. Prevents: a check of a group that somebody still writes to.

use crate::book::{Book, Trouble};
use crate::killed::place::{AS, AT, LUNS, Place, SEED};
use crate::notices::{Carrier, Followed};
use crate::sharing::{NAMES, WORKERS, change_disks, disk, files, make_files, spare};
use crate::stage::below;
use diskgroup::{Geometry, Group, GroupPort, GroupSpec, MountOptions, Redundancy, Step, Upkeep};
use pages::{Instance, RandomWork, Settings, Shape, TornPages, depth, memory_bytes};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;
use targets::{Access, BasePort, Method, OpenSpec};

/// Files in the directory: where the other finds its ends, that it has opened the group, bytes moved.
pub(crate) const ENDS: &str = "ends";
pub(crate) const OPENED: &str = "opened";
pub(crate) const MOVED: &str = "moved";

/// An eighth of it, a stripe of the redo log, is a sector of any disk.
const AU: u32 = 32 << 10;
const MEMBERS: usize = 2;

pub(crate) const SHAPE: Shape = Shape {
    page_bytes: 4096,
    schemas: 4,
    pages_per_schema: 256,
    seed: 3,
    compressibility: 1.0,
    duplication: 0.0,
};

const SETTINGS: Settings = Settings {
    cache_bytes: 2 * 64 * 4096,
    multiblock_read: 4,
    torn_pages: TornPages::Log,
    checkpoint_ns: 5_000_000,
    writers: 4,
    redo_bytes: 2 * (256 << 10),
    workers: WORKERS,
};

const WORK: RandomWork = RandomWork {
    update_pct: 100,
    scan_pct: 0,
    scan_table_bytes: 8 * 4096,
    sessions: 8,
    work_unit: 3,
    work_loop: 50,
    heavy: false,
    outstanding: 2,
    hotspot: None,
    hot_schema_frequency: 0,
};

/// What a process is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Owner,
    Other,
}

impl Role {
    /// Name of its book in the directory.
    pub(crate) fn book(self) -> &'static str {
        match self {
            Role::Owner => "owner",
            Role::Other => "other",
        }
    }

    fn worker(self) -> u32 {
        self as u32
    }
}

/// The devices, as a process opens them.
struct Luns {
    paths: Vec<String>,
    method: Method,
}

impl Luns {
    /// By ring or by calls: what was in flight when its process is killed is not the same.
    fn of(dir: &Path, seed: u64) -> Luns {
        let paths = std::fs::read_to_string(dir.join("luns")).expect("read");
        Luns {
            paths: paths.lines().map(str::to_string).collect(),
            method: [Method::Ring, Method::Pread][(seed % 2) as usize],
        }
    }

    fn port(&self, memory: u64, depth: usize) -> BasePort {
        let spec = |path: &String| OpenSpec::writing(path, Access::Direct);
        let specs: Vec<OpenSpec> = self.paths.iter().map(spec).collect();
        let port = BasePort::open(self.method, &specs, memory, depth);
        // Not every machine has rings.
        let port = port.or_else(|_| BasePort::open(Method::Pread, &specs, memory, depth));
        port.expect("a port")
    }

    fn owners(&self) -> BasePort {
        self.port(1 << 20, 32)
    }

    fn engines(&self, group: &Group<BasePort>) -> Result<GroupPort<BasePort>, Trouble> {
        let depth = depth(&SETTINGS, 1, WORK.sessions, WORK.outstanding);
        let below = self.port(memory_bytes(&SHAPE, &SETTINGS), depth);
        Ok(group.open(below, &NAMES)?)
    }

    fn options(&self) -> MountOptions {
        MountOptions {
            names: self.paths.clone(),
            ..MountOptions::default()
        }
    }

    /// Mounted, and what an earlier owner had begun to move brought to its end; whether it had.
    fn mount(&self, rng: &mut Xoshiro256PlusPlus) -> Result<(Group<BasePort>, Upkeep<BasePort>, bool), Trouble> {
        let (group, _) = Group::mount(self.owners(), &self.options())?;
        let mut upkeep = group.upkeep(self.owners());
        upkeep.set_power(16);
        let is_halfway = group.info().rebalance;
        while group.info().rebalance && upkeep.run()? == Step::Stuck {
            let spare = spare(LUNS, &group.disks()).ok_or_else(|| Trouble::Wrong("no room, and no disk".into()))?;
            group.add_disks(&[spare], below(rng, 1 << 40))?;
        }
        Ok((group, upkeep, is_halfway))
    }
}

/// Makes the group, its files and the database.
pub(crate) fn load(dir: &Path, seed: u64) -> Result<(), Trouble> {
    let luns = Luns::of(dir, 1);
    let spec = GroupSpec {
        geometry: Geometry {
            au_bytes: AU,
            growth_at: [20_000, 40_000],
        },
        journal_blocks: 64,
        small_units: true,
        ..GroupSpec::new("data", Redundancy::External)
    };
    let disks: Vec<_> = (0..MEMBERS).map(disk).collect();
    let group = Group::create(luns.owners(), &spec, &disks, seed)?;
    make_files(&group, &SHAPE, &SETTINGS)?;
    let ports = (0..WORKERS)
        .map(|_| luns.engines(&group))
        .collect::<Result<Vec<_>, Trouble>>()?;
    drop(Instance::create(ports, &files(), SHAPE, SETTINGS, &mut pages::unheard)?);
    group.close()?;
    Ok(())
}

/// With both processes gone: the group is opened, both logs are recovered, the books are right, the group is sound.
/// Whether a rebalance was under way.
pub(crate) fn recover(place: &Place, books: &mut [Book; 2]) -> Result<bool, Trouble> {
    let luns = Luns::of(place.dir(), 1);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    let (group, upkeep, is_halfway) = luns.mount(&mut rng)?;
    drop(upkeep);
    let ports = (0..WORKERS)
        .map(|_| luns.engines(&group))
        .collect::<Result<Vec<_>, Trouble>>()?;
    let (mut instance, _) = Instance::open(ports, &files(), SETTINGS)?;
    for book in books {
        book.check_written(&mut instance)?;
    }
    instance.checkpoint()?;
    drop(instance);
    let report = group.check(false)?;
    if let Some(found) = report.findings.first() {
        return Err(Trouble::Wrong(format!("check: {}", found.what)));
    }
    group.close()?;
    Ok(is_halfway)
}

/// Nothing, where no test has started this one as a process.
pub(crate) fn process() {
    let said = |name| std::env::var(name).ok();
    let (Some(role), Some(dir), Some(seed)) = (said(AS), said(AT), said(SEED)) else {
        return;
    };
    // Its test is gone, whatever ended that.
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(9);
    });
    let (dir, seed) = (PathBuf::from(dir), seed.parse().expect("a number"));
    let went = match role == Role::Owner.book() {
        true => owner(&dir, seed),
        false => other(&dir, seed),
    };
    panic!("{role} ended: {went:?}");
}

/// In one step, so that nobody reads half of it.
fn put(dir: &Path, name: &str, text: &str) {
    let beside = dir.join(format!("{name}.new"));
    std::fs::write(&beside, text).expect("written");
    std::fs::rename(beside, dir.join(name)).expect("put there");
}

fn owner(dir: &Path, seed: u64) -> Result<(), Trouble> {
    let luns = Luns::of(dir, seed);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (group, mut upkeep, _) = luns.mount(&mut rng)?;
    upkeep.set_power([1, 4, 16][below(&mut rng, 3) as usize]);
    let (mut carrier, ends) = Carrier::new(group.admit()?).expect("pipes");
    put(dir, ENDS, &serde_json::to_string(&ends.places()).expect("text"));
    while !dir.join(OPENED).exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(ends);
    let (port, home) = (luns.engines(&group)?, dir.to_path_buf());
    std::thread::spawn(move || end_with(engine(port, Role::Owner, &home, seed)));
    let before = upkeep.progress().moved_bytes;
    let mut moved = 0;
    loop {
        if upkeep.step(true)? != Step::Working {
            change_disks(&group, LUNS, &mut rng)?;
        }
        // Without the other nothing is moved; the engine here works on.
        carrier.carry()?;
        let now = upkeep.progress().moved_bytes - before;
        if now > moved {
            moved = now;
            put(dir, MOVED, &moved.to_string());
        }
    }
}

fn other(dir: &Path, seed: u64) -> Result<(), Trouble> {
    let luns = Luns::of(dir, seed);
    let places = std::fs::read_to_string(dir.join(ENDS)).expect("read");
    let followed = Followed::open(&serde_json::from_str(&places).expect("places")).expect("the ends");
    let group = Group::mount_frozen(luns.owners(), &luns.options())?;
    put(dir, OPENED, "");
    let follower = group.clone();
    std::thread::spawn(move || {
        // It ends well when the owner is killed; the engine here works on.
        if let Err(error) = followed.follow(&follower) {
            end_with(Err(Trouble::Wrong(format!("{error:#}"))));
        }
    });
    engine(luns.engines(&group)?, Role::Other, dir, seed)
}

/// An error on a thread must not leave the rest of the process at work.
fn end_with(went: Result<(), Trouble>) {
    eprintln!("a thread ended: {went:?}");
    std::process::exit(8);
}

/// Recovers its worker, and works until it is killed.
fn engine(port: GroupPort<BasePort>, role: Role, dir: &Path, seed: u64) -> Result<(), Trouble> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xe4);
    let worker = role.worker();
    let (mut instance, _) = Instance::open_part(vec![port], worker..worker + 1, &files(), SETTINGS)?;
    let mut book = Book::new(SHAPE, (worker, WORKERS), WORK.heavy);
    book.begin(&mut instance)?;
    book.write_down(std::fs::File::create(dir.join(role.book())).expect("a book"));
    loop {
        book.work(&mut instance, &WORK, below(&mut rng, 1 << 40))?;
        if below(&mut rng, 3) == 0 {
            instance.checkpoint()?;
        }
    }
}
