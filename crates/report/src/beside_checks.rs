//! What is checked of what went on beside a phase: processors taken away, I/O of others, the clock, a LUN slower than its fellows.
//!
//! Takes the runs of one stack in one phase, gives checks without their place. Prevents: a neighbour, a limit or one bad LUN that is
//! read as a property of the stack.

use crate::checks::Status;
use crate::figures::Figure;
use crate::format::{bytes, nanoseconds, number, percent};
use crate::history::Seen;
use crate::order_checks::Found;
use ledger::Measure;

/// Of all processors: what others took beyond it was missing here, and a difference of so much would be called one.
const OTHERS_CPU_MAX: f64 = 0.10;
/// Stolen by the hypervisor, of the time that was wanted.
const STEAL_MAX: f64 = 0.05;
/// Less is ten ticks of the kernel's account, and so its rounding.
const STEAL_NS_MIN: f64 = 100e6;
/// Of all processor time, wanted or not: so a rate is more the neighbours' than the stack's. (Where a hypervisor does a guest's I/O on the guest's
/// processors, a stack that wants little of them and moves much loses as much as it wants by itself: that is a doubt, and no neighbour.)
/// In phases too short for a second of it, such a burst is scatter.
const STEAL_REFUSED: f64 = 0.5;
const STEAL_NS_REFUSED: f64 = 1e9;
/// Of the periods of a limit, that it held the run back in.
const THROTTLED_MAX: f64 = 0.01;
/// What other processes moved on the stack's devices at most, as a share and in bytes.
const OTHERS_IO_MAX: f64 = 0.10;
const OTHERS_IO_BYTES: f64 = 16.0 * 1024.0 * 1024.0;
/// Reading three clocks takes microseconds; a step that anybody would make is larger.
pub(crate) const CLOCK_STEP_NS_MAX: f64 = 10e6;
/// A stripe is as fast as its slowest LUN. Random requests on equal LUNs differ by far less than this.
const LUN_RATIO_MAX: f64 = 2.0;
/// Below it a LUN is a memory copy or a cache hit, and the kernel's counters are no clock.
const LUN_SERVICE_NS_MIN: f64 = 20_000.0;

