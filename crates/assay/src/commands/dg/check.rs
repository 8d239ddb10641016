//! `assay dg check`: is the group what it says it is, and what can be set right.
//!
//! Two copies that differ do not say which is right. The one on a disk with other damage is taken for the bad one;
//! where that does not decide, nothing is overwritten until somebody says which disk not to believe. Prevents: a repair
//! that spreads the damage.

use super::admit::{self, Asked};
use super::meter::Meter;
use super::opened::{Found, Opened, REFUSED, run_error};
use super::rebalance::{bring_back, work};
use super::table::size;
use super::{disks, members};
use crate::cli::dg::{self, Pace};
use crate::commands::answer::{answer, folded};
use crate::exit::Failure;
use crate::printed::say;
use anyhow::anyhow;
use diskgroup::{CheckReport, Finding, GroupError, Inspected};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// I/Os in flight while copies are made anew.
const POWER: u32 = 32;

/// What a check says at its end.
struct Verdict {
    group: String,
    findings: Vec<Finding>,
    /// What was looked at, when the group could be opened.
    looked: Option<CheckReport>,
    /// Bytes of copies that were made anew.
    copied_bytes: u64,
    /// Disks that were brought back.
    returned: Vec<String>,
    /// What to do about what remains.
    cure: Option<String>,
}

impl Verdict {
    fn of(group: &str) -> Verdict {
        Verdict {
            group: group.to_string(),
            findings: Vec::new(),
            looked: None,
            copied_bytes: 0,
            returned: Vec::new(),
            cure: None,
        }
    }

    fn add(&mut self, what: String, repaired: bool) {
        self.findings.push(Finding { what, repaired });
    }

