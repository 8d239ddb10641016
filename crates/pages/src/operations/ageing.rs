//! Ageing: every page of a worker is changed at least once, in random order, through cache, redo log and writers.
//!
//! Takes the pages of a worker and a seed; gives the pages of one transaction after the other. Prevents: an ageing that
//! leaves pages out because its draws are with repetition (after as many draws as there are pages a third would be
//! untouched).

use crate::format::keys::Keys;
use crate::operations::work::RandomWork;

/// The parameters of an ageing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgeWork {
    /// Times that each page is changed.
    pub passes: u32,
    /// Sessions in all, shared out over the workers.
    pub sessions: u32,
    /// Pages of one transaction.
    pub work_unit: u32,
    /// Changes 19 columns (heavy) instead of 2 (lite).
    pub heavy: bool,
    /// Reads a session keeps in flight.
    pub outstanding: u32,
}

impl AgeWork {
    /// The work of one of its transactions, as random work has it.
    pub(crate) fn as_random(&self) -> RandomWork {
        RandomWork {
            update_pct: 100,
            scan_pct: 0,
            scan_table_bytes: 0,
            sessions: self.sessions,
            work_unit: self.work_unit,
            work_loop: 0,
            heavy: self.heavy,
            outstanding: self.outstanding,
            hotspot: None,
            hot_schema_frequency: 0,
        }
    }
}

/// Pages of one transaction: `count` of the pass's order, from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lot {
    pub(crate) pass: u32,
    pub(crate) first: u32,
    pub(crate) count: u32,
}

/// The order in which one worker's pages are changed: in each pass another permutation of all of them.
pub(crate) struct Order {
    keys: Keys,
    pages: u32,
    unit: u32,
    passes: u32,
    pass: u32,
    next: u32,
}

impl Order {
    pub(crate) fn new(pages: u32, work: &AgeWork, seed: u64) -> Order {
        Order {
            keys: Keys::new(pages, seed),
            pages,
            unit: work.work_unit,
            passes: work.passes,
            pass: 0,
            next: 0,
        }
    }

    /// The next transaction's pages; `None` when all passes are given out.
    pub(crate) fn take(&mut self) -> Option<Lot> {
        if self.next >= self.pages {
            self.pass += 1;
            self.next = 0;
        }
        if self.pass >= self.passes || self.pages == 0 {
            return None;
        }
        let (first, count) = (self.next, self.unit.min(self.pages - self.next));
        self.next += count;
        Some(Lot {
            pass: self.pass,
            first,
            count,
        })
    }

    /// Number among the worker's pages of the page at `index` of a pass.
    #[inline]
    pub(crate) fn local(&self, pass: u32, index: u32) -> u32 {
        self.keys.page(pass, index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pass_has_every_page_once_in_an_order_of_its_own() {
        let work = AgeWork {
            passes: 2,
            sessions: 1,
            work_unit: 7,
            heavy: false,
            outstanding: 1,
        };
        let mut order = Order::new(100, &work, 5);
        let mut passes = vec![Vec::new(), Vec::new()];
        while let Some(lot) = order.take() {
            assert!(lot.count == 7 || lot.first + lot.count == 100);
            passes[lot.pass as usize]
                .extend((lot.first..lot.first + lot.count).map(|index| order.local(lot.pass, index)));
        }
        assert_eq!(order.take(), None);
        assert_ne!(passes[0], passes[1]);
        for pass in &mut passes {
            let near = pass.windows(2).filter(|two| two[0].abs_diff(two[1]) == 1).count();
            assert!(near < 20, "{near} of 99 neighbours stayed neighbours");
            pass.sort_unstable();
            assert_eq!(*pass, (0..100).collect::<Vec<u32>>());
        }
    }
}
