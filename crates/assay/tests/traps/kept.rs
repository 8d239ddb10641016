//! A run that is kept to one processor of several: what the others have to spare is none of its room.
//!
//! Needs two processors. Prevents: a line that looks at the whole host, where the run has a part of it.

use crate::rig::Rig;
use crate::traps::on_devices::KEPT;
use crate::traps::placed::{DATABASE, Hogs, computes, directory, head, report};
use crate::traps::sheet::{Judged, at};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::thread;

/// Little work on a schedule: by itself the run leaves most of any processor idle.
const PACED: &str = "[[phase]]\nname = \"work\"\nkind = \"random\"\nupdate_pct = 0\nsessions = 2\nwork_unit = 1\n\
     rate = 100\ntime = \"400ms\"\n";

/// Less was left of the processor, beside a run that takes next to nothing: then others filled it.
const LEFT_MIN: f64 = 0.30;

pub(crate) fn kept(rig: &Rig) -> Judged {
    let online = ticks_of_all().len();
    let own = sched_getaffinity(None).expect("an affinity");
    let last = (0..CpuSet::MAX_CPU).rev().find(|one| own.is_set(*one));
    let Some(processor) = last.filter(|_| online > 1) else {
        return KEPT.not_set("needs two processors");
    };
    let study = [head(), &directory("one", &rig.work(), ""), DATABASE, PACED].concat();
    let found = on_processor(processor, || {
        let spins = Hogs::start(vec![Box::new(computes)]);
        let found = report(rig, "filled", &study);
        drop(spins);
        found
    });
    let work = at("one", "work");
    let mut left = 0.0;
    for nth in 0..3 {
        let before = ticks_of(processor);
        let twin = on_processor(processor, || report(rig, &format!("kept{nth}"), &study));
        left = left_since(before, ticks_of(processor));
        let judged = KEPT.judge((&found, work), (&twin, work));
        // What is not caught is missed, however busy the others are: something fills the processor in any case.
        if judged.wrong().is_none() || judged.caught.is_none() || left >= LEFT_MIN {
            return judged;
        }
    }
    let found = KEPT.judge((&found, work), (&found, work));
    found.without_twin(&format!(
        "other programs left {:.0} % of the processor that it was kept to",
        left * 100.0
    ))
}

/// Does something on a thread that may run on this processor only; what is started there may no more.
fn on_processor<T: Send>(processor: usize, work: impl FnOnce() -> T + Send) -> T {
    let kept = || {
        let mut only = CpuSet::new();
        only.set(processor);
        sched_setaffinity(None, &only).expect("kept to it");
        work()
    };
    thread::scope(|scope| scope.spawn(kept).join()).expect("done")
}

/// Ticks of each processor since boot, in all and idle: by the kernel's own account, read here and not by the tool.
fn ticks_of_all() -> Vec<(usize, [u64; 2])> {
    let text = std::fs::read_to_string("/proc/stat").expect("read");
    let one = |line: &str| {
        let (name, ticks) = line.strip_prefix("cpu")?.split_once(' ')?;
        let number = name.parse().ok()?;
        let ticks: Vec<u64> = ticks
            .split_whitespace()
            .take(8)
            .map(|n| n.parse().expect("ticks"))
            .collect();
        Some((number, [ticks.iter().sum(), ticks[3] + ticks[4]]))
    };
    text.lines().filter_map(one).collect()
}

fn ticks_of(processor: usize) -> [u64; 2] {
    let all = ticks_of_all();
    let found = all.iter().find(|(number, _)| *number == processor);
    found.expect("it is online").1
}

fn left_since(before: [u64; 2], now: [u64; 2]) -> f64 {
    let [all, idle] = [0, 1].map(|nth| now[nth].saturating_sub(before[nth]) as f64);
    idle / all.max(1.0)
}