    fn remaining(&self) -> usize {
        self.findings.iter().filter(|f| !f.repaired).count()
    }
}

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
                verdict.add(format!("disk {disk}: it is missing, or its header is destroyed"), false);
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
        if !note.starts_with("disks missing") && !note.starts_with(REFUSED) {
            verdict.add(note, true);
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
            verdict.add(format!("file {file}: parts of it are on disk {disk} alone"), false);
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
    let remain: BTreeSet<&str> = last.findings.iter().map(|f| f.what.as_str()).collect();
    let left = repair.findings.iter().filter(|f| !f.repaired);
    let left: BTreeSet<&str> = left.map(|f| f.what.as_str()).collect();
    let all = first.findings.iter().chain(&repair.findings).map(|f| f.what.as_str());
    let mut said = BTreeSet::new();
    for what in all.filter(|what| !remain.contains(what)) {
        if said.insert(what) {
            verdict.add(what.to_string(), !left.contains(what));
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
        verdict.add(
            format!(
                "disk {}: it is missing; {} takes its place",
                disk.name,
                asked.path.display()
            ),
            true,
        );
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
    let differ = report.findings.iter().any(|f| f.what.ends_with("copies differ"));
    if !named.is_empty() || !differ {
        return Ok(Ok(named));
    }
    let all = opened.group.disks();
    let damaged = |d: &&diskgroup::DiskInfo| {
        let said = format!("disk {}: ", d.name);
        let seen = report.findings.iter().any(|f| f.what.starts_with(&said));
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
        verdict.add(finding.what.clone(), finding.repaired);
    }
    for disk in opened.group.disks() {
        let sound = disk.online && disk.stale_bytes == 0;
        if opened.mounted.repairs_refused.contains(&disk.name) {
            verdict.add(
                format!("disk {}: it refused repairs when the group was opened", disk.name),
                sound,
            );
        } else if verdict.returned.contains(&disk.name) {
            verdict.add(format!("disk {}: it was offline", disk.name), sound);
        }
        if disk.file.is_none() {
            verdict.add(format!("disk {}: it is missing", disk.name), false);
            verdict.cure.get_or_insert_with(|| {
                "attach the disk, or take another in its place: --repair --overwrite DISK --yes".to_string()
            });
        } else if !disk.online {
            verdict.add(format!("disk {}: it is offline", disk.name), false);
        }
    }
    if report.stale_copies > 0 {
        verdict.add(
            format!(
                "{} copies of extents missed writes and wait to be made anew",
                report.stale_copies
            ),
            false,
        );
    }
    verdict.looked = Some(report);
}

impl Verdict {
    fn json(&self) -> Value {
        let findings: Vec<Value> = self
            .findings
            .iter()
            .map(|f| json!({ "what": f.what, "repaired": f.repaired }))
            .collect();
        let looked = self.looked.as_ref().map(|r| {
            json!({
                "disks": r.disks, "metadata_blocks": r.metadata_blocks, "table_blocks": r.table_blocks,
                "extents": r.extents, "compared_bytes": r.compared_bytes,
            })
        });
        json!({
            "schema": 1, "group": self.group, "sound": self.remaining() == 0, "remaining": self.remaining(),
            "findings": findings, "looked_at": looked, "copied_bytes": self.copied_bytes,
        })
    }

    fn words(&self) -> String {
        let mut text = findings_words(&self.findings);
        if self.copied_bytes > 0 {
            text.push_str(&format!("copied   {} anew\n", size(self.copied_bytes)));
        }
        match &self.looked {
            Some(r) => text.push_str(&format!(
                "looked   at {} disks, {} metadata blocks, {} table blocks, {} extents;\n         compared {}\n",
                r.disks,
                r.metadata_blocks,
                r.table_blocks,
                r.extents,
                size(r.compared_bytes)
            )),
            None => text.push_str("looked   at the headers only: the group was not opened\n"),
        }
        let sound = match (self.remaining(), self.findings.len()) {
            (0, 0) => "is sound".to_string(),
            (0, _) => "is sound again".to_string(),
            (n, _) => format!(
                "is not sound: {} {}",
                findings(n),
                if n == 1 { "remains" } else { "remain" }
            ),
        };
        text.push_str(&format!("disk group {} {sound}\n", self.group));
        text
    }
}

/// A count with its noun.
fn findings(count: usize) -> String {
    format!("{count} finding{}", if count == 1 { "" } else { "s" })
}

/// Findings of one kind that are written out; JSON has them all.
const OF_A_KIND_MAX: usize = 5;

fn findings_words(all: &[Finding]) -> String {
    let mut text = String::new();
    let mut rest = all;
    while let [first, ..] = rest {
        let same = |f: &&Finding| f.repaired == first.repaired && kind(&f.what) == kind(&first.what);
        let run = rest.iter().take_while(same).count();
        let mark = if first.repaired { "repaired " } else { "FOUND    " };
        for finding in &rest[..run.min(OF_A_KIND_MAX)] {
            text.push_str(mark);
            text.push_str(&folded(&finding.what, mark.len()));
        }
        if run > OF_A_KIND_MAX {
            text.push_str(&format!("{mark}... and {} more of the kind\n", run - OF_A_KIND_MAX));
        }
        rest = &rest[run..];
    }
    text
}

/// What findings have in common that differ in the block or extent alone.
fn kind(what: &str) -> String {
    let (who, said) = what.split_once(": ").unwrap_or(("", what));
    let who = who.split(" extent ").next().unwrap_or(who);
    let said: String = said.chars().filter(|c| !c.is_ascii_digit()).collect();
    format!("{who}: {said}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_disk_refused_is_not_said_to_be_repaired() {
        let report = |findings: &[(&str, bool)]| CheckReport {
            findings: findings
                .iter()
                .map(|(what, repaired)| Finding {
                    what: what.to_string(),
                    repaired: *repaired,
                })
                .collect(),
            ..CheckReport::default()
        };
        let first = report(&[
            ("file a extent 0: copies differ", false),
            ("file b extent 0: copies differ", false),
        ]);
        let repair = report(&[
            ("file a extent 0: copies differ", true),
            ("file b extent 0: copies differ", false),
            ("disk d1: it refused repairs", false),
        ]);
        let mut verdict = Verdict::of("data");
        set_right(&first, &repair, &report(&[]), &mut verdict);
        let said: Vec<(&str, bool)> = verdict.findings.iter().map(|f| (f.what.as_str(), f.repaired)).collect();
        assert_eq!(
            said,
            [
                ("file a extent 0: copies differ", true),
                ("file b extent 0: copies differ", false),
                ("disk d1: it refused repairs", false),
            ]
        );
        assert!(verdict.remaining() == 2 && verdict.cure.is_some());
    }

    #[test]
    fn many_findings_of_a_kind_are_counted() {
        let finding = |what: String| Finding { what, repaired: false };
        let mut all: Vec<Finding> = (0..9)
            .map(|n| finding(format!("disk d_0001: the copy of Meta({n}) is damaged or old")))
            .collect();
        all.push(finding("disk d_0002: the copy of Meta(9) is damaged or old".into()));
        all.extend((0..2).map(|n| finding(format!("file f extent {n}: copies differ"))));
        let text = findings_words(&all);
        assert_eq!(text.lines().count(), 9, "{text}");
        assert!(text.contains("... and 4 more of the kind"), "{text}");
        assert!(text.lines().all(|l| l.len() <= 80));
    }
}
