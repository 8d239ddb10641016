//! Which of fio's jobs did not run together with the others.
//!
//! Takes the jobs and the options that hold for all; gives the first that ran apart, and why. Prevents: the sum of the
//! rates of jobs that ran one after the other.

use super::job::{milliseconds, option, runtime};
use serde_json::Value;

/// The first job that ran after another one, and the option that made it.
pub(super) fn apart(global: &Value, jobs: &[Value]) -> Option<(usize, &'static str)> {
    later(global, jobs).or_else(|| delayed(global, jobs))
}

/// fio begins another group at each `stonewall`, at each `new_group` and with each job file (`add_job` and
/// `__parse_jobs_ini` of its `init.c`). Copies of a job (`numjobs`) repeat its options and stay in its group.
fn later(global: &Value, jobs: &[Value]) -> Option<(usize, &'static str)> {
    let said = |job: &Value, name: &str| option(global, job, name).is_some();
    let why = |before: &Value, job: &Value| {
        let group = |job: &Value| job["groupid"].as_i64();
        let same = group(before).zip(group(job)).map(|(before, own)| before == own);
        match same {
            _ if said(job, "wait_for") => Some("wait_for"),
            Some(true) => None,
            _ if said(job, "stonewall") => Some("stonewall"),
            Some(false) if !said(job, "new_group") => Some("a job file of its own"),
            _ => None,
        }
    };
    let mut pairs = jobs.windows(2).enumerate();
    pairs.find_map(|(index, pair)| Some((index + 1, why(&pair[0], &pair[1])?)))
}

/// When a job worked, ms since all of them were started.
struct Worked {
    job: usize,
    from: f64,
    until: f64,
}

const DELAY: &str = "startdelay";

/// A job whose delay is as long as another one worked. A delay that cannot be read may be that long too.
fn delayed(global: &Value, jobs: &[Value]) -> Option<(usize, &'static str)> {
    let mut all: Vec<Worked> = Vec::new();
    for (job, said) in jobs.iter().enumerate() {
        let Some(from) = milliseconds(global, said, DELAY) else {
            return (jobs.len() > 1).then_some((job, DELAY));
        };
        // What did nothing has no time, and ended before no one.
        let Some((time, _)) = runtime(global, said).filter(|(time, _)| *time > 0.0) else {
            continue;
        };
        let until = from + milliseconds(global, said, "ramp_time").unwrap_or(0.0) + time;
        all.push(Worked { job, from, until });
    }
    let last = all.iter().max_by(|a, b| a.from.total_cmp(&b.from))?;
    let ended = all.iter().any(|one| one.from < last.from && one.until <= last.from);
    ended.then_some((last.job, DELAY))
}
