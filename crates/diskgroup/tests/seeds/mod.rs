//! What one seed does, and how many are run: shared by the tests that must pass and the test of planted bugs that must not.
#![allow(dead_code, reason = "each test binary uses a part")]

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
            "seed {seed}: {what}\n  replay: {variable}={seed} cargo test -p diskgroup --test {test} replay -- --nocapture"
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
    let scenario = scenario(seed, None);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xc4a5);
    let machine = Machine::new(Disks::new(&scenario.sizes), seed);
    let mut life = Life::create(&scenario, machine.clone(), seed).map_err(|t| format!("create: {t:?}"))?;
    let mut torn = 0;
    arm(&machine, &mut rng);
    loop {
        let ended = work(&mut life, scenario.steps);
        say(|| format!("life {torn} of {} steps ended: {ended:?}", life.steps));
        let away = life.away();
        let (machine, oracle) = (life.machine.clone(), life.drop_all());
        let mut disks = match ended {
            Ok(()) | Err(Trouble::Cut) => machine.cut(seed ^ torn),
            Err(Trouble::Wrong(what)) => return Err(format!("life {torn}: {what}")),
        };
        torn += 1;
        life = after_a_cut(&scenario, &mut disks, (oracle, away), seed, torn, &mut rng)?;
        if torn as usize >= scenario.lives {
            break;
        }
        arm(&life.machine, &mut rng);
    }
    let rest = rest(&mut life, &scenario);
    rest.map_err(|trouble| format!("at the end: {trouble:?}"))
}

/// Mounts again, perhaps with the power failing in the middle of that, perhaps without a disk; everything must be there.
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
    life.come_to_rest()?;
    life.survey(false)?;
    life.must_be_sound()
}
