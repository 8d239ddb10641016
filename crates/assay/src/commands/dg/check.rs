//! `assay dg check`: is the group what it says it is, and what can be set right.
//!
//! Two copies that differ do not say which is right. The one on a disk with other damage is taken for the bad one;
//! where that does not decide, nothing is overwritten until somebody says which disk not to believe. Prevents: a repair
//! that spreads the damage.

use super::admit::{self, Asked};
use super::meter::Meter;
use super::opened::{Found, Opened, run_error};
use super::rebalance::{bring_back, work};
use super::verdict::{Fate, Said, Verdict, findings};
use super::{disks, members};
use crate::cli::dg::{self, Pace};
use crate::commands::answer::answer;
use crate::exit::Failure;
use crate::printed::say;
use anyhow::anyhow;
use diskgroup::{CheckReport, Contradiction, FindingKind, GroupError, Inspected};
use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

/// I/Os in flight while copies are made anew.
const POWER: u32 = 32;

pub(super) fn check(flags: &dg::CheckGroup) -> Result<(), Failure> {
    if !flags.consent.overwrite.is_empty() && !flags.repair {
        return Err(Failure::Usage(anyhow!(
            "--overwrite without --repair\n  use both, or neither"
        )));
    }
    let verdict = examine(flags)?;
    answer(flags.place.json, || verdict.json(), || verdict.words())?;
    if verdict.remaining() == 0 {
        return Ok(());
    }
    let cure = verdict
        .cure
        .as_deref()
        .unwrap_or("use --repair to repair what can be repaired");
    Err(Failure::Verdict(format!(
        "assay: disk group {}: {} left\n  {cure}",
        verdict.group,
        findings(verdict.remaining())
    )))
}

fn examine(flags: &dg::CheckGroup) -> Result<Verdict, Failure> {
    let mut paths = disks::named(&flags.place, &flags.disks)?;
    for path in &flags.consent.overwrite {
        if !disks::is_among(path, &paths) {
            paths.push(path.clone());
        }
    }
    let survey = disks::survey(&paths)?;
    let (name, mut members) = disks::members(&paths, &survey, flags.place.group.as_deref())?;
    members.retain(|m| !disks::is_among(m, &flags.consent.overwrite));
    let new = replacements(flags, &name)?;
    let found = Found {
        name: name.clone(),
        members,
        new: new.iter().map(|n| n.path.clone()).collect(),
    };
    let force = flags.place.force || !new.is_empty();
    let opened = match Opened::mount(found, force) {
        Ok(opened) => opened,
        Err(failure) => return absent(failure, &name, &paths, &survey),
    };
    let verdict = look(&opened, flags, &new);
    opened.close(verdict)
}

/// Disks that shall take the place of missing ones.
fn replacements(flags: &dg::CheckGroup, group: &str) -> Result<Vec<Asked>, Failure> {
    let consent = &flags.consent;
    if consent.overwrite.is_empty() {
        return Ok(Vec::new());
    }
    let mut asked = admit::asked(&consent.overwrite, &[], consent)?;
    admit::inspect(&mut asked, Some(group), consent)?;
    Ok(asked)
}

/// A group that is not whole is a finding, not a failure of the check. Nothing was written.
fn absent(failure: Failure, name: &str, paths: &[PathBuf], survey: &[Inspected]) -> Result<Verdict, Failure> {
    let Failure::Run(error) = &failure else {
        return Err(failure);
    };
    let mut verdict = Verdict::of(name);
    match error.downcast_ref::<GroupError>() {
        Some(GroupError::Missing { disks }) => {
            for disk in disks {
                verdict.disk(disk, Fate::MissingOrDestroyed, false);
            }
        }
        _ => return Err(failure),
    }
    let pairs = paths.iter().zip(survey);
    let strange = pairs.filter(|(_, s)| matches!(s, Inspected::Foreign | Inspected::Damaged));
    let strange: Vec<PathBuf> = strange.map(|(p, _)| p.clone()).collect();
    verdict.cure = Some(if strange.is_empty() {
        "name all disks of the group; for one that is lost: `assay dg drop NAME --force`, then `assay dg add`"
            .to_string()
    } else {
        let first = strange[0].display();
        format!(
            "no header on {}: if such a disk was the missing one, `assay dg check --repair --overwrite {first} --yes` \
             takes it anew in its place; the other disks hold the copies",
            disks::shown(&strange)
        )
    });
    Ok(verdict)
}

