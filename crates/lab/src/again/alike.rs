//! What all blocks of one file have in common beside their study: the version of the tool, the host or hosts, the user.
//!
//! Takes a result file and what this process runs on. Prevents: blocks of two machines, two kernels, two programs or
//! two ways to build a stack, judged as one study.

use crate::instances::ranks::Ranks;
use crate::result_file;
use anyhow::{bail, ensure};
use ledger::{FactName, FactValue, HostRow, Ledger, Scope};
use std::path::Display;

/// Facts of the host that stay the same through a file, and what to do where one is another.
const OF_ALL_BLOCKS: [(FactName, &str); 6] = [
    (FactName::Host, THERE),
    (FactName::Cpu, THERE),
    (FactName::Cpus, THERE),
    (FactName::Machine, THERE),
    (FactName::Kernel, "boot that kernel to go on with it"),
    (FactName::User, "go on with it as that user"),
];
const THERE: &str = "go on with it there";
const ANEW: &str = "start anew with another --output";

/// # Errors
/// Another version of the tool began the file. The last line is the cure.
pub(super) fn must_be_of_this_version(ledger: &Ledger, file: &Display<'_>) -> anyhow::Result<()> {
    let (its, ours) = (ledger.study()?.tool_version, env!("CARGO_PKG_VERSION"));
    ensure!(
        its == ours,
        "{file}: assay {its} ran it, and this is assay {ours}\n  go on with it by assay {its}, or {ANEW}"
    );
    Ok(())
}

/// # Errors
/// Its blocks ran elsewhere, or otherwise. The last line is the cure.
pub(super) fn must_be_of_this_place(ledger: &Ledger, file: &Display<'_>, ranks: Option<&Ranks>) -> anyhow::Result<()> {
    let here = result_file::of_host()?;
    for (name, cure) in OF_ALL_BLOCKS {
        let known = here.iter().find(|(key, _)| key.name == name);
        let now = known.map(|(_, value)| value.to_string());
        let then = result_file::of_scope(ledger, &Scope::Host, name)?;
        let then = then.as_ref().map(FactValue::to_string);
        ensure!(
            now == then,
            "{file}: its blocks have another {} ({}, here {})\n  {cure}, or {ANEW}",
            name.as_str(),
            then.unwrap_or_else(|| "not known".into()),
            now.unwrap_or_else(|| "not known".into())
        );
    }
    // A run that was killed before its first block has not told its hosts.
    let told = ledger.hosts()?;
    if told.is_empty() && ledger.trials()?.is_empty() {
        return Ok(());
    }
    must_be_of_these_hosts(&told, &ranks.map(Ranks::rows).unwrap_or_default(), file)
}

fn must_be_of_these_hosts(then: &[HostRow], now: &[HostRow], file: &Display<'_>) -> anyhow::Result<()> {
    if then == now {
        return Ok(());
    }
    let (before, here) = (then.len().max(1), now.len().max(1));
    ensure!(
        before == here,
        "{file}: its blocks ran on {before} hosts, and these are {here}\n  start as many ranks, or {ANEW}"
    );
    let differ = then.iter().zip(now).find(|(then, now)| then != now);
    let Some((then, now)) = differ else { return Ok(()) };
    bail!(
        "{file}: rank {} was another host: {}; here {}\n  start the ranks on the hosts of the first run, each with the \
         same kernel, processors and program, or {ANEW}",
        then.rank,
        words(then),
        words(now)
    )
}

fn words(row: &HostRow) -> String {
    let program: String = row.binary.chars().take(8).collect();
    format!(
        "{}, kernel {}, {} of {} processors, program {program}",
        row.host, row.kernel, row.usable, row.cores
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn rows(hosts: &[&str]) -> Vec<HostRow> {
        let row = |(rank, host): (u32, &&str)| HostRow {
            rank,
            host: host.to_string(),
            kernel: "6.1".into(),
            cores: 8,
            usable: 8,
            binary: "0123456789".into(),
        };
        (0..).zip(hosts).map(row).collect()
    }

    fn refused(then: &[HostRow], now: &[HostRow]) -> String {
        let file = Path::new("f.assay");
        let refused = must_be_of_these_hosts(then, now, &file.display());
        refused.map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn other_hosts_are_refused_with_the_cure() {
        let before = rows(&["a", "b"]);
        assert_eq!(refused(&before, &before), "");
        let other = refused(&before, &rows(&["a", "c"]));
        assert!(
            other.contains("rank 1 was another host: b") && other.contains("here c"),
            "{other}"
        );
        assert!(refused(&before, &[]).contains("ran on 2 hosts, and these are 1"));
        assert!(refused(&[], &before).contains("ran on 1 hosts, and these are 2"));
        let mut newer = before.clone();
        newer[1].kernel = "6.2".into();
        assert!(refused(&before, &newer).contains("kernel 6.1"));
    }
}
