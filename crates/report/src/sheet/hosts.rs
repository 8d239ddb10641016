//! What is checked where the instances are on several hosts.
//!
//! Takes the rows of the hosts and the runs of a phase, gives what was found. Prevents: two clocks taken for one, hosts
//! taken for alike, and counters of one host read as those of all.

use super::at::At;
use super::rule::{Bound, Document, Rule, Take, Taken};
use crate::analysis::Analysis;
use crate::cells::PhaseReport;
use crate::check::Status;
use crate::format::nanoseconds;
use crate::history::Book;
use ledger::{HostRow, Measure};

/// All instances begin at one moment, and the time in which all worked is known no better.
const CLOCK_BOUND_NS_MAX: f64 = 1e6;

/// Hosts that differ in one line.
const HOSTS_SAID_MAX: usize = 8;

pub(crate) const CLOCKS: Rule = Rule {
    subject: "clocks of hosts",
    bound: Bound::WithFigure,
    beyond: Status::Suspect,
    advice: "use a quiet network between the hosts, with nothing else on it",
    take: Take::Cell(clocks),
    document: Some(Document {
        figure: "the largest bound of the offset of a host's clock to that of rank 0, in the worst block. Only where \
             instances are on several hosts ([instances](instances.md))",
        threshold: "1 ms",
        beyond: "",
        why: "all instances begin at one moment, and the time in which all worked is known no better than this",
    }),
    traps: &["clocks_that_nobody_knows_to_a_millisecond_are_suspect"],
};

pub(crate) const SEVERAL: Rule = Rule {
    subject: "several hosts",
    bound: Bound::Words("one host"),
    beyond: Status::Note,
    advice: "watch the other hosts by other means meanwhile (`vmstat 1`, `iostat -x 1`)",
    take: Take::Phase(several),
    document: Some(Document {
        figure: "processor time of the machine: that of rank 0's host alone. Counters of devices are left out. \
             Processor time of the instances is that of all hosts",
        threshold: "one host",
        beyond: "",
        why: "Assay observes the host that the run is on, and no other",
    }),
    traps: &["what_one_of_several_hosts_alone_counts_is_said"],
};

/// How well the clocks are known, in the worst block.
fn clocks(at: &At<'_>) -> Option<Taken> {
    let worst = at.measured(Measure::HostsClockBoundNs)?.high;
    let figure = format!("the clocks of the hosts are known to {}", nanoseconds(worst));
    let bound = format!("at most {}", nanoseconds(CLOCK_BOUND_NS_MAX));
    Some(Taken::holds(worst <= CLOCK_BOUND_NS_MAX, figure).against(bound))
}

/// What is counted on one host alone, in a phase whose work was shared.
fn several(book: &Book, report: &PhaseReport) -> Option<Taken> {
    let count = book.hosts.len();
    let own = book.hosts.first().filter(|_| count > 1)?;
    let is_shared = report.cells.iter().any(|cell| cell.instances.len() > 1);
    is_shared.then(|| {
        Taken::broken(format!(
            "{count} hosts: processor time of the machine is that of {} alone (rank {}), and counters of devices are \
             left out; processor time of the instances is that of all",
            own.host, own.rank
        ))
    })
}

/// Whether the other hosts are as the run's own.
pub(crate) fn differ(book: &Book, _: &Analysis) -> Option<Taken> {
    let (own, others) = book.hosts.split_first()?;
    if others.is_empty() {
        return None;
    }
    let all: Vec<String> = others.iter().filter_map(|other| unlike(own, other)).collect();
    let mut said = all.iter().take(HOSTS_SAID_MAX).cloned().collect::<Vec<_>>().join("; ");
    match all.len() {
        0 => said = format!("{} hosts, alike", book.hosts.len()),
        count if count > HOSTS_SAID_MAX => said += &format!("; and {} more", count - HOSTS_SAID_MAX),
        _ => {}
    }
    Some(Taken::holds(all.is_empty(), said))
}

/// In what a host differs from the run's own; `None` where they are alike.
fn unlike(own: &HostRow, other: &HostRow) -> Option<String> {
    let counted = |what: &str, own: u32, other: u32| (own != other).then(|| format!("{what} {other} and not {own}"));
    let kernel = (own.kernel != other.kernel).then(|| format!("kernel {} and not {}", other.kernel, own.kernel));
    let found = [
        kernel,
        counted("processors online", own.cores, other.cores),
        counted("usable processors", own.usable, other.usable),
        (own.binary != other.binary).then(|| "another program".to_string()),
    ];
    let found: Vec<String> = found.into_iter().flatten().collect();
    (!found.is_empty()).then(|| format!("{} (rank {}): {}", other.host, other.rank, found.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(rank: u32) -> HostRow {
        HostRow {
            rank,
            host: format!("node-{rank}"),
            kernel: "6.1.0".into(),
            cores: 8,
            usable: 8,
            binary: "ab".repeat(32),
        }
    }

    #[test]
    fn a_host_says_all_in_what_it_differs_and_no_more() {
        assert_eq!(unlike(&host(0), &host(1)), None, "name and rank are its own");
        let other = HostRow {
            kernel: "6.8.0".into(),
            cores: 4,
            usable: 2,
            binary: "cd".repeat(32),
            ..host(1)
        };
        let said = unlike(&host(0), &other).unwrap();
        let wanted = "node-1 (rank 1): kernel 6.8.0 and not 6.1.0, processors online 4 and not 8, usable processors 2 \
            and not 8, another program";
        assert_eq!(said, wanted);
        let bound = HostRow { usable: 1, ..host(1) };
        let said = unlike(&host(0), &bound).unwrap();
        assert_eq!(said, "node-1 (rank 1): usable processors 1 and not 8");
    }
}
