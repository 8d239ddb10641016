//! File serving in words, for every form: what it is derived from, and what its figures are worth.
//!
//! Takes figures, gives lines without a place. Prevents: a form that shows operations a second and leaves out under
//! which limit, and a ramp taken for the result of a published benchmark.

use crate::cells::serving::{LATE_SHARE_MAX, ServingFigures};
use crate::format::{nanoseconds, number, percent, ratio, whole};
use crate::ranking::same_work::SameWork;

/// Said wherever file serving is shown.
pub(crate) const DERIVED: &str = "The calls are derived from published descriptions of SFS and SPECstorage. This is no \
     SPEC metric and can't be compared with one: nothing is audited, and sizes and times are shorter. The rate at the \
     limit is what file system, memory and devices give together.";

impl ServingFigures {
    /// "sfs97 over nfs3 by nfs-ganesha, poisson arrival, at most 256 on their way; the ramp ends when mean response is
    /// above 15.0 ms".
    pub(crate) fn words(&self) -> String {
        let by = match (&self.server, self.connections) {
            (Some(server), Some(connections)) => format!(" by {server} on {connections} connections"),
            (Some(server), None) => format!(" by {server}"),
            (None, _) => String::new(),
        };
        let until = match self.limit_ns {
            Some(limit) => {
                let limit = nanoseconds(limit);
                format!("the ramp ends when {} of response is above {limit}", self.limit_of)
            }
            None => "the ramp has no limit of response".to_string(),
        };
        format!(
            "{} over {}{by}, {} arrival, at most {} on their way; {until}, or the load is not reached",
            self.work, self.protocol, self.arrival, self.sessions
        )
    }
}

impl SameWork {
    /// "zfs: at 9,000 operations a second, the highest load that it and ext4 held, devices move 8.00 times the bytes
    /// per operation (7.20 to 8.90 in 6 blocks; not tested)".
    pub(crate) fn words(&self) -> String {
        let blocks = match self.n {
            1 => "1 block".to_string(),
            many => format!("{many} blocks"),
        };
        let doubt = match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{} to {} in {blocks}; not tested", ratio(low), ratio(high)),
            _ => format!("{blocks}, no interval; not tested"),
        };
        format!(
            "{}: at {} operations a second, the highest load that it and {} held, devices move {} times the bytes per \
             operation ({doubt})",
            self.stack,
            whole(self.asked_per_s),
            self.base,
            ratio(self.bytes_ratio)
        )
    }
}

/// What a reader has to know of the figures.
pub(crate) fn doubts(stack: &str, serving: &ServingFigures) -> Vec<String> {
    let mut said = Vec::new();
    if serving.blocks_at_least > 0 {
        let most = serving.peak_per_s.map_or(String::new(), |peak| number(peak.high));
        let blocks = match serving.blocks_at_least {
            1 => "1 block".to_string(),
            many => format!("{many} blocks"),
        };
        said.push(format!(
            "{stack}: in {blocks} the ramp ended inside the limit: at least {most} operations/s, not ranked; more \
             points of `load` find the limit"
        ));
    }
    let late = serving.points.iter().filter(|point| {
        let share = point.late_share.map_or(0.0, |share| share.median);
        share > LATE_SHARE_MAX && point.blocks_inside > 0
    });
    let late: Vec<String> = late.map(|point| format!("{}/s", number(point.asked_per_s))).collect();
    if !late.is_empty() {
        said.push(format!(
            "{stack}: at {} more than {} of response passed before operations were sent: it includes the generator",
            late.join(", "),
            percent(LATE_SHARE_MAX)
        ));
    }
    if serving.tried_again > 0.0 {
        said.push(format!(
            "{stack}: the server put off {} calls, which were sent again after 100 ms; that time is part of response",
            number(serving.tried_again)
        ));
    }
    if serving.listed_again > 0.0 {
        said.push(format!(
            "{stack}: the server refused {} listings (no such name) while names in them went, and gave them when it \
             was asked again: an application would have seen the error",
            number(serving.listed_again)
        ));
    }
    said
}
