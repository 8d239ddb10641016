//! Modelled devices in real time, as loop devices: their rates against those of the same models in virtual time, within
//! 3 %. Needs root, loop devices and /dev/fuse: `ASSAY_TEST_SIZE=full` runs it. What others do on the machine makes a
//! device late: a measurement beside others does not count, and a load without one that counts is said to be skipped.

use crate::machine::{DISK, Turn, turn};
use luns::model::{
    Array, ArrayParameters, Ask, Command, DeviceModel, Hdd, Volume, array_preset, hdd_preset, volume_preset,
};
use luns::serve::{ServeOptions, Served, become_hardware};
use luns::{attach_served, detach};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use targets::Memory;

const MIB: u64 = 1 << 20;
const LUN_BYTES: u64 = 64 * MIB;
const DIRECT: i32 = 0o40000;
const SECOND: u64 = 1_000_000_000;

/// Reads of one size, at random places or one after the other, so many at a time.
#[derive(Clone, Copy)]
struct Load {
    depth: usize,
    len: u64,
    random: bool,
    seconds: u64,
}

impl Load {
    fn offset(&self, rng: &mut Xoshiro256PlusPlus, nth: u64) -> u64 {
        let slots = LUN_BYTES / self.len;
        self.len
            * if self.random {
                rng.next_u64() % slots
            } else {
                nth % slots
            }
    }
}

/// Requests a second in virtual time, after a second that does not count.
fn virtual_rate(model: &mut dyn DeviceModel, load: Load) -> f64 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let (mut now, mut id, mut counted) = (0, 0, 0u64);
    let (mut done, mut free) = (Vec::new(), load.depth);
    // Long, so that its own chance counts for little.
    let end = SECOND + 20 * load.seconds * SECOND;
    while now < end {
        for _ in 0..free {
            let (offset, len) = (load.offset(&mut rng, id), load.len as u32);
            let ask = Ask {
                id,
                lun: 0,
                command: Command::Read,
                offset,
                len,
            };
            model.submit(now, ask);
            id += 1;
        }
        now = model.next().unwrap();
        done.clear();
        model.advance(now, &mut done);
        free = done.len();
        counted += if now > SECOND { free as u64 } else { 0 };
    }
    counted as f64 / (20 * load.seconds) as f64
}

/// The same through FUSE and a loop device; with what the service says of its punctuality, in microseconds a request.
fn real_rate(dir: &Path, model: Box<dyn DeviceModel>, load: Load) -> (f64, f64) {
    let (lun, place) = (dir.join("lun"), dir.join("served"));
    std::fs::create_dir_all(&place).unwrap();
    let options = ServeOptions {
        luns: vec![lun],
        place,
        model: Some(model),
        volatile_bytes: 0,
        cached: true,
        reduction: None,
        threads: 8,
    };
    // Only what is started there goes before all others; the readers are ordinary.
    let hardware = std::thread::spawn(move || {
        become_hardware();
        Served::start(options).unwrap()
    });
    let served = hardware.join().unwrap();
    served.warm(LUN_BYTES).unwrap();
    let device = attach_served(&served.path(0)).unwrap();
    let next = AtomicU64::new(0);
    let ended = AtomicU64::new(0);
    let began = Instant::now();
    let over = Duration::from_secs(1 + load.seconds);
    std::thread::scope(|scope| {
        for reader in 0..load.depth {
            let (next, ended, path) = (&next, &ended, &device.path);
            scope.spawn(move || {
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(2 + reader as u64);
                let file = OpenOptions::new().read(true).custom_flags(DIRECT).open(path).unwrap();
                let mut buffer = Memory::new(load.len, false).unwrap();
                while began.elapsed() < over {
                    let offset = load.offset(&mut rng, next.fetch_add(1, Ordering::Relaxed));
                    file.read_exact_at(buffer.bytes_mut(0, load.len as usize), offset)
                        .unwrap();
                    let counts = began.elapsed() >= Duration::from_secs(1) && began.elapsed() < over;
                    ended.fetch_add(u64::from(counts), Ordering::Relaxed);
                }
            });
        }
    });
    let punctual = served.punctuality();
    detach(device.number).unwrap();
    served.stop().unwrap();
    (
        ended.into_inner() as f64 / load.seconds as f64,
        punctual.delay_ns as f64 / punctual.answered.max(1) as f64 / 1e3,
    )
}

/// Processor time of all, in clock ticks: in user space, taken by the hypervisor, and in user space by this process.
/// Sources: proc(5), /proc/stat (`user`, `nice`, `steal`) and /proc/self/stat (`utime`).
#[derive(Clone, Copy)]
struct Ticks {
    user: u64,
    stolen: u64,
    own: u64,
}

