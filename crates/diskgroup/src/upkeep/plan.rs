//! What the upkeep has to do: which copies to make anew, which to move and where to.
//!
//! A plan moves what must move (a disk is being emptied, two copies must not lie together) and then only as long as the
//! fullest and the emptiest disk of a file are more than two extents apart from their shares. Prevents: a rebalance
//! that moves what lay well.

use crate::layout::disk::Disk;
use crate::layout::file::{File, Pointer};
use crate::metadata::core::Core;
use crate::upkeep::jobs::Planned;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use targets::Port;

/// How a file lies, while moves are planned.
struct Lay<'a> {
    file: &'a File,
    have: Vec<f64>,
    share: Vec<f64>,
    planned: BTreeSet<u32>,
}

impl Lay<'_> {
    fn surplus(&self, disk: u16) -> f64 {
        self.have[usize::from(disk)] - self.share[usize::from(disk)]
    }
    fn shift(&mut self, from: u16, to: u16, units: f64) {
        self.have[usize::from(from)] -= units;
        self.have[usize::from(to)] += units;
    }
}

impl<P: Port> Core<P> {
    /// Everything that is to be done now, most urgent first. `cramped`: something that must move found no room; then
    /// nothing is moved for evenness alone, which could go to and fro for ever.
    pub(crate) fn plan(&self, cramped: bool) -> VecDeque<Planned> {
        let mut plan = VecDeque::new();
        for file in self.files.values() {
            for extent in 0..file.extents() {
                let pointers = file.pointers_of(extent);
                let live = |p: &Pointer| self.disks.get(&p.disk).and_then(Disk::live).is_some();
                for (copy, _) in pointers.iter().enumerate().filter(|(_, p)| p.stale && live(p)) {
                    let file = file.number;
                    plan.push_back(Planned {
                        file,
                        extent,
                        copy,
                        to: None,
                    });
                }
            }
        }
        if self.root.rebalance {
            let (mut totals, mut shares) = (vec![0.0; 64], vec![0.0; 64]);
            for file in self.files.values() {
                let mut lay = self.lay(file);
                self.plan_needed(&mut lay, &mut plan);
                if !cramped {
                    self.plan_even(&mut lay, &mut plan);
                }
                (0..64).for_each(|d| totals[d] += lay.have[d]);
                (0..64).for_each(|d| shares[d] += lay.share[d]);
            }
            if !cramped {
                self.plan_together(&totals, &shares, &mut plan);
            }
        }
        plan
    }

