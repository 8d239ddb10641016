//! What is checked of what went on beside a phase: processors taken away, I/O of others, the clock, a LUN slower than
//! its fellows.
//!
//! Takes the runs of one stack in one phase, gives what was found. Prevents: a neighbour, a limit or one bad LUN that
//! is read as a property of the stack.

use super::at::At;
use super::rule::{Bound, Document, Rule, Take, Taken};
use crate::cells::provenance::DEVICE_SHARE_MIN;
use crate::check::Status;
use crate::format::{bytes, nanoseconds, number, percent};
use crate::history::{CLOCK_STEP_NS_MAX, Runs, Seen};
use ledger::Measure;

/// Stolen by the hypervisor, of the time that was wanted.
const STEAL_MAX: f64 = 0.05;
/// Less is ten ticks of the kernel's account, and so its rounding.
const STEAL_NS_MIN: f64 = 100e6;
/// Of the periods of a limit, that it held the run back in.
const THROTTLED_MAX: f64 = 0.01;
/// What other processes moved on the stack's devices at most, as a share and in bytes.
const OTHERS_IO_MAX: f64 = 0.10;
const OTHERS_IO_BYTES: f64 = 16.0 * 1024.0 * 1024.0;
/// A stripe is as fast as its slowest LUN. Random requests on equal LUNs differ by far less than this.
const LUN_RATIO_MAX: f64 = 2.0;
/// Below it a LUN is a memory copy or a cache hit, and the kernel's counters are no clock.
const LUN_SERVICE_NS_MIN: f64 = 20_000.0;

pub(crate) const OTHERS_CPU: Rule = Rule {
    subject: "background CPU",
    bound: Bound::Most(0.10),
    beyond: Status::Suspect,
    advice: "stop what else runs on the host, or measure when it rests (`top` says who)",
    take: Take::Cell(others_cpu),
    document: Some(Document {
        figure: "share of the processors that the run may use which went to other programs: not to Assay, its \
             children, a database server, interrupts or kernel threads (if the run is kept to some processors, \
             kernel threads on any of them). No line if no kernel thread is visible, as in a container",
        threshold: "",
        beyond: "",
        why: "a CPU-bound part can be wrong by as much; the kernel counts a short phase to a few percent only",
    }),
    traps: &["programs that compute beside the run"],
};

pub(crate) const STOLEN: Rule = Rule {
    subject: "stolen CPU",
    bound: Bound::WithFigure,
    beyond: Status::Suspect,
    advice: "use a host of its own, or an instance with dedicated processors",
    take: Take::Cell(stolen),
    document: Some(Document {
        figure: "share of the time wanted on these processors that the hypervisor gave to others",
        threshold: "5 %, and ten ticks",
        beyond: "",
        why: "of the time wanted, because idle processors would hide it; ten ticks are the kernel's rounding. \
             A ranked run does not count, nor does its block, if the share was more than half of all processor \
             time, and at least a second",
    }),
    traps: &["the hypervisor gives the processors to others"],
};

pub(crate) const THROTTLED: Rule = Rule {
    subject: "throttling",
    bound: Bound::WithFigure,
    beyond: Status::Suspect,
    advice: "lift the limit on processor time of the group that runs this (cpu.max, cpu.cfs_quota_us), or cool \
         the host",
    take: Take::Cell(throttled),
    document: Some(Document {
        figure: "periods in which a limit on processor time held back the run's control group, or one above \
             it; slow-downs of a core or package for heat. Only of what can be read",
        threshold: "1 % of the periods; none",
        beyond: "",
        why: "a limit that is reached at all shapes the tail first",
    }),
    traps: &[
        "a limit on processor time that nobody remembers",
        "a processor is slowed down for heat",
    ],
};

/// Which processors a share is of: a run that is kept to some of them has no room on the others.
fn whose_processors(at: &At<'_>) -> String {
    match at.measured(Measure::CpuAllowed) {
        None => "the processors".to_string(),
        Some(some) if some.median < 2.0 => "the one processor that the run may use".to_string(),
        Some(some) => format!("the {:.0} processors that the run may use", some.median),
    }
}

fn others_cpu(at: &At<'_>) -> Option<Taken> {
    let share = at.measured(Measure::CpuOthersShare)?;
    let whose = whose_processors(at);
    let figure = format!("other programs took {} of {whose}", percent(share.median));
    Some(Taken::share(share.median, figure))
}

/// Of the time that was wanted where the run may be: idle processors, of which a large host has many, make no theft
/// smaller.
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

fn stolen(at: &At<'_>) -> Option<Taken> {
    let share = at.all.figure(stolen_share)?;
    let refused = at.all.iter().filter(|run| run.mostly_stolen().is_some()).count();
    let mut said = format!(
        "the hypervisor gave {} of the wanted processor time to others",
        percent(share.median)
    );
    if refused > 0 {
        said += &format!(
            ", and most of all in {refused} of {} blocks, which do not count",
            at.all.len()
        );
    }
    let bound = format!("at most {}, or under {}", percent(STEAL_MAX), nanoseconds(STEAL_NS_MIN));
    Some(Taken::holds(share.median <= STEAL_MAX && refused == 0, said).against(bound))
}