impl Ticks {
    fn now() -> Ticks {
        let all = std::fs::read_to_string("/proc/stat").unwrap();
        let of_all: Vec<u64> = all.lines().next().unwrap()["cpu".len()..]
            .split_whitespace()
            .map(|one| one.parse().unwrap())
            .collect();
        let own = std::fs::read_to_string("/proc/self/stat").unwrap();
        // Behind the name, which may hold anything; `utime` is the twelfth field from there.
        let of_own = &own[own.rfind(')').unwrap() + 1..];
        Ticks {
            user: of_all[0] + of_all[1],
            stolen: of_all[7],
            own: of_own.split_whitespace().nth(11).unwrap().parse().unwrap(),
        }
    }

    /// What others took since `before`, as a share of one processor. Threads of the kernel have no user time.
    fn others(before: Ticks, seconds: f64) -> f64 {
        let now = Ticks::now();
        let others = (now.user - before.user).saturating_sub(now.own - before.own) + (now.stolen - before.stolen);
        others as f64 / (seconds * rustix::param::clock_ticks_per_second() as f64)
    }
}

/// A measurement counts where others took no more of one processor.
const CALM: f64 = 0.02;
/// So often is a load tried until a measurement counts and agrees.
const TRIES: u32 = 4;

/// Makes a device anew.
type Make = fn() -> Box<dyn DeviceModel>;

fn models() -> Vec<(&'static str, Make, Load)> {
    let load = |depth, len, random, seconds| Load {
        depth,
        len,
        random,
        seconds,
    };
    let hdd: Make = || Box::new(Hdd::new(hdd_preset("hdd-7200").unwrap(), LUN_BYTES));
    let volume: Make = || Box::new(Volume::new(volume_preset("gp3").unwrap(), 1));
    // Its cache holds nothing to speak of: reads come from the disks behind.
    let array: Make = || {
        let parameters = ArrayParameters {
            read_cache_bytes: MIB,
            ..array_preset("array-cached").unwrap()
        };
        Box::new(Array::new(parameters, 1, 1))
    };
    vec![
        ("hdd-7200, random 8 KiB, 1 at a time", hdd, load(1, 8192, true, 25)),
        ("hdd-7200, random 8 KiB, 8 at a time", hdd, load(8, 8192, true, 25)),
        // The way to the disk and back is longer than 3 % of such a read: the disk reads on meanwhile.
        (
            "hdd-7200, 128 KiB in order, 1 at a time",
            hdd,
            load(1, 128 << 10, false, 8),
        ),
        ("gp3, random 8 KiB, 16 at a time", volume, load(16, 8192, true, 8)),
        (
            "gp3, 256 KiB in order, 4 at a time",
            volume,
            load(4, 256 << 10, false, 8),
        ),
        (
            "array-cached, missed 8 KiB, 4 at a time",
            array,
            load(4, 8192, true, 15),
        ),
    ]
}

#[test]
fn rates_on_a_loop_device_are_those_of_the_model() {
    let able = rustix::process::geteuid().is_root() && Path::new("/dev/fuse").exists();
    if !crate::machine::is_full() || !able {
        eprintln!("skipped: ASSAY_TEST_SIZE=full runs it, with root and /dev/fuse");
        return;
    }
    let _turn = turn(Turn::Alone);
    let dir = tempfile::tempdir_in(DISK).unwrap();
    std::fs::write(dir.path().join("lun"), vec![0xee; LUN_BYTES as usize]).unwrap();
    let mut off = Vec::new();
    for (name, model, load) in models() {
        let expected = virtual_rate(model().as_mut(), load);
        let (mut counted, mut agrees) = (Vec::new(), false);
        for _ in 0..TRIES {
            let (before, began) = (Ticks::now(), Instant::now());
            let (real, late_us) = real_rate(dir.path(), model(), load);
            let others = Ticks::others(before, began.elapsed().as_secs_f64());
            let difference = real / expected - 1.0;
            let words = format!(
                "{name}: {real:.1} a second, by the model {expected:.1}, {:+.1} %; answers {late_us:.0} us late; \
                 others took {:.1} % of a processor",
                100.0 * difference,
                100.0 * others
            );
            eprintln!("{words}");
            agrees = difference.abs() <= 0.03;
            if agrees {
                break;
            }
            if others <= CALM {
                counted.push(words);
            }
        }
        match (agrees, counted.len()) {
            (true, _) => {}
            // One measurement that is off by chance is no fault of the model.
            (false, 0 | 1) => eprintln!("skipped: {name}: others work on this machine"),
            (false, _) => off.push(counted),
        }
    }
    assert!(off.is_empty(), "{off:#?}");
}