    fn lay<'a>(&self, file: &'a File) -> Lay<'a> {
        let have: Vec<f64> = file.load.iter().map(|l| l[0] as f64).collect();
        let open: BTreeMap<u16, f64> = self
            .disks
            .values()
            .filter(|d| d.takes_new())
            .map(|d| (d.number, f64::from(d.space.total())))
            .collect();
        let (all, room): (f64, f64) = (have.iter().sum(), open.values().sum());
        let share = (0..64)
            .map(|d| open.get(&d).map_or(0.0, |size| all * size / room))
            .collect();
        Lay {
            file,
            have,
            share,
            planned: BTreeSet::new(),
        }
    }

    /// Whether a copy of an extent may lie on a disk, given where the others are.
    pub(crate) fn may_lie(&self, pointers: &[Pointer], copy: usize, to: u16) -> bool {
        let Some(disk) = self.disks.get(&to) else {
            return false;
        };
        pointers.iter().enumerate().all(|(nth, other)| {
            let Some(there) = self.disks.get(&other.disk) else {
                return true;
            };
            let apart = there.number != to && there.failure_group != disk.failure_group;
            let partners = nth.min(copy) > 0 || there.partners & disk.bit() != 0 || there.dropping;
            nth == copy || (apart && partners)
        })
    }

    /// Copies that cannot stay where they are.
    fn plan_needed(&self, lay: &mut Lay<'_>, plan: &mut VecDeque<Planned>) {
        for extent in 0..lay.file.extents() {
            let mut pointers = lay.file.pointers_of(extent).to_vec();
            let units = f64::from(self.geometry.extent_units(extent));
            for copy in 0..pointers.len() {
                let here = pointers[copy].disk;
                let leaving = self.disks.get(&here).is_none_or(|d| d.dropping);
                if !leaving && (copy == 0 || self.may_lie(&pointers, copy, here)) {
                    continue;
                }
                let open = self.disks.values().filter(|d| d.takes_new() && d.number != here);
                let fit = open.filter(|d| self.may_lie(&pointers, copy, d.number));
                let best = fit.min_by(|a, b| {
                    let key = |d: &Disk| lay.surplus(d.number) / f64::from(d.space.total());
                    key(a).total_cmp(&key(b))
                });
                if let Some(to) = best.map(|d| d.number) {
                    lay.shift(here, to, units);
                    lay.planned.insert(extent);
                    pointers[copy].disk = to;
                    let file = lay.file.number;
                    plan.push_back(Planned {
                        file,
                        extent,
                        copy,
                        to: Some(to),
                    });
                }
            }
        }
    }

    /// Moves that bring the disks of one file nearer to their shares.
    fn plan_even(&self, lay: &mut Lay<'_>, plan: &mut VecDeque<Planned>) {
        let mut lists: Vec<Vec<(u32, usize)>> = vec![Vec::new(); 64];
        for extent in (0..lay.file.extents()).filter(|e| !lay.planned.contains(e)) {
            for (copy, pointer) in lay.file.pointers_of(extent).iter().enumerate() {
                lists[usize::from(pointer.disk)].push((extent, copy));
            }
        }
        // In an order that is spread over the file, so that what moves is not one stretch of it.
        for list in &mut lists {
            list.sort_by_key(|(extent, copy)| (extent.wrapping_mul(0x9E37_79B1), *copy));
        }
        let mut open: Vec<u16> = self
            .disks
            .values()
            .filter(|d| d.takes_new())
            .map(|d| d.number)
            .collect();
        while let Some(&from) = open.iter().max_by(|a, b| lay.surplus(**a).total_cmp(&lay.surplus(**b))) {
            let mut to: Vec<u16> = self
                .disks
                .values()
                .filter(|d| d.takes_new())
                .map(|d| d.number)
                .collect();
            to.sort_by(|a, b| lay.surplus(*a).total_cmp(&lay.surplus(*b)));
            match self.one_move(lay, &mut lists[usize::from(from)], from, &to) {
                Some(planned) => plan.push_back(planned),
                None => open.retain(|d| *d != from),
            }
        }
    }

    fn one_move(&self, lay: &mut Lay<'_>, list: &mut Vec<(u32, usize)>, from: u16, to: &[u16]) -> Option<Planned> {
        for nth in (0..list.len()).rev() {
            let (extent, copy) = list[nth];
            let units = f64::from(self.geometry.extent_units(extent));
            let pointers = lay.file.pointers_of(extent);
            let worth = |t: &&u16| lay.surplus(from) - lay.surplus(**t) >= 2.0 * units;
            if lay.planned.contains(&extent) {
                continue;
            }
            let best = to.iter().take_while(worth).find(|t| self.may_lie(pointers, copy, **t));
            if let Some(&to) = best {
                list.remove(nth);
                lay.planned.insert(extent);
                lay.shift(from, to, units);
                let file = lay.file.number;
                return Some(Planned {
                    file,
                    extent,
                    copy,
                    to: Some(to),
                });
            }
        }
        None
    }

    /// Files of a few extents are each as even as they can be, and all of them together need not be.
    fn plan_together(&self, totals: &[f64], shares: &[f64], plan: &mut VecDeque<Planned>) {
        let mut surplus: Vec<f64> = totals.iter().zip(shares).map(|(t, s)| t - s).collect();
        let planned: BTreeSet<(u32, u32)> = plan.iter().map(|p| (p.file, p.extent)).collect();
        for file in self.files.values() {
            let mut lay = self.lay(file);
            for p in plan.iter().filter(|p| p.file == file.number) {
                if let Some(to) = p.to {
                    let units = f64::from(self.geometry.extent_units(p.extent));
                    lay.shift(file.pointers_of(p.extent)[p.copy].disk, to, units);
                }
            }
            for extent in (0..file.extents()).filter(|&e| !planned.contains(&(file.number, e))) {
                let units = f64::from(self.geometry.extent_units(extent));
                let pointers = file.pointers_of(extent);
                for (copy, pointer) in pointers.iter().enumerate() {
                    let from = pointer.disk;
                    let stays = lay.have[usize::from(from)] - units < lay.share[usize::from(from)].floor();
                    if stays || lay.planned.contains(&extent) {
                        continue;
                    }
                    let fit = self
                        .disks
                        .values()
                        .filter(|d| d.takes_new())
                        .map(|d| d.number)
                        .filter(|&to| {
                            let (more, less) = (surplus[usize::from(from)], surplus[usize::from(to)]);
                            let apart = more > 0.0 && less < 0.0 && more - less >= 4.0 * units;
                            let even = lay.have[usize::from(to)] + units <= lay.share[usize::from(to)].ceil();
                            apart && even && self.may_lie(pointers, copy, to)
                        });
                    let best = fit.min_by(|a, b| surplus[usize::from(*a)].total_cmp(&surplus[usize::from(*b)]));
                    if let Some(to) = best {
                        lay.shift(from, to, units);
                        lay.planned.insert(extent);
                        surplus[usize::from(from)] -= units;
                        surplus[usize::from(to)] += units;
                        let file = file.number;
                        plan.push_back(Planned {
                            file,
                            extent,
                            copy,
                            to: Some(to),
                        });
                    }
                }
            }
        }
    }

    /// Bytes of what is planned.
    pub(crate) fn planned_bytes(&self, plan: &VecDeque<Planned>) -> u64 {
        let units: u64 = plan
            .iter()
            .map(|p| u64::from(self.geometry.extent_units(p.extent)))
            .sum();
        units * self.au()
    }
}
