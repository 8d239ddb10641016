//! How many rows a report looks at, and how many distributions it unpacks: each way to them says how many it gives.
//!
//! In a test they are summed, for each thread by itself; elsewhere nothing is done. Prevents: a report whose time grows
//! faster than its file, seen only where somebody measures time (`grows.rs` holds the counts at N, 2 N and 4 N).

/// So many rows are given, or one question is answered from an index.
#[inline]
pub(crate) fn looked(rows: usize) {
    #[cfg(test)]
    count::add(|all| all.rows += rows as u64);
    let _ = rows;
}

/// A distribution is unpacked.
#[inline]
pub(crate) fn unpacked() {
    #[cfg(test)]
    count::add(|all| all.unpacked += 1);
}

#[cfg(test)]
pub(crate) mod count {
    use std::cell::Cell;

    /// What was looked at.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub(crate) struct Looked {
        pub(crate) rows: u64,
        pub(crate) unpacked: u64,
    }

    thread_local! {
        static ALL: Cell<Looked> = const { Cell::new(Looked { rows: 0, unpacked: 0 }) };
    }

    pub(super) fn add(more: impl FnOnce(&mut Looked)) {
        ALL.with(|all| {
            let mut sum = all.get();
            more(&mut sum);
            all.set(sum);
        });
    }

    /// What this gives, and what it looked at.
    pub(crate) fn of<T>(act: impl FnOnce() -> T) -> (T, Looked) {
        let before = ALL.with(Cell::take);
        let done = act();
        let looked = ALL.with(|all| all.replace(before));
        (done, looked)
    }
}
