//! Comparing everything a group says of itself with everything else it says.
//!
//! Prevents: damage that is found on the day the last good copy goes.

use crate::error::GroupError;
use crate::layout::block::{self, Address, BLOCK};
use crate::layout::header::Found;
use crate::metadata::core::{Core, Homes, bits};
use crate::metadata::create::look;
use crate::metadata::finding::{Contradiction, Finding, FindingKind};
use crate::metadata::meta_uses::MetaUse;
use crate::planted::Planted;
use crate::upkeep::repair::{Reach, Repair};
use std::collections::BTreeSet;
use targets::Port;

/// Repairs of a check, before it is known whether they are durable: disks are bits.
#[derive(Default)]
struct Repairs {
    /// Findings by number, with the disks that must have taken what was written for them.
    findings: Vec<(usize, u64)>,
    /// Disks that refused a write.
    refused: u64,
    extents: Vec<Repair>,
}

/// What a check found.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CheckReport {
    /// Contradictions. None: the group is sound.
    pub findings: Vec<Finding>,
    /// Disks that are offline: nothing on them was looked at.
    pub offline: Vec<String>,
    /// Copies of extents that are known to be stale and wait for the upkeep.
    pub stale_copies: u64,
    /// Disks, metadata blocks, table blocks and extents looked at.
    pub disks: u64,
    /// See `disks`.
    pub metadata_blocks: u64,
    /// See `disks`.
    pub table_blocks: u64,
    /// See `disks`.
    pub extents: u64,
    /// Bytes of copies compared with each other or with the judge of pages.
    pub compared_bytes: u64,
}

impl CheckReport {
    /// Nothing was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    fn add(&mut self, what: Contradiction, repaired: bool) {
        self.findings.push(Finding { what, repaired });
    }
}

impl Repairs {
    /// Takes note of whether a disk took what was written.
    fn took(&mut self, disk: u16, well: bool) -> bool {
        self.refused |= u64::from(!well) << disk;
        well
    }
}

/// What a check writes to: its report and, if it repairs, its repairs.
type Own<'a> = (&'a mut CheckReport, Option<&'a mut Repairs>);

/// Adds a finding; `repaired` if the disks `on` (bits) make durable what they took.
fn note(report: &mut CheckReport, repairs: &mut Option<&mut Repairs>, what: Contradiction, repaired: bool, on: u64) {
    let repaired = repaired || (repairs.is_some() && Planted::CheckSaysRepaired.on());
    if let Some(repairs) = repairs {
        repairs.findings.push((report.findings.len(), on));
    }
    report.add(what, repaired);
}

impl<P: Port> Core<P> {
    pub(crate) fn check(&mut self, repair: bool, tell: &mut dyn FnMut(u64, u64)) -> Result<CheckReport, GroupError> {
        self.alive()?;
        self.checkpoint()?;
        let (mut report, mut repairs, faults) = (CheckReport::default(), Repairs::default(), self.board.faults());
        let numbers: Vec<u16> = self.disks.keys().copied().collect();
        for number in numbers {
            if self.disks[&number].live().is_none() {
                report.offline.push(self.disk_name(number));
                continue;
            }
            let mut own = (&mut report, repair.then_some(&mut repairs));
            self.check_header(number, &mut own)?;
            self.check_table(number, &mut own)?;
        }
        let mut own = (&mut report, repair.then_some(&mut repairs));
        self.check_metadata(&mut own)?;
        self.check_maps(own.0);
        self.check_copies(&mut own, tell)?;
        if repair {
            self.conclude_check(repairs, faults, &mut report)?;
        }
        self.settle_trouble()?;
        Ok(report)
    }

    /// Makes repairs durable and records what was refused; only then it is known which findings are repaired.
    fn conclude_check(&mut self, repairs: Repairs, faults: u64, report: &mut CheckReport) -> Result<(), GroupError> {
        let all = self.disks.keys().fold(0, |bits, d| bits | 1u64 << d);
        let failed = self.conclude_repairs(&repairs.extents, Reach::Written, all, faults)?;
        if !Planted::CheckSaysRepaired.on() {
            for (nth, on) in repairs.findings {
                report.findings[nth].repaired &= on & failed == 0;
            }
            for disk in bits(failed | repairs.refused) {
                let name = self.disk_name(disk);
                report.add(Contradiction::of_disk(&name, FindingKind::RepairsRefused), false);
            }
        }
        Ok(())
    }