/// Share of the limit's periods; in files of earlier versions of the time, there summed over processors.
fn held_share(run: &Seen) -> Option<f64> {
    let of_time = || {
        let cores = run.get(Measure::CpuCores).unwrap_or(1.0).max(1.0);
        Some((run.get(Measure::CpuThrottledShare)? / cores).min(1.0))
    };
    run.get(Measure::CpuThrottledPeriodsShare).or_else(of_time)
}

fn throttled(at: &At<'_>) -> Option<Taken> {
    let share = at.figure(held_share);
    let thermal = at.measured(Measure::CpuThermalThrottles);
    share.or(thermal)?;
    let (held, hot) = (share.map_or(0.0, |s| s.median), thermal.map_or(0.0, |t| t.median));
    // What was not read is not said to be none: a host without limits has no periods, a virtual one no thermometer.
    let held_back = share.map(|_| format!("held back by a limit in {} of its periods", percent(held)));
    let heated = thermal.map(|_| format!("slowed down for heat {} times", number(hot)));
    let limit = share.map(|_| format!("at most {} of the periods", percent(THROTTLED_MAX)));
    let heat = thermal.map(|_| "never for heat".to_string());
    let both = |one: Option<String>, other: Option<String>| one.into_iter().chain(other).collect::<Vec<_>>().join(", ");
    let is_free = held <= THROTTLED_MAX && hot <= 0.0;
    Some(Taken::holds(is_free, both(held_back, heated)).against(both(limit, heat)))
}

/// Both are needed: devices that moved more than the engine asked for, and other processes that moved something. The
/// first alone is the stack's own inflation, the second alone may be on another disk.
pub(crate) fn others_io(at: &At<'_>) -> Option<Taken> {
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
    let share = at.figure(|run| {
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
        if at.shares_cached_device {
            theirs = theirs.max(in_place_of_a_cache(run));
        }
        // A copy or a load asks nothing of the engine: what its devices move is nobody's excess.
        is_asked.then_some(if theirs > OTHERS_IO_BYTES {
            theirs / near.max(1.0)
        } else {
            0.0
        })
    })?;
    let unseen = at.measured(Measure::OthersUnseen).map_or(0.0, |unseen| unseen.median);
    let whose = match unseen > 0.0 {
        true => "of other processes, of those that may be seen",
        false => "of other processes",
    };
    let part = percent(share.median);
    let figure = format!("up to {part} of what the stack's devices moved was {whose}");
    let bound = format!("at most {} and {}", percent(OTHERS_IO_MAX), bytes(OTHERS_IO_BYTES));
    Some(Taken::holds(share.median <= OTHERS_IO_MAX, figure).against(bound))
}

/// Bytes that others read, where the device would not have moved what was asked without them: they may fill exactly
/// what a cache served.
fn in_place_of_a_cache(run: &Seen) -> f64 {
    let of = |measure| run.get(measure).unwrap_or(0.0);
    let (asked, moved) = (of(Measure::EngineReadBytes), of(Measure::NearReadBytes));
    let others = of(Measure::OthersReadBytes).min(moved);
    let enough = DEVICE_SHARE_MIN * asked;
    if moved >= enough && moved - others < enough {
        others
    } else {
        0.0
    }
}

pub(crate) fn clock(at: &At<'_>) -> Option<Taken> {
    let worst = |measure: Measure| at.all.measured(measure).map(|found| found.high);
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
    Some(Taken::judged(status, said).against(format!("at most {}", nanoseconds(CLOCK_STEP_NS_MAX))))
}

pub(crate) fn slow_lun(at: &At<'_>) -> Option<Taken> {
    let of = |measure: Measure| at.measured(measure).map(|found| found.median);
    let (slowest, fellows) = (of(Measure::LunServiceNsSlowest)?, of(Measure::LunServiceNsFellows)?);
    let ratio = slowest / fellows.max(1.0);
    // One of them is always the slowest; a LUN that is slow is so in every block.
    let place = at.measured(Measure::LunSlowest)?;
    let is_same = place.low == place.high;
    let figure = format!(
        "the slowest data LUN took {} a request, the others {}",
        nanoseconds(slowest),
        nanoseconds(fellows)
    );
    let most = number(LUN_RATIO_MAX);
    let bound = format!("at most {most} times the median of the others, or another in each block");
    let is_slow = ratio > LUN_RATIO_MAX && slowest > LUN_SERVICE_NS_MIN && is_same;
    Some(Taken::holds(!is_slow, figure).against(bound))
}

/// Any one, found by a device or by the layer that keeps another copy: what healed it took its time, in the run and
/// nowhere else. The file has one sum of all devices, so neither which of them counted nor how many do is known, and
/// the line says no more than that.
pub(crate) fn device_errors(at: &At<'_>) -> Option<Taken> {
    let errors = at.measured(Measure::DeviceErrors)?;
    let said = match errors.high > 0.0 {
        true => format!(
            "{} counted by those of the stack's devices that count, or mended from another copy, in the worst block",
            crate::format::whole(errors.high)
        ),
        false => "none counted by those of the stack's devices that count, none mended from another copy".to_string(),
    };
    Some(Taken::holds(errors.high <= 0.0, said))
}
