//! What a written study means: every default filled in, every value checked, every contradiction refused.
//!
//! Takes [`WrittenStudy`] and the scale of the run; gives [`Study`] and findings. Prevents: a study that is
//! accepted here and found impossible an hour later, when LUNs have been written.

pub(crate) mod checks;
mod cost;
mod cuts;
mod database;
mod devices;
mod engines;
mod file_systems;
mod files;
mod kinds;
mod luns;
mod phases;
mod published;
mod server_url;
mod settle;
mod stacks;
mod volume;
mod zfs;

use crate::error::Findings;
use crate::study::{Instances, Memory, StandsFor, Study};
use crate::units::{Bytes, Duration};
use crate::written::WrittenStudy;
use settle::{SECOND, Settle};

/// Gives the study that was meant. With findings it holds stand-ins and must not be used.
pub(crate) fn resolve(written: &WrittenStudy, text: &str, factor: f64, findings: &mut Findings) -> Study {
    let mut settle = Settle::new(factor, findings);
    let header = &written.header;
    let name = settle.name(&header.name, "study");
    let luns = luns::resolve(written, &mut settle);
    let budget = written.memory.budget().value();
    let budget = budget.map(|budget| Bytes(settle.scaled(budget.0)));
    let phases = phases::resolve(written, &luns, &mut settle);
    let mut study = Study {
        question: settle.question(&header.question()),
        published: settle.published(&header.published()),
        margin: header.margin().value(),
        time_limit: longer(header.time_limit().value(), factor),
        blocks: header
            .blocks()
            .value()
            .map(|blocks| blocks.min(u64::from(u32::MAX)) as u32),
        stop_early: header.stop_early().value(),
        fill_time: header.fill_time().value(),
        seed: header.seed().value(),
        io: header.io().value(),
        workers: settle.count(&header.workers()),
        schedule: header.schedule().value(),
        stint: settle.stint(&header.stint()),
        slow_motion: settle.slow_motion(&header.slow_motion()),
        instances: written.instances.as_ref().map(|said| Instances {
            count: settle.count(&said.count()),
            via: said.via().value(),
        }),
        stacks: stacks::resolve(written, &luns, budget, &mut settle),
        database: database::stand_in(),
        resolved: Vec::new(),
        text: text.to_string(),
        scaled: factor,
        name,
        luns,
        memory: Memory {
            budget,
            rank_cached: rank_cached(written, budget, settle.findings),
        },
        phases,
        cost: None,
        stands_for: StandsFor::default(),
        slob: Vec::new(),
        file: std::path::PathBuf::new(),
    };
    study.database = database::resolve(written, &study, &mut settle);
    study.cost = cost::resolve(written.cost.as_ref(), &study, settle.findings);
    study.stands_for = published::resolve(written, &study, settle.findings);
    checks::all(written, &study, settle.findings);
    cuts::check(written, &study, settle.findings);
    study.resolved = crate::entries::resolved(&study, &written.said);
    study
}

/// Without a budget, one stack's cache could be the whole machine's memory.
fn rank_cached(written: &WrittenStudy, budget: Option<Bytes>, findings: &mut Findings) -> bool {
    let key = written.memory.rank_cached();
    if let Some(at) = key.written.filter(|at| at.value && budget.is_none()) {
        findings.add(
            &at.span,
            "what a cache serves can be ranked only where all stacks have the same memory".to_string(),
            "write a `budget` in [memory], or leave `rank_cached` out",
        );
    }
    key.value()
}

/// A limit for a study `factor` times as large: filling, loading, ageing and scans without a time take as much
/// longer. A smaller one keeps its limit, for its timed phases stay as long.
fn longer(limit: Duration, factor: f64) -> Duration {
    let seconds = (limit.0 as f64 * factor / SECOND as f64).min(1e9) as u64;
    Duration(limit.0.max(seconds * SECOND))
}
