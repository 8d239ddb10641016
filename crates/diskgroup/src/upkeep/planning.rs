//! How a plan is made: which copies to make anew, which to move and where to.
//!
//! A plan moves what must move (a disk is being emptied, two copies must not lie together) and then only as long as the
//! fullest and the emptiest disk of a file are more than two extents apart from their shares. Prevents: a rebalance
//! that moves what lay well.

use crate::layout::disk::Disk;
use crate::layout::file::{File, Pointer};
use crate::layout::geometry::Geometry;
use crate::metadata::core::Core;
use crate::upkeep::plan::{Plan, Planned};
use std::collections::{BTreeMap, BTreeSet};
use targets::Port;

/// How a file lies, while moves are planned.
pub(super) struct Lay<'a> {
    pub(super) file: &'a File,
    pub(super) have: Vec<f64>,
    pub(super) share: Vec<f64>,
    pub(super) planned: BTreeSet<u32>,
}

impl Lay<'_> {
    pub(super) fn surplus(&self, disk: u16) -> f64 {
        self.have[usize::from(disk)] - self.share[usize::from(disk)]
    }

    /// Whether a move of so many units brings two disks nearer to their shares.
    pub(super) fn is_worth(&self, from: u16, to: u16, units: f64) -> bool {
        self.surplus(from) - self.surplus(to) >= 2.0 * units
    }

    pub(super) fn shift(&mut self, from: u16, to: u16, units: f64) {
        self.have[usize::from(from)] -= units;
        self.have[usize::from(to)] += units;
    }
}

/// What a plan is made from.
#[derive(Clone, Copy)]
pub(super) struct Layout<'a> {
    pub(super) disks: &'a BTreeMap<u16, Disk>,
    pub(super) files: &'a BTreeMap<u32, File>,
    pub(super) geometry: Geometry,
}

impl<P: Port> Core<P> {
    /// Everything that is to be done now, most urgent first. `cramped`: something that must move found no room; then
    /// nothing is moved for evenness alone, which could go to and fro for ever.
    pub(crate) fn plan(&self, cramped: bool) -> Plan {
        let (layout, mut plan) = (self.layout(), Plan::new(self.geometry));
        layout.plan_anew(&mut plan);
        if self.root.rebalance {
            layout.plan_moves(cramped, &mut plan);
        }
        plan
    }

    fn layout(&self) -> Layout<'_> {
        Layout {
            disks: &self.disks,
            files: &self.files,
            geometry: self.geometry,
        }
    }

    /// Whether a copy of an extent may lie on a disk, given where the others are.
    pub(crate) fn may_lie(&self, pointers: &[Pointer], copy: usize, to: u16) -> bool {
        self.layout().may_lie(pointers, copy, to)
    }
}

impl<'a> Layout<'a> {
    /// Stale copies, where their disks can be written.
    pub(super) fn plan_anew(&self, plan: &mut Plan) {
        for file in self.files.values() {
            for extent in 0..file.extents() {
                let pointers = file.pointers_of(extent);
                let live = |p: &Pointer| self.disks.get(&p.disk).and_then(Disk::live).is_some();
                for (copy, _) in pointers.iter().enumerate().filter(|(_, p)| p.stale && live(p)) {
                    let file = file.number;
                    plan.push(Planned {
                        file,
                        extent,
                        copy,
                        to: None,
                    });
                }
            }
        }
    }

    pub(super) fn plan_moves(&self, cramped: bool, plan: &mut Plan) {
        let (mut totals, mut shares) = (vec![0.0; 64], vec![0.0; 64]);
        for file in self.files.values() {
            let mut lay = self.lay(file);
            self.plan_needed(&mut lay, plan);
            if !cramped {
                self.plan_even(&mut lay, plan);
            }
            (0..64).for_each(|d| totals[d] += lay.have[d]);
            (0..64).for_each(|d| shares[d] += lay.share[d]);
        }
        if !cramped {
            self.plan_together(&totals, &shares, plan);
        }
    }

    pub(super) fn lay(&self, file: &'a File) -> Lay<'a> {
        let have: Vec<f64> = file.load.iter().map(|l| l[0] as f64).collect();
        let open: BTreeMap<u16, f64> = self.open().map(|d| (d.number, f64::from(d.space.total()))).collect();
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

    /// Disks that extents may go to, by number.
    pub(super) fn open(&self) -> impl Iterator<Item = &'a Disk> {
        self.disks.values().filter(|d| d.takes_new())
    }

    /// Whether a copy of an extent may lie on a disk, given where the others are. It does not ask more of the others
    /// than which disks they are on.
    pub(super) fn may_lie(&self, pointers: &[Pointer], copy: usize, to: u16) -> bool {
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
    pub(super) fn plan_needed(&self, lay: &mut Lay<'_>, plan: &mut Plan) {
        for extent in 0..lay.file.extents() {
            let mut pointers = lay.file.pointers_of(extent).to_vec();
            let units = f64::from(self.geometry.extent_units(extent));
            for copy in 0..pointers.len() {
                let here = pointers[copy].disk;
                let leaving = self.disks.get(&here).is_none_or(|d| d.dropping);
                if !leaving && (copy == 0 || self.may_lie(&pointers, copy, here)) {
                    continue;
                }
                let open = self.open().filter(|d| d.number != here);
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
                    plan.push(Planned {
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
