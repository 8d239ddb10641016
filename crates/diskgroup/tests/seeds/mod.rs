//! What one seed does, and how many are run: shared by the tests that must pass and the test of planted bugs that must
//! not.

pub(crate) mod meddled;
pub(crate) mod repairs;
pub(crate) mod sharing;

use crate::machine::life::{Life, Trouble};
use crate::machine::oracle::Oracle;
use crate::machine::scenario::{Scenario, below, scenario};
use crate::machine::{Machine, Mood, say};
use diskgroup::Redundancy;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::atomic::{AtomicU64, Ordering};
use targets::{Disks, PowerFails};

pub(crate) fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(otherwise)
}

/// A count for everyday, and for `ASSAY_TEST_SIZE=full`.
pub(crate) fn sized(everyday: u64, full: u64) -> u64 {
    let is_full = std::env::var("ASSAY_TEST_SIZE").is_ok_and(|size| size == "full");
    if is_full { full } else { everyday }
}

/// Runs seeds on two threads, prints those that fail.
pub(crate) fn run_all(test: &str, variable: &str, count: u64, run: fn(u64) -> Result<(), String>) {
    let next = AtomicU64::new(0);
    let failed = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= count || failed.lock().unwrap().len() > 5 {
                        break;
                    }
                    let result = std::panic::catch_unwind(|| run(seed));
                    if let Err(what) = result.unwrap_or_else(|_| Err("panicked".into())) {
                        failed.lock().unwrap().push((seed, what));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    for (seed, what) in &failed {
        eprintln!(
            "seed {seed}: {what}\n  replay: {variable}={seed} cargo test -p diskgroup --test {test} replay -- \
             --nocapture"
        );
    }
    assert!(failed.is_empty(), "{} of {count} seeds failed", failed.len());
}

/// Works until the steps are done or the power fails.
fn work(life: &mut Life<'_>, steps: usize) -> Result<(), Trouble> {
    life.open()?;
    for _ in 0..steps {
        life.step()?;
    }
    Ok(())
}

fn arm(machine: &Machine, rng: &mut Xoshiro256PlusPlus) {
    let (writes, flushes) = machine.asked();
    let range = [40, 200, 800][below(rng, 3) as usize];
    let when = match below(rng, 4) {
        0 => PowerFails::AtFlush(flushes + 1 + below(rng, range / 2)),
        1 => PowerFails::AfterFlush(flushes + 1 + below(rng, range / 2)),
        _ => PowerFails::AtWrite(writes + 1 + below(rng, range)),
    };
    machine.fail_power(when);
}

/// A group, some lives each ended by a power cut, and a last one that comes to rest.
pub(crate) fn crash_seed(seed: u64) -> Result<(), String> {
    crashes(seed, false)
}

/// The same with scratch files, of which nothing may be left.
pub(crate) fn scratch_seed(seed: u64) -> Result<(), String> {
    crashes(seed, true)
}

fn crashes(seed: u64, scratches: bool) -> Result<(), String> {
    let scenario = scenario(seed, None);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xc4a5);
    let machine = Machine::new(Disks::new(&scenario.sizes), seed);
    let mut life = Life::create(&scenario, machine.clone(), seed).map_err(|t| format!("create: {t:?}"))?;
    let mut torn = 0;
    arm(&machine, &mut rng);
    loop {
        life.scratches = scratches;
        let ended = work(&mut life, scenario.steps);
        say(|| format!("life {torn} of {} steps ended: {ended:?}", life.steps));
        let away = life.away();
        let (machine, oracle) = (life.machine.clone(), life.drop_all());
        let mut disks = match ended {
            Ok(()) | Err(Trouble::Cut) => {
                CUTS.fetch_add(1, Ordering::Relaxed);
                machine.cut(seed ^ torn)
            }
            Err(Trouble::Wrong(what)) => return Err(format!("life {torn}: {what}")),
        };
        torn += 1;
        life = after_a_cut(&scenario, &mut disks, (oracle, away), seed, torn, &mut rng)?;
        if scratches {
            let left = life.must_own_no_more();
            left.map_err(|trouble| format!("after cut {torn}: {trouble:?}"))?;
        }
        if torn as usize >= scenario.lives {
            break;
        }
        arm(&life.machine, &mut rng);
    }
    let rest = rest(&mut life, &scenario);
    rest.map_err(|trouble| format!("at the end: {trouble:?}"))
}

