//! Which copies move for evenness alone: in one file, and in all files together.
//!
//! Of each copy is asked only once which disks it may go to, and those for which the answer is the same are kept
//! together. Prevents: a walk over all copies that cannot move for each one that can.

use crate::layout::file::{File, Pointer};
use crate::layout::geometry::Geometry;
use crate::upkeep::plan::{Plan, Planned};
use crate::upkeep::planning::{Lay, Layout};
use std::collections::BTreeMap;

/// Copies on one disk that have as many units and the other copies on the same disks: each may go where the others may.
struct Alike {
    units: f64,
    copy: usize,
    /// Disks that they may go to, as bits, once that was asked.
    fit: Option<u64>,
    /// Place in the order of the disk, and extent.
    extents: Vec<(u32, u32)>,
}

/// Copies of a file on one disk, in the order in which they are asked to move: from the last place to the first.
struct Movable {
    alike: Vec<Alike>,
    /// The last place of each of them, with its index.
    last: BTreeMap<u32, usize>,
}

impl Movable {
    /// Takes the copies (extent, copy) on a disk.
    fn new(mut copies: Vec<(u32, usize)>, file: &File, geometry: Geometry) -> Movable {
        // In an order that is spread over the file, so that what moves is not one stretch of it.
        copies.sort_by_key(|(extent, copy)| (extent.wrapping_mul(0x9E37_79B1), *copy));
        let (mut alike, mut known) = (Vec::<Alike>::new(), BTreeMap::new());
        for (place, (extent, copy)) in (0..).zip(copies) {
            let units = geometry.extent_units(extent);
            // A file has at most three copies.
            let mut disks = [u16::MAX; 3];
            let pointers = file.pointers_of(extent).iter();
            disks.iter_mut().zip(pointers).for_each(|(disk, p)| *disk = p.disk);
            let index = *known.entry((units, copy, disks)).or_insert(alike.len());
            if index == alike.len() {
                alike.push(Alike {
                    units: f64::from(units),
                    copy,
                    fit: None,
                    extents: Vec::new(),
                });
            }
            alike[index].extents.push((place, extent));
        }
        let last_of = |(index, one): (usize, &Alike)| Some((one.extents.last()?.0, index));
        let last = alike.iter().enumerate().filter_map(last_of).collect();
        Movable { alike, last }
    }

    /// The last place before another: place, index, extent.
    fn before(&self, place: u32) -> Option<(u32, usize, u32)> {
        let (&place, &index) = self.last.range(..place).next_back()?;
        let (_, extent) = self.alike[index].extents.last()?;
        Some((place, index, *extent))
    }

    /// Takes a last place away.
    fn remove(&mut self, place: u32) {
        let Some(index) = self.last.remove(&place) else {
            return;
        };
        let extents = &mut self.alike[index].extents;
        extents.pop();
        if let Some((place, _)) = extents.last() {
            self.last.insert(*place, index);
        }
    }
}