fn look(opened: &Opened, flags: &dg::CheckGroup, new: &[Asked]) -> Result<Verdict, Failure> {
    let mut verdict = Verdict::of(&opened.name);
    for note in opened.notes() {
        // What is missing, or refused, is said at the end, when it is known what has become of it.
        if !note.is_open() {
            verdict.add(Said::Opening(note), true);
        }
    }
    if flags.repair {
        replace(opened, new, &mut verdict)?;
        verdict.returned = bring_back(opened)?;
        verdict.copied_bytes += upkeep(opened)?;
    }
    let first = compared(opened, flags, false)?;
    let doubtful = distrusted(opened, flags, &first)?;
    if !flags.repair {
        // Opening the group has mended what showed which disk is damaged: the next call must be told.
        verdict.cure = match doubtful {
            Ok(disks) if !disks.is_empty() => Some(format!(
                "use --repair --distrust {}: copies differ, and that disk has other damage too",
                disks.join(" --distrust ")
            )),
            Ok(_) => None,
            Err(cure) => Some(cure),
        };
        conclude(opened, first, &mut verdict);
        return Ok(verdict);
    }
    let doubtful = match doubtful {
        Ok(disks) => disks,
        Err(cure) => {
            verdict.cure = Some(cure);
            conclude(opened, first, &mut verdict);
            return Ok(verdict);
        }
    };
    for disk in &doubtful {
        let (copies, alone) = opened.group.distrust_disk(disk).map_err(run_error)?;
        say!("disk {disk} is distrusted: {copies} copies are made anew");
        for file in alone {
            let disk = disk.clone();
            verdict.add(Said::Alone { file, disk }, false);
        }
    }
    if !doubtful.is_empty() {
        verdict.copied_bytes += upkeep(opened)?;
    } else if first.is_clean() {
        conclude(opened, first, &mut verdict);
        return Ok(verdict);
    }
    let repair = compared(opened, flags, true)?;
    let last = compared(opened, flags, false)?;
    set_right(&first, &repair, &last, &mut verdict);
    conclude(opened, last, &mut verdict);
    Ok(verdict)
}

/// Says what has become of what was found: a disk that refused a repair may be offline by now, so that the last look
/// does not see it.
fn set_right(first: &CheckReport, repair: &CheckReport, last: &CheckReport, verdict: &mut Verdict) {
    let remain: HashSet<&Contradiction> = last.findings.iter().map(|f| &f.what).collect();
    let left = repair.findings.iter().filter(|f| !f.repaired);
    let left: HashSet<&Contradiction> = left.map(|f| &f.what).collect();
    let all = first.findings.iter().chain(&repair.findings).map(|f| &f.what);
    let mut said = HashSet::new();
    for what in all.filter(|what| !remain.contains(what)) {
        if said.insert(what) {
            verdict.add(Said::Found(what.clone()), !left.contains(what));
        }
    }
    if !left.is_empty() {
        verdict.cure = Some(
            "look for device errors (dmesg); when the disk is sound again, `assay dg rebalance` copies what it lacks, \
             or take another in its place"
                .to_string(),
        );
    }
}

/// Checks, with progress in bytes of copies compared.
fn compared(opened: &Opened, flags: &dg::CheckGroup, repair: bool) -> Result<CheckReport, Failure> {
    let mut meter = Meter::new(if repair { "repair" } else { "check" }, flags.watch);
    let mut whole = 0;
    let report = opened.group.check_watched(repair, &mut |done, all| {
        whole = all;
        meter.at(done, all, None);
    });
    let report = report.map_err(run_error)?;
    meter.finish(report.compared_bytes, whole);
    Ok(report)
}

/// Takes new disks and lets the missing ones go.
fn replace(opened: &Opened, new: &[Asked], verdict: &mut Verdict) -> Result<(), Failure> {
    if new.is_empty() {
        return Ok(());
    }
    let missing: Vec<_> = opened
        .group
        .disks()
        .into_iter()
        .filter(|d| d.file.is_none() && !d.dropping)
        .collect();
    if missing.len() != new.len() {
        return Err(run_error(anyhow!(
            "{} disks of the group are missing, and --overwrite names {}\n  \
             name as many as are missing, or use `assay dg drop --force` and `assay dg add`",
            missing.len(),
            new.len()
        )));
    }
    let mut taken = new.to_vec();
    for (disk, asked) in missing.iter().zip(&mut taken) {
        // A failure group that is called as its disk was the disk alone.
        asked.failure_group = (disk.failure_group != disk.name).then(|| disk.failure_group.clone());
    }
    members::take(opened, &taken)?;
    for disk in &missing {
        opened.group.drop_disk(&disk.name).map_err(run_error)?;
    }
    for (disk, asked) in missing.iter().zip(new) {
        verdict.disk(&disk.name, Fate::Replaced(asked.path.clone()), true);
    }
    Ok(())
}