/// Mounts again, perhaps with the power failing in the middle of that, perhaps without a disk; everything must be
/// there.
fn after_a_cut<'a>(
    scenario: &'a Scenario,
    disks: &mut Disks,
    (mut oracle, away): (Oracle, Option<u16>),
    seed: u64,
    torn: u64,
    rng: &mut Xoshiro256PlusPlus,
) -> Result<Life<'a>, String> {
    let at = |what: &str| format!("after cut {torn}: {what}");
    for attempt in 0..3 {
        let machine = Machine::new(disks.clone(), seed ^ torn << 8 ^ attempt);
        let without = below(rng, 4) == 0 && scenario.redundancy != Redundancy::External && attempt == 0;
        // With a disk away already, only that one: of two failure groups the other alone cannot know that it is behind.
        let gone = away.unwrap_or(below(rng, scenario.sizes.len() as u64) as u16);
        if without {
            machine.set_mood(
                gone,
                Mood {
                    gone: true,
                    ..Mood::default()
                },
            );
        }
        let interrupted = below(rng, 3) == 0 && attempt == 0;
        if interrupted {
            arm(&machine, rng);
        }
        say(|| format!("mount {torn}.{attempt}: without {without} {gone}, interrupted {interrupted}"));
        let mounted = Life::mount(scenario, machine.clone(), oracle.clone(), seed ^ torn << 20, without);
        machine.set_mood(gone, Mood::default());
        say(|| match &mounted {
            Ok((_, report)) => format!("{report:?}"),
            Err(t) => format!("{t:?}"),
        });
        let mut life = match mounted {
            Ok((life, report)) => {
                if !report.tables_repaired.is_empty() && attempt == 0 {
                    return Err(at(&format!("tables were behind: {:?}", report.tables_repaired)));
                }
                life
            }
            Err(Trouble::Cut) => {
                CUTS.fetch_add(1, Ordering::Relaxed);
                *disks = machine.cut(seed ^ torn ^ 0x77);
                continue;
            }
            // With a disk that was offline before and another that is missing now, it may be right to refuse.
            Err(Trouble::Wrong(what)) if without && what.contains("lost more than") => continue,
            Err(Trouble::Wrong(what)) => return Err(at(&format!("mount: {what}"))),
        };
        let verified = life.survey(true).and_then(|()| life.must_be_sound());
        match verified {
            Ok(()) => {
                machine.fail_power(PowerFails::AtWrite(u64::MAX));
                return Ok(life);
            }
            Err(Trouble::Cut) => {
                CUTS.fetch_add(1, Ordering::Relaxed);
                oracle = life.drop_all();
                *disks = machine.cut(seed ^ torn ^ 0x78);
                continue;
            }
            Err(Trouble::Wrong(what)) => return Err(at(&what)),
        }
    }
    Err(at("three mounts and none of them whole"))
}

fn rest(life: &mut Life<'_>, scenario: &Scenario) -> Result<(), Trouble> {
    work(life, scenario.steps / 2)?;
    life.end_scratch()?;
    life.come_to_rest()?;
    life.survey(false)?;
    life.must_be_sound()
}

static CUTS: AtomicU64 = AtomicU64::new(0);

pub(crate) fn cuts_done() -> u64 {
    CUTS.load(Ordering::Relaxed)
}

static FAULTS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

pub(crate) fn faults_done(redundancy: Redundancy) -> u64 {
    FAULTS[redundancy as usize].load(Ordering::Relaxed)
}

fn count_fault(redundancy: Redundancy) {
    FAULTS[redundancy as usize].fetch_add(1, Ordering::Relaxed);
}

/// What is broken in an era.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Era {
    Errors,
    Corruption,
    Away,
}

/// A group and some eras, in each of which as many failure groups are broken as the redundancy allows, while everything
/// goes on.
pub(crate) fn fault_seed(redundancy: Redundancy, seed: u64) -> Result<(), String> {
    let mut scenario = scenario(seed ^ 0xf0_0000, Some(redundancy));
    scenario.steps = scenario.steps.min(90);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xfa07);
    let machine = Machine::new(Disks::new(&scenario.sizes), seed);
    let mut life = Life::create(&scenario, machine, seed).map_err(|t| format!("create: {t:?}"))?;
    life.stays = true;
    let at = |era: u64, what: &str, trouble: Trouble| format!("era {era}, {what}: {trouble:?}");
    work(&mut life, 30).map_err(|t| at(0, "before any fault", t))?;
    for era in 1..=2 + below(&mut rng, 2) {
        let kind = [Era::Errors, Era::Corruption, Era::Away][below(&mut rng, 3) as usize];
        let broken = choose_broken(&life, redundancy, &mut rng);
        say(|| format!("era {era}: {kind:?} of {broken:?}"));
        if redundancy == Redundancy::External {
            match external_era(&mut life, kind, &broken, &mut rng) {
                Ok(()) => continue,
                Err(Trouble::Cut) => break,
                Err(trouble) => return Err(at(era, "external", trouble)),
            }
        }
        break_disks(&mut life, kind, &broken, &mut rng).map_err(|t| at(era, "with faults", t))?;
        heal(&mut life, kind, &broken, &mut rng).map_err(|t| at(era, "healing", t))?;
    }
    Ok(())
}

/// Disks of as many failure groups as may break.
fn choose_broken(life: &Life<'_>, redundancy: Redundancy, rng: &mut Xoshiro256PlusPlus) -> Vec<u16> {
    let disks = life.group.disks();
    let mut groups: Vec<&str> = Vec::new();
    for _ in 0..(redundancy.copies() - 1).max(1) {
        groups.push(&disks[below(rng, disks.len() as u64) as usize].failure_group);
    }
    let all = disks.iter().filter(|d| groups.contains(&d.failure_group.as_str()));
    all.filter_map(|d| d.file.map(|f| f.0)).collect()
}