impl Layout<'_> {
    /// Moves that bring the disks of one file nearer to their shares.
    pub(super) fn plan_even(&self, lay: &mut Lay<'_>, plan: &mut Plan) {
        let mut lists: Vec<Vec<(u32, usize)>> = vec![Vec::new(); 64];
        for extent in (0..lay.file.extents()).filter(|e| !lay.planned.contains(e)) {
            for (copy, pointer) in lay.file.pointers_of(extent).iter().enumerate() {
                lists[usize::from(pointer.disk)].push((extent, copy));
            }
        }
        let mut movable: BTreeMap<u16, Movable> = BTreeMap::new();
        let all: Vec<u16> = self.open().map(|d| d.number).collect();
        let mut open = all.clone();
        while let Some(&from) = open.iter().max_by(|a, b| lay.surplus(**a).total_cmp(&lay.surplus(**b))) {
            let mut to = all.clone();
            to.sort_by(|a, b| lay.surplus(*a).total_cmp(&lay.surplus(*b)));
            // Where it is not worth it for one unit, it is for none, and nothing needs to be put in order.
            let planned = if lay.is_worth(from, to[0], 1.0) {
                let list = std::mem::take(&mut lists[usize::from(from)]);
                let (file, geometry) = (lay.file, self.geometry);
                let mine = movable.entry(from);
                let mine = mine.or_insert_with(|| Movable::new(list, file, geometry));
                self.one_move(lay, mine, from, &to)
            } else {
                None
            };
            match planned {
                Some(planned) => plan.push(planned),
                None => open.retain(|d| *d != from),
            }
        }
    }

    fn one_move(&self, lay: &mut Lay<'_>, movable: &mut Movable, from: u16, to: &[u16]) -> Option<Planned> {
        let mut end = u32::MAX;
        while let Some((place, index, extent)) = movable.before(end) {
            if lay.planned.contains(&extent) {
                movable.remove(place);
                continue;
            }
            let alike = &mut movable.alike[index];
            let (copy, units) = (alike.copy, alike.units);
            let worth = |t: &&u16| lay.is_worth(from, **t, units);
            let mut worth = to.iter().take_while(worth).peekable();
            if worth.peek().is_some() {
                let fit = || self.fit(lay.file.pointers_of(extent), copy);
                let fit = *alike.fit.get_or_insert_with(fit);
                if let Some(&to) = worth.find(|t| fit >> **t & 1 == 1) {
                    movable.remove(place);
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
            end = place;
        }
        None
    }

    /// Disks that a copy may go to, as bits.
    fn fit(&self, pointers: &[Pointer], copy: usize) -> u64 {
        let fit = self.open().filter(|d| self.may_lie(pointers, copy, d.number));
        fit.fold(0, |all, d| all | d.bit())
    }

    /// Files of a few extents are each as even as they can be, and all of them together need not be.
    pub(super) fn plan_together(&self, totals: &[f64], shares: &[f64], plan: &mut Plan) {
        let mut surplus: Vec<f64> = totals.iter().zip(shares).map(|(t, s)| t - s).collect();
        let mut before: BTreeMap<u32, Vec<Planned>> = BTreeMap::new();
        for planned in plan.iter() {
            before.entry(planned.file).or_default().push(*planned);
        }
        for file in self.files.values() {
            let mut lay = self.lay(file);
            for p in before.get(&file.number).into_iter().flatten() {
                lay.planned.insert(p.extent);
                if let Some(to) = p.to {
                    let units = f64::from(self.geometry.extent_units(p.extent));
                    lay.shift(file.pointers_of(p.extent)[p.copy].disk, to, units);
                }
            }
            for extent in 0..file.extents() {
                let units = f64::from(self.geometry.extent_units(extent));
                for (copy, pointer) in file.pointers_of(extent).iter().enumerate() {
                    if let Some(to) = self.evener(&lay, &surplus, extent, copy) {
                        lay.shift(pointer.disk, to, units);
                        lay.planned.insert(extent);
                        surplus[usize::from(pointer.disk)] -= units;
                        surplus[usize::from(to)] += units;
                        let file = file.number;
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

    /// The disk that a copy goes to so that all files together lie more evenly, and its own no less.
    fn evener(&self, lay: &Lay<'_>, surplus: &[f64], extent: u32, copy: usize) -> Option<u16> {
        let pointers = lay.file.pointers_of(extent);
        let (from, units) = (pointers[copy].disk, f64::from(self.geometry.extent_units(extent)));
        let stays = lay.have[usize::from(from)] - units < lay.share[usize::from(from)].floor();
        if stays || lay.planned.contains(&extent) {
            return None;
        }
        let fit = self.open().map(|d| d.number).filter(|&to| {
            let (more, less) = (surplus[usize::from(from)], surplus[usize::from(to)]);
            let apart = more > 0.0 && less < 0.0 && more - less >= 4.0 * units;
            let even = lay.have[usize::from(to)] + units <= lay.share[usize::from(to)].ceil();
            apart && even && self.may_lie(pointers, copy, to)
        });
        fit.min_by(|a, b| surplus[usize::from(*a)].total_cmp(&surplus[usize::from(*b)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::disk::Disk;
    use crate::layout::header::Place;
    use crate::metadata::files::count;
    use crate::metadata::space::Space;
    use crate::uuid::Uuid;
    use proptest::prelude::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use std::collections::BTreeSet;
    use targets::FileId;

    const GEOMETRY: Geometry = Geometry {
        au_bytes: 16 << 10,
        growth_at: [8, 24],
    };

    /// How large the groups are, and what decides the rest.
    #[derive(Clone, Copy)]
    struct Size {
        disks: u16,
        files: u32,
        extents: u32,
        seed: u64,
    }

    fn below(rng: &mut Xoshiro256PlusPlus, n: u64) -> u64 {
        rng.next_u64() % n
    }

    fn disk(number: u16, groups: u64, rng: &mut Xoshiro256PlusPlus) -> Disk {
        let place = Place::new((20 + below(rng, 60)) << 14, 16 << 10, 32).unwrap();
        Disk {
            number,
            uuid: Uuid::default(),
            name: format!("d{number}"),
            failure_group: format!("g{}", below(rng, groups)),
            slot: Some(FileId(number)),
            online: below(rng, 9) > 0,
            dropping: below(rng, 7) == 0,
            failing: below(rng, 9) == 0,
            partners: rng.next_u64() | rng.next_u64() | rng.next_u64(),
            sector: 512,
            bytes: 0,
            place,
            space: Space::new(place),
        }
    }

    /// A file whose copies lie on the first disks more often than on the others.
    fn file(number: u32, size: Size, rng: &mut Xoshiro256PlusPlus) -> File {
        let copies = 1 + below(rng, 3).min(u64::from(size.disks) - 1) as usize;
        let mut file = File::bare(number, &format!("f{number}"), copies);
        for extent in 0..below(rng, u64::from(size.extents)) as u32 {
            let mut used = BTreeSet::new();
            while used.len() < copies {
                let one = below(rng, u64::from(size.disks)).min(below(rng, u64::from(size.disks))) as u16;
                if used.insert(one) {
                    let (copy, units) = (used.len() - 1, GEOMETRY.extent_units(extent));
                    count(&mut file.load, one, copy, i64::from(units));
                    file.pointers.push(Pointer {
                        disk: one,
                        au: 0,
                        stale: below(rng, 16) == 0,
                    });
                }
            }
        }
        file
    }

    fn made(size: Size) -> (BTreeMap<u16, Disk>, BTreeMap<u32, File>) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(size.seed);
        let groups = 1 + below(&mut rng, 2 * u64::from(size.disks));
        let disks = (0..size.disks).map(|n| (n, disk(n, groups, &mut rng))).collect();
        let files = (256..256 + size.files).map(|n| (n, file(n, size, &mut rng))).collect();
        (disks, files)
    }

    fn all_moves(layout: &Layout<'_>) -> Vec<Planned> {
        let mut plan = Plan::new(GEOMETRY);
        layout.plan_anew(&mut plan);
        layout.plan_moves(false, &mut plan);
        plan.iter().copied().collect()
    }

    /// The same without anything that saves time; `even`: how many of them are for evenness in a file, and together.
    fn plain_moves(layout: &Layout<'_>, even: &mut [usize; 2]) -> Vec<Planned> {
        let mut plan = Plan::new(GEOMETRY);
        layout.plan_anew(&mut plan);
        let (mut totals, mut shares) = (vec![0.0; 64], vec![0.0; 64]);
        for file in layout.files.values() {
            let mut lay = layout.lay(file);
            layout.plan_needed(&mut lay, &mut plan);
            let before = plan.iter().count();
            plain_even(layout, &mut lay, &mut plan);
            even[0] += plan.iter().count() - before;
            (0..64).for_each(|d| totals[d] += lay.have[d]);
            (0..64).for_each(|d| shares[d] += lay.share[d]);
        }
        let mut all: Vec<Planned> = plan.iter().copied().collect();
        plain_together(layout, &totals, &shares, &mut all);
        even[1] += all.len() - plan.iter().count();
        all
    }

    fn plain_even(layout: &Layout<'_>, lay: &mut Lay<'_>, plan: &mut Plan) {
        let mut lists: Vec<Vec<(u32, usize)>> = vec![Vec::new(); 64];
        for extent in (0..lay.file.extents()).filter(|e| !lay.planned.contains(e)) {
            for (copy, pointer) in lay.file.pointers_of(extent).iter().enumerate() {
                lists[usize::from(pointer.disk)].push((extent, copy));
            }
        }
        for list in &mut lists {
            list.sort_by_key(|(extent, copy)| (extent.wrapping_mul(0x9E37_79B1), *copy));
        }
        let takes_new = || layout.disks.values().filter(|d| d.takes_new()).map(|d| d.number);
        let mut open: Vec<u16> = takes_new().collect();
        while let Some(&from) = open.iter().max_by(|a, b| lay.surplus(**a).total_cmp(&lay.surplus(**b))) {
            let mut to: Vec<u16> = takes_new().collect();
            to.sort_by(|a, b| lay.surplus(*a).total_cmp(&lay.surplus(*b)));
            match plain_move(layout, lay, &mut lists[usize::from(from)], from, &to) {
                Some(planned) => plan.push(planned),
                None => open.retain(|d| *d != from),
            }
        }
    }

    fn plain_move(
        layout: &Layout<'_>,
        lay: &mut Lay<'_>,
        list: &mut Vec<(u32, usize)>,
        from: u16,
        to: &[u16],
    ) -> Option<Planned> {
        for nth in (0..list.len()).rev() {
            let (extent, copy) = list[nth];
            let units = f64::from(GEOMETRY.extent_units(extent));
            let pointers = lay.file.pointers_of(extent);
            let worth = |t: &&u16| lay.surplus(from) - lay.surplus(**t) >= 2.0 * units;
            if lay.planned.contains(&extent) {
                continue;
            }
            let best = to
                .iter()
                .take_while(worth)
                .find(|t| layout.may_lie(pointers, copy, **t));
            if let Some(&to) = best {
                list.remove(nth);
                lay.planned.insert(extent);
                lay.shift(from, to, units);
                let (file, to) = (lay.file.number, Some(to));
                return Some(Planned { file, extent, copy, to });
            }
        }
        None
    }

    fn plain_together(layout: &Layout<'_>, totals: &[f64], shares: &[f64], plan: &mut Vec<Planned>) {
        let mut surplus: Vec<f64> = totals.iter().zip(shares).map(|(t, s)| t - s).collect();
        let planned: BTreeSet<(u32, u32)> = plan.iter().map(|p| (p.file, p.extent)).collect();
        for file in layout.files.values() {
            let mut lay = layout.lay(file);
            for p in plan.iter().filter(|p| p.file == file.number) {
                if let Some(to) = p.to {
                    let units = f64::from(GEOMETRY.extent_units(p.extent));
                    lay.shift(file.pointers_of(p.extent)[p.copy].disk, to, units);
                }
            }
            for extent in (0..file.extents()).filter(|&e| !planned.contains(&(file.number, e))) {
                let units = f64::from(GEOMETRY.extent_units(extent));
                let pointers = file.pointers_of(extent);
                for (copy, pointer) in pointers.iter().enumerate() {
                    let from = pointer.disk;
                    let stays = lay.have[usize::from(from)] - units < lay.share[usize::from(from)].floor();
                    if stays || lay.planned.contains(&extent) {
                        continue;
                    }
                    let takes_new = layout.disks.values().filter(|d| d.takes_new()).map(|d| d.number);
                    let fit = takes_new.filter(|&to| {
                        let (more, less) = (surplus[usize::from(from)], surplus[usize::from(to)]);
                        let apart = more > 0.0 && less < 0.0 && more - less >= 4.0 * units;
                        let even = lay.have[usize::from(to)] + units <= lay.share[usize::from(to)].ceil();
                        apart && even && layout.may_lie(pointers, copy, to)
                    });
                    let best = fit.min_by(|a, b| surplus[usize::from(*a)].total_cmp(&surplus[usize::from(*b)]));
                    if let Some(to) = best {
                        lay.shift(from, to, units);
                        lay.planned.insert(extent);
                        surplus[usize::from(from)] -= units;
                        surplus[usize::from(to)] += units;
                        let (file, to) = (file.number, Some(to));
                        plan.push(Planned { file, extent, copy, to });
                    }
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        #[test]
        fn a_plan_is_that_of_a_walk_over_all_copies_for_each_move(
            disks in 1u16..10, files in 1u32..12, extents in 1u32..70, seed: u64,
        ) {
            let (disks, files) = made(Size { disks, files, extents, seed });
            let layout = Layout { disks: &disks, files: &files, geometry: GEOMETRY };
            prop_assert_eq!(all_moves(&layout), plain_moves(&layout, &mut [0; 2]));
        }
    }

    /// Otherwise the comparison would say nothing.
    #[test]
    fn such_groups_have_moves_of_both_sorts() {
        let mut even = [0; 2];
        for seed in 0..200u64 {
            let (disks, files) = made(Size {
                disks: 3 + (seed % 7) as u16,
                files: 11,
                extents: [6, 60][seed as usize % 2],
                seed,
            });
            let layout = Layout {
                disks: &disks,
                files: &files,
                geometry: GEOMETRY,
            };
            plain_moves(&layout, &mut even);
        }
        assert!(even.iter().all(|moves| *moves > 20), "{even:?}");
    }
}