/// Makes stale copies anew and finishes a rebalance.
fn upkeep(opened: &Opened) -> Result<u64, Failure> {
    let pace = Pace {
        power: POWER,
        watch: false,
    };
    let progress = work(opened, &pace)?.progress;
    Ok(progress.resynced_bytes + progress.moved_bytes)
}

/// Disks whose copies are taken for bad where copies differ, or (inner error) the cure when that cannot be told.
fn distrusted(
    opened: &Opened,
    flags: &dg::CheckGroup,
    report: &CheckReport,
) -> Result<Result<Vec<String>, String>, Failure> {
    let mut named = Vec::new();
    for given in &flags.distrust {
        named.push(opened.disk_named(given)?);
    }
    let differ = report.findings.iter().any(|f| f.what.kind == FindingKind::CopiesDiffer);
    if !named.is_empty() || !differ {
        return Ok(Ok(named));
    }
    let all = opened.group.disks();
    let damaged = |d: &&diskgroup::DiskInfo| {
        let seen = report
            .findings
            .iter()
            .any(|f| f.what.at.disk() == Some(d.name.as_str()));
        let m = &opened.mounted;
        seen || m.headers_repaired.contains(&d.name) || m.tables_repaired.contains(&d.name)
    };
    let suspects: Vec<&diskgroup::DiskInfo> = all.iter().filter(damaged).collect();
    let groups: BTreeSet<&str> = suspects.iter().map(|d| d.failure_group.as_str()).collect();
    let names: Vec<String> = suspects.iter().map(|d| d.name.clone()).collect();
    Ok(match groups.len() {
        1 => Ok(names),
        0 => Err(
            "copies differ, and no disk shows other damage: nothing was overwritten; say which disk not to \
                  believe: --repair --distrust NAME"
                .to_string(),
        ),
        _ => Err(format!(
            "copies differ, and several disks are damaged ({}): nothing was overwritten; say which not to believe: \
             --repair --distrust NAME",
            names.join(", ")
        )),
    })
}

/// Adds what a last look found.
fn conclude(opened: &Opened, report: CheckReport, verdict: &mut Verdict) {
    for finding in &report.findings {
        verdict.add(Said::Found(finding.what.clone()), finding.repaired);
    }
    for disk in opened.group.disks() {
        let sound = disk.online && disk.stale_bytes == 0;
        if opened.mounted.repairs_refused.contains(&disk.name) {
            verdict.disk(&disk.name, Fate::RefusedAtOpening, sound);
        } else if verdict.returned.contains(&disk.name) {
            verdict.disk(&disk.name, Fate::WasOffline, sound);
        }
        if disk.file.is_none() {
            verdict.disk(&disk.name, Fate::Missing, false);
            verdict.cure.get_or_insert_with(|| {
                "attach the disk, or take another in its place: --repair --overwrite DISK --yes".to_string()
            });
        } else if !disk.online {
            verdict.disk(&disk.name, Fate::Offline, false);
        }
    }
    if report.stale_copies > 0 {
        let copies = report.stale_copies;
        verdict.add(Said::Stale { copies }, false);
    }
    verdict.looked = Some(report);
}

#[cfg(test)]
mod tests {
    use super::*;
    use diskgroup::{Finding, FoundAt};

    #[test]
    fn what_a_disk_refused_is_not_said_to_be_repaired() {
        let report = |findings: &[(Contradiction, bool)]| CheckReport {
            findings: findings
                .iter()
                .map(|(what, repaired)| Finding {
                    what: what.clone(),
                    repaired: *repaired,
                })
                .collect(),
            ..CheckReport::default()
        };
        let differ = |file: &str| Contradiction {
            at: FoundAt::Extent {
                file: file.to_string(),
                extent: 0,
            },
            kind: FindingKind::CopiesDiffer,
        };
        let refused = Contradiction {
            at: FoundAt::Disk { disk: "d1".to_string() },
            kind: FindingKind::RepairsRefused,
        };
        let first = report(&[(differ("a"), false), (differ("b"), false)]);
        let repair = report(&[(differ("a"), true), (differ("b"), false), (refused, false)]);
        let mut verdict = Verdict::of("data");
        set_right(&first, &repair, &report(&[]), &mut verdict);
        let said: Vec<(String, bool)> = verdict.lines.iter().map(|l| (l.what.to_string(), l.repaired)).collect();
        let said: Vec<(&str, bool)> = said.iter().map(|(what, repaired)| (what.as_str(), *repaired)).collect();
        assert_eq!(
            said,
            [
                ("file a extent 0: copies differ", true),
                ("file b extent 0: copies differ", false),
                (
                    "disk d1: it refused repairs; copies that lack them are recorded as stale",
                    false
                ),
            ]
        );
        assert!(verdict.remaining() == 2 && verdict.cure.is_some());
    }
}
