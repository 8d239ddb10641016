//! When hosts worked, and for how long all of them did.
//!
//! Takes the window of each host on rank 0's clock; gives their overlap. Prevents: rates of hosts added up that were
//! not there at the same time.

use crate::offset::Offset;
use serde::Serialize;

/// From the first to the last moment of a host's work, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    /// It began.
    pub began: u64,
    /// It ended, not before it began.
    pub ended: u64,
}

impl Window {
    /// A window that another clock gave, on rank 0's. `None`: it runs backwards, or that clock does not reach it.
    pub fn ours(&self, offset: &Offset) -> Option<Window> {
        let (began, ended) = (offset.ours(self.began)?, offset.ours(self.ended)?);
        (began <= ended).then_some(Window { began, ended })
    }
}

/// The time in which all worked over the time in which any did: 1 where all windows are one, 0 where two do not meet.
/// `None`: no window, or none with any time in it.
pub fn overlap(windows: &[Window]) -> Option<f64> {
    let first = windows.iter().map(|window| window.began).min()?;
    let last = windows.iter().map(|window| window.ended).max()?;
    let all_from = windows.iter().map(|window| window.began).max()?;
    let all_to = windows.iter().map(|window| window.ended).min()?;
    let any = last.checked_sub(first).filter(|any| *any > 0)?;
    Some(all_to.saturating_sub(all_from) as f64 / any as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(began: u64, ended: u64) -> Window {
        Window { began, ended }
    }

    #[test]
    fn overlap_is_the_time_of_all_over_the_time_of_any() {
        assert_eq!(overlap(&[window(0, 100), window(0, 100)]), Some(1.0));
        assert_eq!(overlap(&[window(0, 90), window(10, 100)]), Some(0.8));
        assert_eq!(overlap(&[window(0, 10), window(20, 40)]), Some(0.0));
        assert_eq!(overlap(&[window(0, 40), window(5, 15), window(10, 40)]), Some(0.125));
        assert_eq!(overlap(&[]), None);
        assert_eq!(overlap(&[window(7, 7)]), None);
        assert_eq!(overlap(&[window(9, 7), window(0, u64::MAX)]), Some(0.0));
    }

    #[test]
    fn a_window_comes_to_the_clock_of_rank_0() {
        let offset = Offset {
            offset_ns: 1000,
            bound_ns: 3,
        };
        assert_eq!(window(1010, 1020).ours(&offset), Some(window(10, 20)));
        assert_eq!(window(1020, 1010).ours(&offset), None);
        assert_eq!(window(10, 1020).ours(&offset), None);
    }
}