fn spoil(life: &mut Life<'_>, disk: u16, rng: &mut Xoshiro256PlusPlus) {
    let bytes = life.scenario.sizes[usize::from(disk)];
    let first = (4 + u64::from(life.scenario.journal_blocks)) * 4096;
    let len = 512 * (1 + below(rng, 12));
    let offset = first + below(rng, (bytes - first - len) / 512) * 512;
    let garbage: Vec<u8> = (0..len)
        .map(|n| (n as u8).wrapping_mul(31) ^ disk as u8 ^ offset as u8 | 1)
        .collect();
    life.machine.damage(disk, offset, &garbage);
    count_fault(life.scenario.redundancy);
}

fn break_disks(life: &mut Life<'_>, kind: Era, broken: &[u16], rng: &mut Xoshiro256PlusPlus) -> Result<(), Trouble> {
    life.shut()?;
    life.open()?;
    let redundancy = life.scenario.redundancy;
    for &disk in broken {
        let mood = match kind {
            Era::Errors => Mood {
                bad_reads: [0.02, 0.3][below(rng, 2) as usize],
                ..Mood::failing([0.0, 0.0, 0.02, 0.2][below(rng, 4) as usize])
            },
            Era::Away => Mood {
                gone: true,
                ..Mood::default()
            },
            Era::Corruption => Mood::default(),
        };
        life.machine.set_mood(disk, mood);
        count_fault(redundancy);
    }
    for _ in 0..life.scenario.steps {
        if kind == Era::Corruption && below(rng, 12) == 0 {
            let disk = broken[below(rng, broken.len() as u64) as usize];
            spoil(life, disk, rng);
        }
        life.step()?;
    }
    Ok(())
}

/// The disks work again, perhaps without what they had not flushed; everything is brought in order, and all must be
/// there.
fn heal(life: &mut Life<'_>, kind: Era, broken: &[u16], rng: &mut Xoshiro256PlusPlus) -> Result<(), Trouble> {
    life.shut()?;
    for &disk in broken {
        if kind == Era::Away && below(rng, 2) == 0 && life.is_away(disk) {
            life.machine.cycle(disk, below(rng, 1 << 20));
            count_fault(life.scenario.redundancy);
        }
        life.machine.set_mood(disk, Mood::default());
        count_fault(life.scenario.redundancy);
    }
    // Before anything is repaired: every page can be read.
    life.survey(false)?;
    life.come_to_rest()?;
    let report = life.group.check(true)?;
    if let Some(bad) = report.findings.iter().find(|f| !f.repaired) {
        return Err(Trouble::Wrong(format!("beyond repair: {}", bad.what)));
    }
    if kind != Era::Corruption && life.group.disks().iter().all(|d| !d.failing) && !report.is_clean() {
        let first = &report.findings[0].what;
        return Err(Trouble::Wrong(format!(
            "{} findings without corruption: {first}",
            report.findings.len()
        )));
    }
    say(|| format!("healed: {:?}", life.group.disks()));
    life.must_be_sound()?;
    life.survey(false)
}

/// With one copy, errors come up; but what comes back with the disk is what was there, and no error makes the group
/// unsound.
fn external_era(life: &mut Life<'_>, kind: Era, broken: &[u16], rng: &mut Xoshiro256PlusPlus) -> Result<(), Trouble> {
    life.shut()?;
    life.errors_allowed = true;
    let mood = match kind {
        Era::Errors => Mood {
            bad_reads: 0.1,
            ..Mood::failing(0.05)
        },
        Era::Away | Era::Corruption => Mood {
            gone: true,
            ..Mood::default()
        },
    };
    for &disk in broken {
        life.machine.set_mood(disk, mood);
        count_fault(Redundancy::External);
    }
    life.open()?;
    let mut died = false;
    for _ in 0..life.scenario.steps {
        match life.step() {
            // Metadata that cannot be written end the group until it is mounted again.
            Err(Trouble::Wrong(what)) if FATAL.iter().any(|f| what.contains(f)) => {
                died = true;
                break;
            }
            other => other?,
        }
    }
    for &disk in broken {
        life.machine.set_mood(disk, Mood::default());
        count_fault(Redundancy::External);
    }
    say(|| format!("external: died {died}"));
    life.mount_again()?;
    life.survey(true)?;
    life.errors_allowed = false;
    count_fault(Redundancy::External);
    let disk = broken[0];
    life.must_be_sound()?;
    if kind == Era::Corruption {
        spoil(life, disk, rng);
        // It is found where it hits data or metadata, and never makes more wrong than it did.
        let _ = life.group.check(false)?;
        return Err(Trouble::Cut);
    }
    life.come_to_rest()
}

const FATAL: [&str; 5] = [
    "has failed",
    "lost more than",
    "on disk",
    "disk failed",
    "cannot be read",
];
