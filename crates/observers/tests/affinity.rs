//! A run that may use a part of the processors: what is idle elsewhere is none of its room.

use observers::{Delta, Place, Root, Snapshot, host_facts_in};
use std::io;
use std::path::Path;

fn look(path: &Path) -> io::Result<Place> {
    Ok(Place {
        canonical: path.to_path_buf(),
        on: (0, 1),
        device: None,
        mount: None,
    })
}

/// What a host of four processors says in `/proc`, recorded: the second is busy with somebody else's work, one tick in
/// ten is stolen from it, all others rest.
fn stat(second: u64) -> String {
    let (busy, stolen) = (second * 90, second * 10);
    let rest = second * 100;
    format!(
        "cpu  {busy} 0 0 {} 0 0 0 {stolen} 0 0\ncpu0 0 0 0 {rest} 0 0 0 0 0 0\ncpu1 {busy} 0 0 0 0 0 0 {stolen} 0 0\n\
         cpu2 0 0 0 {rest} 0 0 0 0 0 0\ncpu3 0 0 0 {rest} 0 0 0 0 0 0\nctxt 1\n",
        3 * rest
    )
}

fn root(dir: &Path, second: u64, allowed: Option<&str>) -> Root {
    let own = dir.join("proc/self");
    std::fs::create_dir_all(&own).expect("made");
    std::fs::write(dir.join("proc/stat"), stat(second)).expect("written");
    let list = allowed.map_or(String::new(), |list| {
        format!("Cpus_allowed:\tf\nCpus_allowed_list:\t{list}\n")
    });
    std::fs::write(own.join("status"), format!("Name:\tassay\nVmRSS:\t  20480 kB\n{list}")).expect("written");
    let processors = "processor\t: 0\nprocessor\t: 1\nprocessor\t: 2\nprocessor\t: 3\n";
    std::fs::write(dir.join("proc/cpuinfo"), processors).expect("written");
    Root::at(dir, look)
}

/// Ten seconds, with this list at their beginning and that at their end.
fn ten_seconds(before: Option<&str>, after: Option<&str>) -> Delta {
    let dir = tempfile::tempdir().expect("a directory");
    let early = Snapshot::take_in(&root(dir.path(), 5, before), &[]).expect("whole");
    let late = Snapshot::take_in(&root(dir.path(), 15, after), &[]).expect("whole");
    late.since(&early)
}

#[test]
fn idle_and_stolen_time_are_those_of_the_processors_that_may_be_used() {
    let found = |list: &str| {
        let delta = ten_seconds(Some(list), Some(list));
        let processors = delta.cpu.allowed.map(|allowed| allowed.processors);
        let stolen_s = delta.cpu.here().steal_ns as f64 / 1e9;
        let busy_s = delta.cpu.here().busy_ns() as f64 / 1e9;
        (
            processors,
            delta.cpu.idle_share().expect("ticks have passed"),
            busy_s,
            stolen_s,
        )
    };
    assert_eq!(
        found("1"),
        (Some(1), 0.0, 9.0, 1.0),
        "on the processor that somebody else fills"
    );
    assert_eq!(found("2"), (Some(1), 1.0, 0.0, 0.0));
    assert_eq!(found("1,3"), (Some(2), 0.5, 9.0, 1.0));
    assert_eq!(found("0-3"), (None, 0.75, 9.0, 1.0), "all of them");
    // A kernel built for more processors than the host has says so.
    assert_eq!(found("0-63"), (None, 0.75, 9.0, 1.0));
    // A container with numbers of its own is not told which of the host's it has.
    assert_eq!(found("8"), (None, 0.75, 9.0, 1.0));
}

#[test]
fn what_may_have_been_used_at_either_end_counts_and_what_is_not_told_is_all() {
    let processors = |before, after| ten_seconds(before, after).cpu.allowed.map(|allowed| allowed.processors);
    assert_eq!(processors(Some("1"), Some("2")), Some(2));
    assert_eq!(processors(Some("1"), Some("0-3")), None);
    assert_eq!(processors(None, Some("1")), None);
    assert_eq!(processors(None, None), None);
}

#[test]
fn a_part_of_the_processors_is_a_fact_of_the_host() {
    let dir = tempfile::tempdir().expect("a directory");
    let allowed = |list: Option<&str>| {
        let facts = host_facts_in(&root(dir.path(), 1, list));
        let fact = facts.into_iter().find(|(name, _)| name == "cpus allowed");
        fact.map(|(_, value)| value)
    };
    assert_eq!(allowed(Some("1,3")).as_deref(), Some("1,3"));
    assert_eq!((allowed(Some("0-3")), allowed(None)), (None, None));
}