    fn check_header(&mut self, number: u16, (report, repairs): &mut Own<'_>) -> Result<(), GroupError> {
        report.disks += 1;
        let disk = &self.disks[&number];
        let (expected, name) = (self.header(disk, true), disk.name.clone());
        let slot = disk.live().expect("only live disks are checked");
        let wrong = match look(&mut self.store, slot)?.0 {
            Found::Header { header, whole: true } if *header == expected => return Ok(()),
            Found::Header { header, whole: false } if *header == expected => FindingKind::HeaderDamaged,
            Found::Header { .. } => FindingKind::HeaderDiffers,
            Found::Foreign | Found::Damaged | Found::Newer(_) => FindingKind::HeadersLost,
        };
        let repaired = match repairs {
            Some(repairs) => repairs.took(number, self.rewrite_headers(number)?),
            None => false,
        };
        let what = Contradiction::of_disk(&name, wrong);
        note(report, repairs, what, repaired, 1 << number);
        Ok(())
    }

    /// What is wrong with the allocation table of a disk.
    pub(crate) fn table_findings(&mut self, number: u16) -> Result<Vec<Contradiction>, GroupError> {
        let disk = &self.disks[&number];
        let Some(slot) = disk.live() else {
            return Ok(Vec::new());
        };
        let (blocks, at, name) = (disk.place.table_blocks, disk.place.table_at, disk.name.clone());
        let mut findings = Vec::new();
        let mut add = |kind| findings.push(Contradiction::of_disk(&name, kind));
        for index in 0..blocks {
            let offset = u64::from(at + index) * BLOCK as u64;
            let read = self.store.read(&[(slot, offset, BLOCK as u64)])?;
            let Ok(bytes) = &read[0] else {
                add(FindingKind::TableUnreadable { block: index });
                continue;
            };
            if let Err(flaw) = block::open(bytes, self.group, Address::Table { disk: number, index }) {
                add(FindingKind::TableDamaged { block: index, flaw });
                continue;
            }
            for (unit, owner) in self.disks[&number].space.differing(index, bytes) {
                let known = self.disks[&number].space.owner(unit);
                add(FindingKind::TableDiffers {
                    unit,
                    table: owner.0,
                    maps: known.map(|owner| owner.0),
                });
            }
        }
        Ok(findings)
    }

    fn check_table(&mut self, number: u16, (report, repairs): &mut Own<'_>) -> Result<(), GroupError> {
        report.table_blocks += u64::from(self.disks[&number].place.table_blocks);
        let findings = self.table_findings(number)?;
        let repaired = match repairs.as_mut().filter(|_| !findings.is_empty()) {
            Some(repairs) => repairs.took(number, self.write_table(number)?),
            None => false,
        };
        for what in findings {
            note(report, repairs, what, repaired, 1 << number);
        }
        Ok(())
    }

    /// Every copy of root and metadata blocks against memory.
    fn check_metadata(&mut self, (report, repairs): &mut Own<'_>) -> Result<(), GroupError> {
        let all = (0..self.meta_uses.blocks()).map(Address::Meta).chain([Address::Root]);
        for address in all.collect::<Vec<_>>() {
            report.metadata_blocks += 1;
            let mut bad = Vec::new();
            for (number, slot, offset) in self.homes(address) {
                let read = self.store.read(&[(slot, offset, BLOCK as u64)])?;
                let free = matches!(address, Address::Meta(i) if self.meta_uses[i] == MetaUse::Free);
                let same = read[0].as_ref().is_ok_and(|bytes| {
                    let sequence = block::open(bytes, self.group, address);
                    let unused = free && (bytes.iter().all(|&b| b == 0) || sequence.is_ok());
                    unused || sequence.is_ok_and(|s| *bytes == *self.image(address, s))
                });
                if !same {
                    bad.push(number);
                }
            }
            let mut homes = Homes::default();
            if let Some(repairs) = repairs.as_mut().filter(|_| !bad.is_empty()) {
                self.write_homes(&[address], &mut homes)?;
                repairs.refused |= homes.refused;
            }
            let kind = match address {
                Address::Meta(block) => FindingKind::MetadataOld { block },
                _ => FindingKind::RootOld,
            };
            for number in bad {
                let what = Contradiction::of_disk(&self.disk_name(number), kind);
                note(report, repairs, what, homes.disks >> number & 1 == 1, 1 << number);
            }
        }
        Ok(())
    }