pub(crate) fn found(runs: &[&Seen]) -> Vec<Found> {
    [
        others_cpu(runs),
        stolen(runs),
        throttled(runs),
        others_io(runs),
        clock(runs),
        slow_lun(runs),
        device_errors(runs),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn figure(runs: &[&Seen], value: impl Fn(&Seen) -> Option<f64>) -> Option<Figure> {
    Figure::of(runs.iter().map(|run| value(run)))
}

fn suspect(is: bool) -> Status {
    if is { Status::Suspect } else { Status::Valid }
}

/// Which processors a share is of: a run that is kept to some of them has no room on the others.
fn whose_processors(runs: &[&Seen]) -> String {
    match figure(runs, |run| run.get(Measure::CpuAllowed)) {
        None => "the processors".to_string(),
        Some(some) if some.median < 2.0 => "the one processor that the run may use".to_string(),
        Some(some) => format!("the {:.0} processors that the run may use", some.median),
    }
}

fn others_cpu(runs: &[&Seen]) -> Option<Found> {
    let share = figure(runs, |run| run.get(Measure::CpuOthersShare))?;
    Some((
        "background CPU",
        suspect(share.median > OTHERS_CPU_MAX),
        format!(
            "other programs took {} of {}",
            percent(share.median),
            whose_processors(runs)
        ),
        format!("at most {}", percent(OTHERS_CPU_MAX)),
        "stop what else runs on the host, or measure when it rests (`top` says who)",
    ))
}

/// Of the time that was wanted where the run may be: idle processors, of which a large host has many, make no theft smaller.
fn stolen_share(run: &Seen) -> Option<f64> {
    let busy = run.get(Measure::CpuAllowedBusyNs).or(run.get(Measure::CpuBusyNs));
    let (Some(stolen), Some(busy)) = (run.get(Measure::CpuStealNs), busy) else {
        // Files of earlier versions.
        return run.get(Measure::CpuStealShare);
    };
    Some(match stolen < STEAL_NS_MIN {
        true => 0.0,
        false => stolen / (stolen + busy),
    })
}

/// The share of all processor time, where it was most of a ranked run's; what is not ranked took longer for it and left what it would have left.
pub(crate) fn mostly_stolen(run: &Seen) -> Option<f64> {
    let much = run.get(Measure::CpuStealNs)? >= STEAL_NS_REFUSED && run.run.ranked;
    let share = run.get(Measure::CpuStealShare)?;
    Some(share).filter(|share| much && *share > STEAL_REFUSED)
}

fn stolen(runs: &[&Seen]) -> Option<Found> {
    let share = figure(runs, stolen_share)?;
    let refused = runs.iter().filter(|run| mostly_stolen(run).is_some()).count();
    let mut said = format!(
        "the hypervisor gave {} of the wanted processor time to others",
        percent(share.median)
    );
    if refused > 0 {
        said += &format!(
            ", and most of all in {refused} of {} blocks, which do not count",
            runs.len()
        );
    }
    Some((
        "stolen CPU",
        suspect(share.median > STEAL_MAX || refused > 0),
        said,
        format!("at most {}, or under {}", percent(STEAL_MAX), nanoseconds(STEAL_NS_MIN)),
        "use a host of its own, or an instance with dedicated processors",
    ))
}

/// Share of the limit's periods; in files of earlier versions of the time, there summed over processors.
fn held_share(run: &Seen) -> Option<f64> {
    let of_time = || {
        let cores = run.get(Measure::CpuCores).unwrap_or(1.0).max(1.0);
        Some((run.get(Measure::CpuThrottledShare)? / cores).min(1.0))
    };
    run.get(Measure::CpuThrottledPeriodsShare).or_else(of_time)
}

fn throttled(runs: &[&Seen]) -> Option<Found> {
    let share = figure(runs, held_share);
    let thermal = figure(runs, |run| run.get(Measure::CpuThermalThrottles));
    share.or(thermal)?;
    let (held, hot) = (share.map_or(0.0, |s| s.median), thermal.map_or(0.0, |t| t.median));
    // What was not read is not said to be none: a host without limits has no periods, a virtual one no thermometer.
    let held_back = share.map(|_| format!("held back by a limit in {} of its periods", percent(held)));
    let heated = thermal.map(|_| format!("slowed down for heat {} times", number(hot)));
    let limit = share.map(|_| format!("at most {} of the periods", percent(THROTTLED_MAX)));
    let heat = thermal.map(|_| "never for heat".to_string());
    let both = |one: Option<String>, other: Option<String>| one.into_iter().chain(other).collect::<Vec<_>>().join(", ");
    Some((
        "throttling",
        suspect(held > THROTTLED_MAX || hot > 0.0),
        both(held_back, heated),
        both(limit, heat),
        "lift the limit on processor time of the group that runs this (cpu.max, cpu.cfs_quota_us), or cool the host",
    ))
}

/// Both are needed: devices that moved more than the engine asked for, and other processes that moved something. The first
/// alone is the stack's own inflation, the second alone may be on another disk.
fn others_io(runs: &[&Seen]) -> Option<Found> {
    let pairs = [
        (
            Measure::NearReadBytes,
            &[Measure::EngineReadBytes][..],
            Measure::OthersReadBytes,
            None,
        ),
        (
            Measure::NearWriteBytes,
            &[Measure::EngineWriteBytes, Measure::EngineRedoBytes][..],
            Measure::OthersWriteBytes,
            Some(Measure::StackDataCopies),
        ),
    ];
    let share = figure(runs, |run| {
        let near = run.sum(&[Measure::NearReadBytes, Measure::NearWriteBytes])?;
        let mut theirs = 0.0;
        let mut is_asked = false;
        for (moved, asked, others, copies) in pairs {
            let asked = run.sum(asked).unwrap_or(0.0);
            is_asked |= asked > 0.0;
            // A mirror writes each byte as often as it keeps it.
            let excess = (run.get(moved)? - asked * copies.map_or(1.0, |of| run.get(of).unwrap_or(1.0))).max(0.0);
            theirs += excess.min(run.get(others)?);
        }
        // A copy or a load asks nothing of the engine: what its devices move is nobody's excess.
        is_asked.then_some(if theirs > OTHERS_IO_BYTES {
            theirs / near.max(1.0)
        } else {
            0.0
        })
    })?;
    let unseen = figure(runs, |run| run.get(Measure::OthersUnseen)).map_or(0.0, |unseen| unseen.median);
    let whose = match unseen > 0.0 {
        true => "of other processes, of those that may be seen",
        false => "of other processes",
    };
    Some((
        "other processes' I/O",
        suspect(share.median > OTHERS_IO_MAX),
        format!(
            "up to {} of what the stack's devices moved was {whose}",
            percent(share.median)
        ),
        format!("at most {} and {}", percent(OTHERS_IO_MAX), bytes(OTHERS_IO_BYTES)),
        "stop what else uses the device (`iotop` says who), or use one of its own",
    ))
}

fn clock(runs: &[&Seen]) -> Option<Found> {
    let worst = |measure: Measure| figure(runs, |run| run.get(measure)).map(|found| found.high);
    let stepped = worst(Measure::ClockStepNs)?;
    let slept = worst(Measure::ClockSleptNs).unwrap_or(0.0);
    let (status, said) = match (slept > CLOCK_STEP_NS_MAX, stepped > CLOCK_STEP_NS_MAX) {
        (true, _) => (Status::Invalid, format!("the host slept for {}", nanoseconds(slept))),
        (false, true) => (
            Status::Suspect,
            format!("the wall clock was set by {}", nanoseconds(stepped)),
        ),
        _ => (Status::Valid, "not set".to_string()),
    };
    Some((
        "clock",
        status,
        said,
        format!("at most {}", nanoseconds(CLOCK_STEP_NS_MAX)),
        "durations here are of a clock that is never set, but servers' and kernels' stamps moved: let the time daemon slew, not step, and keep the host awake",
    ))
}

fn slow_lun(runs: &[&Seen]) -> Option<Found> {
    let of = |measure: Measure| figure(runs, |run| run.get(measure)).map(|found| found.median);
    let (slowest, fellows) = (of(Measure::LunServiceNsSlowest)?, of(Measure::LunServiceNsFellows)?);
    let ratio = slowest / fellows.max(1.0);
    // One of them is always the slowest; a LUN that is slow is so in every block.
    let place = figure(runs, |run| run.get(Measure::LunSlowest))?;
    let is_same = place.low == place.high;
    Some((
        "slow LUN",
        suspect(ratio > LUN_RATIO_MAX && slowest > LUN_SERVICE_NS_MIN && is_same),
        format!(
            "the slowest data LUN took {} a request, the others {}",
            nanoseconds(slowest),
            nanoseconds(fellows)
        ),
        format!(
            "at most {} times the median of the others, or another in each block",
            number(LUN_RATIO_MAX)
        ),
        "look at that LUN (the events of the phase name it): path, RAID group, neighbours; a stripe is as fast as its slowest",
    ))
}

/// Any one, found by a device or by the layer that keeps another copy: what healed it took its time, in the run and nowhere else. The file
/// has one sum of all devices, so neither which of them counted nor how many do is known, and the line says no more than that.
fn device_errors(runs: &[&Seen]) -> Option<Found> {
    let errors = figure(runs, |run| run.get(Measure::DeviceErrors))?;
    let said = match errors.high > 0.0 {
        true => format!(
            "{} counted by those of the stack's devices that count, or mended from another copy, in the worst block",
            crate::layouts::whole(errors.high)
        ),
        false => "none counted by those of the stack's devices that count, none mended from another copy".to_string(),
    };
    Some((
        "device errors",
        suspect(errors.high > 0.0),
        said,
        "none".into(),
        "look into the kernel's log and at the devices (`smartctl`, `btrfs device stats`, `assay dg check`): retries are slow, and what is below \
         may be failing; a SCSI or SATA disk also counts what is no error (a poll by `smartd`, a full queue, a reset): then the log says nothing of it",
    ))
}