    /// The maps against the rules of placement. Owners were compared when the maps were read.
    fn check_maps(&mut self, report: &mut CheckReport) {
        let mut wrong = Vec::new();
        for file in self.files.values() {
            let needed = self.geometry.extents_for(file.size, file.fine);
            if needed.is_none_or(|n| n > file.extents()) {
                let kind = FindingKind::ExtentsTooFew {
                    extents: file.extents(),
                    bytes: file.size,
                };
                wrong.push(Contradiction::of_file(&file.name, kind));
            }
            for extent in 0..file.extents() {
                let mut add = |kind| wrong.push(Contradiction::of_extent(&file.name, extent, kind));
                let pointers = file.pointers_of(extent);
                report.stale_copies += pointers.iter().filter(|p| p.stale).count() as u64;
                let groups: BTreeSet<&str> = pointers
                    .iter()
                    .filter_map(|p| self.disks.get(&p.disk).map(|d| d.failure_group.as_str()))
                    .collect();
                if groups.len() < pointers.len() {
                    add(FindingKind::CopiesTogether);
                }
                let first = self.disks.get(&pointers[0].disk).map_or(0, |d| d.partners);
                let strangers = pointers[1..].iter().any(|p| first >> p.disk & 1 == 0);
                if strangers && !self.root.rebalance {
                    add(FindingKind::CopiesNotPartners);
                }
                if pointers.iter().all(|p| p.stale) {
                    add(FindingKind::CopiesStale);
                }
            }
        }
        let mut known: Vec<u64> = vec![0; usize::from(crate::layout::header::DISKS_MAX)];
        let owned = self.files.values().flat_map(|f| {
            let units = |e: u32| u64::from(self.geometry.extent_units(e));
            (0..f.extents()).flat_map(move |e| f.pointers_of(e).iter().map(move |p| (p.disk, units(e))))
        });
        let metadata = self.root.extents.iter().flatten().map(|p| (p.disk, 1));
        for (disk, units) in owned.chain(metadata) {
            known[usize::from(disk)] += units;
        }
        for disk in self.disks.values() {
            let found = u64::from(disk.space.used() - disk.space.limbo());
            if found != known[usize::from(disk.number)] {
                let kind = FindingKind::UnitsDiffer {
                    taken: found,
                    maps: known[usize::from(disk.number)],
                };
                wrong.push(Contradiction::of_disk(&disk.name, kind));
            }
        }
        for what in wrong {
            report.add(what, false);
        }
    }

    fn check_copies(
        &mut self,
        (report, repairs): &mut Own<'_>,
        tell: &mut dyn FnMut(u64, u64),
    ) -> Result<(), GroupError> {
        // Of a scratch file nobody promised that its copies agree.
        let lasting = || self.files.values().filter(|file| !file.scratch);
        let numbers: Vec<u32> = lasting().map(|file| file.number).collect();
        let bytes_of = |extent: u32| u64::from(self.geometry.extent_units(extent)) * self.au();
        let all = lasting()
            .map(|file| (0..file.extents()).map(bytes_of).sum::<u64>() * file.copies as u64)
            .sum();
        for number in numbers {
            for extent in 0..self.files[&number].extents() {
                let (found, repair) = self.compare(number, extent, repairs.is_some())?;
                if let Some(repairs) = repairs.as_mut().filter(|_| repair.written != 0) {
                    repairs.refused |= repair.refused;
                    repairs.extents.push(repair);
                }
                let repaired = repair.written != 0 && repair.refused == 0 && found.hopeless == 0;
                report.extents += 1;
                let file = &self.files[&number];
                let bytes = u64::from(self.geometry.extent_units(extent)) * self.au();
                report.compared_bytes += bytes * file.copies as u64;
                tell(report.compared_bytes, all);
                let what = |kind| Contradiction::of_extent(&file.name, extent, kind);
                if found.differing > 0 {
                    let what = what(FindingKind::CopiesDiffer);
                    note(report, repairs, what, repaired, repair.written);
                }
                if found.unreadable > 0 {
                    let what = what(FindingKind::CopyUnreadable);
                    note(report, repairs, what, repaired, repair.written);
                }
                if found.lost > 0 {
                    report.add(what(FindingKind::PartsUnreadable { parts: found.lost }), false);
                }
                if found.hopeless > 0 {
                    let parts = found.hopeless;
                    report.add(what(FindingKind::PartsBad { parts }), false);
                }
            }
        }
        Ok(())
    }
}
